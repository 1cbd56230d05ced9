//! `f(a=1, b='x')`: calls in Python's own form.

use std::ops::Range;

use goodcall_core::{Change, Level, Types};

use super::python_values::{Python, Trouble, Words, identifier_size, quote};
use super::{Context, Found};
use crate::call::State;
use crate::tools::ToolDefinition;

/// The size of the dotted name at the start of `text`, and of what stands behind it, if a bracket
/// follows: `a.b (`, and the rest of `'a.b'(`.
pub(crate) fn callee(text: &str) -> Option<(usize, usize)> {
    let size = dotted_size(text);
    let rest = &text[size..];
    let inner = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    let open = text.len() - inner.trim_start_matches(' ').len();
    (size > 0 && text[open..].starts_with('(')).then_some((size, open))
}

/// Bytes of the dotted name at the start of `text`.
pub(crate) fn dotted_size(text: &str) -> usize {
    let mut size = identifier_size(text);
    while size > 0 {
        let rest = &text[size..];
        let Some(c @ ('.' | ':' | '-' | '/')) = rest.chars().next() else {
            break;
        };
        match identifier_size(&rest[c.len_utf8()..]) {
            0 => break,
            more => size += c.len_utf8() + more,
        }
    }
    size
}

/// The call at the start of `text`, and its size.
pub(crate) fn call(text: &str, base: usize, context: &Context<'_>) -> Option<(Found, usize)> {
    let (name_size, open) = callee(text)?;
    let name = &text[..name_size];
    // `f.call(…)` is how Llama writes `f(…)`.
    let called = name.strip_suffix(".call");
    let called = called.filter(|own| context.tools.get(own).is_some());
    let name = called.filter(|_| context.tools.meant(name).is_none());
    let name = name.unwrap_or(&text[..name_size]);
    let tool = context.tools.meant(name);
    let mut arguments = Arguments {
        python: Python::new(text, open + 1),
        tool,
        out: String::from("{"),
        first: true,
        count: 0,
        key: None,
    };
    arguments.python.markdown = name.contains('\\');
    let read = arguments.read();
    let end = arguments.python.at;
    let span = base..base + end;
    let mut found = Found::translated(name, arguments.out, span.clone());
    found.name_span = base..base + name_size;
    found.changes = notes(&arguments.python, &span);
    found.state = match read {
        Ok(()) => State::Whole,
        Err(Trouble::Cut) => State::Cut,
        Err(Trouble::NoValue(wanted)) => State::Unreadable(match arguments.key {
            Some(key) => format!("{wanted} for `{key}`"),
            None => wanted.to_owned(),
        }),
    };
    (found.bare, found.python) = (arguments.count == 0, true);
    Some((found, end))
}

/// Calls one after the other: a list, several lines, or one alone. `None` if there is anything
/// else between them.
pub(crate) fn sequence(text: &str, base: usize, context: &Context<'_>) -> Option<Vec<Found>> {
    let mut calls = Vec::new();
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let blank = rest.len() - rest.trim_start_matches(is_between).len();
        at += blank;
        if at == text.len() {
            return Some(calls);
        }
        let (found, size) = call(&text[at..], base + at, context)?;
        if matches!(found.state, State::Unreadable(_)) {
            return None;
        }
        calls.push(found);
        at += size;
    }
}

/// What may stand between calls of a list.
fn is_between(c: char) -> bool {
    c.is_whitespace() || matches!(c, '[' | ']' | ',' | ';')
}

pub(crate) fn notes(python: &Python<'_>, span: &Range<usize>) -> Vec<Change> {
    let notes = python.notes.iter();
    notes
        .map(|(rule, sent, read)| Change::text(rule, Level::Safe, sent, read, span.clone()))
        .collect()
}

/// The arguments of one call, on their way to a JSON object.
struct Arguments<'t, 'o> {
    python: Python<'t>,
    tool: Option<&'o ToolDefinition>,
    out: String,
    first: bool,
    count: usize,
    /// The argument that is read now.
    key: Option<String>,
}

