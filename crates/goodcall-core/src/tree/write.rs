//! Writing a tree as JSON text, with the same order and the same digits.

use std::fmt;

use super::{Kind, Node, Tree, first_byte};

impl Tree<'_> {
    /// Writes the tree as compact JSON, with members in order and numbers as they were written.
    pub fn to_json(&self) -> String {
        self.root().to_json()
    }
}

impl Node<'_> {
    /// Writes this value as compact JSON, with members in order and numbers as they were written.
    pub fn to_json(self) -> String {
        let mut out = String::with_capacity(self.span().len());
        self.write(&mut out);
        out
    }

    /// Appends this value as compact JSON.
    pub fn write(self, out: &mut String) {
        let slot = self.slot();
        match slot.kind {
            Kind::Null => out.push_str("null"),
            Kind::Boolean => out.push_str(if slot.truth { "true" } else { "false" }),
            Kind::Number => out.push_str(self.tree.text_of(slot)),
            Kind::String => write_string(self.tree.text_of(slot), out),
            Kind::Array => {
                out.push('[');
                for (index, element) in self.elements().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    element.write(out);
                }
                out.push(']');
            }
            Kind::Object => {
                out.push('{');
                for (index, (key, value)) in self.members().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(key, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

impl fmt::Display for Tree<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

impl fmt::Display for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

/// Appends `text` as a JSON string with the fewest escapes.
pub(crate) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    let is_escaped = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    while let Some(at) = first_byte(rest.as_bytes(), is_escaped) {
        let byte = rest.as_bytes()[at];
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            _ => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                out.push_str("\\u00");
                out.push(HEX[usize::from(byte >> 4)].into());
                out.push(HEX[usize::from(byte & 15)].into());
            }
        }
    }
    out.push_str(rest);
    out.push('"');
}

/// Returns the text as a JSON string.
#[doc(hidden)]
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_string(text, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped_like_serde_json() {
        let all: String = (0u8..=127)
            .map(char::from)
            .chain("äöü😀\u{2028}".chars())
            .collect();
        let mut ours = String::new();
        write_string(&all, &mut ours);
        assert_eq!(ours, serde_json::to_string(&all).unwrap());
    }

    #[test]
    fn order_and_digits_are_kept() {
        let text = r#"{"z":1.50,"a":[1e5,-0,{"k":null}],"":true}"#;
        assert_eq!(Tree::parse(text).unwrap().to_json(), text);
    }
}
