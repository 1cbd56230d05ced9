//! Reads a reply, whole or streamed, and what is wrong with its form.

use std::collections::HashSet;
use std::fmt;

use goodcall_core::StopReason;
use serde_json::Value;

use super::{ProbeProblem, short};
use crate::call::RawCall;
use crate::envelope::{Envelope, Provider};
use crate::sse::SseReader;
use crate::stream::{Assembler, CallUpdate};
use crate::text::{TextCallScope, extract};
use crate::tools::Tools;

/// A reply, as far as the questions look at it.
#[derive(Debug, Default)]
pub(super) struct Reply {
    pub(super) calls: Vec<RawCall>,
    pub(super) text: String,
    pub(super) finish: Option<String>,
    pub(super) stop: StopReason,
}

/// Reads a reply; `None` if it cannot be read at all.
pub(super) fn read(
    body: &str,
    streamed: bool,
    tools: &Tools,
    problems: &mut Vec<ProbeProblem>,
) -> Option<Reply> {
    let reply = if streamed {
        read_stream(body, tools, problems)?
    } else {
        read_whole(body, tools, problems)?
    };
    let found = extract(&reply.text, tools, TextCallScope::Explicit);
    if !found.reasoning.trim().is_empty() {
        let detail = format!("a thought in the content: {}", short(&found.reasoning));
        let makes = "gives it as reasoning";
        let problem = ProbeProblem::mended("thought-in-text", detail, makes);
        problems.push(problem.by_flag("--text-calls"));
    }
    Some(reply)
}

/// Reads what the relay can read; `serde_json` goes less deep.
fn read_json(text: &str, problems: &mut Vec<ProbeProblem>) -> Option<Value> {
    match serde_json::from_str(text) {
        Ok(json) => Some(json),
        Err(error) => {
            problems.push(unreadable(&error, text));
            None
        }
    }
}

fn unreadable(error: &dyn fmt::Display, text: &str) -> ProbeProblem {
    let detail = format!("{error}: {}", short(text));
    ProbeProblem::broken("unreadable", detail, "passes it on")
}

fn read_whole(body: &str, tools: &Tools, problems: &mut Vec<ProbeProblem>) -> Option<Reply> {
    let envelope = match Envelope::read(Provider::OpenAi, body, tools) {
        Ok(envelope) => envelope,
        Err(error) => {
            problems.push(unreadable(&error, body));
            return None;
        }
    };
    let json = read_json(body, problems)?;
    let choice = &json["choices"][0];
    let calls = choice["message"]["tool_calls"].as_array();
    let calls = calls.map(Vec::as_slice).unwrap_or_default();
    if calls
        .iter()
        .any(|call| call["function"]["arguments"].is_object())
    {
        let detail = "arguments as an object, where a string is due";
        problems.push(ProbeProblem::mended(
            "object-arguments",
            detail,
            "writes them as a string",
        ));
    }
    let mut ids = HashSet::new();
    let has_id = |call: &Value| {
        let id = call["id"]
            .as_str()
            .filter(|id| !id.is_empty() && *id != "null");
        id.is_some_and(|id| ids.insert(id.to_owned()))
    };
    if !calls.iter().all(has_id) {
        let detail = "calls without an id, or with one id for several";
        problems.push(ProbeProblem::mended(
            "missing-id",
            detail,
            "gives each call an id",
        ));
    }
    Some(Reply {
        calls: envelope.calls().to_vec(),
        text: envelope.content().to_owned(),
        finish: choice["finish_reason"].as_str().map(str::to_owned),
        stop: envelope.stop(),
    })
}

fn read_stream(body: &str, tools: &Tools, problems: &mut Vec<ProbeProblem>) -> Option<Reply> {
    let mut reader = SseReader::default();
    reader.push(body.as_bytes());
    let mut assembler = Assembler::new(Provider::OpenAi, tools.clone());
    let mut reply = Reply::default();
    let (mut events, mut done, mut slots) = (0, false, StreamSlots::default());
    let take = |updates: Vec<CallUpdate>, reply: &mut Reply| {
        for update in updates {
            match update {
                CallUpdate::Text(text) => reply.text.push_str(&text),
                CallUpdate::Call(call) => reply.calls.push(call),
                _ => {}
            }
        }
    };
    while let Some(event) = reader.next_event().or_else(|| reader.last_event()) {
        let Some(data) = event.data else { continue };
        if data == "[DONE]" {
            done = true;
            continue;
        }
        events += 1;
        match assembler.push(&data) {
            Ok(updates) => take(updates, &mut reply),
            Err(error) => {
                problems.push(unreadable(&error, &data));
                return None;
            }
        }
        let json = read_json(&data, problems)?;
        slots.take(&json["choices"][0]["delta"]);
        if let Some(finish) = json["choices"][0]["finish_reason"].as_str() {
            reply.finish = Some(finish.to_owned());
        }
    }
    if events == 0 {
        let detail = format!("no events: {}", short(body));
        problems.push(ProbeProblem::broken("no-stream", detail, "passes it on"));
        return None;
    }
    take(assembler.finish(), &mut reply);
    reply.stop = assembler.stop();
    if !done {
        let detail = "the stream ends without [DONE]";
        problems.push(ProbeProblem::mended("no-done", detail, "writes it"));
    }
    if slots.shares_index(reply.calls.len()) {
        let detail = "several calls with one index";
        problems.push(ProbeProblem::mended(
            "shared-index",
            detail,
            "tells them apart by their ids",
        ));
    }
    Some(reply)
}

/// The indices of the calls in a stream.
#[derive(Default)]
struct StreamSlots {
    indices: HashSet<u64>,
}

impl StreamSlots {
    fn take(&mut self, delta: &Value) {
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.indices.extend(call["index"].as_u64());
        }
    }

    fn shares_index(&self, calls: usize) -> bool {
        calls > 1 && self.indices.len() < calls
    }
}
