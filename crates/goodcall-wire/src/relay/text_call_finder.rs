//! Finds calls in streamed text, and keeps the text that each call was.

use crate::call::RawCall;
use crate::text::{Scanner, TextCallScope, TextPiece};
use crate::tools::Tools;

/// Finds calls in the text of one message or block.
#[derive(Clone, Debug)]
pub(super) struct TextCallFinder {
    /// Boxed because it is large and few streams have one.
    scanner: Box<Scanner>,
    scanned: String,
}

/// The text and the calls that more input released.
#[derive(Clone, Debug, Default)]
pub(super) struct ScannedText {
    /// Text outside calls.
    pub(super) text: String,
    /// Each call with the text that it was, markers included.
    pub(super) calls: Vec<(RawCall, String)>,
}

impl TextCallFinder {
    pub(super) fn new(tools: &Tools, scope: TextCallScope) -> Self {
        Self {
            scanner: Box::new(Scanner::new(tools.clone(), scope).keep_thoughts()),
            scanned: String::new(),
        }
    }

    pub(super) fn push(&mut self, text: &str) -> ScannedText {
        let before = self.scanner.done();
        self.scanned.push_str(text);
        let pieces = self.scanner.push(text);
        self.with_sources(before, pieces)
    }

    pub(super) fn finish(&mut self) -> ScannedText {
        let before = self.scanner.done();
        let pieces = self.scanner.finish();
        self.with_sources(before, pieces)
    }

    /// Adds to each call the text that it was: all between the texts before and after it.
    fn with_sources(&self, before: usize, pieces: Vec<TextPiece>) -> ScannedText {
        let size = |piece: &TextPiece| match piece {
            TextPiece::Text(text) => text.len(),
            _ => 0,
        };
        let mut scanned = ScannedText::default();
        let mut at = before;
        for (index, piece) in pieces.iter().enumerate() {
            let call = match piece {
                TextPiece::Text(text) => {
                    scanned.text.push_str(text);
                    at += text.len();
                    continue;
                }
                TextPiece::Call(call) => call,
                _ => continue,
            };
            let after = &pieces[index + 1..];
            let is_last_call = !after
                .iter()
                .any(|piece| matches!(piece, TextPiece::Call(_)));
            let end = if is_last_call {
                let behind: usize = after.iter().map(size).sum();
                self.scanner.done().saturating_sub(behind)
            } else {
                call.span.end
            };
            let end = end.max(at);
            let source = self.scanned.get(at..end).unwrap_or_default();
            scanned.calls.push((call.clone(), source.to_owned()));
            at = end;
        }
        scanned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_calls_add_up_to_the_whole_text() {
        let tools = Tools::read(r#"{"name": "f", "parameters": {}}"#).unwrap();
        let call = r#"<tool_call>{"name": "f", "arguments": {}}</tool_call>"#;
        for text in [
            format!("a {call} b"),
            format!("{call}{call}"),
            format!("a\n{call}\n{call}"),
        ] {
            for size in [1, 4, 1000] {
                let mut finder = TextCallFinder::new(&tools, TextCallScope::Explicit);
                let mut bytes = 0;
                let mut calls = 0;
                let chars: Vec<char> = text.chars().collect();
                let mut all: Vec<_> = chars
                    .chunks(size)
                    .map(|part| part.iter().collect::<String>())
                    .collect();
                all.push(String::new());
                for (index, part) in all.iter().enumerate() {
                    let found = if index + 1 == all.len() {
                        finder.finish()
                    } else {
                        finder.push(part)
                    };
                    bytes += found.text.len();
                    bytes += found
                        .calls
                        .iter()
                        .map(|(_, text)| text.len())
                        .sum::<usize>();
                    calls += found.calls.len();
                }
                assert_eq!(
                    (bytes, calls),
                    (text.len(), text.matches("\"f\"").count()),
                    "{text} by {size}"
                );
            }
        }
    }
}
