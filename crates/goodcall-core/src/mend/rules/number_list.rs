//! Reads `"1, 2, 3"` as an array where an array of numbers is expected.

use super::string_to_number::{is_number, may_be_grouped};
use crate::mend::site::{Proposals, Site};
use crate::report::{JsonType, Types};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::schema::describe;
use crate::tree::{NewValue, Tree};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::NumberList,
    level: Level::Safe,
    what: "Reads a number in quotes, or several with commas between them, as an array where an \
           array of numbers is wanted.",
    why: "A string is not allowed there, no element may be a string, and every piece is exactly \
          a number.",
    not_when: &[
        "The text could be one number (`\"1,234\"`, or `\"1,5\"` where an element may be a \
         fraction), or the point of a piece may separate thousands (`\"1.000\"`).",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties":
                    {"sizes": {"type": "array", "items": {"type": "number"}}}}"#,
        raw: r#"{"sizes": "1, 2.50, 3"}"#,
        mended: r#"{"sizes":[1,2.50,3]}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let Some((text, wanted)) = site.mistyped_text() else {
        return;
    };
    let is_one = |piece: &str| is_number(piece) && !may_be_grouped(piece);
    if !wanted.has(JsonType::Array) || !text.split(',').all(|piece| is_one(piece.trim())) {
        return;
    }
    let several = text.contains(',');
    if several && (may_be_one_number(text) || has_groups(text)) {
        return;
    }
    // A single number becomes a list only where a plain number is not allowed.
    let is_itself = |types: Types| types.has(JsonType::Integer) || types.has(JsonType::Number);
    if !several && site.declared_types().is_none_or(is_itself) {
        return;
    }
    let Some(items) = elements(site) else {
        return;
    };
    let one = items.has(JsonType::Number) && has_decimal_comma(text);
    if !items.is_empty() && !items.has(JsonType::String) && !one {
        let list = format!("[{text}]");
        if let Ok(tree) = Tree::parse(&list) {
            out.whole(&RULE, [site.replace(NewValue::Tree(tree.into_owned()))]);
        }
    }
}

/// Returns the types that the elements may have, an empty set if they may have any.
fn elements(site: &Site<'_>) -> Option<Types> {
    Some(describe(site.subschema()?).array.items)
}

/// Returns true if the text could be one number with a comma before its fraction.
fn has_decimal_comma(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    match text.trim().split_once(',') {
        Some((whole, fraction)) => digits(whole.trim_start_matches('-')) && digits(fraction),
        None => false,
    }
}

/// Returns true if some of the commas could be part of a number. A comma before a blank is a
/// separator if all of them are followed by one.
fn has_groups(text: &str) -> bool {
    let text = text.trim();
    let spaced = text.matches(", ").count();
    let (commas, dots) = (text.matches(',').count(), text.contains('.'));
    let three = |group: &str| group.len() == 3 && group.bytes().all(|b| b.is_ascii_digit());
    let mixed = spaced > 0 && spaced < commas;
    let grouped = spaced == 0 && text.split(',').skip(1).any(three);
    // `1.234,5` is a number in half of Europe.
    let european =
        spaced == 0 && commas == 1 && dots && text.split(['.', ',']).nth(1).is_some_and(three);
    mixed || grouped || european
}

/// Returns true if all commas separate thousands.
pub(super) fn may_be_one_number(text: &str) -> bool {
    let mut groups = text.trim().split(',');
    let first = groups.next().expect("a split has a first part");
    first.trim_start_matches('-').len() <= 3
        && groups.all(|group| {
            let whole = group.split('.').next().expect("a split has a first part");
            whole.len() == 3 && whole.bytes().all(|b| b.is_ascii_digit())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_inside_numbers_are_recognised() {
        for text in ["1,234", "-12,345,678.5", "100,200"] {
            assert!(may_be_one_number(text), "{text}");
        }
        for text in ["1, 234", "1,2", "1,2345", "100, 200", "1000,200"] {
            assert!(!may_be_one_number(text), "{text}");
        }
        for text in ["1,234, 5", "1,234,5", "1,5, 2,5", "1.234,5", "12,34,567"] {
            assert!(has_groups(text), "{text}");
        }
        for text in ["1,2,3", "1, 234, 5", "1.5,2.5", "0.5,7"] {
            assert!(!has_groups(text), "{text}");
        }
        assert!(has_decimal_comma("1,5") && has_decimal_comma("-10,25"));
        assert!(!has_decimal_comma("1, 5") && !has_decimal_comma("1,5,2"));
    }
}
