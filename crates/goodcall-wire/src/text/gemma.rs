//! Reads the calls of Gemma: `call:f{a:1,b:<|"|>text<|"|>}`, an object with bare keys and with
//! strings between tokens. `<escape>` around a value leaves its type to the schema.

use goodcall_core::Change;

use super::object_writer::{declared_types, push_string};
use super::python_values::identifier_size;
use super::raw_members::string_end;
use super::value_tags::{RawEnding, raw_end};
use super::{FoundCall, untyped_values};
use crate::call::CallState;
use crate::tools::{ToolDefinition, Tools};

/// The deepest nesting of values.
const MAX_DEPTH: usize = 64;
/// The token on both sides of a string.
const QUOTE: &str = "<|\"|>";
/// The token on both sides of a value without a type.
const ESCAPE: &str = "<escape>";
const CALL: &str = "call:";

/// Reads the calls of one block: `call:f{…}`, one or several.
pub(crate) fn calls(text: &str, base: usize, tools: &Tools) -> Vec<FoundCall> {
    let mut calls = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(CALL).map(|size| at + size) {
        let name_start = start + CALL.len();
        let Some(open) = text[name_start..].find('{').map(|size| name_start + size) else {
            break;
        };
        let name = text[name_start..open].trim();
        let mut reader = GemmaReader {
            text,
            at: open,
            tool: tools.meant(name),
            changes: Vec::new(),
        };
        let mut out = String::new();
        let state = match reader.object(&mut out) {
            Ok(()) => CallState::Whole,
            Err(state) => state,
        };
        at = reader.at;
        let span = base + start..base + at;
        for change in &mut reader.changes {
            change.span = span.clone();
        }
        let mut found = FoundCall::translated(name, out, span);
        (found.changes, found.state) = (reader.changes, state);
        calls.push(found);
    }
    calls
}

/// A reader of the arguments of one call.
struct GemmaReader<'t, 'o> {
    text: &'t str,
    at: usize,
    tool: Option<&'o ToolDefinition>,
    changes: Vec<Change>,
}

/// An object or a list that is open.
struct OpenContainer {
    is_object: bool,
    is_empty: bool,
    /// A comma stands before the cursor.
    has_comma: bool,
}

impl<'t> GemmaReader<'t, '_> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Reads the object at the cursor. Open containers are kept in a list, not on the stack.
    fn object(&mut self, out: &mut String) -> Result<(), CallState> {
        let mut open: Vec<OpenContainer> = Vec::new();
        let mut key = String::new();
        loop {
            self.skip_blanks();
            let Some(c) = self.rest().chars().next() else {
                return Err(CallState::Cut);
            };
            match (c, open.last_mut()) {
                ('}' | ']', Some(container)) => {
                    out.push(if container.is_object { '}' } else { ']' });
                    self.at += 1;
                    open.pop();
                    if open.is_empty() {
                        return Ok(());
                    }
                    continue;
                }
                (',', Some(container)) => {
                    self.at += 1;
                    container.has_comma = true;
                    continue;
                }
                (_, Some(container)) => {
                    let comma = std::mem::take(&mut container.has_comma);
                    if !std::mem::take(&mut container.is_empty) {
                        if !comma {
                            let expected = "a comma between the values";
                            return Err(CallState::Unreadable(expected.to_owned()));
                        }
                        out.push(',');
                    }
                    if container.is_object {
                        let name = self.key()?;
                        push_string(&name, out);
                        out.push(':');
                        if open.len() == 1 {
                            key = name;
                        }
                        self.skip_blanks();
                    }
                }
                _ => {}
            }
            match self.rest().chars().next() {
                None => return Err(CallState::Cut),
                Some(c @ ('{' | '[')) => {
                    self.at += 1;
                    out.push(c);
                    open.push(OpenContainer {
                        is_object: c == '{',
                        is_empty: true,
                        has_comma: false,
                    });
                    if open.len() > MAX_DEPTH {
                        return Err(CallState::Unreadable("fewer nested values".to_owned()));
                    }
                }
                Some(_) => self.scalar(&key, out)?,
            }
        }
    }

    fn key(&mut self) -> Result<String, CallState> {
        let rest = self.rest();
        for quote in [QUOTE, ESCAPE] {
            if let Some(name) = self.between(quote)? {
                return self.colon().map(|()| name.to_owned());
            }
        }
        if let Some((name, behind)) = rest.strip_prefix('"').and_then(|key| key.split_once('"')) {
            self.at = self.text.len() - behind.len();
            return self.colon().map(|()| name.to_owned());
        }
        let size = identifier_size(rest).max(rest.find(':').unwrap_or(0));
        self.at += size;
        self.colon().map(|()| rest[..size].trim().to_owned())
    }

    /// Reads the text between two of these tokens, if one is at the cursor.
    fn between(&mut self, token: &str) -> Result<Option<&'t str>, CallState> {
        let Some(inner) = self.rest().strip_prefix(token) else {
            return Ok(None);
        };
        match raw_end(token).find(inner) {
            RawEnding::At(size, after) => {
                self.at = self.text.len() - inner.len() + after;
                Ok(Some(&inner[..size]))
            }
            RawEnding::Ambiguous => {
                Err(CallState::Unreadable(format!("no {token} inside a value")))
            }
            RawEnding::Missing => Err(CallState::Cut),
        }
    }

    fn colon(&mut self) -> Result<(), CallState> {
        self.skip_blanks();
        match self.rest().chars().next() {
            Some(':') => {
                self.at += 1;
                Ok(())
            }
            None => Err(CallState::Cut),
            Some(_) => Err(CallState::Unreadable("a colon behind the key".to_owned())),
        }
    }

    fn scalar(&mut self, key: &str, out: &mut String) -> Result<(), CallState> {
        if let Some(value) = self.between(QUOTE)? {
            push_string(value, out);
            return Ok(());
        }
        let types = declared_types(self.tool, key);
        if let Some(value) = self.between(ESCAPE)? {
            let change = untyped_values::write(value, types, out);
            self.changes.extend(change);
            return Ok(());
        }
        let rest = self.rest();
        if rest.starts_with('"') {
            let size = string_end(rest.as_bytes(), 0).ok_or(CallState::Cut)?;
            out.push_str(&rest[..size]);
            self.at += size;
            return Ok(());
        }
        let size = rest.find([',', '}', ']']).ok_or(CallState::Cut)?;
        let value = rest[..size].trim();
        if value.contains(QUOTE) || value.contains(ESCAPE) {
            return Err(CallState::Unreadable(format!("no {QUOTE} inside a value")));
        }
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
