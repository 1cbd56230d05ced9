//! Text that came without a type, typed by the schema: what is declared a string stays the text
//! that it is, byte for byte; anything else is read as what is declared.

use goodcall_core::{Change, Level, Types};

use super::python_values::quote;

/// Appends the JSON of `text` for a parameter of these types; the change, where the text had to be
/// read as something that it does not look like.
pub(crate) fn write(text: &str, types: Types, out: &mut String) -> Option<Change> {
    if types.has("string") {
        quote(text, out);
        return None;
    }
    let trimmed = text.trim();
    if goodcall_core::Tree::parse(trimmed).is_ok() {
        out.push_str(trimmed);
        return None;
    }
    if types.is_empty() {
        quote(text, out);
        return None;
    }
    let read = spelled(trimmed, types).or_else(|| number(trimmed, types));
    let read = read.or_else(|| container(trimmed, types));
    match read {
        Some(read) => {
            out.push_str(&read);
            let span = 0..0;
            Some(Change::text("untyped-text", Level::Safe, text, read, span))
        }
        // Not of this type in any way: the schema says so.
        None => {
            quote(text, out);
            None
        }
    }
}

/// The text of a value between tags: line ends on both sides belong to the tags.
pub(crate) fn inside(value: &str) -> &str {
    let between = |end: &str| value.strip_prefix(end)?.strip_suffix(end);
    between("\r\n").or_else(|| between("\n")).unwrap_or(value)
}

/// `True`, `None` and the like.
fn spelled(text: &str, types: Types) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let (kind, value) = match lower.as_str() {
        "true" => ("boolean", "true"),
        "false" => ("boolean", "false"),
        "null" | "none" => ("null", "null"),
        _ => return None,
    };
    types.has(kind).then(|| value.to_owned())
}

/// A number with leading zeros or a plus sign: its value, where a number is declared.
fn number(text: &str, types: Types) -> Option<String> {
    if !types.has("integer") && !types.has("number") {
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

/// Something in brackets that is nearly JSON stays as it is, for the reader of arguments.
fn container(text: &str, types: Types) -> Option<String> {
    let declared = (types.has("object") && text.starts_with('{'))
        || (types.has("array") && text.starts_with('['));
    if !declared {
        return None;
    }
    let mut python = super::python_values::Python::new(text, 0);
    let mut out = String::new();
    let read = python.value(&mut out, super::python_values::Words::Refuse);
    (read.is_ok() && python.at == text.len()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declared_type_decides() {
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
        assert_eq!(typed("5", &["integer", "string"]), same("\"5\""));
        assert_eq!(typed("5", &[]), same("5"));
        assert_eq!(typed("018956", &[]), same("\"018956\""));
        assert_eq!(typed("['a', 1]", &["array"]), read("[\"a\",1]"));
        assert_eq!(typed("many", &["integer"]), same("\"many\""));
        assert_eq!(typed("0", &["number"]), same("0"));
        assert_eq!(typed("000", &["number"]), read("0"));
    }
}
