//! Reads calls written as pairs of key and value:
//! `f<arg_key>a</arg_key><arg_value>1</arg_value>`, with or without `<tool_sep>` behind the name, in
//! plain tags or in `<ifm|…>` ones. Several calls may follow each other in blocks of their own.

use super::object_writer::ObjectWriter;
use super::value_tags::{RawEnding, raw_end};
use super::{FoundCall, ambiguous_end_tag};
use crate::call::CallState;
use crate::tools::Tools;

/// The tags of one form.
struct PairTags {
    key: [&'static str; 2],
    kind: [&'static str; 2],
    value: &'static str,
    call: [&'static str; 2],
}

static FORMS: [PairTags; 2] = [
    PairTags {
        key: ["<arg_key>", "</arg_key>"],
        kind: ["<arg_type>", "</arg_type>"],
        value: "<arg_value>",
        call: ["<tool_call>", "</tool_call>"],
    },
    PairTags {
        key: ["<ifm|arg_key>", "</ifm|arg_key>"],
        kind: ["<ifm|arg_type>", "</ifm|arg_type>"],
        value: "<ifm|arg_value>",
        call: ["<ifm|tool_call>", "</ifm|tool_call>"],
    },
];

/// The form of a text whose first tag is that of a pair. The same tags inside a value of another
/// format are text.
fn form(text: &str) -> Option<&'static PairTags> {
    let mut body = text.trim_start();
    for tags in &FORMS {
        body = body.strip_prefix(tags.call[0]).unwrap_or(body);
    }
    let tags = &body[body.find('<').unwrap_or(body.len())..];
    let own = FORMS.iter().find(|form| tags.starts_with(form.key[0]));
    own.or_else(|| tags.starts_with("<tool_sep>").then_some(&FORMS[0]))
}

/// Reads the calls of one block, which is closed if it has an end marker; `None` if it holds no pairs.
pub(crate) fn calls(
    text: &str,
    base: usize,
    closed: bool,
    tools: &Tools,
) -> Option<Vec<FoundCall>> {
    let tags = form(text)?;
    let mut calls = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        while let Some(behind) = tags.call.iter().find_map(|tag| rest.strip_prefix(tag)) {
            rest = behind.trim_start();
        }
        let name = rest[..rest.find('<').unwrap_or(rest.len())].trim();
        if name.is_empty() || name.contains('{') {
            return Some(calls);
        }
        let start = text.len() - rest.len();
        rest = rest[rest.find('<').unwrap_or(rest.len())..].trim_start();
        rest = rest.strip_prefix("<tool_sep>").unwrap_or(rest);
        let mut arguments = ObjectWriter::new(tools.meant(name));
        let mut reader = PairReader { rest, tags, closed };
        let state = reader.pairs(&mut arguments);
        rest = reader.rest;
        let span = base + start..base + text.len() - rest.len();
        let ended = !matches!(state, CallState::Whole);
        calls.push(arguments.finish(name, span, state));
        if ended || rest.trim().is_empty() {
            return Some(calls);
        }
    }
}

struct PairReader<'t> {
    rest: &'t str,
    tags: &'static PairTags,
    closed: bool,
}

impl<'t> PairReader<'t> {
    /// Reads the pairs of one call, and returns how it ends.
    fn pairs(&mut self, arguments: &mut ObjectWriter<'_>) -> CallState {
        loop {
            self.rest = self.rest.trim_start();
            let Some(behind) = self.rest.strip_prefix(self.tags.key[0]) else {
                return self.end();
            };
            let Some((key, kind, value)) = self.head(behind) else {
                return CallState::Cut;
            };
            let (size, after) = match raw_end(self.tags.value).find(value) {
                RawEnding::At(size, after) => (size, after),
                RawEnding::Ambiguous => return ambiguous_end_tag(key),
                // Only the end of the last value is missing, if the message had ended.
                RawEnding::Missing if self.closed && !value.contains('<') => {
                    arguments.untyped_member(key, value, kind);
                    self.rest = "";
                    return CallState::Open;
                }
                RawEnding::Missing => return CallState::Cut,
            };
            arguments.untyped_member(key, &value[..size], kind);
            self.rest = &value[after..];
        }
    }

    /// The key, the type and the text from the value on; `None` if they are cut off.
    fn head(&self, behind: &'t str) -> Option<(&'t str, Option<&'t str>, &'t str)> {
        let (key, rest) = behind.split_once(self.tags.key[1])?;
        let (head, value) = rest.split_once(self.tags.value)?;
        let kind = head.split_once(self.tags.kind[0]);
        let kind = kind.and_then(|(_, kind)| kind.split_once(self.tags.kind[1]));
        Some((key.trim(), kind.map(|(kind, _)| kind.trim()), value))
    }

    /// The state of a call behind its last pair.
    fn end(&mut self) -> CallState {
        if let Some(behind) = self.rest.strip_prefix(self.tags.call[1]) {
            self.rest = behind;
            return CallState::Whole;
        }
        let over = self.rest.starts_with(self.tags.call[0]) || self.rest.starts_with("</");
        match self.rest {
            "" if !self.closed => CallState::Open,
            "" => CallState::Whole,
            _ if over => CallState::Whole,
            _ => CallState::Unreadable("nothing but pairs of keys and values".to_owned()),
        }
    }
}
