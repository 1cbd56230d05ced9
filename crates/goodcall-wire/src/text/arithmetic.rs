//! Sums of plain numbers, which some models write where a number belongs: `500*12`, `1/6`.
//!
//! Whole numbers are reckoned exactly; with a division or a fraction the result is the double that
//! Python would give. Nothing else is evaluated, and nothing that could grow without bound.

/// Operations in one sum.
const MOST_TERMS: usize = 32;

#[derive(Clone, Copy, Debug)]
enum Number {
    Whole(i128),
    Broken(f64),
}

/// The value of the sum at the start of `text` and its size; `None` if it is none, or only a
/// single number.
pub(crate) fn evaluate(text: &str) -> Option<(String, usize)> {
    let mut sum = Sum {
        text: text.as_bytes(),
        at: 0,
        terms: 0,
    };
    let value = sum.sum(0)?;
    let end = sum.at;
    if is_date(&text[..end]) {
        return None;
    }
    sum.blank();
    let ended = matches!(sum.text.get(sum.at), None | Some(b',' | b')' | b']' | b'}'));
    if sum.terms == 0 || !ended {
        return None;
    }
    let written = match value {
        Number::Whole(whole) => whole.to_string(),
        // The shortest digits that give this double back, as Python prints them.
        Number::Broken(broken) => serde_json::Number::from_f64(broken)?.to_string(),
    };
    Some((written, end))
}

/// `2019-12-13` is no subtraction.
fn is_date(text: &str) -> bool {
    let parts: Vec<_> = text.split(['-', '/']).collect();
    let digits = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.len() == 3 && parts.iter().all(digits)
}

struct Sum<'t> {
    text: &'t [u8],
    at: usize,
    terms: usize,
}

impl Sum<'_> {
    fn blank(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ')) {
            self.at += 1;
        }
    }

    fn operator(&mut self, known: &[&[u8]]) -> Option<usize> {
        let behind = self.at;
        self.blank();
        let rest = &self.text[self.at..];
        let found = known.iter().position(|sign| rest.starts_with(sign));
        match found {
            Some(index) if self.terms < MOST_TERMS => {
                self.at += known[index].len();
                self.terms += 1;
                Some(index)
            }
            _ => {
                self.at = behind;
                None
            }
        }
    }

    fn sum(&mut self, depth: usize) -> Option<Number> {
        let mut value = self.product(depth)?;
        while let Some(sign) = self.operator(&[b"+", b"-"]) {
            let other = self.product(depth)?;
            value = match sign {
                0 => combine(value, other, i128::checked_add, |a, b| a + b)?,
                _ => combine(value, other, i128::checked_sub, |a, b| a - b)?,
            };
        }
        Some(value)
    }

    fn product(&mut self, depth: usize) -> Option<Number> {
        let mut value = self.power(depth)?;
        while let Some(sign) = self.operator(&[b"//", b"*", b"/", b"%"]) {
            let other = self.power(depth)?;
            value = match sign {
                1 => combine(value, other, i128::checked_mul, |a, b| a * b)?,
                2 => divide(value, other)?,
                _ => return None,
            };
        }
        Some(value)
    }

    fn power(&mut self, depth: usize) -> Option<Number> {
        let base = self.atom(depth)?;
        if self.operator(&[b"**"]).is_none() {
            return Some(base);
        }
        match (base, self.atom(depth)?) {
            (Number::Whole(base), Number::Whole(exponent @ 0..=64)) => {
                let power = base.checked_pow(u32::try_from(exponent).ok()?)?;
                Some(Number::Whole(power))
            }
            // Too large to be meant.
            (Number::Whole(_), Number::Whole(65..)) => None,
            (base, Number::Whole(exponent)) => {
                let exponent = i32::try_from(exponent).ok()?;
                Some(Number::Broken(float(base).powi(exponent)))
            }
            _ => None,
        }
    }

    fn atom(&mut self, depth: usize) -> Option<Number> {
        self.blank();
        match self.text.get(self.at)? {
            b'(' if depth < 8 => {
                self.at += 1;
                let value = self.sum(depth + 1)?;
                self.blank();
                let closed = self.text.get(self.at) == Some(&b')');
                self.at += 1;
                closed.then_some(value)
            }
            b'-' => {
                self.at += 1;
                match self.atom(depth + 1).filter(|_| depth < 8)? {
                    Number::Whole(whole) => Some(Number::Whole(-whole)),
                    Number::Broken(broken) => Some(Number::Broken(-broken)),
                }
            }
            _ => self.digits(),
        }
    }

    fn digits(&mut self) -> Option<Number> {
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
        match text.parse() {
            Ok(whole) => Some(Number::Whole(whole)),
            Err(_) => text.parse().ok().map(Number::Broken),
        }
    }
}

fn float(number: Number) -> f64 {
    match number {
        Number::Whole(whole) => whole as f64,
        Number::Broken(broken) => broken,
    }
}

fn combine(
    a: Number,
    b: Number,
    whole: fn(i128, i128) -> Option<i128>,
    broken: fn(f64, f64) -> f64,
) -> Option<Number> {
    match (a, b) {
        (Number::Whole(a), Number::Whole(b)) => Some(Number::Whole(whole(a, b)?)),
        (a, b) => Some(Number::Broken(broken(float(a), float(b)))),
    }
}

fn divide(a: Number, b: Number) -> Option<Number> {
    let quotient = float(a) / float(b);
    quotient.is_finite().then_some(Number::Broken(quotient))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums() {
        let value = |text| evaluate(text).map(|(value, _)| value);
        assert_eq!(value("500*500, b").as_deref(), Some("250000"));
        assert_eq!(value("1/6)").as_deref(), Some("0.16666666666666666"));
        assert_eq!(value("(2 + 3) * -4)").as_deref(), Some("-20"));
        assert_eq!(value("10**3)").as_deref(), Some("1000"));
        for none in [
            "5)",
            "2020-01-01)",
            "2019-12-13)",
            "10/12/2020)",
            "1/0)",
            "5 km)",
            "5*x)",
            "9**99)",
            "x",
        ] {
            assert_eq!(value(none), None, "{none}");
        }
    }
}
