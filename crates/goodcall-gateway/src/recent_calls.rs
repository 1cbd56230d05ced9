//! The calls that people see on the page: the last ones, kept in memory.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use goodcall_wire::relay::CallRecord;
use serde::{Deserialize, Serialize};

use crate::record::Record;

/// Calls that are kept.
pub(crate) const MOST_CALLS: usize = 10_000;
/// Calls in one answer.
const MOST_ANSWERED: usize = 2_000;
/// Notes that are kept of one call.
const MOST_NOTES: usize = 16;
/// Characters of a name or a value.
const MOST_CHARS: usize = 120;

/// One call, as the page shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Counts up, for readers that want only what is new.
    pub(crate) seq: u64,
    /// Seconds since 1970.
    pub(crate) time: f64,
    pub(crate) tool: String,
    pub(crate) verdict: Cow<'static, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<Cow<'static, str>>,
    pub(crate) attempt: u32,
    pub(crate) protocol: Cow<'static, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<EntryNote>,
    /// Only where arguments may be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<String>,
}

/// What was changed, or is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EntryNote {
    pub(crate) rule: Cow<'static, str>,
    pub(crate) field: String,
    /// What was there: the value where arguments may be kept, else what kind of value it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<Cow<'static, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<Cow<'static, str>>,
}

/// The last calls.
#[derive(Debug)]
pub(crate) struct Window {
    calls: Mutex<VecDeque<Entry>>,
}

impl Window {
    /// With what was kept from before.
    pub(crate) fn new(before: Vec<Entry>) -> Self {
        Self {
            calls: Mutex::new(before.into()),
        }
    }

    /// Takes in the calls of a request, with their arguments or without; gives them back as they
    /// were taken in, if they are `wanted`.
    pub(crate) fn add(&self, record: &Record, arguments: bool, wanted: bool) -> Vec<Entry> {
        let mut new = Vec::new();
        if record.calls.is_empty() {
            return new;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let time = now.unwrap_or_default().as_secs_f64();
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seq = calls.back().map_or(0, |entry| entry.seq);
        for judged in &record.calls {
            seq += 1;
            let entry = entry(seq, time, judged, record, arguments);
            new.extend(wanted.then(|| entry.clone()));
            calls.push_back(entry);
        }
        while calls.len() > MOST_CALLS {
            calls.pop_front();
        }
        new
    }

    /// The calls after this one, as JSON.
    pub(crate) fn json(&self, after: u64, active: i64) -> String {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let newer: Vec<&Entry> = calls
            .iter()
            .rev()
            .take_while(|entry| entry.seq > after)
            .collect();
        let last = newer.first().map_or(after, |entry| entry.seq);
        let shown: Vec<&Entry> = newer.into_iter().take(MOST_ANSWERED).rev().collect();
        let value = serde_json::json!({"next": last, "active": active, "calls": shown});
        value.to_string()
    }
}

fn entry(seq: u64, time: f64, judged: &CallRecord, record: &Record, arguments: bool) -> Entry {
    let value = |text: &Option<String>, name: bool| -> Option<Cow<'static, str>> {
        let text = text.as_deref()?;
        Some(match arguments || name {
            true => clip(text).into(),
            false => kind(text).into(),
        })
    };
    let notes = judged.notes.iter().take(MOST_NOTES).map(|note| EntryNote {
        rule: note.rule.into(),
        field: clip(&note.field),
        before: value(&note.before, note.renamed),
        after: value(&note.after, note.renamed),
    });
    Entry {
        seq,
        time,
        tool: clip(&judged.tool),
        verdict: judged.ruled.name().into(),
        reason: judged.reason.map(Cow::from),
        attempt: judged.attempt,
        protocol: record
            .protocol
            .map_or("", |protocol| protocol.name())
            .into(),
        model: record.model.as_deref().map(clip),
        notes: notes.collect(),
        arguments: arguments.then(|| judged.sent.chars().take(4000).collect()),
    }
}

fn clip(text: &str) -> String {
    // Most are so short that nothing has to be counted.
    let end = (text.len() > MOST_CHARS).then(|| text.char_indices().nth(MOST_CHARS));
    match end.flatten() {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What kind of value a JSON text is.
fn kind(text: &str) -> &'static str {
    match text.trim_start().bytes().next() {
        Some(b'"') => "string",
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        Some(b'-' | b'0'..=b'9') => "number",
        _ => "text",
    }
}
