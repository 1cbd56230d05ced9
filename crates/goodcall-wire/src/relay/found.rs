//! Calls in streamed text, with the text that they were.

use crate::call::RawCall;
use crate::text::{Scanner, TextCallScope, TextPiece};
use crate::tools::Tools;

/// Finds calls in the text of one message or block.
#[derive(Clone, Debug)]
pub(super) struct Finder {
    /// On the heap: few streams have one.
    scanner: Box<Scanner>,
    scanned: String,
}

/// What more text brought.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// Text that is no call.
    pub(super) text: String,
    /// Calls, each with the text that it was, markers included.
    pub(super) calls: Vec<(RawCall, String)>,
}

impl Finder {
    pub(super) fn new(tools: &Tools, place: TextCallScope) -> Self {
        Self {
            scanner: Box::new(Scanner::new(tools.clone(), place)),
            scanned: String::new(),
        }
    }

    pub(super) fn push(&mut self, text: &str) -> Found {
        let before = self.scanner.done();
        self.scanned.push_str(text);
        let pieces = self.scanner.push(text);
        self.place(before, pieces)
    }

    pub(super) fn finish(&mut self) -> Found {
        let before = self.scanner.done();
        let pieces = self.scanner.finish();
        self.place(before, pieces)
    }

    /// Where each call was: between the texts before and behind it.
    fn place(&self, before: usize, pieces: Vec<TextPiece>) -> Found {
        let size = |piece: &TextPiece| match piece {
            TextPiece::Text(text) => text.len(),
            TextPiece::Call(_) => 0,
        };
        let mut found = Found::default();
        let mut at = before;
        for index in 0..pieces.len() {
            let TextPiece::Call(call) = &pieces[index] else {
                at += size(&pieces[index]);
                continue;
            };
            let end = match pieces.get(index + 1) {
                Some(TextPiece::Call(_)) => call.span.end,
                _ => {
                    let behind: usize = pieces[index + 1..].iter().map(size).sum();
                    let later = pieces[index + 1..].iter().any(|piece| size(piece) == 0);
                    match later {
                        true => call.span.end,
                        false => self.scanner.done().saturating_sub(behind),
                    }
                }
            };
            let end = end.max(at);
            let text = self.scanned.get(at..end).unwrap_or_default().to_owned();
            found.calls.push((call.clone(), text));
            at = end;
        }
        for piece in pieces {
            if let TextPiece::Text(text) = piece {
                found.text.push_str(&text);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_calls_are_all_of_the_text() {
        let tools = Tools::read(r#"{"name": "f", "parameters": {}}"#).unwrap();
        let call = r#"<tool_call>{"name": "f", "arguments": {}}</tool_call>"#;
        for text in [
            format!("a {call} b"),
            format!("{call}{call}"),
            format!("a\n{call}\n{call}"),
        ] {
            for size in [1, 4, 1000] {
                let mut finder = Finder::new(&tools, TextCallScope::Explicit);
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
