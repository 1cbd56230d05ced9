//! Types values that came as bare text by the schema: a declared string stays the same text, byte
//! for byte; anything else is read as its declared type.

use goodcall_core::{Change, JsonType, Level, RuleId, Types};

use super::object_writer::push_string;
use super::python_values::{BareWords, PythonReader};

/// Appends the JSON of `text` for a parameter of these types. Returns a change if the text is not
/// JSON of the declared type as it is.
pub(crate) fn write(text: &str, types: Types, out: &mut String) -> Option<Change> {
    let trimmed = text.trim();
    if types.has(JsonType::String) {
        // The templates of the models write null so; a string of this text is less likely by far.
        if types.has(JsonType::Null) && trimmed == "null" {
            out.push_str(trimmed);
            return Some(change(text, trimmed));
        }
        let from = out.len();
        push_string(text, out);
        // They may be the model's or the value's: they stay, and are named.
        return is_quoted(trimmed).then(|| change(text, &out[from..]));
    }
    if goodcall_core::Tree::parse(trimmed).is_ok() {
        out.push_str(trimmed);
        return None;
    }
    if types.is_empty() {
        push_string(text, out);
        return None;
    }
    let read = literal(trimmed, types)
        .or_else(|| number(trimmed, types))
        .or_else(|| container(trimmed, types));
    let Some(read) = read else {
        // Validation reports the wrong type.
        push_string(text, out);
        return None;
    };
    out.push_str(&read);
    Some(change(text, &read))
}

/// Returns true if a text has one pair of quotes, around all of it.
fn is_quoted(text: &str) -> bool {
    ['"', '\''].iter().any(|quote| {
        let inner = text
            .strip_prefix(*quote)
            .and_then(|rest| rest.strip_suffix(*quote));
        inner.is_some_and(|inner| !inner.contains(*quote))
    })
}

fn change(sent: &str, read: &str) -> Change {
    Change::text(RuleId::UntypedText, Level::Safe, sent, read, 0..0)
}

/// The text of a value between tags: a pair of line ends around it belongs to the tags.
pub(crate) fn trim_line_ends(value: &str) -> &str {
    let between = |end: &str| value.strip_prefix(end)?.strip_suffix(end);
    between("\r\n").or_else(|| between("\n")).unwrap_or(value)
}

/// Reads `True`, `None` and the like.
fn literal(text: &str, types: Types) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let (kind, value) = match lower.as_str() {
        "true" => (JsonType::Boolean, "true"),
        "false" => (JsonType::Boolean, "false"),
        "null" | "none" => (JsonType::Null, "null"),
        _ => return None,
    };
    types.has(kind).then(|| value.to_owned())
}

/// Reads a number with leading zeros or a plus sign.
fn number(text: &str, types: Types) -> Option<String> {
    if !types.has(JsonType::Integer) && !types.has(JsonType::Number) {
        return None;
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let kept = digits.trim_start_matches('0');
    let whole = kept.starts_with(|c: char| c.is_ascii_digit());
    let number = format!("{sign}{}{kept}", if whole { "" } else { "0" });
    let first = digits.starts_with(|c: char| c.is_ascii_digit());
    (first && goodcall_core::Tree::parse(&number).is_ok()).then_some(number)
}

/// Reads a list or an object in Python's notation.
fn container(text: &str, types: Types) -> Option<String> {
    let declared = (types.has(JsonType::Object) && text.starts_with('{'))
        || (types.has(JsonType::Array) && text.starts_with('['));
    if !declared {
        return None;
    }
    let mut reader = PythonReader::new(text, 0);
    let mut out = String::new();
    reader.value(&mut out, BareWords::Refused).ok()?;
    (reader.at == text.len()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_its_declared_type() {
        let typed = |text: &str, names: &[&str]| {
            let types = names.iter().map(|name| Types::named(name));
            let types = types.fold(Types::default(), Types::with);
            let mut out = String::new();
            let changed = write(text, types, &mut out).is_some();
            (out, changed)
        };
        let same = |json: &str| (json.to_owned(), false);
        let read = |json: &str| (json.to_owned(), true);
        assert_eq!(typed("018956", &["string"]), same("\"018956\""));
        assert_eq!(typed("018956", &["integer"]), read("18956"));
        assert_eq!(
            typed("12345678901234567890", &["integer"]),
            same("12345678901234567890")
        );
        assert_eq!(typed(" 5 \n", &["string"]), same("\" 5 \\n\""));
        assert_eq!(typed(" 5 \n", &["integer"]), same("5"));
        assert_eq!(typed("True", &["boolean"]), read("true"));
        assert_eq!(typed("None", &["integer", "null"]), read("null"));
        assert_eq!(typed("null", &["string", "null"]), read("null"));
        assert_eq!(typed("null", &["string"]), same("\"null\""));
        assert_eq!(typed("5", &["integer", "string"]), same("\"5\""));
        assert_eq!(typed("\"Oslo\"", &["string"]), read("\"\\\"Oslo\\\"\""));
        assert_eq!(typed("'a' or 'b'", &["string"]), same("\"'a' or 'b'\""));
        assert_eq!(typed("5", &[]), same("5"));
        assert_eq!(typed("018956", &[]), same("\"018956\""));
        assert_eq!(typed("['a', 1]", &["array"]), read("[\"a\",1]"));
        assert_eq!(typed("many", &["integer"]), same("\"many\""));
        assert_eq!(typed("0", &["number"]), same("0"));
        assert_eq!(typed("000", &["number"]), read("0"));
    }
}
