//! Phrases that the styles share: places, types, what is expected.

use super::{pattern_words, syntax_hints};
use crate::report::{Bound, Expected, ExpectedArray, JsonType, Key, Types};
use crate::snippet::clip;
use crate::tree::Pointer;

/// How many allowed values a text lists.
pub(super) const MOST_VALUES: usize = 12;

/// A place as models write it: `edits[1].path`; `the arguments` for the root.
pub(super) fn path(pointer: &Pointer) -> String {
    let mut out = String::new();
    for segment in pointer.segments() {
        push_segment(&segment, &mut out);
    }
    if pointer.is_root() {
        out.push_str("the arguments");
    }
    out
}

/// Appends one step of a path: `.name`, or `[3]` for an index.
pub(super) fn push_segment(segment: &str, out: &mut String) {
    if !segment.is_empty() && segment.bytes().all(|b| b.is_ascii_digit()) {
        out.push('[');
        out.push_str(segment);
        out.push(']');
        return;
    }
    if !out.is_empty() {
        out.push('.');
    }
    // Blanks at the ends of a key would not be seen.
    if segment.is_empty() || segment.trim() != segment {
        out.push('"');
        out.push_str(segment);
        out.push('"');
    } else {
        out.push_str(segment);
    }
}

/// Joins parts with `or`: `a`, `a or b`, `a, b or c`.
pub(super) fn either<S: AsRef<str>>(parts: &[S]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [init @ .., last] => {
            let init: Vec<_> = init.iter().map(AsRef::as_ref).collect();
            format!("{} or {}", init.join(", "), last.as_ref())
        }
    }
}

/// Joins parts with `and`: `a`, `a and b`, `a, b and c`.
pub(super) fn all(parts: &[String]) -> String {
    match parts {
        [init @ .., last] if !init.is_empty() => format!("{} and {last}", init.join(", ")),
        parts => parts.concat(),
    }
}

/// Puts the article before the name of a type.
pub(super) fn with_article(name: &str) -> String {
    match name {
        "null" => name.to_owned(),
        "integer" | "array" | "object" => format!("an {name}"),
        _ => format!("a {name}"),
    }
}

/// Lists allowed values, at most [`MOST_VALUES`] of them.
pub(super) fn values(allowed: &[String]) -> String {
    listed(allowed, "or")
}

/// Lists values with this word before the last, at most [`MOST_VALUES`] of them.
pub(super) fn listed(values: &[String], word: &str) -> String {
    let (shown, left) = values.split_at(values.len().min(MOST_VALUES));
    match (shown, left) {
        ([], _) => String::new(),
        ([only], []) => only.clone(),
        ([init @ .., last], []) => format!("{} {word} {last}", init.join(", ")),
        (shown, left) => format!("{} {word} {} more", shown.join(", "), left.len()),
    }
}

/// Describes what the schema expects: `an integer from 1 to 100`.
pub fn expected(expected: &Expected) -> String {
    if let Some(wanted) = expected.syntax {
        return wanted.to_string();
    }
    if let Some(rule) = expected.rule {
        return syntax_hints::instead_of(rule).to_owned();
    }
    if !expected.alternatives.is_empty() {
        let parts: Vec<_> = expected.alternatives.iter().map(self::expected).collect();
        return parts.join("; or ");
    }
    if !expected.allowed.is_empty() {
        return values(&expected.allowed);
    }
    match (described(expected), &expected.prose.words) {
        (some, _) if !some.is_empty() => some,
        (_, Some(words)) => words.clone(),
        _ => anything(expected),
    }
}

/// Describes a place that takes any value, with the description of the schema. Its examples are not
/// told, because models send them.
fn anything(expected: &Expected) -> String {
    match &expected.prose.about {
        None => "any value".to_owned(),
        Some(about) => format!("any value, {about}"),
    }
}

/// Describes the type, its details, whether null is allowed, and the elements of an array.
fn described(expected: &Expected) -> String {
    let details = details(expected);
    let null = expected.types.has(JsonType::Null);
    let sized = expected.types.has(JsonType::Object) && !details.is_empty();
    let mut names = types(expected, !sized);
    if null && details.is_empty() {
        names.push("null".to_owned());
    }
    let mut out = either(&names);
    if names.is_empty() && !details.is_empty() {
        let bounded = expected.number.minimum.is_some() || expected.number.maximum.is_some();
        let number = bounded || expected.number.multiple_of.is_some();
        out.push_str(if number { "a number" } else { "a value" });
    }
    for detail in &details {
        out.push(' ');
        out.push_str(detail);
    }
    if sized && let Some(keys) = keys(expected) {
        out.push_str(&keys);
    }
    // After the details, because none is about null.
    if null && !details.is_empty() {
        out.push_str(" or null");
    }
    if expected.types.has(JsonType::Array)
        && let Some(element) = &expected.array.element
        && plain_elements(element).is_none()
    {
        out.push_str(&format!(", each element {}", self::expected(element)));
    }
    if expected.types.has(JsonType::Array) && !expected.array.first.is_empty() {
        let each: Vec<_> = expected.array.first.iter().map(self::expected).collect();
        out.push_str(&format!(" (first {})", each.join(", then ")));
    }
    out
}

