//! The closed list of rule names.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::names::nearest_name;

/// Defines [`RuleId`] from one list of variants and their names.
macro_rules! rule_ids {
    ($($variant:ident => $name:literal,)*) => {
        /// The identity of a rule: which one changed a call, and which one a policy switches.
        ///
        /// Every rule of goodcall has one, those that read calls in text (`goodcall-wire`)
        /// included. The order is that of the names.
        ///
        /// ```
        /// use goodcall_core::RuleId;
        ///
        /// assert_eq!("key-style".parse(), Ok(RuleId::KeyStyle));
        /// assert_eq!(RuleId::KeyStyle.name(), "key-style");
        /// let error = "key-stile".parse::<RuleId>().unwrap_err();
        /// assert_eq!(error.to_string(), "unknown rule `key-stile`: did you mean `key-style`?");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum RuleId {
            $(#[doc = concat!("The rule `", $name, "`.")] $variant,)*
        }

        impl RuleId {
            /// Every rule, in the order of their names.
            pub const ALL: &'static [RuleId] = &[$(RuleId::$variant),*];

            /// The name in kebab case, as policies and reports write it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(RuleId::$variant => $name,)*
                }
            }
        }
    };
}

rule_ids! {
    AnyWrapper => "any-wrapper",
    Arithmetic => "arithmetic",
    ArrayToScalar => "array-to-scalar",
    BadEscape => "bad-escape",
    BareWords => "bare-words",
    Call => "call",
    ChatToken => "chat-token",
    CodeFence => "code-fence",
    ColonForm => "colon-form",
    CommaList => "comma-list",
    Comment => "comment",
    DateNotation => "date-notation",
    DoubledKey => "doubled-key",
    DoubledQuotes => "doubled-quotes",
    DuplicateKey => "duplicate-key",
    EarlyBracket => "early-bracket",
    Ellipsis => "ellipsis",
    EmptyArguments => "empty-arguments",
    EmptyElement => "empty-element",
    EmptyEnum => "empty-enum",
    EmptyFragment => "empty-fragment",
    EmptyOptional => "empty-optional",
    EnumList => "enum-list",
    EnumSpelling => "enum-spelling",
    EnumTypo => "enum-typo",
    EnumWords => "enum-words",
    EscapedQuotes => "escaped-quotes",
    EscapedSpace => "escaped-space",
    EscapedText => "escaped-text",
    ExtraBracket => "extra-bracket",
    ExtraColon => "extra-colon",
    ExtraComma => "extra-comma",
    GroupedDigits => "grouped-digits",
    HtmlEntities => "html-entities",
    IndexedObject => "indexed-object",
    InnerQuote => "inner-quote",
    InnerQuotes => "inner-quotes",
    JoinedStrings => "joined-strings",
    JsonString => "json-string",
    KeyMarkup => "key-markup",
    KeyStyle => "key-style",
    KeyTypo => "key-typo",
    KeyWithValue => "key-with-value",
    KeysDown => "keys-down",
    KeysUp => "keys-up",
    LeadingZero => "leading-zero",
    LiteralCase => "literal-case",
    LoneSurrogate => "lone-surrogate",
    MarkdownEscapes => "markdown-escapes",
    MissingBrace => "missing-brace",
    MissingBracket => "missing-bracket",
    MissingColon => "missing-colon",
    MissingComma => "missing-comma",
    MissingDefault => "missing-default",
    MissingElementComma => "missing-element-comma",
    MissingQuote => "missing-quote",
    MissingValue => "missing-value",
    MixedEscapes => "mixed-escapes",
    NestedArray => "nested-array",
    NoParameters => "no-parameters",
    NotANumber => "not-a-number",
    NullOptional => "null-optional",
    NumberForm => "number-form",
    NumberInText => "number-in-text",
    NumberList => "number-list",
    NumberToString => "number-to-string",
    ObjectToArray => "object-to-array",
    OddSpace => "odd-space",
    OnlyKey => "only-key",
    OtherQuotes => "other-quotes",
    PlainArithmetic => "plain-arithmetic",
    Prose => "prose",
    PythonLiteral => "python-literal",
    PythonObject => "python-object",
    PythonRange => "python-range",
    PythonSum => "python-sum",
    Radix => "radix",
    RawControl => "raw-control",
    RepeatedValue => "repeated-value",
    RootArray => "root-array",
    ScalarToArray => "scalar-to-array",
    SchemaEcho => "schema-echo",
    Set => "set",
    SeveralValues => "several-values",
    SingleElement => "single-element",
    SmartQuotes => "smart-quotes",
    StrayText => "stray-text",
    StringPrefix => "string-prefix",
    StringToBoolean => "string-to-boolean",
    StringToNull => "string-to-null",
    StringToNumber => "string-to-number",
    Stringified => "stringified",
    Thoughts => "thoughts",
    ToolName => "tool-name",
    TrailingComma => "trailing-comma",
    TripleQuotes => "triple-quotes",
    Tuple => "tuple",
    Unclosed => "unclosed",
    Undefined => "undefined",
    UnknownKey => "unknown-key",
    UnquotedKey => "unquoted-key",
    UnquotedString => "unquoted-string",
    UntypedText => "untyped-text",
    WholeNumber => "whole-number",
    WidePunctuation => "wide-punctuation",
    WordToBoolean => "word-to-boolean",
    WrappedArguments => "wrapped-arguments",
    WrongBracket => "wrong-bracket",
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for RuleId {
    type Err = UnknownRule;

    fn from_str(name: &str) -> Result<Self, UnknownRule> {
        match Self::ALL.binary_search_by_key(&name, |rule| rule.name()) {
            Ok(index) => Ok(Self::ALL[index]),
            Err(_) => Err(UnknownRule {
                name: name.to_owned(),
                nearest: nearest_name(name, Self::ALL.iter().map(|rule| rule.name())),
            }),
        }
    }
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for RuleId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

/// The error of parsing a [`RuleId`] from a name that no rule has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRule {
    name: String,
    nearest: Option<String>,
}

impl UnknownRule {
    /// The name that was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the most similar rule, if one is similar enough to be meant.
    pub fn nearest(&self) -> Option<&str> {
        self.nearest.as_deref()
    }
}

impl fmt::Display for UnknownRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown rule `{}`", self.name)?;
        match &self.nearest {
            Some(nearest) => write!(f, ": did you mean `{nearest}`?"),
            // Over a hundred names, none of them similar, would hide the mistake.
            None => f.write_str(": expected one of those that `goodcall rules` lists"),
        }
    }
}

impl std::error::Error for UnknownRule {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_unique_and_kebab_case() {
        for pair in RuleId::ALL.windows(2) {
            assert!(pair[0].name() < pair[1].name(), "{pair:?}");
        }
        for rule in RuleId::ALL {
            let name = rule.name();
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'));
            assert_eq!(name.parse(), Ok(*rule));
        }
    }

    #[test]
    fn name_like_no_rule_is_told_where_the_rules_are_listed() {
        let error = "xyz".parse::<RuleId>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown rule `xyz`: expected one of those that `goodcall rules` lists"
        );
    }
}
