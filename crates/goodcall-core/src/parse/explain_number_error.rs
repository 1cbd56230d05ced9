//! What a refusal says of a number that JSON does not write so.

use super::lenient;
use crate::report::SyntaxExpectation;
use crate::report::{Actual, Issue};

/// Bytes that the start of a number may have.
const MOST: usize = 64;

/// Says of text that was taken for a string without quotes that it is the start of a number.
pub(super) fn tell_half(issue: &mut Issue, text: Option<&str>) {
    let unquoted = issue.expected.rule == Some(lenient::rules::UNQUOTED_STRING.id);
    if unquoted && text.is_some_and(is_half) {
        issue.expected.syntax = Some(SyntaxExpectation::Number);
    }
}

/// Says where the number begins in which strict reading stopped, and what is wrong with it.
pub(super) fn tell_strict(issue: &mut Issue, wanted: SyntaxExpectation, text: &str, at: usize) {
    let (bytes, mut start, mut end) = (text.as_bytes(), at, at);
    let part = |at: usize| {
        let byte = bytes.get(at).copied();
        byte.is_some_and(lenient::is_number_part)
    };
    while start > 0 && at - start < MOST && part(start - 1) {
        start -= 1;
    }
    while end - at < MOST && part(end) {
        end += 1;
    }
    let within = match wanted {
        SyntaxExpectation::Digit
        | SyntaxExpectation::CommaOrBrace
        | SyntaxExpectation::CommaOrBracket
        | SyntaxExpectation::End => start < at,
        SyntaxExpectation::Value => start == at,
        _ => false,
    };
    let token = text.get(start..end).unwrap_or_default();
    if !within || !token.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        return;
    }
    match (is_half(token), lenient::number_rule(token)) {
        (true, _) => issue.expected.syntax = Some(SyntaxExpectation::Number),
        (false, Some(rule)) => {
            (issue.expected.syntax, issue.expected.rule) = (None, Some(rule));
        }
        (false, None) => return,
    }
    issue.span = start..end;
    issue.actual = Some(Actual::text(token));
}

/// Is this the start of a number, which lacks digits?
fn is_half(token: &str) -> bool {
    let body = token.strip_prefix(['+', '-']).unwrap_or(token);
    if token.is_empty() || token.len() > MOST || body.starts_with(['+', '-']) {
        return false;
    }
    let body = match body.starts_with('.') {
        true => format!("0{body}"),
        false => body.to_owned(),
    };
    let prefix = ["0x", "0X", "0o", "0O", "0b", "0B"].contains(&body.as_str());
    prefix || (!lenient::is_number(&body) && lenient::is_number(&format!("{body}0")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_told_from_numbers_and_from_text() {
        for half in ["-", "+", ".", "1.", "1.5e", "1E", "2e-", "+.", "-0x"] {
            assert!(is_half(half), "{half}");
        }
        for other in [
            "", "1", ".5", "+1", "01", "0x1F", "1.5.", "5px", "--", "e", "1_",
        ] {
            assert!(!is_half(other), "{other}");
        }
    }
}
