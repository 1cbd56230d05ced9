//! Runs of LangSmith: those of models with their calls, those of tools with the results.

use std::borrow::Cow;

use goodcall_core::{Kind, Node, Tree};
use goodcall_wire::recorded::is_reply;

use super::exchange::Exchange;
use super::fields::{CUT_OFF, container, content, elements, is_cut_off, json, text, time};
use super::pending::PendingTurns;
use super::{CallsRead, LogFormat, LogRecord, RecordReader, TurnSink, Unreadable, langchain};
use crate::recorded::{KnownTools, OfferedTools, RecordedResult, RecordedTurn};

pub(super) struct LangSmith;

impl LogFormat for LangSmith {
    fn name(&self) -> &'static str {
        "langsmith"
    }

    fn recognises(&self, record: Node<'_>) -> bool {
        text(record, "run_type").is_some() && record.get("inputs").is_some()
    }

    fn reader(&self) -> Box<dyn RecordReader> {
        Box::<Runs>::default()
    }
}

#[derive(Default)]
struct Runs {
    turns: PendingTurns,
}

impl RecordReader for Runs {
    fn read(&mut self, record: &LogRecord<'_>, out: &mut dyn TurnSink) -> CallsRead {
        // Bulk exports have the larger members as strings.
        let member = |key: &str| {
            record
                .root
                .get(key)
                .and_then(|node| json(node, record.text))
        };
        let run = Run {
            record,
            inputs: member("inputs"),
            outputs: member("outputs"),
            extra: member("extra"),
        };
        match text(record.root, "run_type") {
            Some("llm") => run.model(&mut self.turns, out),
            Some("tool") => {
                run.tool(&mut self.turns);
                Ok(0)
            }
            _ => Ok(0),
        }
    }

    fn finish(&mut self, out: &mut dyn TurnSink) {
        self.turns.finish(out);
    }
}

/// One run, with its members as JSON text.
struct Run<'r> {
    record: &'r LogRecord<'r>,
    inputs: Option<Cow<'r, str>>,
    outputs: Option<Cow<'r, str>>,
    extra: Option<Cow<'r, str>>,
}

impl Run<'_> {
    fn model(&self, turns: &mut PendingTurns, out: &mut dyn TurnSink) -> Result<usize, Unreadable> {
        let Some(outputs) = &self.outputs else {
            let sent = self.record.root.get("outputs");
            // Otherwise the run failed.
            return if sent.is_some_and(is_cut_off) {
                Err(CUT_OFF)
            } else {
                Ok(0)
            };
        };
        let tree =
            Tree::parse(outputs).map_err(|_| Unreadable::because("outputs that are not JSON"))?;
        if is_reply(tree.root()) {
            return self.exchange(outputs).pass_on(&self.record.place, out);
        }
        let Some(message) = generated(tree.root()) else {
            return Ok(0);
        };
        let part = LogRecord::new(outputs, tree.root(), self.record.place.clone());
        let mut turn = RecordedTurn::new(self.record.place.clone());
        turn.model = self.model_name().map(Cow::Owned);
        turn.time = time(self.record.root, &["start_time", "end_time"]);
        turn.conversation = self.conversation().map(Cow::Owned);
        turn.tools = match self.tools() {
            Some(list) => out.judge().offered(&list),
            None => OfferedTools::NotRecorded(KnownTools::Some),
        };
        langchain::read_message(&part, message, &mut turn);
        let count = turn.calls.len();
        if count > 0 {
            turns.begin(None, turn, out);
        }
        Ok(count)
    }

    /// A run of a provider's own client, whose outputs are the provider's reply.
    fn exchange(&self, outputs: &str) -> Exchange {
        Exchange {
            request: self.inputs.as_deref().map(str::to_owned),
            reply: Some(outputs.to_owned()),
            tools: self.tools(),
            model: self.model_name(),
            time: time(self.record.root, &["start_time", "end_time"]),
            ..Exchange::default()
        }
    }

    /// The result of a tool, which names its call.
    fn tool(&self, turns: &mut PendingTurns) {
        let error = text(self.record.root, "error");
        let Some(tree) = self
            .outputs
            .as_deref()
            .and_then(|text| Tree::parse(text).ok())
        else {
            return;
        };
        let output = tree.root().get("output").unwrap_or(tree.root());
        let message = container(output, "kwargs").unwrap_or(output);
        let Some(id) = text(message, "tool_call_id") else {
            return;
        };
        let said = match (error, message.get("content")) {
            (Some(error), _) => error.to_owned(),
            (None, Some(said)) => content(said),
            (None, None) => String::new(),
        };
        let failed = error.is_some() || text(message, "status") == Some("error");
        turns.result(id, RecordedResult::new(said, failed));
    }

    /// A part of `extra`, found by this function, as JSON text.
    fn in_extra<T>(&self, find: impl Fn(Node<'_>, &str) -> Option<T>) -> Option<T> {
        let text = self.extra.as_deref()?;
        let tree = Tree::parse(text).ok()?;
        find(tree.root(), text)
    }

    fn tools(&self) -> Option<String> {
        let list = |node: Node<'_>, source: &str| {
            let tools = node
                .get("tools")
                .filter(|list| list.kind() == Kind::Array)?;
            source.get(tools.span()).map(str::to_owned)
        };
        let own = self.in_extra(|extra, source| list(extra.get("invocation_params")?, source));
        own.or_else(|| {
            let source = self.inputs.as_deref()?;
            list(Tree::parse(source).ok()?.root(), source)
        })
    }

    fn model_name(&self) -> Option<String> {
        self.in_extra(|extra, _| {
            let metadata = extra
                .get("metadata")
                .and_then(|of| text(of, "ls_model_name"));
            let parameters = extra.get("invocation_params");
            let asked =
                parameters.and_then(|of| text(of, "model").or_else(|| text(of, "model_name")));
            metadata.or(asked).map(str::to_owned)
        })
    }

    fn conversation(&self) -> Option<String> {
        let thread = self.in_extra(|extra, _| {
            let metadata = extra.get("metadata")?;
            text(metadata, "thread_id").map(str::to_owned)
        });
        thread.or_else(|| text(self.record.root, "trace_id").map(str::to_owned))
    }
}

/// The message that a model generated.
fn generated(outputs: Node<'_>) -> Option<Node<'_>> {
    let first = elements(outputs, "generations").next();
    let first = first.map(|first| first.elements().next().unwrap_or(first));
    let message = first.and_then(|first| first.get("message"));
    let last = || elements(outputs, "messages").last();
    let message = message.or_else(last).unwrap_or(outputs);
    langchain::has_calls(message).then_some(message)
}
