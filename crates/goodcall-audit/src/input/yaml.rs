//! YAML as JSON text: what recorders of HTTP write.

use std::collections::HashMap;
use std::ops::Range;

use goodcall_core::Tree;
use saphyr_parser::{Event, Parser, ScalarStyle};

use super::MOST_RECORD_BYTES;

/// Nesting of a document.
const MOST_DEPTH: usize = 128;

/// Writes the first document of a YAML text as JSON.
///
/// # Errors
/// If it is not YAML, has keys that are not scalars, or is over a limit.
pub(crate) fn yaml_to_json(text: &str) -> Result<String, String> {
    let mut writer = JsonWriter::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| format!("not YAML: {error}"))?;
        let line = span.start.line();
        let written = match event {
            Event::Scalar(value, style, anchor, _) => writer.scalar(&value, style, anchor),
            Event::SequenceStart(anchor, _) => writer.open('[', anchor),
            Event::MappingStart(anchor, _) => writer.open('{', anchor),
            Event::SequenceEnd | Event::MappingEnd => writer.close(),
            Event::Alias(anchor) => writer.alias(anchor),
            Event::DocumentEnd => break,
            _ => Ok(()),
        };
        written.map_err(|what| format!("line {line}: {what}"))?;
    }
    Ok(writer.out)
}

/// A container that is not closed.
struct Open {
    bracket: char,
    count: usize,
    anchor: usize,
    start: usize,
}

/// JSON text as it grows.
#[derive(Default)]
struct JsonWriter {
    out: String,
    open: Vec<Open>,
    /// Where the values with an anchor are in `out`.
    anchors: HashMap<usize, Range<usize>>,
}

impl JsonWriter {
    /// Writes what comes before the next key or value. Returns true before a key.
    fn begin(&mut self) -> Result<bool, &'static str> {
        if self.out.len() > MOST_RECORD_BYTES {
            return Err("longer than 64 MiB");
        }
        let Some(container) = self.open.last_mut() else {
            return Ok(false);
        };
        let count = container.count;
        container.count += 1;
        if container.bracket == '[' {
            self.out.push_str(if count > 0 { "," } else { "" });
            return Ok(false);
        }
        let is_key = count.is_multiple_of(2);
        self.out.push_str(match (is_key, count) {
            (_, 0) => "",
            (true, _) => ",",
            (false, _) => ":",
        });
        Ok(is_key)
    }

    fn scalar(
        &mut self,
        value: &str,
        style: ScalarStyle,
        anchor: usize,
    ) -> Result<(), &'static str> {
        let is_key = self.begin()?;
        let start = self.out.len();
        if is_key || style != ScalarStyle::Plain {
            self.string(value);
        } else {
            match value {
                "" | "~" | "null" | "Null" | "NULL" => self.out.push_str("null"),
                "true" | "True" | "TRUE" => self.out.push_str("true"),
                "false" | "False" | "FALSE" => self.out.push_str("false"),
                number if is_number(number) => self.out.push_str(number),
                text => self.string(text),
            }
        }
        self.remember(anchor, start);
        Ok(())
    }

    fn string(&mut self, text: &str) {
        self.out
            .push_str(&serde_json::Value::from(text).to_string());
    }

    fn remember(&mut self, anchor: usize, start: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, start..self.out.len());
        }
    }

    fn open(&mut self, bracket: char, anchor: usize) -> Result<(), &'static str> {
        if self.begin()? {
            return Err("a key that is not a scalar");
        }
        if self.open.len() >= MOST_DEPTH {
            return Err("nested too deep");
        }
        let start = self.out.len();
        self.out.push(bracket);
        self.open.push(Open {
            bracket,
            count: 0,
            anchor,
            start,
        });
        Ok(())
    }

    fn close(&mut self) -> Result<(), &'static str> {
        let closed = self.open.pop().ok_or("an end without a beginning")?;
        self.out.push(if closed.bracket == '[' { ']' } else { '}' });
        self.remember(closed.anchor, closed.start);
        Ok(())
    }

    fn alias(&mut self, anchor: usize) -> Result<(), &'static str> {
        if self.begin()? {
            return Err("a key that is not a scalar");
        }
        let range = self.anchors.get(&anchor).cloned();
        // A value that refers to itself is not known yet.
        let range = range.ok_or("an unknown alias")?;
        if self.out.len() + range.len() > MOST_RECORD_BYTES {
            return Err("longer than 64 MiB");
        }
        let copy = self.out.get(range).map(str::to_owned);
        self.out.push_str(&copy.ok_or("an unknown alias")?);
        Ok(())
    }
}

/// Returns true for what is a number in JSON, too.
fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) && Tree::parse(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_become_json() {
        let yaml = "a: 1\nb: [x, 'y', \"z\\n\", ~, true, 1.50, 08, 0x1f]\nc: |\n  {\"d\": 1}\n  e\nf: {}\n? g\n: &x {h: no}\ni: *x\n";
        assert_eq!(
            yaml_to_json(yaml).unwrap(),
            r#"{"a":1,"b":["x","y","z\n",null,true,1.50,"08","0x1f"],"c":"{\"d\": 1}\ne\n","f":{},"g":{"h":"no"},"i":{"h":"no"}}"#
        );
    }

    #[test]
    fn aliases_cannot_grow_without_bound() {
        let mut yaml = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*a{}", level - 1);
            let list = vec![before; 10].join(", ");
            yaml += &format!("a{level}: &a{level} [{list}]\n");
        }
        assert_eq!(
            yaml_to_json(&yaml).unwrap_err(),
            "line 8: longer than 64 MiB"
        );
        assert!(yaml_to_json("a: &a [*a]").is_err());
        assert!(yaml_to_json(&"[".repeat(1000)).is_err());
        assert!(yaml_to_json("{[a]: 1}").is_err());
    }
}
