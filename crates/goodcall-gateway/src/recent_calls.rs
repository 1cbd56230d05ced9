//! The last calls, kept in memory for the page.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use goodcall_core::clip;
use goodcall_wire::relay::CallRecord;
use serde::{Deserialize, Serialize};

use crate::config::StoreConfig;
use crate::request_record::{ExchangeInfo, RequestRecord};

/// Calls that are kept in memory.
pub(crate) const MOST_CALLS: usize = 10_000;
/// Notes that are kept per call.
const MOST_NOTES: usize = 16;
/// Characters that are kept of a name or a value.
const MOST_CHARS: usize = 120;

/// One call, as the page shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecentCall {
    /// Counts up, so that a reader can ask for newer calls only.
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
    pub(crate) notes: Vec<RecentCallNote>,
    /// The arguments as sent, if the settings allow to keep them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<String>,
}

/// A change that was made, or an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecentCallNote {
    pub(crate) rule: Cow<'static, str>,
    pub(crate) field: String,
    /// The value that was sent, or only its kind if the settings do not allow to keep values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<Cow<'static, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<Cow<'static, str>>,
}

/// The last calls of a gateway, oldest first.
#[derive(Debug)]
pub(crate) struct RecentCalls {
    calls: Mutex<VecDeque<Arc<RecentCall>>>,
}

impl RecentCalls {
    /// Starts with the calls of an earlier run.
    pub(crate) fn new(earlier: Vec<RecentCall>) -> Self {
        Self {
            calls: Mutex::new(earlier.into_iter().map(Arc::new).collect()),
        }
    }

    /// Adds the calls of a request, and returns them for the store.
    pub(crate) fn add(&self, record: &RequestRecord, config: &StoreConfig) -> Vec<Arc<RecentCall>> {
        let judged = &record.judgement.calls;
        if judged.is_empty() {
            return Vec::new();
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let time = now.unwrap_or_default().as_secs_f64();
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seq = calls.back().map_or(0, |call| call.seq);
        let mut added = Vec::with_capacity(judged.len());
        for call in judged {
            seq += 1;
            let call = Arc::new(recent_call(seq, time, call, &record.exchange, config));
            added.push(Arc::clone(&call));
            calls.push_back(call);
        }
        while calls.len() > MOST_CALLS {
            calls.pop_front();
        }
        added
    }

    /// Renders the calls after the one with the number `after` as JSON.
    pub(crate) fn json(&self, after: u64, active: i64) -> String {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let newer: Vec<&RecentCall> = calls
            .iter()
            .rev()
            .map(Arc::as_ref)
            .take_while(|call| call.seq > after)
            .collect();
        let last = newer.first().map_or(after, |call| call.seq);
        let shown: Vec<&RecentCall> = newer.into_iter().rev().collect();
        let value = serde_json::json!({"next": last, "active": active, "calls": shown});
        value.to_string()
    }
}

fn recent_call(
    seq: u64,
    time: f64,
    call: &CallRecord,
    exchange: &ExchangeInfo,
    config: &StoreConfig,
) -> RecentCall {
    let value = |text: &str, is_name: bool| -> Cow<'static, str> {
        if config.arguments || is_name {
            clip(text, MOST_CHARS).into()
        } else {
            json_kind(text).into()
        }
    };
    let notes = call
        .notes
        .iter()
        .take(MOST_NOTES)
        .map(|note| RecentCallNote {
            rule: note.rule.into(),
            field: clip(&note.field, MOST_CHARS),
            before: note.before.as_deref().map(|text| value(text, note.renamed)),
            after: note.after.as_deref().map(|text| value(text, note.renamed)),
        });
    let protocol = exchange.protocol.map_or("", |protocol| protocol.name());
    RecentCall {
        seq,
        time,
        tool: clip(&call.tool, MOST_CHARS),
        verdict: call.verdict.name().into(),
        reason: call.reason.map(Cow::from),
        attempt: call.attempt,
        protocol: protocol.into(),
        model: exchange
            .model
            .as_deref()
            .map(|model| clip(model, MOST_CHARS)),
        notes: notes.collect(),
        arguments: config
            .arguments
            .then(|| call.sent.chars().take(4000).collect()),
    }
}

/// The kind of a JSON value, by its first character.
fn json_kind(text: &str) -> &'static str {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_gets_all_calls_that_are_kept() {
        let call = |seq| RecentCall {
            seq,
            time: 0.0,
            tool: "f".to_owned(),
            verdict: "good".into(),
            reason: None,
            attempt: 0,
            protocol: "openai".into(),
            model: None,
            notes: Vec::new(),
            arguments: None,
        };
        let most = MOST_CALLS as u64;
        let calls = RecentCalls::new((1..=most).map(call).collect());
        let data: serde_json::Value = serde_json::from_str(&calls.json(0, 0)).unwrap();
        assert_eq!(data["calls"].as_array().unwrap().len(), MOST_CALLS);
        assert_eq!(data["next"], most);
        let newer: serde_json::Value = serde_json::from_str(&calls.json(most - 1, 0)).unwrap();
        assert_eq!(newer["calls"].as_array().unwrap().len(), 1);
    }
}
