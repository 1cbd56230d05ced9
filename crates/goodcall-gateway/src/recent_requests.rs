//! The last requests with their calls, kept in memory for the page.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use goodcall_core::clip;
use goodcall_wire::relay::CallRecord;
use serde::{Deserialize, Serialize};

use crate::config::StoreConfig;
use crate::observe::WouldHave;
use crate::request_record::{RequestError, RequestRecord, Unjudged};

/// Requests that are kept in memory, and that the page shows.
pub(crate) const MOST_REQUESTS: usize = 10_000;
/// Calls that are kept per request.
const MOST_CALLS: usize = 64;
/// Notes that are kept per call.
const MOST_NOTES: usize = 16;
/// Characters that are kept of a name or a value.
const MOST_CHARS: usize = 120;
/// Characters that are kept of arguments, and of the text that a model read.
const MOST_TEXT: usize = 4000;

/// One request with everything that came of it, as the page shows it and a store keeps it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecentRequest {
    /// Unique among the requests of all gateways, so that a store never has a request twice.
    pub(crate) id: String,
    /// When it ended, in seconds since 1970.
    pub(crate) time: f64,
    pub(crate) path: String,
    pub(crate) status: u16,
    #[serde(flatten)]
    pub(crate) asked: RecentQuestion,
    #[serde(flatten)]
    pub(crate) end: RecentEnd,
    #[serde(flatten)]
    pub(crate) figures: RecentFigures,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) calls: Vec<RecentCall>,
}

/// Who asked for what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecentQuestion {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) route: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) protocol: Option<Cow<'static, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) stream: bool,
}

/// What the client got.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecentEnd {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<Cow<'static, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) would: Option<Cow<'static, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) passed: Option<Cow<'static, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<Cow<'static, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reask_failed: Option<Cow<'static, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "loop")]
    pub(crate) loop_signal: Option<Cow<'static, str>>,
}

/// What the request cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecentFigures {
    pub(crate) ms: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) first_byte_ms: Option<f64>,
    #[serde(default)]
    pub(crate) reasked: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) input_tokens: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) output_tokens: u64,
    /// The tokens of the replies that were asked for again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) reask_input_tokens: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) reask_output_tokens: u64,
}

/// One call, as the page shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecentCall {
    pub(crate) tool: String,
    pub(crate) verdict: Cow<'static, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<Cow<'static, str>>,
    #[serde(default)]
    pub(crate) attempt: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<RecentCallNote>,
    /// The arguments as sent, if the settings allow to keep them; so for the two that follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<String>,
    /// The arguments as they were passed on, if they were mended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) passed: Option<String>,
    /// The text that tells the model what is wrong with a bad call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) told: Option<String>,
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

impl RecentRequest {
    /// About how much memory the request takes.
    #[cfg(feature = "store")]
    pub(crate) fn weight(&self) -> usize {
        let calls = self.calls.iter().map(|call| {
            let texts = [&call.arguments, &call.passed, &call.told];
            let texts = texts.into_iter().flatten().map(String::len).sum::<usize>();
            texts + call.tool.len() + 160 * (1 + call.notes.len())
        });
        512 + self.path.len() + calls.sum::<usize>()
    }
}

/// The last requests of a gateway, oldest first.
#[derive(Debug)]
pub(crate) struct RecentRequests {
    /// With the number of each, which counts up, so that a reader can ask for newer ones only.
    requests: Mutex<VecDeque<(u64, Arc<RecentRequest>)>>,
    /// The first half of the ids, which no other gateway has.
    gateway: u64,
    next: AtomicU64,
}

impl RecentRequests {
    /// Starts with the requests of an earlier run.
    pub(crate) fn new(earlier: Vec<RecentRequest>) -> Self {
        let earlier = earlier.into_iter().map(Arc::new);
        Self {
            requests: Mutex::new((1..).zip(earlier).collect()),
            gateway: RandomState::new().hash_one(SystemTime::now()),
            next: AtomicU64::new(1),
        }
    }

    /// The name of this gateway, which no other has.
    pub(crate) fn name(&self) -> String {
        format!("{:016x}", self.gateway)
    }

