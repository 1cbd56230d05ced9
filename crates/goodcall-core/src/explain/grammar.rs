//! What JSON wants where a reader's rule would have helped, but is not allowed to.

/// What should stand there, said after `expected`.
pub(super) fn instead_of(rule: &str) -> &'static str {
    match rule {
        "arithmetic" => "a number that is worked out",
        "bad-escape" | "mixed-escapes" => "every backslash in a string doubled",
        "call" => "the arguments alone, without a call around them",
        "chat-token" | "code-fence" | "prose" | "thoughts" => "nothing but one JSON object",
        "colon-form" | "missing-colon" => "`:` after the key",
        "comment" => "no comment",
        "doubled-quotes" | "escaped-quotes" | "other-quotes" | "smart-quotes" | "triple-quotes" => {
            "a string in plain double quotes"
        }
        "early-bracket" | "extra-bracket" => "no closing bracket yet",
        "ellipsis" => "all elements, and no `...`",
        "empty-element" | "extra-comma" => "a value before the comma",
        "escaped-space" | "odd-space" => "plain white space between the values",
        "escaped-text" | "html-entities" => "plain double quotes, not escaped",
        "extra-colon" => "no colon",
        "grouped-digits" => "a number without separators",
        "inner-quote" => "the quotes inside a string escaped as `\\\"`",
        "joined-strings" => "one string, not a sum of several",
        "json-string" => "an object, not a string that holds one",
        "leading-zero" => "a number without leading zeros, or text in double quotes",
        "literal-case" | "python-literal" => "true, false or null in lower case",
        "lone-surrogate" => "a whole Unicode escape",
        "missing-brace" => "`{` before the first key and `}` after the last value",
        "missing-bracket" | "unclosed" => "a closing bracket for every opening one",
        "missing-comma" | "missing-element-comma" => "`,` between two values",
        "missing-quote" => "a `\"` at both ends of the string",
        "missing-value" => "a value after the key",
        "not-a-number" => "a number",
        "number-form" => "a plain number such as 5 or 0.5",
        "radix" => "a number in decimal digits",
        "raw-control" => "an escape for the control character",
        "repeated-value" | "several-values" => "one JSON object, once",
        "set" | "tuple" => "an array in `[` and `]`",
        "stray-text" => "nothing between the values",
        "string-prefix" => "a string without a prefix",
        "trailing-comma" => "no comma after the last value",
        "undefined" => "null, or no such member",
        "unquoted-key" => "the key in double quotes",
        "unquoted-string" => "text in double quotes",
        "wide-punctuation" => "plain ASCII punctuation",
        "wrong-bracket" => "the closing bracket of the same kind",
        _ => "plain JSON",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_of_the_reader_has_its_words() {
        for rule in crate::parse::lenient_rules() {
            assert_ne!(instead_of(rule.name), "plain JSON", "{}", rule.name);
        }
    }
}
