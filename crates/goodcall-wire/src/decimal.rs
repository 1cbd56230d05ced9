//! Exact decimal arithmetic on numbers of bounded size.

use std::fmt;

/// Decimal places that a number may have: the largest power of ten below `i128::MAX`.
const MAX_PLACES: u32 = 38;

/// A decimal number: `units` divided by ten to the power of `places`.
///
/// Every operation is exact and returns `None` where the result cannot be represented. Places stay
/// as written, so `1.50` is displayed as `1.50` until [`Decimal::normalized`] drops the zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decimal {
    units: i128,
    places: u32,
}

impl Decimal {
    /// Reads a JSON number. The places of `2.5e-3` are four: the exponent is resolved.
    pub(crate) fn parse(digits: &str) -> Option<Self> {
        // Token counts and most other numbers: no fraction, no exponent, few digits.
        if let Ok(integer) = digits.parse::<i64>() {
            return Self::with_places(integer.into(), 0);
        }
        let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (digits, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let units: i128 = format!("{whole}{fraction}").parse().ok()?;
        let places = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        match u32::try_from(places) {
            Ok(places) => Self::with_places(units, places),
            Err(_) => Self::with_places(units.checked_mul(ten(places.unsigned_abs())?)?, 0),
        }
    }

    fn with_places(units: i128, places: u32) -> Option<Self> {
        (places <= MAX_PLACES).then_some(Self { units, places })
    }

    /// Drops the zeros at the end of the decimal places.
    pub(crate) fn normalized(mut self) -> Self {
        while self.places > 0 && self.units % 10 == 0 {
            self.units /= 10;
            self.places -= 1;
        }
        self
    }

    pub(crate) fn is_zero(self) -> bool {
        self.units == 0
    }

    /// The number of digits behind the decimal point.
    pub(crate) fn places(self) -> u32 {
        self.places
    }

    /// The value as an integer, if it has no decimal places.
    pub(crate) fn to_integer(self) -> Option<i128> {
        (self.places == 0).then_some(self.units)
    }

    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        let (left, right, places) = self.aligned(other)?;
        Self::with_places(left.checked_add(right)?, places)
    }

    pub(crate) fn negated(self) -> Option<Self> {
        Self::with_places(self.units.checked_neg()?, self.places)
    }

    pub(crate) fn times(self, other: Self) -> Option<Self> {
        let units = self.units.checked_mul(other.units)?;
        Self::with_places(units, self.places + other.places)
    }

    /// The quotient with as few places as it needs; `None` if it needs more than `most_places`.
    pub(crate) fn over(self, other: Self, most_places: u32) -> Option<Self> {
        let (dividend, divisor, _) = self.aligned(other)?;
        (0..=most_places).find_map(|places| {
            let units = dividend.checked_mul(ten(places)?)?;
            let exact = units.checked_rem(divisor)? == 0;
            exact.then(|| Self::with_places(units / divisor, places))?
        })
    }

    /// The double nearest to the quotient; `None` if a double does not hold both numbers exactly.
    pub(crate) fn nearest_quotient(self, other: Self) -> Option<f64> {
        const MOST_EXACT: u128 = 1 << 53;
        let (dividend, divisor, _) = self.aligned(other)?;
        let most = dividend.unsigned_abs().max(divisor.unsigned_abs());
        (divisor != 0 && most <= MOST_EXACT).then(|| dividend as f64 / divisor as f64)
    }

    pub(crate) fn power(self, exponent: u32) -> Option<Self> {
        let places = self.places.checked_mul(exponent)?;
        Self::with_places(self.units.checked_pow(exponent)?, places)
    }

    /// The units of both numbers at the larger number of places, and that number.
    fn aligned(self, other: Self) -> Option<(i128, i128, u32)> {
        let places = self.places.max(other.places);
        let units = |number: Self| number.units.checked_mul(ten(places - number.places)?);
        Some((units(self)?, units(other)?, places))
    }
}

impl fmt::Display for Decimal {
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

fn ten(exponent: u32) -> Option<i128> {
    10_i128.checked_pow(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_displayed_without_exponent() {
        for (digits, displayed) in [
            ("1.50", "1.50"),
            ("-0.5", "-0.5"),
            ("2.5e-05", "0.000025"),
            ("1E3", "1000"),
            ("18446744073709551616", "18446744073709551616"),
        ] {
            let number = Decimal::parse(digits).map(|number| number.to_string());
            assert_eq!(number.as_deref(), Some(displayed));
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        for digits in ["1e-99", "0e-2000000000", "1e99", "1e999999999999", "", "x"] {
            assert_eq!(Decimal::parse(digits), None, "{digits}");
        }
    }

    #[test]
    fn sums_are_exact() {
        for (left, right, sum) in [
            ("0.1", "0.2", "0.3"),
            ("0.0001", "2.5e-05", "0.000125"),
            ("1E3", "0.5", "1000.5"),
            ("1.50", "1", "2.50"),
        ] {
            let sum_of = Decimal::parse(left).and_then(|left| left.plus(Decimal::parse(right)?));
            assert_eq!(sum_of.map(|sum| sum.to_string()).as_deref(), Some(sum));
        }
    }
}
