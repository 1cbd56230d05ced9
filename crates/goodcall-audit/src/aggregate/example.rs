//! Makes an example of a call that failed: with its values, or with their kinds alone.

use std::fmt::Write as _;
use std::sync::Arc;

use goodcall_core::{
    Explain, Kind, Node, Pointer, Policy, ReadOptions, Refusal, Style, Verdict, clip,
    expected_text, read,
};
use goodcall_wire::{ToolDefinition, Tools};
use serde_json::json;

use super::failures::{ExampleCall, ExampleNote, ExampleRank, FailureExample};
use crate::judge::Judgement;
use crate::recorded::{OfferedTools, RecordPlace, RecordedCall, RecordedTurn};
use crate::secrets::mask;

/// Bytes of arguments that are kept.
const MOST_BYTES: usize = 16 << 10;
/// Characters of arguments, texts and results that are shown.
const SHOWN_CHARS: usize = 1_500;
/// Characters of one value that are shown.
const VALUE_CHARS: usize = 120;
/// Notes that are shown.
const MOST_NOTES: usize = 12;
/// Bytes of the definitions of all tools that go into a fixture.
const MOST_TOOLS_BYTES: usize = 64 << 10;
/// Members or elements of which the shape is shown, and levels.
const SHAPE_WIDTH: usize = 12;
const SHAPE_DEPTH: usize = 4;

/// What examples show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExampleSettings {
    /// Show values, with secrets masked. By default only their kinds are shown.
    pub show_arguments: bool,
    /// Keep calls as they were sent, for fixtures.
    pub keep_calls: bool,
    /// The style of the text for the model.
    pub style: Style,
}

/// A call that may become an example.
pub(super) struct Sample<'s> {
    pub(super) settings: &'s ExampleSettings,
    pub(super) turn: &'s RecordedTurn<'s>,
    pub(super) call: &'s RecordedCall<'s>,
    pub(super) judgement: &'s Judgement<'s>,
    pub(super) place: RecordPlace,
}

impl Sample<'_> {
    fn raw(&self) -> &str {
        self.call.arguments.text()
    }

    /// Returns true if the arguments are too long to be kept.
    fn is_long(&self) -> bool {
        self.raw().len() > MOST_BYTES
    }

    pub(super) fn rank(&self) -> ExampleRank<'_> {
        ExampleRank {
            key: fnv(self.raw().as_bytes()),
            is_long: self.is_long(),
            place: &self.place,
        }
    }

    pub(super) fn example(&self, key: u64) -> FailureExample {
        let raw = self.raw();
        let verdict = match self.judgement {
            Judgement::Judged(judged) => Some(&judged.verdict),
            _ => None,
        };
        let mended = match verdict {
            Some(Verdict::Mended(mended)) => Some(self.shown(&mended.arguments.to_json())),
            _ => None,
        };
        let text = match verdict {
            Some(Verdict::Bad(bad)) => Some(self.text(bad)),
            _ => None,
        };
        let result = self.call.result.as_ref();
        FailureExample {
            key,
            place: self.place.clone(),
            model: self.turn.model.as_deref().map(Arc::from),
            sent: self.shown(raw),
            mended,
            notes: verdict
                .map(|verdict| self.notes(verdict))
                .unwrap_or_default(),
            text,
            result: result
                .filter(|_| self.settings.show_arguments)
                .map(|result| mask(&clip(&result.text, SHOWN_CHARS)).into_owned()),
            call: (self.settings.keep_calls && !self.is_long())
                .then(|| Box::new(self.call_as_sent())),
            long: self.is_long(),
        }
    }

    /// Arguments as they are shown.
    fn shown(&self, raw: &str) -> String {
        if self.settings.show_arguments {
            return mask(&clip(raw, SHOWN_CHARS)).into_owned();
        }
        let options = ReadOptions::new().policy(Policy::eager());
        match read(raw, &options) {
            Ok(reading) => {
                let mut out = String::new();
                shape(reading.tree.root(), 0, &mut out);
                clip(&out, SHOWN_CHARS)
            }
            Err(_) if raw.is_empty() => String::new(),
            Err(_) => format!("{} bytes that are not JSON", raw.len()),
        }
    }

    /// A value as it is shown.
    fn value(&self, json: &str) -> String {
        if self.settings.show_arguments {
            return mask(&clip(json, VALUE_CHARS)).into_owned();
        }
        kind_of(json).to_owned()
    }

    fn notes(&self, verdict: &Verdict<'_>) -> Vec<ExampleNote> {
        let changes = verdict.changes().iter();
        let changes = changes.filter(|_| matches!(verdict, Verdict::Mended(_)));
        let changes = changes.map(|change| ExampleNote {
            code: change.rule.name().into(),
            field: place_of(&change.pointer),
            before: change.before.as_deref().map(|text| self.value(text)),
            after: change.after.as_deref().map(|text| self.value(text)),
        });
        let issues = verdict.issues().iter().map(|issue| ExampleNote {
            code: issue.kind.name().into(),
            field: place_of(&issue.pointer),
            before: issue.actual.as_ref().map(|actual| {
                if self.settings.show_arguments {
                    mask(&actual.short).into_owned()
                } else {
                    actual.kind.to_owned()
                }
            }),
            after: Some(expected_text(&issue.expected)).filter(|text| !text.is_empty()),
        });
        changes.chain(issues).take(MOST_NOTES).collect()
    }

    /// The text for the model, without values if they are hidden.
    fn text(&self, bad: &Refusal) -> String {
        let explain = Explain::new(self.settings.style);
        let explain = explain.tool(&self.call.tool);
        if self.settings.show_arguments {
            return mask(&clip(&explain.text(bad), SHOWN_CHARS)).into_owned();
        }
        let mut bad = bad.clone();
        for issue in &mut bad.issues {
            for actual in [&mut issue.actual, &mut issue.kept].into_iter().flatten() {
                // The name of a tool is not a value.
                if issue.kind != goodcall_core::IssueKind::UnknownTool {
                    "…".clone_into(&mut actual.short);
                }
            }
        }
        clip(&explain.text(&bad), SHOWN_CHARS)
    }

    fn call_as_sent(&self) -> ExampleCall {
        ExampleCall {
            tool: self.call.tool.to_string(),
            raw: self.raw().to_owned(),
            stop: self.turn.stop.name().to_owned(),
            tools: self.definitions(),
        }
    }

    /// The definitions that the call was judged by: that of its tool, or all if it names none.
    fn definitions(&self) -> String {
        let Judgement::Judged(judged) = self.judgement else {
            return "[]".to_owned();
        };
        if let Some(tool) = judged.tool {
            return format!("[{}]", definition(tool));
        }
        match &self.turn.tools {
            OfferedTools::Schema(own) => {
                json!([{"name": self.call.tool, "parameters": own.document()}]).to_string()
            }
            OfferedTools::Recorded(tools) => all(tools),
            _ => "[]".to_owned(),
        }
    }
}

