//! Text around the values: fences, tags, chat tokens, prose.

use super::document::Surroundings;
use super::parser::Parser;
use super::rules;
use crate::tree::Kind;

/// The tags around what a model thought before it answered.
const THOUGHTS: [(&str, &str); 4] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<thought>", "</thought>"),
];

impl Parser<'_> {
    /// Skips a line that opens or closes a fence. Returns false if there is none.
    pub(super) fn skip_fence(&mut self) -> bool {
        let (source, at) = (self.source(), self.at());
        let rest = &source.as_str()[at..];
        let mark = if rest.starts_with("```") {
            '`'
        } else if rest.starts_with("~~~") {
            '~'
        } else {
            return false;
        };
        let open = at + rest.len() - rest.trim_start_matches(mark).len();
        let line = open + source.rest_of_line(open, 200).len();
        let Some(info) = source.as_str().get(open..line) else {
            return false;
        };
        let is_word = |b: &u8| b.is_ascii_alphanumeric() || b"_-+.".contains(b);
        let word = info.bytes().take_while(is_word).count();
        let tail = info[word..].trim_start();
        // A value may start on the line of its fence.
        let value_follows = tail.starts_with(['{', '[', '"']) || info.contains(['{', '[']);
        let end = if tail.is_empty() || !value_follows {
            line
        } else {
            open + info.len() - tail.len()
        };
        self.note_and_skip(rules::CODE_FENCE, end - at, "");
        true
    }

    /// Skips `<|token|>`, `<think>…</think>` or `<tool_call>`. Returns false if there is none.
    pub(super) fn skip_tag(&mut self) -> bool {
        let (source, at) = (self.source(), self.at());
        let rest = &source.as_str()[at..];
        if !rest.starts_with('<') {
            return false;
        }
        if let Some((_, close)) = THOUGHTS.iter().find(|(open, _)| rest.starts_with(open)) {
            let end = source.find_end(close, at);
            self.note_and_skip(rules::THOUGHTS, end - at, "");
            return true;
        }
        let near = source.rest_of_line(at, 120);
        let Some(close) = near.iter().position(|b| *b == b'>') else {
            return false;
        };
        let holds_value = near[1..close]
            .iter()
            .any(|b| matches!(b, b'{' | b'[' | b'"'));
        if holds_value && !near.contains(&b'=') {
            return false;
        }
        let rule = if rest.starts_with("<|") {
            rules::CHAT_TOKEN
        } else {
            rules::PROSE
        };
        self.note_and_skip(rule, close + 1, "");
        true
    }

    /// Skips text that is not a value. Returns false if no value comes after it.
    pub(super) fn skip_prose(&mut self) -> bool {
        let (source, start) = (self.source(), self.at());
        let found = self.prose_end(start);
        let is_first = self.roots().ids.is_empty();
        if found.is_none() && is_first {
            return false;
        }
        let end = found.unwrap_or(source.len());
        let kept = start + source.as_str()[start..end].trim_end().len();
        let skipped = &source.as_str()[start..kept];
        let has_members = skipped.contains("\":") || skipped.contains("\" :");
        let stranded = has_members && (!is_first || skipped.contains(['{', '[']));
        if stranded || self.sets_known_key(skipped) {
            // The members belong to no object.
            self.findings_mut().add_stranded(start);
        }
        if !is_first && self.is_rest_of_string(start, kept) {
            self.note_ambiguous(rules::INNER_QUOTE, start..kept);
        }
        self.note(rules::PROSE, start..kept, "");
        self.move_to(end);
        found.is_some()
    }

    /// The next position after `start` where a value, a fence or a thought may start.
    fn prose_end(&self, start: usize) -> Option<usize> {
        let source = self.source();
        let mut at = start;
        while let Some(n) = source.bytes()[at..]
            .iter()
            .position(|b| matches!(b, b'{' | b'[' | b'`' | b'~' | b'<'))
        {
            at += n;
            let rest = &source.as_str()[at..];
            let ends = at > start
                && match source.bytes()[at] {
                    b'{' | b'[' => self.looks_like_container(at, Surroundings::Prose),
                    b'`' | b'~' => rest.starts_with("```") || rest.starts_with("~~~"),
                    _ => THOUGHTS.iter().any(|(open, _)| rest.starts_with(open)),
                };
            if ends {
                return Some(at);
            }
            at += 1;
        }
        None
    }

    /// Returns true if a line of this text, or a part of one up to a comma, gives one of the
    /// schema's keys a value: `page: 5`.
    fn sets_known_key(&self, text: &str) -> bool {
        let keys = self.keys();
        let sets_key = |part: &str| {
            let pair = part.trim().split_once([':', '=']);
            pair.is_some_and(|(key, value)| {
                let key = key
                    .trim_end_matches([' ', '`', '*', '"', '\''])
                    .trim_start_matches(['-', ' ', '`', '*', '"', '\'']);
                !value.trim().is_empty() && keys.contains(key)
            })
        };
        !keys.is_empty() && text.split(['\n', ',']).any(sets_key)
    }

    /// Returns true if the text after a value is the rest of a string that did not end where it
    /// seemed to.
    fn is_rest_of_string(&self, start: usize, end: usize) -> bool {
        let source = self.source();
        let text = &source.as_str()[start..end];
        let closers = ['}', ']'];
        if self.findings().is_requoted() {
            return text.contains('"') || text.contains(closers);
        }
        let tail = text.trim_end_matches(|c: char| closers.contains(&c) || c.is_whitespace());
        let last = self
            .roots()
            .ids
            .last()
            .and_then(|root| self.tree().slot(*root));
        let line = source.as_str()[..start].trim_end().len();
        if last.is_some_and(|slot| slot.kind == Kind::String) && !source.has_newline(line, start) {
            return true;
        }
        let touches_value = matches!(source.byte(start.wrapping_sub(1)), b'}' | b']');
        text.ends_with(closers) && tail.ends_with('"')
            || touches_value && text.starts_with('"') && text.contains(closers)
    }

    /// Returns true if a fence or a tag ends the text here although something is open.
    pub(super) fn at_fence_end(&self, newline: bool) -> bool {
        let rest = &self.source().as_str()[self.at()..];
        (newline && rest.starts_with("```")) || rest.starts_with("</") || rest.starts_with("<|")
    }
}