/// Names the types without null, and lists the keys of an object if `with_keys` is set.
fn types(expected: &Expected, with_keys: bool) -> Vec<String> {
    let mut wanted = expected.types.without(Types::of(JsonType::Null));
    if wanted.is_empty() && !expected.object.keys.is_empty() {
        wanted = Types::of(JsonType::Object);
    }
    let name = |name| match name {
        "array" => match expected.array.element.as_deref().and_then(plain_elements) {
            Some(item) => format!("an array of {item}s"),
            None => with_article(name),
        },
        "object" if with_keys => with_article(name) + &keys(expected).unwrap_or_default(),
        "string" => named_string(expected).map_or_else(|| with_article(name), str::to_owned),
        name => with_article(name),
    };
    wanted.names().map(name).collect()
}

/// Lists the keys of an object, to stand after `an object`: ` with path (string) and mode`.
fn keys(expected: &Expected) -> Option<String> {
    let named = |keys: &[Key]| keys.iter().map(key).collect::<Vec<_>>();
    match (&expected.object.keys[..], &expected.object.may_have[..]) {
        ([], []) => None,
        ([], some) => Some(format!(" with any of {}", named(some).join(", "))),
        (all, _) => Some(format!(" with {}", self::all(&named(all)))),
    }
}

/// Returns the type of elements that have no other requirement.
fn plain_elements(element: &Expected) -> Option<&'static str> {
    let plain = Expected {
        types: element.types,
        array: ExpectedArray {
            items: element.array.items,
            ..ExpectedArray::default()
        },
        ..Expected::default()
    };
    let name = element.types.names().next()?;
    (*element == plain && element.types.len() == 1).then_some(name)
}

/// Writes one key in a list of keys: `path (string)`, `kind "circle"`.
pub(super) fn key(key: &Key) -> String {
    let types: Vec<_> = key.types.names().collect();
    match (&key.allowed[..], &types[..]) {
        ([], []) => key.name.clone(),
        ([], types) if types.len() > 3 => key.name.clone(),
        ([], types) => format!("{} ({})", key.name, either(types)),
        ([only], _) => format!("{} {only}", key.name),
        (values, _) => format!("{} ({})", key.name, either(values)),
    }
}

fn details(expected: &Expected) -> Vec<String> {
    let mut out = Vec::new();
    out.extend(range(
        expected.number.minimum.as_ref(),
        expected.number.maximum.as_ref(),
    ));
    if let Some(multiple) = &expected.number.multiple_of {
        out.push(format!("that is a multiple of {multiple}"));
    }
    out.extend(size(expected));
    let types = expected.types;
    let text = types.is_empty() || types.has(JsonType::String);
    let format = expected.string.format.as_deref().filter(|_| text);
    match format {
        Some(format) if named_format(format).is_none() || !types.has(JsonType::String) => {
            out.push(format!("in the format {format}"));
        }
        _ => {}
    }
    // A format says what its pattern means in fewer words.
    if let (Some(pattern), None) = (&expected.string.pattern, format)
        && named_string(expected).is_none()
    {
        out.push(match pattern_words::in_words(pattern) {
            Some(words) => format!("made of {words}"),
            None => format!("that matches {}", clip(pattern, PATTERN_CHARS)),
        });
    }
    out
}

/// The characters of a pattern that are told.
const PATTERN_CHARS: usize = 100;

/// Writes a range of numbers: `from 1 to 100`, `of at least 1`, `greater than 0`.
fn range(minimum: Option<&Bound>, maximum: Option<&Bound>) -> Option<String> {
    let told = |bound: &&Bound| !MACHINE_BOUNDS.contains(&bound.limit.trim_start_matches('-'));
    let (minimum, maximum) = (minimum.filter(told), maximum.filter(told));
    match (minimum, maximum) {
        (Some(least), Some(most)) if least == most && !least.exclusive => {
            Some(format!("equal to {}", least.limit))
        }
        (Some(least), Some(most)) if !least.exclusive && !most.exclusive => {
            Some(format!("from {} to {}", least.limit, most.limit))
        }
        (None, None) => None,
        (least, most) => {
            let least = least.map(|bound| {
                if bound.exclusive {
                    format!("greater than {}", bound.limit)
                } else {
                    format!("of at least {}", bound.limit)
                }
            });
            let most = most.map(|bound| {
                if bound.exclusive {
                    format!("less than {}", bound.limit)
                } else {
                    format!("of at most {}", bound.limit)
                }
            });
            let parts: Vec<_> = least.into_iter().chain(most).collect();
            Some(parts.join(" and "))
        }
    }
}

/// Bounds of number types, which generators write into every schema and no model meets.
const MACHINE_BOUNDS: [&str; 3] = [
    "9007199254740991",
    "9223372036854775807",
    "9223372036854775808",
];

