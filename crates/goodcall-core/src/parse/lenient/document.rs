//! Around the value: fences, prose, chat tokens, and one value after another.

use super::parser::{Opener, Parser, ParserState};
use super::rules;
use crate::parse::error::ParseError;
use crate::parse::{Cut, CutKind};
use crate::tree::Kind;

/// Tags around what a model thought before it answered.
const THOUGHTS: [(&str, &str); 4] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<thought>", "</thought>"),
];

impl Parser<'_> {
    /// Reads every value in the text.
    pub(super) fn document(&mut self) -> Result<(), ParseError> {
        while self.lead() {
            let before = (self.at, self.roots.len());
            self.root()?;
            if (self.at, self.roots.len()) == before {
                let next = self.text[self.at..].chars().next();
                self.at += next.map_or(1, char::len_utf8);
            }
        }
        self.end_dropped();
        Ok(())
    }

    /// `{{"a": 1}`: the bracket that was dropped has no partner, so the text may have been cut off.
    fn end_dropped(&mut self) {
        if self.dropped > 0 && self.cut.is_none() {
            self.cut = Some(Cut {
                kind: CutKind::Brackets,
                root: self.roots.len().saturating_sub(1),
                ..Cut::at_root(self.bytes.len())
            });
        }
    }

    /// Goes to the next value; `false` if there is none.
    fn lead(&mut self) -> bool {
        let mut fresh = self.roots.is_empty();
        // Nothing but white space and commas since the last value.
        let mut near = !fresh;
        loop {
            near |= self.gap() && !fresh;
            let Some(byte) = self.peek() else {
                return false;
            };
            if self.skip_fence() {
                fresh = true;
                continue;
            }
            if self.skip_tag() {
                continue;
            }
            if near && !fresh && self.scalar_alone() {
                return true;
            }
            match byte {
                b'{' | b'[' if self.looks_right(self.at, !fresh && !near) => return true,
                b'"' | b'\'' | b'(' | b'0'..=b'9' | b'-' | b'+'
                    if (fresh || near) && self.scalar_root() =>
                {
                    return true;
                }
                b',' | b';' | b'}' | b']' | b')' if !self.roots.is_empty() => {
                    let rule = if matches!(byte, b',' | b';') {
                        rules::SEVERAL_COMMA
                    } else {
                        self.dropped = self.dropped.saturating_sub(1);
                        rules::EXTRA_BRACKET
                    };
                    if self.requoted && rule == rules::EXTRA_BRACKET {
                        self.doubt(rules::INNER_QUOTE, self.at..self.at + 1);
                    }
                    self.note(rule, self.at..self.at + 1, "");
                    self.at += 1;
                    continue;
                }
                0x80.. if fresh && (self.opening_quote().is_some() || self.wide_opener()) => {
                    return true;
                }
                b'\\' if fresh && self.opening_quote().is_some() => return true,
                _ if fresh && self.word_root() => return true,
                _ => {}
            }
            if !self.skip_prose() {
                return false;
            }
            fresh = true;
        }
    }

    /// The rest of the line from here, at most this many bytes of it.
    fn near(&self, from: usize, most: usize) -> &[u8] {
        let rest = &self.bytes[from.min(self.bytes.len())..];
        let rest = &rest[..rest.len().min(most)];
        let line = rest.iter().position(|b| *b == b'\n');
        &rest[..line.unwrap_or(rest.len())]
    }

    /// Does a foreign form of an opening bracket stand here?
    fn wide_opener(&self) -> bool {
        matches!(self.wide(), Some((b'{' | b'[' | b'(', _)))
    }

    /// A fence line, opening or closing.
    fn skip_fence(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let mark = if rest.starts_with("```") {
            '`'
        } else if rest.starts_with("~~~") {
            '~'
        } else {
            return false;
        };
        let ticks = rest.len() - rest.trim_start_matches(mark).len();
        let open = self.at + ticks;
        let line = open + self.near(open, 200).len();
        let Some(info) = self.text.get(open..line) else {
            return false;
        };
        let word = info
            .bytes()
            .take_while(|b| b.is_ascii_alphanumeric() || b"_-+.".contains(b))
            .count();
        let tail = info[word..].trim_start();
        let end = if tail.is_empty()
            || !tail.starts_with(['{', '[', '"']) && !info.contains(['{', '['])
        {
            line
        } else {
            open + info.len() - tail.len()
        };
        self.note(rules::CODE_FENCE, self.at..end, "");
        self.at = end;
        true
    }

    /// `<|token|>`, `<think>…</think>`, `<tool_call>`.
    fn skip_tag(&mut self) -> bool {
        let rest = &self.text[self.at..];
        if !rest.starts_with('<') {
            return false;
        }
        for (open, close) in THOUGHTS {
            if rest.starts_with(open) {
                let end = self.find_from(close, self.at);
                self.note(rules::THOUGHTS, self.at..end, "");
                self.at = end;
                return true;
            }
        }
        let near = self.near(self.at, 120);
        let Some(close) = near.iter().position(|b| *b == b'>') else {
            return false;
        };
        if near[1..close]
            .iter()
            .any(|b| matches!(b, b'{' | b'[' | b'"'))
            && !near.contains(&b'=')
        {
            return false;
        }
        let end = self.at + close + 1;
        let rule = if rest.starts_with("<|") {
            rules::CHAT_TOKEN
        } else {
            rules::PROSE
        };
        self.note(rule, self.at..end, "");
        self.at = end;
        true
    }

    /// Could a container start at this bracket?
    fn looks_right(&self, at: usize, in_prose: bool) -> bool {
        let next = self.skip_comments(at + 1);
        let Some(byte) = self.bytes.get(next).copied() else {
            return true;
        };
        match (self.bytes[at], byte) {
            (_, b'"' | b'\'' | b'{' | b'[' | b'\\' | b'`') => true,
            (b'{', b'}') | (b'[', b']') => true,
            (_, b',' | b':') => !in_prose,
            (_, 0x80..) => true,
            (b'{', _) if in_prose => self.key_follows(next),
            (b'{', _) => self.key_follows(next) || !self.bracket_after(at),
            (b'[', b'0'..=b'9' | b'-' | b't' | b'f' | b'n' | b'T' | b'F' | b'N' | b'(') => {
                !in_prose
            }
            _ => !in_prose && !self.bracket_after(at),
        }
    }

    /// The first token from here, after a few short comments.
    fn skip_comments(&self, from: usize) -> usize {
        let mut at = self.skip_space(from);
        for _ in 0..4 {
            let rest = &self.bytes[at..];
            let rest = &rest[..rest.len().min(400)];
            let close: &[u8] = match rest {
                [b'/', b'*', ..] => b"*/",
                [b'/', b'/', ..] | [b'#', ..] | [b'-', b'-', b' ', ..] => b"\n",
                [b'<', b'!', b'-', b'-', ..] => b"-->",
                _ => break,
            };
            let Some(end) = rest.windows(close.len()).position(|part| part == close) else {
                break;
            };
            at = self.skip_space(at + end + close.len());
        }
        at
    }

    /// Is the scalar here the value, and not the start of prose?
    fn scalar_root(&self) -> bool {
        if let Some(root) = self.roots.last() {
            let scalar = self.out.slot(*root).is_some_and(|slot| {
                matches!(
                    slot.kind,
                    Kind::String | Kind::Number | Kind::Boolean | Kind::Null
                )
            });
            return scalar && !self.bracket_after(self.at);
        }
        match self.byte(self.at) {
            b'0'..=b'9' | b'-' | b'+' => {
                let line = &self.text[self.at..];
                line.len() < 200 && !self.bracket_after(self.at) && !line.contains("```")
            }
            b'(' => true,
            _ => {
                self.key_follows(self.at)
                    || !self.bracket_after(self.at)
                    || self.byte(self.at) == b'"' && self.last_byte == b'"'
            }
        }
    }

    /// Does a scalar of JSON stand here, with nothing else on its line but more values?
    fn scalar_alone(&self) -> bool {
        let start = self.at;
        let end = match self.byte(start) {
            b'"' => {
                let mut at = crate::parse::strict::plain_end(self.bytes, start + 1);
                while self.byte(at) == b'\\' {
                    at = crate::parse::strict::plain_end(self.bytes, at + 2);
                }
                if self.byte(at) != b'"' {
                    return false;
                }
                at + 1
            }
            b'-' | b'0'..=b'9' => match super::numbers::strict_end(self.bytes, start) {
                Some(end) => end,
                None => return false,
            },
            b't' | b'f' | b'n' => {
                let end = self.word_end(start);
                if !matches!(&self.text[start..end], "true" | "false" | "null") {
                    return false;
                }
                end
            }
            _ => return false,
        };
        let next = self.skip_space(end);
        match self.byte(next) {
            0 | b'{' | b'[' | b',' | b';' => true,
            b'"' => next > end,
            b'`' => self.bytes[next..].starts_with(b"```"),
            _ => self.bytes[end..next].contains(&b'\n'),
        }
    }

    /// Is the word here a value: a literal, a call, members without braces?
    fn word_root(&mut self) -> bool {
        let start = self.at;
        let end = self.word_end(start);
        if end == start {
            return false;
        }
        let word = &self.text[start..end];
        let next = self.skip_space(end);
        if self.roots.is_empty()
            && super::words::literal(word).is_some()
            && next == self.bytes.len()
        {
            return true;
        }
        if matches!(self.byte(end), b'"' | b'\'')
            && word.len() <= 2
            && word.bytes().all(|b| b"fFrRbBuU".contains(&b))
        {
            return true;
        }
        if self.byte(end) == b'(' || self.byte(end) == b'.' || word == "new" {
            return self.call_root(end);
        }
        if matches!(self.byte(next), b':' | b'=') && self.roots.is_empty() {
            return self.members_root(start, next);
        }
        false
    }

    fn call_root(&self, end: usize) -> bool {
        let Some(open) = self.near(end, 120).iter().position(|b| *b == b'(') else {
            return false;
        };
        let name = self.text[end..end + open].trim();
        if name.contains(' ') || name.contains(['{', '"']) {
            return false;
        }
        let inside = self.skip_space(end + open + 1);
        matches!(
            self.byte(inside),
            b'{' | b'[' | b'"' | b'\'' | b')' | b'0'..=b'9' | b'-'
        ) || self.byte(self.skip_space(self.word_end(inside))) == b'='
    }

    /// `path=a.txt`, `path: a.txt`: members without braces, unless a value follows in brackets.
    fn members_root(&mut self, start: usize, separator: usize) -> bool {
        let value = self.skip_space(separator + 1 + usize::from(self.byte(separator + 1) == b'>'));
        if matches!(self.byte(value), b'{' | b'[' | b'`') || self.bracket_after(value) {
            return false;
        }
        let line = start + self.near(start, 400).len();
        if value > line || value >= self.bytes.len() {
            return false;
        }
        self.note(rules::MISSING_BRACE, start..start, "{");
        self.braceless = true;
        true
    }

    /// Skips text that is no value; `false` if no value comes after it.
    fn skip_prose(&mut self) -> bool {
        let start = self.at;
        let mut at = start;
        let mut found = None;
        while let Some(n) = self.bytes[at..]
            .iter()
            .position(|b| matches!(b, b'{' | b'[' | b'`' | b'~' | b'<'))
        {
            at += n;
            let rest = &self.text[at..];
            let stop = match self.bytes[at] {
                b'{' | b'[' => at > start && self.looks_right(at, true),
                b'`' | b'~' => rest.starts_with("```") || rest.starts_with("~~~"),
                _ => THOUGHTS.iter().any(|(open, _)| rest.starts_with(open)),
            };
            if stop && at > start {
                found = Some(at);
                break;
            }
            at += 1;
        }
        let end = found.unwrap_or(self.bytes.len());
        if found.is_some() || !self.roots.is_empty() {
            let kept = start + self.text[start..end].trim_end().len();
            let skipped = &self.text[start..kept];
            let members = skipped.contains("\":") || skipped.contains("\" :");
            let lost = members && (!self.roots.is_empty() || skipped.contains(['{', '[']));
            if lost || self.sets_key(skipped) {
                // Members that belong to nothing: rather no value than half of one.
                self.lost.get_or_insert(start);
            }
            if !self.roots.is_empty() && self.is_rest(start, kept) {
                self.doubt(rules::INNER_QUOTE, start..kept);
            }
            self.note(rules::PROSE, start..kept, "");
            self.at = end;
        }
        found.is_some()
    }

    /// Does a line of this text, or a part of one up to a comma, give one of the schema's keys a
    /// value? `page: 5`
    fn sets_key(&self, text: &str) -> bool {
        !self.keys.is_empty()
            && text.split(['\n', ',']).any(|part| {
                let set = part.trim().split_once([':', '=']);
                set.is_some_and(|(key, value)| {
                    let key = key.trim_end_matches([' ', '`', '*', '"', '\'']);
                    let key = key.trim_start_matches(['-', ' ', '`', '*', '"', '\'']);
                    !value.trim().is_empty() && self.is_known(key)
                })
            })
    }

    /// Is the text after a value the rest of a string that did not end where it seemed to?
    fn is_rest(&self, start: usize, end: usize) -> bool {
        let text = &self.text[start..end];
        let closers = ['}', ']'];
        if self.requoted {
            return text.contains('"') || text.contains(closers);
        }
        let tail = text.trim_end_matches(|c: char| closers.contains(&c) || c.is_whitespace());
        let touches = matches!(self.byte(start.wrapping_sub(1)), b'}' | b']');
        text.ends_with(closers) && tail.ends_with('"')
            || touches && text.starts_with('"') && text.contains(closers)
    }

    /// What follows a whole root value.
    pub(super) fn after_root(&mut self) -> ParserState {
        let next = self.skip_space(self.at);
        let end = self.at;
        if self.last_string.is_some() {
            match self.byte(next) {
                b':' | b'=' => {
                    self.at = next;
                    return self.root_key();
                }
                b'+' => {
                    self.at = next;
                    return self.join_string().unwrap_or(ParserState::Done);
                }
                _ => return ParserState::Done,
            }
        }
        if self.comma_width(next) > 0 && self.reopens(next, end) {
            return ParserState::After;
        }
        ParserState::Done
    }

    /// `{"a": 1}, "b": 2}`: the bracket came too early.
    fn reopens(&mut self, comma: usize, end: usize) -> bool {
        let follows = self.skip_space(comma + self.comma_width(comma));
        let root = self.current;
        let kind = self.out.slot(root).map(|slot| slot.kind);
        if kind != Some(Kind::Object) || self.byte(end - 1) != b'}' || !self.key_follows(follows) {
            return false;
        }
        let count = self.out.slot(root).map_or(0, |slot| slot.size);
        self.note(rules::EARLY_BRACKET, end - 1..end, "");
        self.out.reopen(root);
        self.frames.push(super::parser::OpenContainer {
            opener: Opener::Brace,
            id: root,
            start: end,
            count,
            key: None,
            comma: None,
            scalar: false,
            mixed: false,
            path: None,
        });
        true
    }

    /// A string at the root is followed by a colon: members without braces.
    fn root_key(&mut self) -> ParserState {
        let Some(slot) = self.out.take_back() else {
            return ParserState::Done;
        };
        let (start, end) = (slot.start as usize, slot.end as usize);
        self.note(rules::MISSING_BRACE, start..start, "{");
        let here = self.at;
        self.at = start;
        let opened = self.open(Opener::Nothing, Kind::Object);
        self.at = here;
        if opened.is_err() {
            return ParserState::Done;
        }
        self.push_key(slot, start, end);
        self.colon().unwrap_or(ParserState::Done)
    }
}

impl Parser<'_> {
    /// Does a fence, or a tag, end the text here although something is open?
    pub(super) fn at_fence_end(&self, newline: bool) -> bool {
        let rest = &self.text[self.at..];
        (newline && rest.starts_with("```")) || rest.starts_with("</") || rest.starts_with("<|")
    }
}
