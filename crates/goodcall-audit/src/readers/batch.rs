//! Batches of OpenAI and Anthropic: the requests in one file, the answers in another, joined by
//! `custom_id`.

use goodcall_core::Node;
use goodcall_wire::recorded::RecordedRequest;

use super::exchange::Exchange;
use super::fields::{container, text, time};
use super::{CallsRead, LogFormat, LogRecord, RecordReader, TurnSink, Unreadable};
use crate::batch_requests::BatchRequest;

pub(super) struct Batch;

/// The name of the format, by which files with requests are found before any answer is read.
pub(crate) const BATCH: &str = "batch";

/// Why an answer is not judged by the tools of a request.
const AMBIGUOUS: &str =
    "several requests have this custom_id, with other tools: audit one batch at a time";

impl LogFormat for Batch {
    fn name(&self) -> &'static str {
        BATCH
    }

    fn recognises(&self, record: Node<'_>) -> bool {
        let parts = ["body", "params", "response", "result", "error"];
        text(record, "custom_id").is_some() && parts.iter().any(|key| record.get(key).is_some())
    }

    fn reader(&self) -> Box<dyn RecordReader> {
        Box::new(read)
    }
}

/// The request of a line; `None` if the line is an answer.
pub(crate) fn request<'r>(record: &LogRecord<'r>) -> Option<(&'r str, BatchRequest)> {
    let id = text(record.root, "custom_id")?;
    let body = ["body", "params"]
        .iter()
        .find_map(|key| container(record.root, key))?;
    let request = RecordedRequest::from_node(body, record.text)?;
    let request = BatchRequest {
        model: request.model.map(Into::into),
        tools: request.tools.map(Into::into),
        is_ambiguous: false,
    };
    Some((id, request))
}

fn read(record: &LogRecord<'_>, out: &mut dyn TurnSink) -> CallsRead {
    if let Some((id, request)) = request(record) {
        out.judge().batches().insert(id, request);
        return Ok(0);
    }
    let id = text(record.root, "custom_id").ok_or(Unreadable::because("no custom_id"))?;
    let Some(reply) = reply(record) else {
        return failed(record.root);
    };
    let asked = out.judge().batches().get(id);
    let exchange = Exchange {
        reply: Some(reply.to_owned()),
        tools: asked.tools.map(|tools| tools.to_string()),
        unusable_tools: asked.is_ambiguous.then_some(AMBIGUOUS),
        model: asked.model.map(|model| model.to_string()),
        time: time(record.root, &["created_at", "completed_at"]),
        ..Exchange::default()
    };
    exchange.pass_on(&record.place, out)
}

/// The reply of an answer.
fn reply<'r>(record: &LogRecord<'r>) -> Option<&'r str> {
    let inner = |outer: &str, key: &str| container(container(record.root, outer)?, key);
    let body = inner("response", "body").or_else(|| inner("result", "message"))?;
    let failed = ["error"]
        .iter()
        .any(|key| body.get(key).is_some_and(|error| !error.is_null()));
    (!failed).then(|| record.part(body))
}

/// An answer without a reply: the request failed, expired or was cancelled.
fn failed(root: Node<'_>) -> Result<usize, Unreadable> {
    let parts = ["response", "result", "error"];
    if parts.iter().any(|key| root.get(key).is_some()) {
        Ok(0)
    } else {
        Err(Unreadable::because(
            "neither a request nor an answer of a batch",
        ))
    }
}
