//! What the text at one place may be.

use super::TextCallScope;
use super::call_end::{Lexer, starts};
use super::markers::{Body, ELEMENTS, Marker};
use super::python_calls::dotted_size;
use super::python_values::identifier_size;
use super::raw_members::blank;
use super::scanner::{CLOSE, Look, Scanner, State};
use super::tool_elements::Element;

/// What a model of the dialect `react` writes in place of a call's result.
const OBSERVATION: &str = "Observation:";
/// Tokens behind which a model only makes up what others say.
const ENDS: [&str; 4] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|endoftext|>",
    "<|observation|>",
];
/// Bytes of a word that is passed over at once.
const MOST_WORD: usize = 256;
/// Bytes in which a bracket must show that it opens a call.
const MOST_HEAD: usize = 160;

impl Scanner {
    /// Looks at the text at the cursor.
    pub(super) fn look(&mut self, done: bool) -> Look {
        let at = self.at;
        let byte = self.text.as_bytes()[at];
        if matches!(byte, b'`' | b'~') {
            match self.look_fence(done) {
                Look::Text(_) => {}
                other => return other,
            }
        }
        if matches!(byte, b'<' | b'[') {
            match self.quiet(done) {
                Look::Text(_) => {}
                other => return other,
            }
        }
        if self.takes_markers() && matches!(byte, b'<' | b'[' | b']' | b'f' | b'A' | b't') {
            match self.marked(done) {
                Look::Text(_) => {}
                other => return other,
            }
        }
        if byte == b'<' {
            return match self.tool_tag(done) {
                Look::Text(_) => self.token(done),
                other => other,
            };
        }
        if byte == b'O' && self.acted && self.line.is_blank() {
            match starts(&self.text.as_bytes()[at..], OBSERVATION, done) {
                None => return Look::More,
                // The result of a call is not the model's to write: all behind it is made up.
                Some(true) => self.over = true,
                Some(false) => {}
            }
        }
        if self.takes_unmarked() && matches!(byte, b'{' | b'[') && at >= self.tried {
            return match opens(&self.text[at..], self, done) {
                None => Look::More,
                Some(true) => Look::Enter(State::Unmarked {
                    start: at,
                    lexer: Lexer::new(at),
                }),
                Some(false) => Look::Text(at + 1),
            };
        }
        self.word(done)
    }

    fn marked(&mut self, done: bool) -> Look {
        let at = self.at;
        let Some(marker) = self.marker_at(done) else {
            return Look::More;
        };
        let Some(marker) = marker else {
            return Look::Text(at + 1);
        };
        // A word of prose that is also a marker.
        let inside_word = self.text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let word = marker.open.starts_with(|c: char| c.is_ascii_alphabetic());
        let misplaced = match marker.body {
            Body::React => !self.line.is_blank(),
            // The start of the message was part of the prompt.
            Body::Harmony if word => !self.virgin,
            _ => false,
        };
        if (word && inside_word) || misplaced {
            return Look::Text(at + 1);
        }
        let body = at + marker.open.len();
        let quoted = self.is_quoted();
        if quoted {
            // Nothing but the marker's name.
            match self.text.as_bytes().get(body) {
                None if !done => return Look::More,
                Some(b'`') => return Look::Text(body),
                _ => {}
            }
        }
        Look::Enter(State::Marked {
            marker,
            start: at,
            body,
            lexer: Lexer::new(body),
            quoted,
        })
    }

