//! Patterns that need look-around or back-references, which no engine matches in linear time.
//!
//! They are matched by backtracking within a limit of steps. Where the limit is reached, nobody can
//! tell whether the text matches, and the value is accepted. For that the validator runs twice, once
//! as if such texts matched and once as if they did not: only what is wrong in both runs is wrong.

use std::cell::Cell;

use fancy_regex::{Regex, RegexBuilder};
use jsonschema::{Keyword, ValidationError};

use super::TreeJson;
use crate::limits::{PATTERN_BYTES, PATTERN_STEPS, PATTERN_TEXT};
use crate::tree::Node;

/// The keyword under which the validator sees such a pattern.
pub(crate) const BACKTRACKING_PATTERN: &str = "x-goodcall-pattern";

thread_local! {
    /// What is assumed of a text that could not be matched to the end.
    static ASSUMED: Cell<bool> = const { Cell::new(true) };
    /// True if there was such a text.
    static UNFINISHED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a validation, and a second time under the opposite assumption if a match was not finished.
/// Returns both results.
pub(crate) fn with_assumptions<T>(run: impl Fn() -> T) -> (T, Option<T>) {
    UNFINISHED.set(false);
    let first = run();
    if !UNFINISHED.replace(false) {
        return (first, None);
    }
    ASSUMED.set(false);
    let second = run();
    ASSUMED.set(true);
    UNFINISHED.set(false);
    (first, Some(second))
}

/// A pattern that is matched by backtracking.
pub(crate) struct BacktrackingPattern {
    regex: Regex,
    pattern: String,
}

impl BacktrackingPattern {
    /// Compiles a pattern of ECMA-262, if the engine knows all of it.
    pub(crate) fn new(pattern: &str) -> Option<Self> {
        let translated = jsonschema_regex::to_rust_regex(pattern).ok()?;
        let mut builder = RegexBuilder::new(&translated);
        builder.backtrack_limit(PATTERN_STEPS);
        builder.delegate_size_limit(PATTERN_BYTES);
        let regex = builder.build().ok()?;
        let pattern = pattern.to_owned();
        Some(Self { regex, pattern })
    }

    fn matches(&self, text: &str) -> bool {
        let found = (text.len() <= PATTERN_TEXT).then(|| self.regex.is_match(text));
        match found {
            Some(Ok(found)) => found,
            Some(Err(_)) | None => {
                UNFINISHED.set(true);
                ASSUMED.get()
            }
        }
    }
}

impl<'i> Keyword<'i, TreeJson> for BacktrackingPattern {
    fn validate(&self, instance: Node<'i>) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) {
            Ok(())
        } else {
            Err(ValidationError::custom(self.pattern.clone()))
        }
    }

    fn is_valid(&self, instance: Node<'i>) -> bool {
        instance.as_str().is_none_or(|text| self.matches(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn match_that_takes_too_many_steps_is_neither_true_nor_false() {
        let pattern = BacktrackingPattern::new(r"^(a|a)*\1b$").expect("a pattern");
        let hard = format!("{}!", "a".repeat(40));
        assert_eq!(with_assumptions(|| pattern.matches("aab")), (true, None));
        assert_eq!(with_assumptions(|| pattern.matches("b!")), (false, None));
        let undecided = (true, Some(false));
        assert_eq!(with_assumptions(|| pattern.matches(&hard)), undecided);
        let long = "a".repeat(PATTERN_TEXT + 1);
        assert_eq!(with_assumptions(|| pattern.matches(&long)), undecided);
    }
}
