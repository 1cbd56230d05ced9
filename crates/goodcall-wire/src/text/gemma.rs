//! `call:f{a:1,b:<|"|>text<|"|>}`: an object with bare keys and strings in tokens of their own.
//! `<escape>` around a value leaves its type to the schema.

use super::python_values::{identifier_size, quote};
use super::{Context, Found, untyped_values};
use crate::call::State;
use crate::tools::ToolDefinition;

/// Nesting of values.
const MOST_DEPTH: usize = 64;

/// The calls of one block: `call:f{…}`, one or several.
pub(crate) fn calls(text: &str, base: usize, context: &Context<'_>) -> Vec<Found> {
    let mut calls = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find("call:").map(|from| at + from) {
        let rest = &text[start + 5..];
        let Some(open) = rest.find('{') else { break };
        let name = rest[..open].trim();
        let mut reader = Reader {
            text,
            at: start + 5 + open,
            tool: context.tools.meant(name),
            changes: Vec::new(),
        };
        let mut out = String::new();
        let state = match reader.object(&mut out) {
            Ok(()) => State::Whole,
            Err(state) => state,
        };
        at = reader.at.max(start + 5);
        let span = base + start..base + at;
        reader
            .changes
            .iter_mut()
            .for_each(|change| change.span = span.clone());
        let mut found = Found::translated(name, out, span);
        (found.changes, found.state) = (reader.changes, state);
        calls.push(found);
    }
    calls
}

struct Reader<'t, 'o> {
    text: &'t str,
    at: usize,
    tool: Option<&'o ToolDefinition>,
    changes: Vec<goodcall_core::Change>,
}

/// The mark that closes an open bracket, and if anything came before.
struct Level {
    object: bool,
    first: bool,
}

impl Reader<'_, '_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn blank(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Writes the object at this place; nesting is kept in a list, not on the stack.
    fn object(&mut self, out: &mut String) -> Result<(), State> {
        let mut levels: Vec<Level> = Vec::new();
        let mut key = String::new();
        loop {
            self.blank();
            let Some(c) = self.rest().chars().next() else {
                return Err(State::Cut);
            };
            match (c, levels.last_mut()) {
                ('}' | ']', Some(level)) => {
                    out.push(if level.object { '}' } else { ']' });
                    self.at += 1;
                    levels.pop();
                    if levels.is_empty() {
                        return Ok(());
                    }
                    continue;
                }
                (',', Some(_)) => {
                    self.at += 1;
                    continue;
                }
                (_, Some(level)) => {
                    if !std::mem::take(&mut level.first) {
                        out.push(',');
                    }
                    if level.object {
                        let top = levels.len() == 1;
                        let name = self.key()?;
                        quote(&name, out);
                        out.push(':');
                        if top {
                            key = name;
                        }
                        self.blank();
                    }
                }
                _ => {}
            }
            match self.rest().chars().next() {
                None => return Err(State::Cut),
                Some(c @ ('{' | '[')) => {
                    let object = c == '{';
                    self.at += 1;
                    out.push(c);
                    levels.push(Level {
                        object,
                        first: true,
                    });
                    if levels.len() > MOST_DEPTH {
                        return Err(State::Unreadable("fewer nested values".to_owned()));
                    }
                }
                Some(_) => self.scalar(&key, out)?,
            }
        }
    }

    fn key(&mut self) -> Result<String, State> {
        let rest = self.rest();
        for mark in ["<|\"|>", "<escape>", "\""] {
            if let Some(inner) = rest.strip_prefix(mark) {
                let (name, behind) = inner.split_once(mark).ok_or(State::Cut)?;
                let name = name.to_owned();
                self.at = self.text.len() - behind.len();
                return self.colon().map(|()| name);
            }
        }
        let size = identifier_size(rest).max(rest.find(':').unwrap_or(0));
        let name = rest[..size].trim().to_owned();
        self.at += size;
        self.colon().map(|()| name)
    }

    fn colon(&mut self) -> Result<(), State> {
        self.blank();
        match self.rest().chars().next() {
            Some(':') => {
                self.at += 1;
                Ok(())
            }
            None => Err(State::Cut),
            Some(_) => Err(State::Unreadable("a colon behind the key".to_owned())),
        }
    }

    fn scalar(&mut self, key: &str, out: &mut String) -> Result<(), State> {
        let rest = &self.text[self.at..];
        if let Some(inner) = rest.strip_prefix("<|\"|>") {
            let (value, behind) = inner.split_once("<|\"|>").ok_or(State::Cut)?;
            quote(value, out);
            self.at = self.text.len() - behind.len();
            return Ok(());
        }
        let types = self.tool.map(|tool| tool.types_of(key)).unwrap_or_default();
        if let Some(inner) = rest.strip_prefix("<escape>") {
            let (value, behind) = inner.split_once("<escape>").ok_or(State::Cut)?;
            self.changes
                .extend(untyped_values::write(value, types, out));
            self.at = self.text.len() - behind.len();
            return Ok(());
        }
        if rest.starts_with('"') {
            let size = string_size(rest).ok_or(State::Cut)?;
            out.push_str(&rest[..size]);
            self.at += size;
            return Ok(());
        }
        let size = rest.find([',', '}', ']']).ok_or(State::Cut)?;
        let value = rest[..size].trim();
        match goodcall_core::Tree::parse(value) {
            Ok(_) => out.push_str(value),
            Err(_) => self
                .changes
                .extend(untyped_values::write(value, types, out)),
        }
        self.at += size;
        Ok(())
    }
}

/// Bytes of the JSON string at the start of `text`.
fn string_size(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}
