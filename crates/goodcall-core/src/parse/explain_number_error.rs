//! Naming a malformed number in a refusal, where only an unexpected byte was found.

use super::lenient;
use crate::limits::NUMBER_BYTES;
use crate::report::SyntaxExpectation;
use crate::report::{Actual, Issue};

/// Adds to an issue about a string without quotes that it is the start of a number.
pub(super) fn explain_unfinished(issue: &mut Issue, text: Option<&str>) {
    let unquoted = issue.expected.rule == Some(lenient::rules::UNQUOTED_STRING.id);
    if unquoted && text.is_some_and(is_unfinished) {
        issue.expected.to_mut().syntax = Some(SyntaxExpectation::Number);
    }
}

/// Moves an issue of strict parsing to the number that parsing stopped in, and says what is wrong
/// with that number.
pub(super) fn explain_in_strict(
    issue: &mut Issue,
    expected: SyntaxExpectation,
    text: &str,
    at: usize,
) {
    let (bytes, mut start, mut end) = (text.as_bytes(), at, at);
    let part = |at: usize| {
        let byte = bytes.get(at).copied();
        byte.is_some_and(lenient::is_number_part)
    };
    while start > 0 && at - start < NUMBER_BYTES && part(start - 1) {
        start -= 1;
    }
    while end - at < NUMBER_BYTES && part(end) {
        end += 1;
    }
    let stopped_in_number = match expected {
        SyntaxExpectation::Digit
        | SyntaxExpectation::CommaOrBrace
        | SyntaxExpectation::CommaOrBracket
        | SyntaxExpectation::End => start < at,
        SyntaxExpectation::Value => start == at,
        _ => false,
    };
    let token = text.get(start..end).unwrap_or_default();
    if !stopped_in_number || !token.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        return;
    }
    match (is_unfinished(token), lenient::number_rule(token)) {
        (true, _) => issue.expected.to_mut().syntax = Some(SyntaxExpectation::Number),
        (false, Some(rule)) => {
            let expected = issue.expected.to_mut();
            (expected.syntax, expected.rule) = (None, Some(rule));
        }
        (false, None) => return,
    }
    issue.span = start..end;
    issue.actual = Some(Actual::text(token));
}

/// Returns true if this is the start of a number that lacks digits.
fn is_unfinished(token: &str) -> bool {
    let body = token.strip_prefix(['+', '-']).unwrap_or(token);
    if token.is_empty() || token.len() > NUMBER_BYTES || body.starts_with(['+', '-']) {
        return false;
    }
    let body = if body.starts_with('.') {
        format!("0{body}")
    } else {
        body.to_owned()
    };
    let is_prefix = ["0x", "0X", "0o", "0O", "0b", "0B"].contains(&body.as_str());
    is_prefix || (!lenient::is_number(&body) && lenient::is_number(&format!("{body}0")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_number_is_neither_number_nor_text() {
        for half in ["-", "+", ".", "1.", "1.5e", "1E", "2e-", "+.", "-0x"] {
            assert!(is_unfinished(half), "{half}");
        }
        for other in [
            "", "1", ".5", "+1", "01", "0x1F", "1.5.", "5px", "--", "e", "1_",
        ] {
            assert!(!is_unfinished(other), "{other}");
        }
    }
}
