//! Evaluates arithmetic on plain numbers, which some models write where a number belongs:
//! `500*12`, `1/4`.
//!
//! The arithmetic is exact. Only a result without a finite decimal form (`1/6`) is rounded, once, to
//! the nearest double, as it is where a string holds such a quotient.

use crate::decimal::Decimal;

/// The most operators in one expression.
const MAX_OPERATORS: usize = 32;
/// The most decimal places of any value, intermediate ones included.
const MAX_PLACES: u32 = 18;
/// The largest exponent of `**`.
const MAX_EXPONENT: i128 = 64;
/// The deepest nesting of parentheses and signs.
const MAX_DEPTH: usize = 8;

/// Evaluates the expression at the start of `text`, and returns its value and its size in bytes.
///
/// Returns `None` if there is no operator, if the expression is not followed by the end of an
/// argument, or if its numbers are too long for exact arithmetic.
pub(crate) fn evaluate(text: &str) -> Option<(String, usize)> {
    if let Some(written) = power_of_ten(text) {
        return Some(written);
    }
    let mut expression = Expression {
        text: text.as_bytes(),
        at: 0,
        operators: 0,
    };
    let value = expression.sum(0)?.digits()?;
    let size = expression.at;
    if is_date(&text[..size]) {
        return None;
    }
    (expression.operators > 0 && ends_value(&text[size..])).then_some((value, size))
}

/// Returns true if nothing but the end of a value follows.
fn ends_value(rest: &str) -> bool {
    let rest = rest.trim_start_matches(' ');
    rest.is_empty() || rest.starts_with([',', ')', ']', '}'])
}

/// Reads a number with a power of ten as people write it, `1.6 x 10^-19` or `1.6×10^-19`. Not with
/// Python's `*`: to Python, `5*10^3` is another number.
fn power_of_ten(text: &str) -> Option<(String, usize)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let sign = usize::from(text.starts_with('-'));
    let mut size = sign + digits(&text[sign..]);
    if text[size..].starts_with('.') {
        size += 1 + digits(&text[size + 1..]);
    }
    let (number, rest) = text.split_at(size);
    let is_json = serde_json::from_str::<serde_json::Number>(number).is_ok();
    let rest = rest.trim_start_matches(' ').strip_prefix(['x', '×'])?;
    let rest = rest.trim_start_matches(' ').strip_prefix("10^")?;
    let exponent = usize::from(rest.starts_with('-'));
    let exponent = exponent + digits(&rest[exponent..]);
    let (exponent, rest) = rest.split_at(exponent);
    let is_short = exponent.ends_with(|c: char| c.is_ascii_digit()) && exponent.len() <= 4;
    let is_whole = is_json && is_short && ends_value(rest);
    is_whole.then(|| (format!("{number}e{exponent}"), text.len() - rest.len()))
}

/// Returns true if this is a date such as `2019-12-13`, not a subtraction or a division.
fn is_date(text: &str) -> bool {
    let parts: Vec<_> = text.split(['-', '/']).collect();
    let digits = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.len() == 3 && parts.iter().all(digits)
}

/// Drops trailing zeros, and refuses a value with too many places.
fn bounded(value: Option<Decimal>) -> Option<Decimal> {
    let value = value?.normalized();
    (value.places() <= MAX_PLACES).then_some(value)
}

/// A quotient, which is divided last so that it is rounded at most once.
#[derive(Clone, Copy)]
struct Quotient {
    over: Decimal,
    under: Decimal,
}

impl Quotient {
    fn new(over: Option<Decimal>, under: Option<Decimal>) -> Option<Self> {
        let (over, under) = (bounded(over)?, bounded(under)?);
        (!under.is_zero()).then_some(Self { over, under })
    }

    fn plus(self, other: Self) -> Option<Self> {
        if self.under == other.under {
            return Self::new(self.over.plus(other.over), Some(self.under));
        }
        let left = self.over.times(other.under)?;
        let right = other.over.times(self.under)?;
        Self::new(left.plus(right), self.under.times(other.under))
    }

    fn times(self, other: Self) -> Option<Self> {
        Self::new(self.over.times(other.over), self.under.times(other.under))
    }

    fn inverse(self) -> Option<Self> {
        Self::new(Some(self.under), Some(self.over))
    }

    fn negated(self) -> Option<Self> {
        Self::new(self.over.negated(), Some(self.under))
    }

    fn power(self, exponent: u32) -> Option<Self> {
        Self::new(self.over.power(exponent), self.under.power(exponent))
    }

    fn exact(self) -> Option<Decimal> {
        bounded(self.over.over(self.under, MAX_PLACES))
    }

    /// The digits of the value: all of them, or those of the nearest double.
    fn digits(self) -> Option<String> {
        match self.exact() {
            Some(value) => Some(value.to_string()),
            None => Some(self.over.nearest_quotient(self.under)?.to_string()),
        }
    }
}

/// A recursive-descent reader of one expression.
struct Expression<'t> {
    text: &'t [u8],
    at: usize,
    operators: usize,
}

