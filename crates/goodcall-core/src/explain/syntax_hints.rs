//! What JSON expects in place of a text that only a rule could read, where the policy forbids it.

use crate::rule::RuleId;

/// Returns the correct form, to be read after `expected`.
pub(super) fn instead_of(rule: RuleId) -> &'static str {
    match rule {
        RuleId::Arithmetic => "a number that is worked out",
        RuleId::BadEscape | RuleId::MixedEscapes => "every backslash in a string doubled",
        RuleId::Call => "the arguments alone, without a call around them",
        RuleId::ChatToken | RuleId::CodeFence | RuleId::Prose | RuleId::Thoughts => {
            "nothing but one JSON object"
        }
        RuleId::ColonForm | RuleId::MissingColon => "`:` after the key",
        RuleId::Comment => "no comment",
        RuleId::DoubledQuotes
        | RuleId::EscapedQuotes
        | RuleId::OtherQuotes
        | RuleId::SmartQuotes
        | RuleId::TripleQuotes => "a string in plain double quotes",
        RuleId::EarlyBracket => "no closing bracket yet",
        RuleId::ExtraBracket => "no extra bracket, and a list in `[` and `]`",
        RuleId::Ellipsis => "all elements, and no `...`",
        RuleId::EmptyElement | RuleId::ExtraComma => "a value before the comma",
        RuleId::EscapedSpace | RuleId::OddSpace => "plain white space between the values",
        RuleId::EscapedText | RuleId::HtmlEntities => "plain double quotes, not escaped",
        RuleId::ExtraColon => "no colon",
        RuleId::GroupedDigits => "a number without separators",
        RuleId::InnerQuote => "the quotes inside a string escaped as `\\\"`",
        RuleId::JoinedStrings => "one string, not a sum of several",
        RuleId::JsonString => "an object, not a string that holds one",
        RuleId::LeadingZero => "a number without leading zeros, or text in double quotes",
        RuleId::LiteralCase | RuleId::PythonLiteral => "true, false or null in lower case",
        RuleId::LoneSurrogate => "a whole Unicode escape",
        RuleId::MissingBrace => "`{` before the first key and `}` after the last value",
        RuleId::MissingBracket | RuleId::Unclosed => "a closing bracket for every opening one",
        RuleId::MissingComma | RuleId::MissingElementComma => "`,` between two values",
        RuleId::MissingQuote => "a `\"` at both ends of the string",
        RuleId::MissingValue => "a value after the key",
        RuleId::NotANumber => "a number",
        RuleId::NumberForm => "a plain number such as 5 or 0.5",
        RuleId::Radix => "a number in decimal digits",
        RuleId::RawControl => "an escape for the control character",
        RuleId::EmptyFragment | RuleId::RepeatedValue | RuleId::SeveralValues => {
            "one JSON object, once"
        }
        RuleId::Set | RuleId::Tuple => "an array in `[` and `]`",
        RuleId::StrayText => "nothing between the values",
        RuleId::StringPrefix => "a string without a prefix",
        RuleId::TrailingComma => "no comma after the last value",
        RuleId::Undefined => "null, or no such member",
        RuleId::UnquotedKey => "the key in double quotes",
        RuleId::UnquotedString => "text in double quotes",
        RuleId::WidePunctuation => "plain ASCII punctuation",
        RuleId::WrongBracket => "the closing bracket of the same kind",
        _ => "plain JSON",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lenient_rule_has_a_hint() {
        for rule in crate::parse::lenient_rules() {
            assert_ne!(instead_of(rule.id), "plain JSON", "{}", rule.id);
        }
    }
}
