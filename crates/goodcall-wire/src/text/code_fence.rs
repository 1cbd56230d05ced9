//! Code fences: one that holds nothing but calls is a call, a program is text.

use super::TextCallScope;
use super::python_values::identifier_size;
use super::scanner::{Held, Look, Scanner, Strength};
use crate::call::RawCall;

/// Stands for a call in what a fence holds.
const CALL: char = '\u{1}';
/// Bytes besides calls that a fence may hold and still be one.
const MOST_REST: usize = 1024;

/// A code fence that is open.
#[derive(Clone, Debug)]
pub(super) struct Fence {
    pub(super) start: usize,
    /// Its mark, and how many of them opened it: so many close it.
    mark: (u8, usize),
    /// It holds a program, as it says.
    program: bool,
    /// It held nothing but calls so far.
    pub(super) clean: bool,
    /// What it holds, with a mark for each call.
    rest: String,
    /// Its calls, which count if it turns out to hold nothing else.
    pub(super) calls: Vec<(Held, Strength)>,
}

impl Fence {
    pub(super) fn text(&mut self, text: &str) {
        if self.rest.len() <= MOST_REST {
            self.rest.push_str(&text.replace(CALL, "?"));
        }
    }

    pub(super) fn call(&mut self, held: Held, strength: Strength) {
        self.rest.push(CALL);
        self.calls.push((held, strength));
    }

    /// Does it hold calls and nothing that could mean that they are not to be made? Where calls
    /// inside sentences count, those with a remark behind them do, too.
    fn is_calls(&self, place: TextCallScope) -> bool {
        let mut names = Vec::new();
        let mut is_call_line = |line| match place {
            TextCallScope::Anywhere => is_call_line(without_remark(line), &mut names),
            _ => is_call_line(line, &mut names),
        };
        // In a program a bare word is a variable, or a type.
        let bare = |call: &RawCall| {
            call.changes
                .iter()
                .any(|change| change.rule == "bare-words")
        };
        let mut calls = self.calls.iter().flat_map(|(held, _)| &held.calls);
        self.rest.len() <= MOST_REST
            && !self.calls.is_empty()
            && !(self.program && calls.any(bare))
            && self.rest.lines().all(&mut is_call_line)
    }
}

/// A line up to the comment behind its last call.
fn without_remark(line: &str) -> &str {
    let Some(last) = line.rfind(CALL) else {
        return line;
    };
    let behind = &line[last..];
    let remark = [" #", " //"].iter().filter_map(|mark| behind.find(mark));
    remark.min().map_or(line, |size| &line[..last + size])
}

/// A line that holds calls: alone, printed, or as the value of a variable, which may be printed
/// later.
fn is_call_line<'l>(line: &'l str, names: &mut Vec<&'l str>) -> bool {
    let mut line = line.trim();
    let size = identifier_size(line);
    let value = line[size..].trim_start().strip_prefix('=');
    if let Some(value) = value.filter(|value| size > 0 && !value.starts_with('=')) {
        names.push(&line[..size]);
        line = value.trim();
    }
    for word in ["return ", "await "] {
        line = line.strip_prefix(word).unwrap_or(line);
    }
    if let Some(printed) = line.strip_prefix("print(") {
        let Some(printed) = printed.trim_end_matches(';').strip_suffix(')') else {
            return false;
        };
        if names.contains(&printed.trim()) {
            return true;
        }
        line = printed.strip_prefix("await ").unwrap_or(printed);
    }
    let bracket = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '[' | ']');
    let calls = line.trim_matches(bracket);
    // A sum of calls makes them all; a sign before the first one is a diff.
    let sum = calls.starts_with(CALL) && calls.ends_with(CALL);
    let between = |c: char| c == CALL || bracket(c) || (sum && matches!(c, '+' | '*' | '/'));
    is_wrapper(line) || calls.chars().all(between)
}

