//! Values inside JSON text, found as byte ranges and edited by splicing.
//!
//! The scanner knows strings and brackets only. It works at any depth and any size, and because it
//! yields byte ranges, a text is never rebuilt: every byte outside a splice stays as it was.

use std::borrow::Cow;
use std::ops::Range;

pub(crate) use goodcall_core::quoted;

/// A replacement of one byte range by other text.
pub(crate) type Splice = (Range<usize>, String);

/// One JSON value inside a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JsonSpan<'t> {
    text: &'t [u8],
    start: usize,
    end: usize,
}

impl<'t> JsonSpan<'t> {
    /// The value at this range of the text. The range must be one that this module found.
    pub(crate) fn new(text: &'t [u8], range: &Range<usize>) -> Self {
        Self {
            text,
            start: range.start,
            end: range.end,
        }
    }

    /// The text from its first byte that is not white space to its end.
    pub(crate) fn document(text: &'t [u8]) -> Self {
        Self {
            text,
            start: skip_space(text, 0),
            end: text.len(),
        }
    }

    /// The byte range of the value in the text.
    pub(crate) fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// The bytes of the value.
    pub(crate) fn bytes(self) -> &'t [u8] {
        &self.text[self.range()]
    }

    /// The value as it is written; `None` if it is not UTF-8.
    pub(crate) fn raw(self) -> Option<&'t str> {
        std::str::from_utf8(self.bytes()).ok()
    }

    /// The decoded string; `None` if the value is not a string.
    pub(crate) fn as_str(self) -> Option<Cow<'t, str>> {
        let inner = self.bytes().strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        if inner.contains(&b'\\') {
            return serde_json::from_slice(self.bytes()).ok().map(Cow::Owned);
        }
        std::str::from_utf8(inner).ok().map(Cow::Borrowed)
    }

    /// Like [`Self::as_str`], for callers that keep the string.
    pub(crate) fn to_text(self) -> Option<String> {
        self.as_str().map(Cow::into_owned)
    }

    pub(crate) fn is_object(self) -> bool {
        self.text.get(self.start) == Some(&b'{')
    }

    /// The member with this key. Of several it is the last, as in most JSON readers.
    pub(crate) fn get(self, key: &str) -> Option<JsonSpan<'t>> {
        let mut members = self.members();
        let mut found = None;
        for (name, value) in members.by_ref() {
            if name == key {
                found = Some(value);
            }
        }
        found.filter(|_| members.is_complete())
    }

    /// Returns true if the object has one of these keys more than once.
    pub(crate) fn repeats_key(self, keys: &[&str]) -> bool {
        let mut seen = vec![false; keys.len()];
        self.members().any(|(name, _)| {
            let known = keys.iter().position(|key| *key == name);
            known.is_some_and(|at| std::mem::replace(&mut seen[at], true))
        })
    }

    /// The members of the object in order, up to the first place where it is not well formed.
    /// There are none if the value is not an object.
    pub(crate) fn members(self) -> Members<'t> {
        let state = if self.is_object() {
            MembersState::First
        } else {
            MembersState::Broken
        };
        Members {
            text: self.text,
            at: self.start + 1,
            state,
        }
    }

    /// The elements of the array; `None` if the value is not a well-formed array.
    pub(crate) fn elements(self) -> Option<Vec<JsonSpan<'t>>> {
        let text = self.text;
        let mut all = Vec::new();
        if text.get(self.start) != Some(&b'[') {
            return None;
        }
        let mut at = skip_space(text, self.start + 1);
        if text.get(at) == Some(&b']') {
            return Some(all);
        }
        loop {
            let end = skip_value(text, at)?;
            all.push(Self::new(text, &(at..end)));
            at = skip_space(text, end);
            match text.get(at)? {
                b',' => at = skip_space(text, at + 1),
                b']' => return Some(all),
                _ => return None,
            }
        }
    }

    /// The splice that adds a member at the end of the object.
    pub(crate) fn append_member(self, member: &str) -> Splice {
        let close = self.end.saturating_sub(1);
        let inner = self.text.get(self.start + 1..close).unwrap_or_default();
        // White space after the last value stays in front of the bracket.
        let trimmed = inner.trim_ascii_end().len();
        if trimmed == 0 {
            return (close..close, member.to_owned());
        }
        let at = self.start + 1 + trimmed;
        (at..at, format!(",{member}"))
    }
}

