//! Sums of plain numbers, which some models write where a number belongs: `500*12`, `1/6`.
//!
//! Decimals are reckoned exactly, so a quotient that does not end (`1/6`) is not evaluated: its
//! digits would be somebody's rounding. Nothing else is, and nothing that could grow without bound.

use std::fmt;

/// Operations in one sum.
const MOST_TERMS: usize = 32;

/// Digits behind the point that a result may have.
const MOST_PLACES: u32 = 18;

/// A decimal: `units` / 10^`places`, without zeros at the end of its places.
#[derive(Clone, Copy, Debug)]
struct Number {
    units: i128,
    places: u32,
}

impl Number {
    fn new(mut units: i128, mut places: u32) -> Option<Self> {
        while places > 0 && units % 10 == 0 {
            units /= 10;
            places -= 1;
        }
        (places <= MOST_PLACES).then_some(Self { units, places })
    }

    fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let units: i128 = format!("{whole}{fraction}").parse().ok()?;
        let places = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        match u32::try_from(places) {
            Ok(places) => Self::new(units, places),
            Err(_) => Self::new(units.checked_mul(ten(places.unsigned_abs())?)?, 0),
        }
    }

    /// The units of both at the same number of places.
    fn aligned(self, other: Self) -> Option<(i128, i128, u32)> {
        let places = self.places.max(other.places);
        let units = |number: Self| number.units.checked_mul(ten(places - number.places)?);
        Some((units(self)?, units(other)?, places))
    }

    fn plus(self, other: Self) -> Option<Self> {
        let (a, b, places) = self.aligned(other)?;
        Self::new(a.checked_add(b)?, places)
    }

    fn negated(self) -> Option<Self> {
        Self::new(self.units.checked_neg()?, self.places)
    }

    fn times(self, other: Self) -> Option<Self> {
        let units = self.units.checked_mul(other.units)?;
        Self::new(units, self.places + other.places)
    }

    /// The quotient, if its digits end.
    fn over(self, other: Self) -> Option<Self> {
        let (a, b, _) = self.aligned(other)?;
        (0..=MOST_PLACES).find_map(|places| {
            let units = a.checked_mul(ten(places)?)?;
            (units.checked_rem(b)? == 0).then(|| Self::new(units / b, places))?
        })
    }

    fn power(self, exponent: u32) -> Option<Self> {
        let places = self.places.checked_mul(exponent)?;
        Self::new(self.units.checked_pow(exponent)?, places)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = self.places as usize;
        let digits = format!("{:0>width$}", self.units.unsigned_abs(), width = places + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places);
        let sign = if self.units < 0 { "-" } else { "" };
        match fraction {
            "" => write!(f, "{sign}{whole}"),
            fraction => write!(f, "{sign}{whole}.{fraction}"),
        }
    }
}

fn ten(places: u32) -> Option<i128> {
    10_i128.checked_pow(places)
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
    Some((value.to_string(), end))
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
                0 => value.plus(other)?,
                _ => value.plus(other.negated()?)?,
            };
        }
        Some(value)
    }

    fn product(&mut self, depth: usize) -> Option<Number> {
        let mut value = self.power(depth)?;
        while let Some(sign) = self.operator(&[b"//", b"*", b"/", b"%"]) {
            let other = self.power(depth)?;
            value = match sign {
                1 => value.times(other)?,
                2 => value.over(other)?,
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
        let exponent = self.atom(depth)?;
        // Beyond this it is too large to be meant.
        match (exponent.units, exponent.places) {
            (units @ 0..=64, 0) => base.power(u32::try_from(units).ok()?),
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
                self.atom(depth + 1).filter(|_| depth < 8)?.negated()
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
        Number::parse(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums() {
        let value = |text| evaluate(text).map(|(value, _)| value);
        assert_eq!(value("500*500, b").as_deref(), Some("250000"));
        assert_eq!(value("1/4)").as_deref(), Some("0.25"));
        assert_eq!(value("0.1 + 0.2)").as_deref(), Some("0.3"));
        assert_eq!(value("-7/2)").as_deref(), Some("-3.5"));
        assert_eq!(value("1.5e3 / 3)").as_deref(), Some("500"));
        assert_eq!(value("(2 + 3) * -4)").as_deref(), Some("-20"));
        assert_eq!(value("10**3)").as_deref(), Some("1000"));
        for none in [
            "5)",
            "2020-01-01)",
            "2019-12-13)",
            "10/12/2020)",
            "1/0)",
            "1/6)",
            "5 km)",
            "5*x)",
            "9**99)",
            "x",
        ] {
            assert_eq!(value(none), None, "{none}");
        }
    }
}
