//! Texts for the menders: sound ones, broken ones, and shapes that make readers slow.

use std::fmt::Write as _;

/// A text that all menders read, in whatever language they are.
pub struct Text {
    pub name: String,
    pub text: String,
    /// What is to be read, as JSON, where there is one reading.
    pub right: Option<String>,
}

/// Bytes of the sizes that a shape is measured at.
pub const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// Shapes by the piece that they repeat: name, start, piece.
pub const SHAPES: [(&str, &str, &str); 8] = [
    ("open brackets", "", "["),
    ("quotes", "", "\""),
    ("quotes inside a text", "{\"a\": \"", "say \"hi\" now "),
    ("missing closing quotes", "{", "\"a\": \"b, "),
    ("open comments", "[", "/* c "),
    ("prose full of braces", "", "see {x} and "),
    ("values in a row", "", "{\"a\":1}"),
    ("backslashes in a text", "{\"a\": \"", "\\"),
];

/// Everything that is measured.
pub fn all() -> Vec<Text> {
    let mut texts = vec![
        text("valid, 300 B", sound(300), Some(300)),
        text("broken, 300 B", broken(300), Some(300)),
        text("broken, 10 KB", broken(10_000), Some(10_000)),
        text("broken, 1 MB", broken(1_000_000), Some(1_000_000)),
    ];
    for (name, start, piece) in SHAPES {
        texts.extend(SIZES.map(|bytes| {
            let shape = format!("{start}{}", piece.repeat(bytes / piece.len()));
            text(&format!("{name}, {} KB", bytes / 1000), shape, None)
        }));
    }
    texts
}

fn text(name: &str, text: String, records: Option<usize>) -> Text {
    Text {
        name: name.to_owned(),
        text,
        right: records.map(sound),
    }
}

/// Sound records, about `bytes` long.
fn sound(bytes: usize) -> String {
    let mut text = String::from("[");
    let mut id = 0;
    while text.len() + 150 < bytes || id == 0 {
        let comma = if id == 0 { "" } else { ", " };
        let _ = write!(
            text,
            "{comma}{{\"id\": {id}, \"name\": \"record number {id}\", \"ok\": true, \"score\": {id}.25, \
             \"text\": \"Some words, and a line\\nmore\", \"tags\": [\"a\", \"bb\", null]}}"
        );
        id += 1;
    }
    text + "]"
}

/// The same records as a model may write them: a fence, Python's words, single quotes, keys
/// without quotes, a comma too many.
fn broken(bytes: usize) -> String {
    let text = sound(bytes)
        .replace("\"name\":", "name:")
        .replace("true", "True")
        .replace("null", "None")
        .replace("\"a\", \"bb\"", "'a', 'bb'")
        .replace("]}", ",]}");
    format!("```json\n{text}\n```")
}