/// The members of one object.
#[derive(Debug)]
pub(crate) struct Members<'t> {
    text: &'t [u8],
    at: usize,
    state: MembersState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MembersState {
    /// Before the first member.
    First,
    /// After a member.
    Further,
    /// Behind the closing bracket.
    Complete,
    /// The text is not an object, or not a well-formed one.
    Broken,
}

impl<'t> Members<'t> {
    /// Returns true once the closing bracket was read.
    pub(crate) fn is_complete(&self) -> bool {
        self.state == MembersState::Complete
    }

    /// Where reading has got to: after the last member the end of the object.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Reads the next key and value, or the state in which reading ends.
    fn read(&mut self) -> Result<(Cow<'t, str>, JsonSpan<'t>), MembersState> {
        let broken = MembersState::Broken;
        let text = self.text;
        self.at = skip_space(text, self.at);
        match (text.get(self.at), self.state) {
            (Some(b'}'), _) => {
                self.at += 1;
                return Err(MembersState::Complete);
            }
            (Some(b'"'), MembersState::First) => {}
            (Some(b','), MembersState::Further) => self.at = skip_space(text, self.at + 1),
            _ => return Err(broken),
        }
        self.state = MembersState::Further;
        let key_end = skip_string(text, self.at).ok_or(broken)?;
        let key = JsonSpan::new(text, &(self.at..key_end));
        let colon = skip_space(text, key_end);
        if text.get(colon) != Some(&b':') {
            return Err(broken);
        }
        let start = skip_space(text, colon + 1);
        self.at = skip_value(text, start).ok_or(broken)?;
        // A key that cannot be decoded equals no name that is looked for.
        let name = key.as_str().unwrap_or(Cow::Borrowed(""));
        Ok((name, JsonSpan::new(text, &(start..self.at))))
    }
}

impl<'t> Iterator for Members<'t> {
    type Item = (Cow<'t, str>, JsonSpan<'t>);

    fn next(&mut self) -> Option<Self::Item> {
        if matches!(self.state, MembersState::Complete | MembersState::Broken) {
            return None;
        }
        let member = self.read();
        member.map_err(|state| self.state = state).ok()
    }
}

/// Returns the text with ranges replaced. They must not overlap.
pub(crate) fn splice(text: &[u8], mut splices: Vec<Splice>) -> Vec<u8> {
    splices.sort_by_key(|(range, _)| range.start);
    let mut out = Vec::with_capacity(text.len() + 64);
    let mut done = 0;
    for (range, replacement) in splices {
        out.extend_from_slice(&text[done..range.start]);
        out.extend_from_slice(replacement.as_bytes());
        done = range.end;
    }
    out.extend_from_slice(&text[done..]);
    out
}

/// Returns true if only white space follows.
pub(crate) fn is_end(text: &[u8], at: usize) -> bool {
    skip_space(text, at) == text.len()
}

pub(crate) fn skip_space(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// The end of the string that starts here; `None` if it is not closed.
pub(crate) fn skip_string(text: &[u8], start: usize) -> Option<usize> {
    if text.get(start) != Some(&b'"') {
        return None;
    }
    let mut at = start + 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The end of the value that starts here.
fn skip_value(text: &[u8], start: usize) -> Option<usize> {
    match text.get(start)? {
        b'"' => skip_string(text, start),
        b'{' | b'[' => skip_container(text, start),
        b',' | b':' | b'}' | b']' => None,
        _ => {
            let is_end =
                |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
            let rest = text.get(start..)?;
            Some(start + rest.iter().position(is_end).unwrap_or(rest.len()))
        }
    }
}

fn skip_container(text: &[u8], start: usize) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, start);
    loop {
        match text.get(at)? {
            b'"' => {
                at = skip_string(text, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splices_keep_all_other_bytes() {
        let text = r#"{ "a" : {} , "b": {"c":1 } }"#.as_bytes();
        let document = JsonSpan::document(text);
        let added = |key| document.get(key).unwrap().append_member(r#""d":2"#);
        let spliced = splice(text, vec![added("b"), added("a")]);
        assert_eq!(
            String::from_utf8(spliced).unwrap(),
            r#"{ "a" : {"d":2} , "b": {"c":1,"d":2 } }"#
        );
    }

    #[test]
    fn last_of_several_equal_keys_is_found() {
        let document = JsonSpan::document(br#"{"a":1,"b":2,"a":3}"#);
        assert_eq!(document.get("a").unwrap().raw(), Some("3"));
        assert!(document.repeats_key(&["a"]) && !document.repeats_key(&["b"]));
        assert_eq!(JsonSpan::document(br#"{"a":1,"#).get("a"), None);
    }
}
