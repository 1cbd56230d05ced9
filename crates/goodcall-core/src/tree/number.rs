//! Numbers as digits: exact integrality and equality, without `f64`.

use std::borrow::Cow;

/// A decimal number in canonical form: significant digits × 10^exponent.
///
/// It has no leading and no trailing zeros, so two numbers are equal exactly when their canonical
/// forms are, whatever their notation (`100`, `1e2`, `100.0`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decimal<'a> {
    negative: bool,
    digits: Cow<'a, str>,
    exponent: i64,
}

impl<'a> Decimal<'a> {
    /// Reads a number in JSON's notation. Returns `None` if the exponent is near the limits of `i64`.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, mut exponent) = match rest.find(['e', 'E']) {
            Some(at) => (&rest[..at], parse_exponent(&rest[at + 1..])?),
            None => (rest, 0),
        };
        let joined = match mantissa.split_once('.') {
            Some((whole, fraction)) => {
                exponent -= fraction.len() as i64;
                Cow::Owned([whole, fraction].concat())
            }
            None => Cow::Borrowed(mantissa),
        };
        let kept = joined.trim_end_matches('0');
        exponent += (joined.len() - kept.len()) as i64;
        let digits = match joined {
            Cow::Borrowed(text) => {
                Cow::Borrowed(text.trim_end_matches('0').trim_start_matches('0'))
            }
            Cow::Owned(_) => Cow::Owned(kept.trim_start_matches('0').to_owned()),
        };
        if digits.is_empty() {
            return Some(Self {
                negative: false,
                digits,
                exponent: 0,
            });
        }
        Some(Self {
            negative,
            digits,
            exponent,
        })
    }

    /// Returns true if the number has no fractional part.
    pub(crate) fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// Appends a text that two numbers share exactly when they are equal.
    pub(crate) fn write_canonical(&self, out: &mut String) {
        if self.negative {
            out.push('-');
        }
        out.push_str(&self.digits);
        out.push('e');
        out.push_str(&self.exponent.to_string());
    }

    /// The integer written plainly (`5e3` → `5000`); `None` if it has a fraction or would have
    /// more than `most` digits.
    pub(crate) fn to_plain_integer(&self, most: usize) -> Option<String> {
        let zeros = usize::try_from(self.exponent).ok()?;
        if self.digits.len().saturating_add(zeros) > most {
            return None;
        }
        if self.digits.is_empty() {
            return Some("0".to_owned());
        }
        let sign = if self.negative { "-" } else { "" };
        Some(format!("{sign}{}{}", self.digits, "0".repeat(zeros)))
    }
}

fn parse_exponent(text: &str) -> Option<i64> {
    let exponent: i64 = text.parse().ok()?;
    // Keeps the arithmetic on exponents far from overflow.
    (exponent.abs() < i64::MAX / 4).then_some(exponent)
}

/// Returns true if a number in JSON's notation has no fractional part.
pub(crate) fn is_integer(digits: &str) -> bool {
    is_written_as_integer(digits)
        || Decimal::parse(digits).is_some_and(|decimal| decimal.is_integer())
}

/// Returns true if a number is written without a fraction and without an exponent.
pub(crate) fn is_written_as_integer(digits: &str) -> bool {
    !digits.bytes().any(|b| matches!(b, b'.' | b'e' | b'E'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_have_equal_canonical_forms() {
        let canonical = |text| Decimal::parse(text).unwrap();
        for same in [
            ["100", "1e2"],
            ["100", "100.00"],
            ["0", "-0.0e7"],
            ["1.5", "15e-1"],
            ["-20", "-2E+1"],
        ] {
            assert_eq!(canonical(same[0]), canonical(same[1]), "{same:?}");
        }
        assert_ne!(canonical("9007199254740993"), canonical("9007199254740992"));
        assert_ne!(canonical("1"), canonical("-1"));
    }

    #[test]
    fn integrality_is_exact() {
        for whole in ["5.0", "1e3", "120e-1", "0.0", "12345678901234567890123"] {
            assert!(is_integer(whole), "{whole}");
        }
        for broken in ["5.5", "1e-1", "12345678901234567890123.5"] {
            assert!(!is_integer(broken), "{broken}");
        }
    }

    #[test]
    fn plain_integers() {
        let plain = |text| Decimal::parse(text).unwrap().to_plain_integer(30);
        assert_eq!(plain("5.0").as_deref(), Some("5"));
        assert_eq!(plain("-5e3").as_deref(), Some("-5000"));
        assert_eq!(plain("0.0").as_deref(), Some("0"));
        assert_eq!(plain("5.5"), None);
        assert_eq!(plain("1e400"), None);
    }
}
