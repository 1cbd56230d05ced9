//! Works out `"1/6"` and `"2**3"` where a number is expected.

use super::string_to_number::{is_number, may_be_grouped};
use crate::mend::site::{Proposals, Site};
use crate::report::JsonType;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::{NewValue, is_integer};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::PlainArithmetic,
    level: Level::Safe,
    what: "Works out a sum, a product, a quotient or a power of plain numbers where a number is \
           wanted (`1/6`, `\"2 * 3.5\"`, `2**3`), in quotes or not.",
    why: "A string is not allowed there, and the numbers and operators have one result.",
    not_when: &[
        "There is a minus between two numbers: `5-7` may be a range.",
        "There are several divisions: `1/2/2024` may be a date.",
        "A point may separate thousands (`1.500 * 2`).",
        "An integer is wanted and the result is not one, or a double cannot hold it.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties": {"share": {"type": "number"}}}"#,
        raw: r#"{"share": "1/8"}"#,
        mended: r#"{"share":0.125}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let Some((text, wanted)) = site.mistyped_text() else {
        return;
    };
    let Some(digits) = result(text) else {
        return;
    };
    if wanted.has(JsonType::Number) || (wanted.has(JsonType::Integer) && is_integer(&digits)) {
        out.replace(&RULE, site, NewValue::number(digits));
    }
}

/// The most bytes of a text that is worked out.
const MOST_BYTES: usize = 100;

/// Works out a text of at least two numbers with operators between them.
fn result(text: &str) -> Option<String> {
    let text = text.trim();
    let is_part = |b: u8| b.is_ascii_digit() || b" .+*/()-".contains(&b);
    let divisions = text.bytes().filter(|b| *b == b'/').count();
    let has_operator = text.bytes().skip(1).any(|b| b"+*/".contains(&b));
    if text.len() > MOST_BYTES || !text.bytes().all(is_part) || !has_operator || divisions > 1 {
        return None;
    }
    let mut terms = Terms {
        rest: text.as_bytes(),
    };
    let value = terms.sum(0)?;
    terms.skip_blanks();
    if terms.rest.is_empty() {
        value.digits()
    } else {
        None
    }
}

/// A fraction in lowest terms: numbers are worked out exactly, and rounded at most once.
#[derive(Clone, Copy)]
struct Fraction {
    over: i128,
    under: i128,
}

impl Fraction {
    fn new(over: i128, under: i128) -> Option<Self> {
        if under == 0 {
            return None;
        }
        let (mut a, mut b) = (over.unsigned_abs(), under.unsigned_abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let shared = i128::try_from(a.max(1)).ok()? * under.signum();
        Some(Self {
            over: over / shared,
            under: under / shared,
        })
    }

    /// Reads the digits of a number without an exponent.
    fn parse(digits: &str) -> Option<Self> {
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let over = format!("{whole}{fraction}").parse().ok()?;
        Self::new(over, 10_i128.checked_pow(fraction.len() as u32)?)
    }

    fn plus(self, other: Self) -> Option<Self> {
        let left = self.over.checked_mul(other.under)?;
        let right = other.over.checked_mul(self.under)?;
        Self::new(
            left.checked_add(right)?,
            self.under.checked_mul(other.under)?,
        )
    }

    fn times(self, other: Self) -> Option<Self> {
        let over = self.over.checked_mul(other.over)?;
        Self::new(over, self.under.checked_mul(other.under)?)
    }

    fn inverse(self) -> Option<Self> {
        Self::new(self.under, self.over)
    }

    fn power(self, exponent: Self) -> Option<Self> {
        let times = u32::try_from(exponent.over.unsigned_abs()).ok()?;
        let raised = Self::new(
            self.over.checked_pow(times)?,
            self.under.checked_pow(times)?,
        )?;
        match (exponent.under, exponent.over < 0) {
            (1, false) => Some(raised),
            (1, true) => raised.inverse(),
            _ => None,
        }
    }

    /// The digits of the value: all of them, or those of the nearest double if there is no end of
    /// them. `None` if a double does not hold the digits before the point.
    fn digits(self) -> Option<String> {
        const MOST_EXACT: i128 = 1 << 53;
        if self.over.abs() / self.under >= MOST_EXACT {
            return None;
        }
        if self.under == 1 {
            return Some(self.over.to_string());
        }
        let fits = self.over.abs() <= MOST_EXACT && self.under <= MOST_EXACT;
        // Both are exact, so that the quotient is rounded once.
        fits.then(|| (self.over as f64 / self.under as f64).to_string())
    }
}

/// The rest of a text that is being worked out.
struct Terms<'t> {
    rest: &'t [u8],
}

