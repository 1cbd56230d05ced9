//! JSON values one after the other, or the elements of one array, without the whole file in memory.

use std::io::{self, Read};

use super::MOST_RECORD_BYTES;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 16;

/// Splits an input into its JSON values. Only brackets and strings are looked at: whether a value is
/// JSON is for its reader to say.
pub(crate) struct JsonValues<R> {
    input: R,
    chunk: Vec<u8>,
    at: usize,
    /// True inside the array that the values are elements of.
    in_array: bool,
    is_first: bool,
}

/// Why there is no next value.
#[derive(Debug)]
pub(crate) enum ValueError {
    Io(io::Error),
    /// A value is longer than the limit.
    TooLong,
    /// The input ends inside a value, or something else stands where a value is due.
    Broken,
}

impl<R: Read> JsonValues<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            chunk: Vec::new(),
            at: 0,
            in_array: false,
            is_first: true,
        }
    }

    fn peek(&mut self) -> Result<Option<u8>, ValueError> {
        if self.at == self.chunk.len() {
            self.chunk.clear();
            self.at = 0;
            let part = (&mut self.input).take(CHUNK_BYTES as u64);
            let mut part = part;
            part.read_to_end(&mut self.chunk).map_err(ValueError::Io)?;
        }
        Ok(self.chunk.get(self.at).copied())
    }

    /// Passes over what may stand before a value, and returns its first byte.
    fn start(&mut self) -> Result<Option<u8>, ValueError> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                // The mark of byte order.
                Some(0xef | 0xbb | 0xbf) if self.is_first => self.at += 1,
                Some(b'[') if self.is_first => {
                    self.at += 1;
                    (self.in_array, self.is_first) = (true, false);
                }
                Some(b',') if self.in_array => self.at += 1,
                Some(b']') if self.in_array => {
                    self.at += 1;
                    self.in_array = false;
                }
                other => {
                    self.is_first = false;
                    return Ok(other);
                }
            }
        }
    }

    /// Returns the bytes of the next value, or `None` at the end.
    pub(crate) fn next_value(&mut self) -> Result<Option<Vec<u8>>, ValueError> {
        let Some(first) = self.start()? else {
            return Ok(None);
        };
        let mut value = Vec::new();
        if !matches!(first, b'{' | b'[') {
            return self.scalar(value).map(Some);
        }
        let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
        loop {
            let Some(byte) = self.peek()? else {
                return Err(ValueError::Broken);
            };
            self.at += 1;
            value.push(byte);
            if value.len() > MOST_RECORD_BYTES {
                return Err(ValueError::TooLong);
            }
            if in_string {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' => escaped = true,
                    b'"' => in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => in_string = true,
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(Some(value));
                    }
                }
                _ => {}
            }
        }
    }

    /// A number, a word or a string, which ends where the next value may begin.
    fn scalar(&mut self, mut value: Vec<u8>) -> Result<Vec<u8>, ValueError> {
        let (mut in_string, mut escaped) = (false, false);
        while let Some(byte) = self.peek()? {
            let ends = matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b']');
            if ends && !in_string {
                break;
            }
            if value.len() >= MOST_RECORD_BYTES {
                return Err(ValueError::TooLong);
            }
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_string => escaped = true,
                b'"' => in_string = !in_string,
                _ => {}
            }
            value.push(byte);
            self.at += 1;
        }
        if value.is_empty() || in_string {
            return Err(ValueError::Broken);
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<String>, bool) {
        let mut values = JsonValues::new(text.as_bytes());
        let mut found = Vec::new();
        loop {
            match values.next_value() {
                Ok(Some(value)) => found.push(String::from_utf8(value).unwrap()),
                Ok(None) => return (found, true),
                Err(_) => return (found, false),
            }
        }
    }

    #[test]
    fn values_are_split_by_their_brackets() {
        let values = |text| {
            let (found, whole) = read(text);
            assert!(whole, "{text}");
            found
        };
        assert_eq!(
            values("{\"a\": \"}\\\"\"}\n{\"b\":[1]}"),
            ["{\"a\": \"}\\\"\"}", "{\"b\":[1]}"]
        );
        assert_eq!(
            values("[{\"a\":1},\n {\"b\":[2]}, 5, \"x]\"]"),
            ["{\"a\":1}", "{\"b\":[2]}", "5", "\"x]\""]
        );
        assert_eq!(values("\u{feff} [ ]"), Vec::<String>::new());
        assert_eq!(values(""), Vec::<String>::new());
    }

    #[test]
    fn broken_value_ends_the_file() {
        assert_eq!(
            read("{\"a\":1} {\"b\":"),
            (vec!["{\"a\":1}".to_owned()], false)
        );
        assert_eq!(read("]"), (vec![], false));
        assert_eq!(read("[1, \"x"), (vec!["1".to_owned()], false));
    }
}