/// A place in words; empty for the whole.
fn place_of(pointer: &Pointer) -> String {
    if pointer.is_root() {
        String::new()
    } else {
        pointer.dotted()
    }
}

/// Hashes by FNV-1a, which is the same in every process: aggregates of several are added up.
fn fnv(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter().take(MOST_BYTES);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// All definitions, as far as they are not too long.
fn all(tools: &Tools) -> String {
    let mut out = String::from("[");
    for tool in tools.iter() {
        if out.len() + tool.parameters.len() > MOST_TOOLS_BYTES {
            break;
        }
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(&definition(tool));
    }
    out.push(']');
    out
}

/// A definition as JSON text; the schema stays as it was written.
fn definition(tool: &ToolDefinition) -> String {
    let (name, description) = (json!(tool.name), json!(tool.description));
    let parameters = &tool.parameters;
    format!(r#"{{"name":{name},"description":{description},"parameters":{parameters}}}"#)
}

/// Writes a value with kinds in place of its scalars.
fn shape(node: Node<'_>, depth: usize, out: &mut String) {
    match node.kind() {
        Kind::Object if depth < SHAPE_DEPTH => {
            out.push('{');
            for (index, (key, value)) in node.members().take(SHAPE_WIDTH).enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                let _ = write!(out, "{}: ", json!(clip(key, VALUE_CHARS)));
                shape(value, depth + 1, out);
            }
            out.push_str(if node.len() > SHAPE_WIDTH {
                ", …}"
            } else {
                "}"
            });
        }
        Kind::Array if depth < SHAPE_DEPTH => {
            out.push('[');
            if let Some(first) = node.elements().next() {
                shape(first, depth + 1, out);
            }
            if node.len() > 1 {
                let _ = write!(out, ", … {} elements", node.len());
            }
            out.push(']');
        }
        kind => out.push_str(kind.name()),
    }
}

/// The kind of a JSON text.
fn kind_of(json: &str) -> &'static str {
    match goodcall_core::Tree::parse(json) {
        Ok(tree) => tree.root().kind().name(),
        Err(_) => "text",
    }
}