/// A tag around a call, alone on its line: `<functioncall>`.
fn is_wrapper(line: &str) -> bool {
    let tag = line.strip_prefix('<').and_then(|tag| tag.strip_suffix('>'));
    tag.is_some_and(|tag| {
        let name = tag.strip_prefix('/').unwrap_or(tag);
        let word = name
            .bytes()
            .all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        word && ["function", "tool", "call"]
            .iter()
            .any(|part| name.contains(part))
    })
}

impl Scanner {
    /// Three backticks or tildes open a fence, as many close it; fewer are text.
    pub(super) fn look_fence(&mut self, done: bool) -> Look {
        let at = self.at;
        let rest = &self.text[at..];
        let mark = rest.as_bytes()[0];
        let size = rest.bytes().take_while(|byte| *byte == mark).count();
        if size == rest.len() && !done {
            return Look::More;
        }
        // Tildes mean other things within a line.
        if size < 3 || (mark == b'~' && !self.line.is_blank()) {
            return Look::Text(at + 1);
        }
        if let Some(fence) = &self.fence {
            if fence.mark.0 != mark || fence.mark.1 > size {
                return Look::Text(at + size);
            }
            self.close_fence(at + size);
            return Look::Done;
        }
        // The language, if it is alone on its line.
        let word = rest[size..].bytes().take_while(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'.')
        });
        let word = word.take(32).count();
        let end = match rest.as_bytes().get(size + word) {
            None if !done => return Look::More,
            None | Some(b'\n' | b'\r' | b' ') => at + size + word,
            Some(_) => at + size,
        };
        let language = &rest[size..end - at];
        self.fence = Some(Fence {
            start: at,
            mark: (mark, size),
            program: matches!(language, "python" | "py" | "python3"),
            clean: true,
            rest: String::new(),
            calls: Vec::new(),
        });
        self.at = end;
        self.line.pass();
        Look::Done
    }

    fn close_fence(&mut self, end: usize) {
        self.at = end;
        self.line.pass();
        let Some(fence) = self.fence.take() else {
            return;
        };
        if !fence.is_calls(self.place) {
            self.soil();
        } else if fence.clean {
            // The fence held calls and nothing else: it goes with them.
            let calls: Vec<RawCall> = fence
                .calls
                .into_iter()
                .flat_map(|(held, _)| held.calls)
                .collect();
            self.count(fence.start..end, calls, Strength::Marked);
        } else {
            for (held, _) in fence.calls {
                self.count(held.span, held.calls, Strength::Marked);
            }
        }
    }

    /// The text ends inside a fence: of one that holds more than calls, only those with a marker
    /// count, as if there were no fence.
    pub(super) fn end_fence(&mut self) {
        let Some(fence) = self.fence.take() else {
            return;
        };
        let all = fence.is_calls(self.place);
        for (held, strength) in fence.calls {
            if all || strength == Strength::Marked {
                self.count(held.span, held.calls, Strength::Marked);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_from_calls() {
        let held = || Held {
            span: 0..0,
            calls: Vec::new(),
            whole: false,
        };
        let is_calls = |text: &str| {
            let (start, clean, rest, calls) = (0, true, String::new(), Vec::new());
            let mut fence = Fence {
                start,
                mark: (b'`', 3),
                program: false,
                clean,
                rest,
                calls,
            };
            for (at, part) in text.split('@').enumerate() {
                if at > 0 {
                    fence.call(held(), Strength::Json);
                }
                fence.text(part);
            }
            [TextCallScope::Explicit, TextCallScope::Anywhere].map(|place| fence.is_calls(place))
        };
        for text in [
            "@",
            "\n@\n@\n",
            "x = await @\nprint(x)",
            "print(@)",
            "c = [\n @,\n @\n]\n",
            "print(@ + @)",
            "<functioncall>\n@\n</functioncall>",
        ] {
            assert_eq!(is_calls(text), [true, true], "{text}");
        }
        for text in ["@  # 3", "x = @ # one\nprint(x)", "[@,\n@] // both"] {
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
            "print(y)\n@",
            "<example>\n@",
            "+@",
        ] {
            assert_eq!(is_calls(text), [false, false], "{text}");
        }
    }
}