impl Terms<'_> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    /// Takes an operator if it comes next. `*` is not the first half of `**`.
    fn take(&mut self, operator: &[u8]) -> bool {
        self.skip_blanks();
        let Some(rest) = self.rest.strip_prefix(operator) else {
            return false;
        };
        if operator == b"*" && rest.starts_with(b"*") {
            return false;
        }
        self.rest = rest;
        true
    }

    fn sum(&mut self, depth: usize) -> Option<Fraction> {
        let mut value = self.product(depth)?;
        while self.take(b"+") {
            value = value.plus(self.product(depth)?)?;
        }
        Some(value)
    }

    fn product(&mut self, depth: usize) -> Option<Fraction> {
        let mut value = self.power(depth)?;
        loop {
            if self.take(b"*") {
                value = value.times(self.power(depth)?)?;
            } else if self.take(b"/") {
                value = value.times(self.power(depth)?.inverse()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn power(&mut self, depth: usize) -> Option<Fraction> {
        self.skip_blanks();
        let is_signed = self.rest.starts_with(b"-");
        let base = self.number(depth)?;
        if !self.take(b"**") {
            return Some(base);
        }
        if is_signed {
            // `-2**2` is 4 to some and -4 to others.
            return None;
        }
        let exponent = self.power((depth < MOST_BYTES).then_some(depth + 1)?)?;
        base.power(exponent)
    }

    fn number(&mut self, depth: usize) -> Option<Fraction> {
        self.skip_blanks();
        if self.rest.starts_with(b"(") && depth < 8 {
            self.rest = &self.rest[1..];
            let value = self.sum(depth + 1)?;
            return self.take(b")").then_some(value);
        }
        let sign = usize::from(self.rest.starts_with(b"-"));
        let is_digit = |b: &&u8| b.is_ascii_digit() || **b == b'.';
        let end = sign + self.rest.iter().skip(sign).take_while(is_digit).count();
        let (digits, rest) = self.rest.split_at(end);
        let digits = std::str::from_utf8(digits).ok()?;
        self.rest = rest;
        // A point may separate thousands, as in `1.500 * 2`.
        let is_plain = is_number(digits) && digits.len() <= 15 && !may_be_grouped(digits);
        is_plain.then(|| Fraction::parse(digits))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_numbers_are_worked_out_and_nothing_else() {
        for (text, digits) in [
            ("1/8", "0.125"),
            ("1/6", "0.16666666666666666"),
            ("2**3", "8"),
            ("2 * 3.5", "7"),
            ("(1 + 2) * 3", "9"),
            ("-5 * 3", "-15"),
            ("2**3**2", "512"),
            ("1.5 + 1.5", "3"),
            ("0.1 + 0.2", "0.3"),
            ("1.1 * 3", "3.3"),
            ("2**-1", "0.5"),
            ("-1/3", "-0.3333333333333333"),
        ] {
            assert_eq!(result(text).as_deref(), Some(digits), "{text}");
        }
        for text in [
            "5",
            "5-7",
            "1/2/2024",
            "1/0",
            "2**64",
            "0**-1",
            "a*2",
            "5 *",
            "* 5",
            "1,5 * 2",
            "02/3",
            "1..2*3",
            "9007199254740993 * 1",
            "(1 + 2",
            "50%",
            "1//2",
            "2^3",
            "2**0.5",
            "1.500*2",
            "-2**2",
            "",
        ] {
            assert_eq!(result(text), None, "{text}");
        }
    }
}