/// Writes a range of lengths: `of 1 to 5 elements`, `of at most 10 characters`.
fn size(expected: &Expected) -> Option<String> {
    let unit = sized_unit(expected.types);
    let one = |n: u64| match n {
        1 => unit.trim_end_matches('s').to_owned(),
        _ => unit.to_owned(),
    };
    Some(match expected.size {
        (None, None) => return None,
        (Some(least), Some(most)) if least == most => format!("of {least} {}", one(least)),
        (Some(least), Some(most)) => format!("of {least} to {most} {unit}"),
        (Some(least), None) => format!("of at least {least} {}", one(least)),
        (None, Some(most)) => format!("of at most {most} {}", one(most)),
    })
}

fn sized_unit(types: Types) -> &'static str {
    if types.has(JsonType::Array) {
        "elements"
    } else if types.has(JsonType::Object) {
        "keys"
    } else {
        "characters"
    }
}

/// What a string in a format is, or one in the notation that its pattern describes.
fn named_string(expected: &Expected) -> Option<&'static str> {
    match (&expected.string.format, &expected.string.pattern) {
        (Some(format), _) => named_format(format),
        (None, Some(pattern)) => pattern_words::notation(pattern),
        (None, None) => None,
    }
}

/// What a string in a format is.
fn named_format(format: &str) -> Option<&'static str> {
    Some(match format {
        "date-time" => "a date and time written YYYY-MM-DDThh:mm:ss with its time zone",
        "date" => "a date written YYYY-MM-DD",
        "time" => "a time written hh:mm:ss with its time zone",
        "duration" => "a duration of ISO 8601",
        "email" | "idn-email" => "an email address",
        "uri" | "url" | "iri" => "a URL",
        "uuid" => "a UUID",
        "ipv4" => "an IPv4 address",
        "ipv6" => "an IPv6 address",
        "hostname" | "idn-hostname" => "a host name",
        "emoji" => "an emoji",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{View, describe};

    #[test]
    fn expectations_in_words() {
        for (schema, words) in [
            (r#"{"type": "string"}"#, "a string"),
            (r#"{"type": ["string", "null"]}"#, "a string or null"),
            (
                r#"{"type": "integer", "minimum": 1, "maximum": 100}"#,
                "an integer from 1 to 100",
            ),
            (
                r#"{"type": ["integer", "null"], "minimum": 1}"#,
                "an integer of at least 1 or null",
            ),
            (
                r#"{"type": "number", "exclusiveMinimum": 0}"#,
                "a number greater than 0",
            ),
            (
                r#"{"type": "array", "items": {"type": "string"}, "minItems": 1}"#,
                "an array of strings of at least 1 element",
            ),
            (
                r#"{"type": "string", "maxLength": 10}"#,
                "a string of at most 10 characters",
            ),
            (
                r#"{"type": "string", "format": "date"}"#,
                "a date written YYYY-MM-DD",
            ),
            (r#"{"enum": ["a", "b", 3]}"#, r#""a", "b" or 3"#),
            (
                r#"{"anyOf": [{"type": "string"}, {"type": "integer"}]}"#,
                "a string or an integer",
            ),
            (r#"{"maximum": 9}"#, "a number of at most 9"),
            (
                r#"{"type": "integer", "minimum": 1, "maximum": 9007199254740991}"#,
                "an integer of at least 1",
            ),
            (
                r#"{"type": "string", "format": "email", "pattern": "^.+@.+$"}"#,
                "an email address",
            ),
            (r#"{"type": "integer", "format": "uint32"}"#, "an integer"),
            (r#"{"format": "date"}"#, "a value in the format date"),
        ] {
            assert_eq!(words_of(schema), words);
        }
    }

    fn words_of(schema: &str) -> String {
        let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
        expected(&describe(View::root(&schema)))
    }

    #[test]
    fn parts_in_words() {
        for (schema, words) in [
            (
                r#"{"type": "object", "required": ["kind", "r"], "properties": {"kind": {"const": "circle"}}}"#,
                r#"an object with kind "circle" and r"#,
            ),
            (
                r#"{"type": "array", "items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}}"#,
                "an array, each element an object with a (string)",
            ),
            (
                r#"{"type": "array", "items": {"enum": ["a", "b"]}}"#,
                r#"an array, each element "a" or "b""#,
            ),
            (
                r#"{"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}"#,
                "an integer of at least 1 or null",
            ),
            (
                r#"{"anyOf": [{"enum": ["all", "none"]}, {"type": "integer"}]}"#,
                r#""all" or "none"; or an integer"#,
            ),
            (
                r#"{"anyOf": [{"enum": ["all"]}, {"type": "null"}]}"#,
                r#""all" or null"#,
            ),
            (
                r#"{"examples": ["a", 5], "description": "x"}"#,
                "any value, x",
            ),
            (r#"{"title": "The colour"}"#, "any value, The colour"),
            ("{}", "any value"),
        ] {
            assert_eq!(words_of(schema), words);
        }
    }

    #[test]
    fn places() {
        let path = |text| super::path(&Pointer::parse(text).unwrap());
        assert_eq!(path("/edits/1/path"), "edits[1].path");
        assert_eq!(path("/0/1"), "[0][1]");
        assert_eq!(path("/a/ b/"), "a.\" b\".\"\"");
        assert_eq!(path(""), "the arguments");
    }
}
