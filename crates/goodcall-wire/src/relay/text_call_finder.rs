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
    /// Thoughts, if they are given apart.
    pub(super) reasoning: String,
    /// Each call with the text that it was, markers included.
    pub(super) calls: Vec<(RawCall, String)>,
}

impl TextCallFinder {
    /// A finder that leaves thoughts in the text.
    pub(super) fn new(tools: &Tools, scope: TextCallScope) -> Self {
        Self::of(Scanner::new(tools.clone(), scope).keep_thoughts())
    }

    /// A finder that gives thoughts apart.
    pub(super) fn with_reasoning(tools: &Tools, scope: TextCallScope) -> Self {
        Self::of(Scanner::new(tools.clone(), scope))
    }

    fn of(scanner: Scanner) -> Self {
        Self {
            scanner: Box::new(scanner),
            scanned: String::new(),
        }
    }

    pub(super) fn push(&mut self, text: &str) -> ScannedText {
        self.scanned.push_str(text);
        let pieces = self.scanner.push(text);
        self.with_sources(pieces)
    }

    pub(super) fn finish(&mut self) -> ScannedText {
        let pieces = self.scanner.finish();
        self.with_sources(pieces)
    }

    /// Adds to each call the text that it was.
    fn with_sources(&mut self, pieces: Vec<TextPiece>) -> ScannedText {
        let mut scanned = ScannedText::default();
        let mut sources = self.scanner.take_sources().into_iter();
        for piece in pieces {
            match piece {
                TextPiece::Text(text) => scanned.text.push_str(&text),
                TextPiece::Reasoning(text) => scanned.reasoning.push_str(&text),
                // The client has read it already.
                TextPiece::TextWasReasoning => {}
                TextPiece::Call(call) => {
                    let source = sources.next().expect("every call has a source");
                    let source = self.scanned[source].to_owned();
                    scanned.calls.push((call, source));
                }
            }
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