impl Expression<'_> {
    fn skip_spaces(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ')) {
            self.at += 1;
        }
    }

    /// Takes the next operator if it is one of `known`, and returns its index there.
    fn operator(&mut self, known: &[&[u8]]) -> Option<usize> {
        let before = self.at;
        self.skip_spaces();
        let rest = &self.text[self.at..];
        let found = known.iter().position(|sign| rest.starts_with(sign));
        match found {
            Some(index) if self.operators < MAX_OPERATORS => {
                self.at += known[index].len();
                self.operators += 1;
                Some(index)
            }
            _ => {
                self.at = before;
                None
            }
        }
    }

    fn sum(&mut self, depth: usize) -> Option<Quotient> {
        let mut value = self.product(depth)?;
        while let Some(sign) = self.operator(&[b"+", b"-"]) {
            let other = self.product(depth)?;
            value = match sign {
                0 => value.plus(other),
                _ => value.plus(other.negated()?),
            }?;
        }
        Some(value)
    }

    fn product(&mut self, depth: usize) -> Option<Quotient> {
        let mut value = self.power(depth)?;
        while let Some(sign) = self.operator(&[b"//", b"*", b"/", b"%"]) {
            let other = self.power(depth)?;
            value = match sign {
                1 => value.times(other),
                2 => value.times(other.inverse()?),
                _ => None,
            }?;
        }
        Some(value)
    }

    fn power(&mut self, depth: usize) -> Option<Quotient> {
        self.skip_spaces();
        let is_signed = self.text.get(self.at) == Some(&b'-');
        let base = self.atom(depth)?;
        if self.operator(&[b"**"]).is_none() {
            return Some(base);
        }
        if is_signed {
            // `-2**2` is -4 in Python, and 4 to many.
            return None;
        }
        let exponent = self.atom(depth)?.exact()?.to_integer()?;
        if exponent.abs() > MAX_EXPONENT {
            return None;
        }
        let raised = base.power(u32::try_from(exponent.abs()).ok()?)?;
        if exponent < 0 {
            raised.inverse()
        } else {
            Some(raised)
        }
    }

    fn atom(&mut self, depth: usize) -> Option<Quotient> {
        self.skip_spaces();
        match self.text.get(self.at)? {
            b'(' if depth < MAX_DEPTH => {
                self.at += 1;
                let value = self.sum(depth + 1)?;
                self.skip_spaces();
                let closed = self.text.get(self.at) == Some(&b')');
                self.at += 1;
                closed.then_some(value)
            }
            b'-' => {
                self.at += 1;
                self.atom(depth + 1)
                    .filter(|_| depth < MAX_DEPTH)?
                    .negated()
            }
            _ => Quotient::new(self.number(), Decimal::parse("1")),
        }
    }

    fn number(&mut self) -> Option<Decimal> {
        let start = self.at;
        while let Some(byte) = self.text.get(self.at) {
            let exponent = self.at > start && matches!(self.text[self.at - 1], b'e' | b'E');
            match byte {
                b'0'..=b'9' | b'.' | b'_' | b'e' | b'E' => self.at += 1,
                b'+' | b'-' if exponent => self.at += 1,
                _ => break,
            }
        }
        let text = std::str::from_utf8(&self.text[start..self.at])
            .ok()?
            .replace('_', "");
        if text.len() > 1 && text.starts_with('0') && !text.starts_with("0.") {
            return None;
        }
        Decimal::parse(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<String> {
        evaluate(text).map(|(value, _)| value)
    }

    #[test]
    fn expressions_are_evaluated_exactly() {
        assert_eq!(value("500*500, b").as_deref(), Some("250000"));
        assert_eq!(value("1/4)").as_deref(), Some("0.25"));
        assert_eq!(value("0.1 + 0.2)").as_deref(), Some("0.3"));
        assert_eq!(value("-7/2)").as_deref(), Some("-3.5"));
        assert_eq!(value("1.5e3 / 3)").as_deref(), Some("500"));
        assert_eq!(value("(2 + 3) * -4)").as_deref(), Some("-20"));
        assert_eq!(value("10**3)").as_deref(), Some("1000"));
        assert_eq!(value("5*10**-3)").as_deref(), Some("0.005"));
        assert_eq!(value("1/3 + 2/3)").as_deref(), Some("1"));
    }

    #[test]
    fn powers_of_ten_keep_their_digits() {
        assert_eq!(value("1.60 x 10^-19, b").as_deref(), Some("1.60e-19"));
        assert_eq!(value("-3×10^8)").as_deref(), Some("-3e8"));
        for text in [
            "2 x 3)",
            "1.6 x 10^n)",
            "1.6 x 10^-)",
            "1.6 x 10^-19 C)",
            "5*10^3)",
            "01 x 10^2)",
        ] {
            assert_eq!(value(text), None, "{text}");
        }
    }

    #[test]
    fn endless_quotients_are_rounded_once() {
        assert_eq!(value("1/6)").as_deref(), Some("0.16666666666666666"));
        assert_eq!(value("-1/3)").as_deref(), Some("-0.3333333333333333"));
        assert_eq!(value("2 / 3 * 100)").as_deref(), Some("66.66666666666667"));
        assert_eq!(value("1/9007199254740993)"), None);
    }

    #[test]
    fn dates_and_inexact_values_are_left_alone() {
        for text in [
            "5)",
            "0.0e-2000000000 * 2)",
            "2020-01-01)",
            "2019-12-13)",
            "10/12/2020)",
            "1/0)",
            "5 km)",
            "5*x)",
            "9**99)",
            "-2**2)",
            "x",
        ] {
            assert_eq!(value(text), None, "{text}");
        }
    }
}
