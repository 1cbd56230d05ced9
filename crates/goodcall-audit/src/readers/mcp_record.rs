//! Recordings of a goodcall MCP proxy (`--record`): requests of clients with their answers.

use std::borrow::Cow;

use goodcall_core::Node;

use super::fields::{container, content, text, time};
use super::{CallsRead, LogFormat, LogRecord, RecordReader, TurnSink, Unreadable};
use crate::recorded::{
    KnownTools, OfferedTools, RecordedCall, RecordedResult, RecordedTurn, SentArguments,
};

/// Pages of a list that are read.
const MAX_PAGES: usize = 1000;

pub(super) struct McpRecord;

impl LogFormat for McpRecord {
    fn name(&self) -> &'static str {
        "goodcall-mcp-record"
    }

    fn recognises(&self, record: Node<'_>) -> bool {
        let keys = ["time_ms", "server", "session", "request", "answer"];
        keys.iter().all(|key| record.get(key).is_some())
    }

    fn reader(&self) -> Box<dyn RecordReader> {
        Box::new(ExchangeReader {
            tools: OfferedTools::NotRecorded(KnownTools::Some),
            pages: Vec::new(),
        })
    }
}

struct ExchangeReader {
    /// The tools of the last list.
    tools: OfferedTools,
    /// The pages of a list whose end has not come yet.
    pages: Vec<String>,
}

impl RecordReader for ExchangeReader {
    fn read(&mut self, record: &LogRecord<'_>, out: &mut dyn TurnSink) -> CallsRead {
        let root = record.root;
        let request = container(root, "request");
        let request = request.ok_or(Unreadable::because("an exchange without a request"))?;
        let result = container(root, "answer").and_then(|answer| container(answer, "result"));
        let method = text(request, "method");
        if let (Some("tools/list"), Some(result)) = (method, result) {
            self.take_page(record, request, result, out);
        }
        if method != Some("tools/call") {
            return Ok(0);
        }
        let params = container(request, "params");
        let tool = params.and_then(|params| text(params, "name"));
        let tool = tool.ok_or(Unreadable::because("a call without a tool"))?;
        let arguments = params.and_then(|params| params.get("arguments"));
        let arguments =
            arguments.map_or(Cow::Borrowed("{}"), |sent| Cow::Borrowed(record.part(sent)));
        let mut turn = RecordedTurn::new(record.place.clone());
        turn.server = text(root, "server").map(Cow::Borrowed);
        turn.time = time(root, &["time_ms"]);
        turn.tools = self.tools.clone();
        let mut call = RecordedCall::new(tool, SentArguments::Value(arguments));
        let is_error =
            result.is_none_or(|result| result.get("isError").and_then(Node::as_bool) == Some(true));
        let shown = result.and_then(|result| result.get("content"));
        let shown = shown.map(content).unwrap_or_default();
        call.result = Some(RecordedResult::new(shown, is_error));
        turn.calls.push(call);
        out.turn(&turn);
        Ok(1)
    }
}

impl ExchangeReader {
    /// Takes one page of a list of tools, and the whole list with its last page.
    fn take_page(
        &mut self,
        record: &LogRecord<'_>,
        request: Node<'_>,
        result: Node<'_>,
        out: &dyn TurnSink,
    ) {
        let cursor = container(request, "params").and_then(|params| params.get("cursor"));
        if cursor.is_none() {
            self.pages.clear();
        }
        let Some(tools) = container(result, "tools") else {
            return;
        };
        let page = record.part(tools).trim();
        let page = page
            .strip_prefix('[')
            .and_then(|page| page.strip_suffix(']'));
        let page = page.unwrap_or_default().trim();
        if !page.is_empty() && self.pages.len() < MAX_PAGES {
            self.pages.push(page.to_owned());
        }
        if text(result, "nextCursor").is_none() {
            let list = std::mem::take(&mut self.pages).join(",");
            self.tools = out.judge().offered(&format!("[{list}]"));
        }
    }
}
