//! Code fences: calls in a fence count if the fence holds nothing else; a program is text.

use std::borrow::Cow;

use goodcall_core::RuleId;

use super::TextCallScope;
use super::emit::HeldCalls;
use super::input::Window;
use super::line_state::LineState;
use super::python_values::identifier_size;
use super::turn::Confidence;
use crate::call::RawCall;

/// Stands for a call in the contents of a fence.
const CALL: char = '\u{1}';
/// The most bytes besides calls that a fence of calls may hold.
const MAX_REST: usize = 1024;
/// The most bytes of the language behind the opening fence.
const MAX_LANGUAGE: usize = 32;

/// An open code fence.
#[derive(Clone, Debug)]
pub(super) struct CodeFence {
    start: usize,
    /// The row of backticks or tildes that opened it; at least as many close it.
    opening: String,
    /// Its language is Python.
    is_program: bool,
    /// No text besides calls so far.
    only_calls: bool,
    /// The contents, with [`CALL`] for each call.
    contents: String,
    /// Its calls, which count if it turns out to hold nothing else.
    calls: Vec<(HeldCalls, Confidence)>,
}

/// A row of backticks or tildes in the text.
pub(super) enum FenceMark {
    NeedMore,
    /// Opens this fence; its contents begin at `end`.
    Opens {
        fence: CodeFence,
        end: usize,
    },
    /// Closes the open fence and ends at this offset.
    Closes(usize),
}

/// Reads the row of backticks or tildes at `at`; `None` if it neither opens nor closes a fence.
pub(super) fn fence_mark(
    input: Window<'_>,
    at: usize,
    open: Option<&CodeFence>,
    line: LineState,
) -> Option<FenceMark> {
    let rest = input.from(at);
    let mark = *rest.as_bytes().first()?;
    let count = rest.bytes().take_while(|byte| *byte == mark).count();
    if count == rest.len() && !input.has_ended() {
        return Some(FenceMark::NeedMore);
    }
    // Tildes mean other things within a line.
    if count < 3 || (mark == b'~' && !line.is_blank()) {
        return None;
    }
    if let Some(fence) = open {
        let closes = rest[..count].starts_with(&fence.opening);
        return closes.then(|| FenceMark::Closes(at + count));
    }
    // The language, if it is alone on its line.
    let word = rest[count..].bytes().take_while(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'.')
    });
    let word = word.take(MAX_LANGUAGE).count();
    let size = match rest.as_bytes().get(count + word) {
        None if !input.has_ended() => return Some(FenceMark::NeedMore),
        None | Some(b'\n' | b'\r' | b' ') => count + word,
        Some(_) => count,
    };
    let fence = CodeFence::new(at, &rest[..count], &rest[count..size]);
    let end = at + size;
    Some(FenceMark::Opens { fence, end })
}

impl CodeFence {
    fn new(start: usize, opening: &str, language: &str) -> Self {
        Self {
            start,
            opening: opening.to_owned(),
            is_program: matches!(language, "python" | "py" | "python3"),
            only_calls: true,
            contents: String::new(),
            calls: Vec::new(),
        }
    }

    pub(super) fn take_text(&mut self, text: &str) {
        if self.contents.len() <= MAX_REST {
            self.contents.push_str(&text.replace(CALL, "?"));
        }
    }

    pub(super) fn take_calls(&mut self, held: HeldCalls, confidence: Confidence) {
        self.contents.push(CALL);
        self.calls.push((held, confidence));
    }

    /// Records that the fence holds text besides calls.
    pub(super) fn note_prose(&mut self) {
        self.only_calls = false;
    }

    /// Where text must be held back from, because it may become part of a call.
    pub(super) fn held_from(&self) -> Option<usize> {
        if self.only_calls {
            return Some(self.start);
        }
        self.calls.first().map(|(held, _)| held.span.start)
    }

    /// The calls of a fence that is closed at `end`; empty if they do not count. A fence that holds
    /// nothing but calls is part of their span.
    pub(super) fn close(self, scope: TextCallScope, end: usize) -> Vec<(HeldCalls, Confidence)> {
        if !self.is_calls(scope) {
            return Vec::new();
        }
        let form = self
            .calls
            .first()
            .map_or(Confidence::None, |(_, form)| *form);
        if !self.only_calls {
            return self.calls;
        }
        let held = self.calls.into_iter().map(|(held, _)| held);
        let calls = held.flat_map(|held| held.calls).collect();
        vec![(HeldCalls::certain(self.start..end, calls), form)]
    }

    /// The calls of a fence that the text ends in. Where it holds more than calls, only those with
    /// a marker count, as if there were no fence.
    pub(super) fn end(mut self, scope: TextCallScope) -> Vec<(HeldCalls, Confidence)> {
        let all = self.is_calls(scope);
        self.calls
            .retain(|(_, confidence)| all || *confidence == Confidence::Marked);
        self.calls
    }

    /// Returns true if the fence holds calls, and nothing that could mean that they are not to be
    /// made. Where calls inside sentences count, a comment behind a call is allowed.
    fn is_calls(&self, scope: TextCallScope) -> bool {
        // In a program a bare word is a variable, or a type.
        let uses_variable = |call: &RawCall| {
            let mut changes = call.changes.iter();
            changes.any(|change| change.rule == RuleId::BareWords)
        };
        let mut calls = self.calls.iter().flat_map(|(held, _)| &held.calls);
        if self.contents.len() > MAX_REST
            || self.calls.is_empty()
            || (self.is_program && calls.any(uses_variable))
        {
            return false;
        }
        let lines = self.contents.lines().map(|line| match scope {
            TextCallScope::Anywhere => Cow::Owned(without_parts(without_comment(line))),
            TextCallScope::Explicit => Cow::Borrowed(line),
        });
        let lines: Vec<Cow<'_, str>> = lines.collect();
        let mut variables = Vec::new();
        lines.iter().all(|line| is_call_line(line, &mut variables))
    }
}