    /// Does a marker stand here? `None`: not yet known.
    fn marker_at(&self, done: bool) -> Option<Option<&'static Marker>> {
        let rest = &self.text.as_bytes()[self.at..];
        let mut best: Option<&'static Marker> = None;
        for marker in self.markers() {
            if marker.open.as_bytes().first() != rest.first() {
                continue;
            }
            match starts(rest, marker.open, done) {
                None => return None,
                Some(true) if best.is_none_or(|best| best.open.len() < marker.open.len()) => {
                    best = Some(marker);
                }
                Some(_) => {}
            }
        }
        Some(best)
    }

    /// A tag that is the name of a tool, at the start of a line.
    fn tool_tag(&self, done: bool) -> Look {
        let at = self.at;
        let placed = self.line.fresh || self.place == TextCallScope::Anywhere;
        let wanted = self.dialect.is_none_or(|name| name == ELEMENTS);
        let free = self.takes_markers() && self.fence.is_none() && !self.is_quoted();
        if !placed || !wanted || !free {
            return Look::Text(at + 1);
        }
        let inner = &self.text[at + 1..];
        let most = self.tools.longest_name();
        let end = inner.bytes().take(most + 1).position(|byte| byte == b'>');
        match end {
            Some(size) if self.tools.told(&inner[..size]).is_some() => {
                let body = at + size + 2;
                Look::Enter(State::Element {
                    start: at,
                    body,
                    element: Element::new(&inner[..size], body),
                })
            }
            None if !done && inner.len() <= most => Look::More,
            _ => Look::Text(at + 1),
        }
    }

    /// A control token is passed over as one.
    fn token(&mut self, done: bool) -> Look {
        let at = self.at;
        let rest = &self.text[at..];
        for known in ["<s>", "</s>", "<end_of_turn>", CLOSE] {
            match starts(rest.as_bytes(), known, done) {
                None => return Look::More,
                Some(true) => {
                    if known == "<end_of_turn>" {
                        self.end_turn();
                    }
                    return Look::Text(at + known.len());
                }
                Some(false) => {}
            }
        }
        if !rest.starts_with("<|") {
            return Look::Text(at + 1);
        }
        let most = rest.len().min(64);
        let end = rest.as_bytes()[..most]
            .windows(2)
            .position(|pair| pair == b"|>");
        match end {
            Some(end) => {
                let token = &rest[..end + 2];
                let header = matches!(token, "<|im_start|>" | "<|start_header_id|>");
                let behind = &rest[end + 2..];
                if header && !done && behind.len() < "assistant".len() {
                    return Look::More;
                }
                let roles = ["assistant", "user", "system", "tool\n"];
                let turn = header && roles.iter().any(|role| behind.starts_with(role));
                if turn || ENDS.contains(&token) {
                    self.end_turn();
                }
                Look::Text(at + end + 2)
            }
            None if !done && rest.len() < 64 => Look::More,
            None => Look::Text(at + 1),
        }
    }

    /// A word, which may be the name of a call.
    fn word(&mut self, done: bool) -> Look {
        let at = self.at;
        let rest = &self.text[at..];
        let size = dotted_size(rest);
        if size == 0 {
            let c = rest.chars().next().map_or(1, char::len_utf8);
            return Look::Text(at + c);
        }
        let open = at + size == self.text.len() && !done;
        let most = MOST_WORD.max(4 * self.tools.longest_name());
        if open && size < most {
            return Look::More;
        }
        let behind = &rest[size..];
        let spaces = behind
            .bytes()
            .take_while(|byte| *byte == b' ')
            .take(2)
            .count();
        let open = (behind.len() == spaces && spaces < 2) || goes_on(behind);
        if open && !done {
            return Look::More;
        }
        let quoted = self.text[..at]
            .chars()
            .next_back()
            .filter(|c| matches!(c, '"' | '\''));
        let quoted = quoted
            .filter(|quote| behind.starts_with(*quote))
            .map_or(0, char::len_utf8);
        if quoted == behind.len() && quoted > 0 && !done {
            return Look::More;
        }
        let spaces = spaces.max(quoted);
        let called = behind[spaces..].starts_with('(') && spaces < 2;
        if !called || !self.takes_unmarked() || !self.is_called(size) {
            return Look::Text(at + size);
        }
        let start = self.name_start(size);
        Look::Enter(State::Unmarked {
            start,
            lexer: Lexer::new(at + size + spaces),
        })
    }

    /// Where the tool's name begins: `client.f` may mean the tool `f`.
    fn name_start(&self, size: usize) -> usize {
        let name = &self.text[self.at..self.at + size];
        match self.tools.meant(name) {
            Some(_) => self.at,
            None => self.at + name.rfind('.').map_or(0, |dot| dot + 1),
        }
    }

    /// Is the word at the cursor an offered tool, and called here, not defined?
    fn is_called(&self, size: usize) -> bool {
        let before = &self.text[..self.at];
        let inside_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let blank = before.trim_end_matches(' ');
        let defined = blank.len() < before.len()
            && ["def", "class", "function", "fn"].iter().any(|word| {
                let head = blank.strip_suffix(word);
                head.is_some_and(|head| !head.ends_with(char::is_alphanumeric))
            });
        let name = &self.text[self.at..self.at + size];
        let known = self.tools.meant(name).is_some()
            || name
                .rsplit_once('.')
                .is_some_and(|(_, last)| self.tools.get(last).is_some());
        known && !inside_word && !defined
    }
}

/// May a name go on with what is not there yet? `a`, `a.` and `a\\` may become `a.b` and `a\\_b`.
fn goes_on(behind: &str) -> bool {
    let rest = behind.strip_prefix(['.', ':', '-', '/']).unwrap_or(behind);
    matches!(rest, "" | "\\")
}

/// Does this bracket open something that may be a call? `None`: not yet known.
fn opens(rest: &str, scanner: &Scanner, done: bool) -> Option<bool> {
    let bytes = rest.as_bytes();
    let mut at = 1;
    let mut last = bytes[0];
    loop {
        at = blank(bytes, at);
        if at >= bytes.len() || at > MOST_HEAD {
            return (done || at > MOST_HEAD).then_some(false);
        }
        match (last, bytes[at]) {
            (b'[', next @ (b'[' | b'{' | b'(')) => {
                last = if next == b'{' { next } else { b'[' };
                at += 1;
            }
            (b'[', next) => return opens_list(rest, at, next, scanner, done),
            (_, next) => return opens_object(rest, at, next, done),
        }
    }
}

/// A list opens a call if it begins with a tool's name.
fn opens_list(rest: &str, at: usize, next: u8, scanner: &Scanner, done: bool) -> Option<bool> {
    let quoted = matches!(next, b'"' | b'\'');
    let from = at + usize::from(quoted);
    let word = rest.get(from..).unwrap_or_default();
    let size = dotted_size(word);
    if (from >= rest.len() || goes_on(&word[size..])) && size < MOST_HEAD && !done {
        return None;
    }
    let name = &word[..size];
    let meant = || scanner.tools.meant(name).is_some();
    Some(size > 0 && (meant() || name == "print"))
}

/// An object opens a call if it begins with a key.
fn opens_object(rest: &str, at: usize, next: u8, done: bool) -> Option<bool> {
    let bytes = rest.as_bytes();
    let end = match next {
        b'"' | b'\'' => {
            let close = bytes[at + 1..]
                .iter()
                .take(MOST_HEAD)
                .position(|byte| *byte == next);
            match close {
                Some(size) => at + 1 + size + 1,
                None => return (done || bytes.len() > at + MOST_HEAD).then_some(false),
            }
        }
        _ => at + identifier_size(&rest[at..]),
    };
    if goes_on(&rest[end.min(rest.len())..]) && !done && end < at + MOST_HEAD {
        return None;
    }
    if end == at {
        return Some(false);
    }
    match bytes.get(blank(bytes, end)) {
        Some(b':') => Some(true),
        Some(_) => Some(false),
        None => (done || bytes.len() > at + MOST_HEAD).then_some(false),
    }
}