    /// Adds a request, and returns it for the store.
    pub(crate) fn add(&self, record: &RequestRecord, config: &StoreConfig) -> Arc<RecentRequest> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}-{number}", self.name());
        let request = Arc::new(recent_request(id, record, config));
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let last = requests.back().map_or(0, |(number, _)| *number);
        requests.push_back((last + 1, Arc::clone(&request)));
        if requests.len() > MOST_REQUESTS {
            requests.pop_front();
        }
        request
    }

    /// Returns at most `most` of the requests after the one with the number `after`, each as JSON,
    /// and the number of the last one.
    pub(crate) fn since(&self, after: u64, most: usize) -> (u64, Vec<String>) {
        let newer: Vec<_> = {
            let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            let newer = requests.iter().rev();
            let newer = newer.take_while(|(number, _)| *number > after).take(most);
            newer.cloned().collect()
        };
        let last = newer.first().map_or(after, |(number, _)| *number);
        let json = |request: &RecentRequest| {
            serde_json::to_string(request).expect("a request is always JSON")
        };
        let texts = newer.iter().rev().map(|(_, request)| json(request));
        (last, texts.collect())
    }
}

fn recent_request(id: String, record: &RequestRecord, config: &StoreConfig) -> RecentRequest {
    let (exchange, judgement) = (&record.exchange, &record.judgement);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let milliseconds = |time: Duration| (time.as_secs_f64() * 1e5).round() / 1e2;
    let (tokens, refused) = judgement.tokens;
    let calls = judgement.calls.iter().take(MOST_CALLS);
    RecentRequest {
        id,
        time: now.unwrap_or_default().as_secs_f64(),
        path: clip(&record.path, MOST_CHARS),
        status: record.status,
        asked: RecentQuestion {
            route: exchange.origin.route.as_deref().map(str::to_owned),
            client: exchange.origin.client.as_deref().map(str::to_owned),
            protocol: exchange.protocol.map(|protocol| protocol.name().into()),
            model: exchange
                .model
                .as_deref()
                .map(|model| clip(model, MOST_CHARS)),
            stream: exchange.streams,
        },
        end: RecentEnd {
            outcome: judgement.outcome().map(Cow::from),
            would: judgement.would_have.map(WouldHave::name).map(Cow::from),
            passed: judgement
                .unjudged
                .as_ref()
                .map(Unjudged::name)
                .map(Cow::from),
            error: record.error.map(RequestError::code).map(Cow::from),
            reask_failed: judgement.reask_failed.map(|failure| failure.code()),
            loop_signal: record.history.loop_signal.map(Cow::from),
        },
        figures: RecentFigures {
            ms: milliseconds(record.timing.total),
            first_byte_ms: record.timing.first_byte.map(milliseconds),
            reasked: judgement.reasked,
            input_tokens: tokens.input,
            output_tokens: tokens.output,
            reask_input_tokens: refused.input,
            reask_output_tokens: refused.output,
        },
        calls: calls.map(|call| recent_call(call, config)).collect(),
    }
}

fn recent_call(call: &CallRecord, config: &StoreConfig) -> RecentCall {
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
    let kept = |text: &str| {
        let text = Some(text).filter(|text| config.arguments && !text.is_empty());
        text.map(|text| text.chars().take(MOST_TEXT).collect())
    };
    RecentCall {
        tool: clip(&call.tool, MOST_CHARS),
        verdict: call.verdict.name().into(),
        reason: call.reason.map(Cow::from),
        attempt: call.attempt,
        notes: notes.collect(),
        arguments: kept(&call.sent),
        passed: call.passed.as_deref().and_then(kept),
        told: call.told.as_deref().and_then(kept),
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
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
    fn page_gets_all_requests_that_are_kept() {
        let kept = vec![RecentRequest::default(); MOST_REQUESTS];
        let requests = RecentRequests::new(kept);
        let most = MOST_REQUESTS as u64;
        let (last, all) = requests.since(0, MOST_REQUESTS);
        assert_eq!((last, all.len()), (most, MOST_REQUESTS));
        assert_eq!(requests.since(most - 1, MOST_REQUESTS).1.len(), 1);
        assert_eq!(requests.since(most, 5), (most, Vec::new()));
    }

    #[test]
    fn requests_are_read_as_they_were_written() {
        let mut request = RecentRequest {
            id: "a-1".to_owned(),
            ..RecentRequest::default()
        };
        request.end.outcome = Some("cured".into());
        request.figures.reask_input_tokens = 7;
        request.asked.route = Some("openai".to_owned());
        request.calls.push(RecentCall {
            told: Some("add the missing a".to_owned()),
            ..RecentCall::default()
        });
        let text = serde_json::to_string(&request).unwrap();
        assert_eq!(
            serde_json::from_str::<RecentRequest>(&text).unwrap(),
            request
        );
        // An earlier version wrote less.
        let text = r#"{"id":"old-1","time":1.5,"path":"","status":200,"ms":0,
            "calls":[{"tool":"f","verdict":"good"}]}"#;
        let read: RecentRequest = serde_json::from_str(text).unwrap();
        assert_eq!(read.calls[0].tool, "f");
    }
}
