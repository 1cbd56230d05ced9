//! Fields, as failures are counted by: pointers in which every index is `*`.

use std::borrow::Cow;

use goodcall_core::Pointer;

/// The pattern of a pointer: `/edits/0/path` is `/edits/*/path`.
pub(super) fn pattern(pointer: &Pointer) -> Cow<'_, str> {
    let text = pointer.as_str();
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for segment in text.split('/').skip(1) {
        let is_index = !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
        out.push('/');
        out.push_str(if is_index { "*" } else { segment });
    }
    Cow::Owned(out)
}

/// The pattern of a field that is written with dots: `edits[0].path`.
pub(super) fn from_dotted(field: &str) -> String {
    let mut out = String::new();
    for part in field.split('.').filter(|part| !part.is_empty()) {
        let (name, indices) = part.split_once('[').unwrap_or((part, ""));
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            out.push_str(if name.is_empty() { "" } else { "/*" });
        } else {
            out.push('/');
            out.push_str(&name.replace('~', "~0").replace('/', "~1"));
        }
        out.push_str(&"/*".repeat(indices.matches(']').count()));
    }
    out
}

/// The pattern as people read it: `edits[].path`; the whole call for the root.
pub(crate) fn dotted(pattern: &str) -> String {
    let mut out = String::new();
    for segment in pattern.split('/').skip(1) {
        if segment == "*" {
            out.push_str("[]");
            continue;
        }
        if !out.is_empty() {
            out.push('.');
        }
        out.push_str(&segment.replace("~1", "/").replace("~0", "~"));
    }
    out
}

/// The places in a schema that declare a field: as a property, or as an item of one.
pub(crate) fn schema_places(pattern: &str) -> String {
    let mut out = String::new();
    for segment in pattern.split('/').skip(1) {
        if segment == "*" {
            out.push_str("/items");
        } else {
            out.push_str("/properties/");
            out.push_str(segment);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_one_field() {
        let pointer = Pointer::parse("/edits/12/path").unwrap();
        assert_eq!(pattern(&pointer), "/edits/*/path");
        assert_eq!(from_dotted("edits[12].path"), "/edits/*/path");
        assert_eq!(from_dotted("edits.12.path"), "/edits/*/path");
        assert_eq!(from_dotted(""), "");
        assert_eq!(dotted("/edits/*/path"), "edits[].path");
        assert_eq!(dotted(""), "");
        assert_eq!(
            schema_places("/edits/*/path"),
            "/properties/edits/items/properties/path"
        );
        assert_eq!(pattern(&Pointer::root()), "");
        assert_eq!(pattern(&Pointer::parse("/a1/b").unwrap()), "/a1/b");
    }
}