impl Arguments<'_, '_> {
    fn read(&mut self) -> Result<(), Trouble> {
        let mut position = 0;
        loop {
            self.python.skip_blank();
            match self.python.byte() {
                None => return Err(Trouble::Cut),
                Some(b')') => {
                    self.python.at += 1;
                    self.out.push('}');
                    return Ok(());
                }
                Some(b',') => {
                    self.python.at += 1;
                    continue;
                }
                Some(_) => {}
            }
            self.count += 1;
            self.key = self.read_key();
            match self.key.clone() {
                Some(key) => self.keyword(&key)?,
                None => self.positional(&mut position)?,
            }
            self.python.skip_blank();
            if !matches!(self.python.byte(), Some(b',' | b')') | None) {
                return Err(Trouble::NoValue("a comma or a closing bracket"));
            }
        }
    }

    /// The name before `=` (or `:`), if there is one.
    fn read_key(&mut self) -> Option<String> {
        let start = self.python.at;
        let key = match self.python.byte() {
            Some(b'"' | b'\'') => {
                let mut quoted = String::new();
                let read = self.python.string(&mut quoted, false);
                read.ok().and_then(|()| serde_json::from_str(&quoted).ok())
            }
            _ => self.python.identifier(),
        };
        self.python.skip_blank();
        let rest = &self.python.text[self.python.at..];
        let equals = rest.starts_with('=') && !rest.starts_with("==");
        if key.is_some() && (equals || rest.starts_with(':')) {
            self.python.at += 1;
            return key;
        }
        self.python.at = start;
        None
    }

    fn keyword(&mut self, key: &str) -> Result<(), Trouble> {
        self.member(key);
        // Words without quotes are text where text is wanted; elsewhere they may be a variable.
        let types = self.tool.map(|tool| tool.types_of(key)).unwrap_or_default();
        let elements = self
            .tool
            .map(|tool| tool.element_types_of(key))
            .unwrap_or_default();
        let words = match types.is_empty() || types.has("string") || elements.has("string") {
            true => Words::Text,
            false if types.has("array") => Words::Elements,
            false => Words::Refuse,
        };
        let number = |types: Types| types.is_empty() || types.has("integer") || types.has("number");
        self.python.sums = number(types) || (types.has("array") && number(elements));
        self.python.value(&mut self.out, words)
    }

    fn member(&mut self, key: &str) {
        if !std::mem::take(&mut self.first) {
            self.out.push(',');
        }
        quote(key, &mut self.out);
        self.out.push(':');
    }

    /// An argument without a name: all of them in one dictionary, or the next in declared order.
    fn positional(&mut self, position: &mut usize) -> Result<(), Trouble> {
        let spread = self.python.text[self.python.at..].starts_with("**");
        if spread {
            self.python.at += 2;
        }
        let mut value = String::new();
        self.python.value(&mut value, Words::Refuse)?;
        let parameter = self.tool.and_then(|tool| tool.positional(*position));
        *position += 1;
        if value.starts_with('{') && (spread || self.holds_arguments(&value)) {
            let inner = value[1..value.len() - 1].to_owned();
            if !inner.is_empty() {
                if !std::mem::take(&mut self.first) {
                    self.out.push(',');
                }
                self.out.push_str(&inner);
            }
            return Ok(());
        }
        let Some(parameter) = parameter else {
            return Err(Trouble::NoValue("arguments by name"));
        };
        let parameter = parameter.to_owned();
        self.member(&parameter);
        self.out.push_str(&value);
        Ok(())
    }

    /// Is this object the arguments, and not the value of the first parameter?
    fn holds_arguments(&self, object: &str) -> bool {
        let Some(tool) = self.tool else { return true };
        let Ok(tree) = goodcall_core::Tree::parse(object) else {
            return false;
        };
        let mut keys = tree.root().members().map(|(key, _)| key);
        let first = tool.positional(0);
        let takes_object = first.is_some_and(|first| tool.types_of(first).has("object"));
        keys.all(|key| tool.declares(key)) || !takes_object
    }
}
