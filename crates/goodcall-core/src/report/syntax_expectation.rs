//! What the JSON grammar wants at the place of a syntax error.

/// What should have stood at the place of the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SyntaxExpectation {
    /// A value.
    Value,
    /// A key in double quotes, or the end of the object.
    KeyOrEnd,
    /// A key in double quotes (after a comma).
    Key,
    /// The colon between key and value.
    Colon,
    /// A comma, or the end of the object.
    CommaOrBrace,
    /// A comma, or the end of the array.
    CommaOrBracket,
    /// The end of the text.
    End,
    /// The closing quote of a string.
    Quote,
    /// An escape for a control character inside a string.
    EscapedControl,
    /// A valid escape sequence.
    Escape,
    /// Digits of a number.
    Digit,
    /// The whole of a number that lacks digits.
    Number,
    /// What was cut off.
    Rest,
    /// UTF-8.
    Utf8,
    /// At most this much nesting.
    Depth(usize),
    /// At most this many bytes.
    Bytes(usize),
    /// At most this many departures from JSON.
    Changes(usize),
}
