//! Conditions under which an audit fails, such as `bad>2%`.

use std::fmt;
use std::str::FromStr;

use crate::report::AuditReport;

/// A condition on a report: a measure, a comparison and a bound.
///
/// ```
/// use goodcall_audit::Threshold;
///
/// let condition: Threshold = "bad>2%".parse().unwrap();
/// assert_eq!(condition.to_string(), "bad>2%");
/// let error = "worse>2".parse::<Threshold>().unwrap_err();
/// assert!(error.to_string().starts_with("unknown measure `worse`: expected good, "));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    measure: Measure,
    comparison: Comparison,
    bound: f64,
    is_percent: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    More,
    AtLeast,
    Less,
    AtMost,
}

impl Comparison {
    const ALL: [(&str, Comparison); 4] = [
        (">=", Comparison::AtLeast),
        ("<=", Comparison::AtMost),
        (">", Comparison::More),
        ("<", Comparison::Less),
    ];

    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Comparison::More => value > bound,
            Comparison::AtLeast => value >= bound,
            Comparison::Less => value < bound,
            Comparison::AtMost => value <= bound,
        }
    }

    fn sign(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(_, own)| *own == self)
            .map_or(">", |(sign, _)| sign)
    }
}

/// What is measured: its name, the count, and what it is a part of.
#[derive(Clone, Copy)]
struct Measure {
    name: &'static str,
    count: fn(&AuditReport) -> u64,
    whole: fn(&AuditReport) -> u64,
    /// What the whole consists of.
    of: &'static str,
}

impl fmt::Debug for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Measure {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// All measures.
const MEASURES: [Measure; 10] = {
    const fn judged(name: &'static str, count: fn(&AuditReport) -> u64) -> Measure {
        Measure {
            name,
            count,
            whole: |report| report.totals.judged,
            of: "judged calls",
        }
    }
    const fn called(name: &'static str, count: fn(&AuditReport) -> u64) -> Measure {
        Measure {
            name,
            count,
            whole: |report| report.totals.counts.calls,
            of: "calls",
        }
    }
    [
        judged("good", |report| report.totals.counts.good),
        judged("mended", |report| report.totals.counts.mended),
        judged("bad", |report| report.totals.counts.bad),
        judged("invalid", |report| {
            report.totals.counts.mended + report.totals.counts.bad
        }),
        called("without_tools", |report| report.totals.counts.without_tools),
        called("broken", |report| report.totals.counts.broken),
        called("said_invalid", |report| report.totals.counts.said_invalid),
        called("failed_results", |report| {
            report.totals.counts.failed_results
        }),
        Measure {
            name: "unreadable",
            count: |report| report.totals.unreadable,
            whole: |report| report.totals.records,
            of: "records",
        },
        Measure {
            name: "loops",
            count: |report| report.loops.iter().map(|one| one.stats.loops).sum(),
            whole: |report| report.turns.all.turns,
            of: "messages with calls",
        },
    ]
};

impl Threshold {
    /// Returns in words that the condition holds, if it does.
    ///
    /// # Errors
    /// If nothing was measured: there is nothing that the count could be a part of.
    pub fn exceeded(&self, report: &AuditReport) -> Result<Option<String>, String> {
        let (count, whole) = ((self.measure.count)(report), (self.measure.whole)(report));
        if whole == 0 {
            return Err(format!("{self}: there are no {}", self.measure.of));
        }
        let value = if self.is_percent {
            count as f64 * 100.0 / whole as f64
        } else {
            count as f64
        };
        let holds = self.comparison.holds(value, self.bound);
        Ok(holds.then(|| {
            let Measure { name, of, .. } = self.measure;
            let share = count as f64 * 100.0 / whole.max(1) as f64;
            format!("{self}: {name} is {share:.2} % ({count} of {whole} {of})")
        }))
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = if self.is_percent { "%" } else { "" };
        let (name, sign) = (self.measure.name, self.comparison.sign());
        write!(f, "{name}{sign}{}{percent}", self.bound)
    }
}

/// The error for a condition that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidThreshold(String);

impl fmt::Display for InvalidThreshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidThreshold {}

impl FromStr for Threshold {
    type Err = InvalidThreshold;

    fn from_str(text: &str) -> Result<Self, InvalidThreshold> {
        let found = Comparison::ALL.iter().find_map(|(sign, comparison)| {
            let (measure, bound) = text.split_once(sign)?;
            Some((measure.trim(), *comparison, bound.trim()))
        });
        let (name, comparison, bound) = found.ok_or_else(|| {
            InvalidThreshold(format!(
                "`{text}` has no comparison: expected >, >=, < or <="
            ))
        })?;
        let measure = MEASURES.iter().find(|measure| measure.name == name);
        let measure = measure.ok_or_else(|| {
            let names: Vec<_> = MEASURES.iter().map(|measure| measure.name).collect();
            let names = names.join(", ");
            InvalidThreshold(format!("unknown measure `{name}`: expected {names}"))
        })?;
        let digits = bound.strip_suffix('%').map_or(bound, str::trim_end);
        let number = digits
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite());
        let number = number.ok_or_else(|| {
            InvalidThreshold(format!("`{bound}` is not a number: expected 2 or 2%"))
        })?;
        Ok(Self {
            measure: *measure,
            comparison,
            bound: number,
            is_percent: bound.ends_with('%'),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(judged: u64, bad: u64) -> AuditReport {
        let mut report = AuditReport::default();
        report.totals.judged = judged;
        report.totals.counts.bad = bad;
        report
    }

    #[test]
    fn conditions_are_compared_with_shares_and_counts() {
        let says = |text: &str, judged, bad| {
            let condition: Threshold = text.parse().unwrap();
            condition.exceeded(&report(judged, bad))
        };
        assert_eq!(
            says("bad > 2%", 100, 3),
            Ok(Some(
                "bad>2%: bad is 3.00 % (3 of 100 judged calls)".to_owned()
            ))
        );
        assert_eq!(says("bad>2%", 100, 2), Ok(None));
        assert!(says("bad>=2%", 100, 2).unwrap().is_some());
        assert!(says("bad>2", 100, 3).unwrap().is_some());
        assert!(says("good<90%", 100, 3).unwrap().is_some());
        assert_eq!(
            says("bad>2%", 0, 0),
            Err("bad>2%: there are no judged calls".to_owned())
        );
    }

    #[test]
    fn unreadable_conditions_say_what_is_expected() {
        for (text, error) in [
            ("bad", "`bad` has no comparison: expected >, >=, < or <="),
            ("bad>lots", "`lots` is not a number: expected 2 or 2%"),
            ("bad>", "`` is not a number: expected 2 or 2%"),
        ] {
            assert_eq!(text.parse::<Threshold>().unwrap_err().to_string(), error);
        }
    }
}
