//! The last requests with their calls, kept in memory for the page.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use goodcall_core::clip;
use goodcall_wire::relay::CallRecord;
use serde::{Deserialize, Serialize};

/// Requests that are kept in memory, and that the page shows.
pub const MOST_REQUESTS: usize = 10_000;
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
pub struct RecentRequest {
    /// Unique among the requests of all servers, so that a store never has a request twice.
    pub id: String,
    /// When it ended, in seconds since 1970.
    pub time: f64,
    /// The path of the request; empty for a call of the MCP proxy.
    pub path: String,
    /// The status of the reply; 0 without one.
    pub status: u16,
    /// Who asked for what.
    #[serde(flatten)]
    pub asked: RecentQuestion,
    /// What the client got.
    #[serde(flatten)]
    pub end: RecentEnd,
    /// What the request cost.
    #[serde(flatten)]
    pub figures: RecentFigures,
    /// The calls, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<RecentCall>,
}

/// Who asked for what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecentQuestion {
    /// The route that the request took, or the MCP server that was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// The name of the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The provider's protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Cow<'static, str>>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether a stream was asked for.
    #[serde(default)]
    pub stream: bool,
}

/// What the client got.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecentEnd {
    /// What the client got in the end, such as `cured`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Cow<'static, str>>,
    /// What the server would have done, if it only observes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would: Option<Cow<'static, str>>,
    /// Why nothing was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<Cow<'static, str>>,
    /// Why there was no whole reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Cow<'static, str>>,
    /// What the result of a tool says about itself: `tool_error`, `output_mismatch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Cow<'static, str>>,
    /// Why the last re-ask brought no reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reask_failed: Option<Cow<'static, str>>,
    /// The signal of a loop.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "loop")]
    pub loop_signal: Option<Cow<'static, str>>,
}

/// What the request cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecentFigures {
    /// Milliseconds from the request to its end.
    pub ms: f64,
    /// Milliseconds until the reply began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_ms: Option<f64>,
    /// How often the model was asked again.
    #[serde(default)]
    pub reasked: u32,
    /// The tokens of all requests.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub input_tokens: u64,
    /// The tokens of all replies.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub output_tokens: u64,
    /// Those of them that were spent on re-asks.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reask_input_tokens: u64,
    /// The tokens of the replies that were asked for again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reask_output_tokens: u64,
}

/// One call, as the page shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecentCall {
    /// The tool.
    pub tool: String,
    /// The verdict.
    pub verdict: Cow<'static, str>,
    /// Why the call is bad.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'static, str>>,
    /// The index of the reply that held the call.
    #[serde(default)]
    pub attempt: u32,
    /// The changes, or the issues of a bad call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<RecentCallNote>,
    /// The arguments as sent, if the settings allow to keep them; so for the two that follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// The arguments as they were passed on, if they were mended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<String>,
    /// The text that tells the model what is wrong with a bad call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
}

/// A change that was made, or an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecentCallNote {
    /// The rule, or the kind of the issue.
    pub rule: Cow<'static, str>,
    /// The place in the arguments.
    pub field: String,
    /// The value that was sent, or only its kind if the settings do not allow to keep values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Cow<'static, str>>,
    /// The value that replaces it, or its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Cow<'static, str>>,
}

/// What is kept of the values in calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptValues {
    /// Their kinds, such as `string`.
    Kinds,
    /// The values themselves, and with them the arguments and the texts for models.
    All,
}

impl RecentRequest {
    /// The request for this path that had these calls.
    pub fn new<'c>(
        path: &str,
        calls: impl Iterator<Item = &'c CallRecord>,
        values: KeptValues,
    ) -> Self {
        let calls = calls.take(MOST_CALLS);
        let calls = calls.map(|call| RecentCall::new(call, values));
        Self {
            path: clip(path, MOST_CHARS),
            calls: calls.collect(),
            ..Self::default()
        }
    }

    /// About how much memory the request takes.
    pub fn weight(&self) -> usize {
        let calls = self.calls.iter().map(|call| {
            let texts = [&call.arguments, &call.passed, &call.told];
            let texts = texts.into_iter().flatten().map(String::len).sum::<usize>();
            texts + call.tool.len() + 160 * (1 + call.notes.len())
        });
        512 + self.path.len() + calls.sum::<usize>()
    }
}

impl RecentCall {
    fn new(call: &CallRecord, values: KeptValues) -> Self {
        let value = |text: &str, is_name: bool| -> Cow<'static, str> {
            if values == KeptValues::All || is_name {
                clip(text, MOST_CHARS).into()
            } else {
                json_kind(text).into()
            }
        };
        let notes = call.notes.iter().take(MOST_NOTES);
        let notes = notes.map(|note| RecentCallNote {
            rule: note.rule.into(),
            field: clip(&note.field, MOST_CHARS),
            before: note.before.as_deref().map(|text| value(text, note.renamed)),
            after: note.after.as_deref().map(|text| value(text, note.renamed)),
        });
        let kept = |text: &str| {
            let text = Some(text).filter(|text| values == KeptValues::All && !text.is_empty());
            text.map(|text| text.chars().take(MOST_TEXT).collect())
        };
        Self {
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
}

/// The last requests of a server, oldest first.
#[derive(Debug)]
pub struct RecentRequests {
    /// With the number of each, which counts up, so that a reader can ask for newer ones only.
    requests: Mutex<VecDeque<(u64, Arc<RecentRequest>)>>,
    /// The first half of the ids, which no other server has.
    server: String,
    next: AtomicU64,
}

impl RecentRequests {
    /// Starts with the requests of an earlier run.
    pub fn new(earlier: Vec<RecentRequest>) -> Self {
        let earlier = earlier.into_iter().map(Arc::new);
        Self {
            requests: Mutex::new((1..).zip(earlier).collect()),
            server: format!("{:016x}", RandomState::new().hash_one(SystemTime::now())),
            next: AtomicU64::new(1),
        }
    }

    /// The name of this server, which no other has.
    pub fn name(&self) -> String {
        self.server.clone()
    }

    /// Adds a request, and returns it with its id and the time.
    pub fn add(&self, mut request: RecentRequest) -> Arc<RecentRequest> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        request.id = [&self.server, "-", &number.to_string()].concat();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        request.time = now.unwrap_or_default().as_secs_f64();
        let request = Arc::new(request);
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
    pub fn since(&self, after: u64, most: usize) -> (u64, Vec<String>) {
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