/// The line without the parts of results that it takes: `f(a=1)["b"][0].c` calls `f` like `f(a=1)`.
fn without_parts(line: &str) -> String {
    let mut behind_calls = line.split(CALL);
    let mut out = behind_calls.next().unwrap_or_default().to_owned();
    for text in behind_calls {
        out.push(CALL);
        out.push_str(behind_parts(text));
    }
    out
}

/// The text behind the subscripts and attributes that it begins with.
fn behind_parts(mut text: &str) -> &str {
    let is_key = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ' | '"' | '\'');
    loop {
        let rest = if let Some(subscript) = text.strip_prefix('[') {
            let rest = subscript.trim_start_matches(is_key).strip_prefix(']');
            rest.filter(|rest| subscript.len() > rest.len() + 1)
        } else {
            let name = text
                .strip_prefix('.')
                .map(|name| (identifier_size(name), name));
            name.filter(|(size, name)| *size > 0 && !name[*size..].starts_with('('))
                .map(|(size, name)| &name[size..])
        };
        match rest {
            Some(rest) => text = rest,
            None => return text,
        }
    }
}

/// The line up to the comment behind its last call.
fn without_comment(line: &str) -> &str {
    let Some(last) = line.rfind(CALL) else {
        return line;
    };
    let behind = &line[last..];
    let comment = [" #", " //"].iter().filter_map(|mark| behind.find(mark));
    comment.min().map_or(line, |size| &line[..last + size])
}

/// Returns true if a line holds nothing but calls: alone, printed, or as the value of a variable,
/// which may be printed later.
fn is_call_line<'l>(line: &'l str, variables: &mut Vec<&'l str>) -> bool {
    let mut line = line.trim();
    let size = identifier_size(line);
    let value = line[size..].trim_start().strip_prefix('=');
    if let Some(value) = value.filter(|value| size > 0 && !value.starts_with('=')) {
        variables.push(&line[..size]);
        line = value.trim();
    }
    for word in ["return ", "await "] {
        line = line.strip_prefix(word).unwrap_or(line);
    }
    if let Some(printed) = line.strip_prefix("print(") {
        let Some(printed) = printed.trim_end_matches(';').strip_suffix(')') else {
            return false;
        };
        if variables.contains(&printed.trim()) {
            return true;
        }
        line = printed.strip_prefix("await ").unwrap_or(printed);
    }
    // A bracket too many closes nothing.
    let is_extra = |c: char| c == ')' && !line.contains('(');
    let is_separator =
        |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '[' | ']') || is_extra(c);
    let calls = line.trim_matches(is_separator);
    // A sum of calls makes all of them; a sign before the first one is part of a diff.
    let sum = calls.starts_with(CALL) && calls.ends_with(CALL);
    let between = |c: char| c == CALL || is_separator(c) || (sum && matches!(c, '+' | '*' | '/'));
    is_wrapper(line) || calls.chars().all(between)
}

/// Returns true for a tag around a call, alone on its line: `<functioncall>`.
fn is_wrapper(line: &str) -> bool {
    let tag = line.strip_prefix('<').and_then(|tag| tag.strip_suffix('>'));
    tag.is_some_and(|tag| {
        let name = tag.strip_prefix('/').unwrap_or(tag);
        let is_word = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
        let names_call = ["function", "tool", "call"]
            .iter()
            .any(|part| name.contains(part));
        names_call && name.bytes().all(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a fence counts as calls in both scopes; `@` stands for a call.
    fn is_calls(contents: &str) -> [bool; 2] {
        let mut fence = CodeFence::new(0, "```", "");
        for (at, part) in contents.split('@').enumerate() {
            if at > 0 {
                fence.take_calls(HeldCalls::certain(0..0, Vec::new()), Confidence::Json);
            }
            fence.take_text(part);
        }
        [TextCallScope::Explicit, TextCallScope::Anywhere].map(|scope| fence.is_calls(scope))
    }

    #[test]
    fn calls_are_told_apart_from_programs() {
        for text in [
            "@",
            "\n@\n@\n",
            "x = await @\nprint(x)",
            "print(@)",
            "c = [\n @,\n @\n]\n",
            "print(@ + @)",
            "[@])",
            "<functioncall>\n@\n</functioncall>",
        ] {
            assert_eq!(is_calls(text), [true, true], "{text}");
        }
        for text in [
            "@  # 3",
            "x = @ # one\nprint(x)",
            "[@,\n@] // both",
            "@[\"b\"][0].c",
            "print(@['a b'], @[-1])",
        ] {
            assert_eq!(is_calls(text), [false, true], "{text}");
        }
        for text in [
            "if x:\n  @  # now",
            "@  # as @",
            "@#",
            "if x:\n  @",
            "# not\n@",
            "\"\"\"\n@\n\"\"\"",
            "-@\n+@",
            "x == @",
            "g(@))",
            "print(y)\n@",
            "<example>\n@",
            "+@",
            "@.run()",
            "@[g(1)]",
            "@[x[0]]",
        ] {
            assert_eq!(is_calls(text), [false, false], "{text}");
        }
    }
}
