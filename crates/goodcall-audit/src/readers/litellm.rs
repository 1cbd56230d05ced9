//! LiteLLM: rows of its table of spend, and the payloads of its loggers. Members may be JSON or
//! strings of JSON. Without `store_prompts_in_spend_logs` the rows have no content.

use goodcall_core::{Kind, Node, Tree};

use super::exchange::Exchange;
use super::fields::{CUT_OFF, host, is_cut_off, json, text, time};
use super::{CallsRead, LogFormat, LogRecord, RecordOrder, RecordReader, TurnSink, Unreadable};

pub(super) struct LiteLlm;

impl LogFormat for LiteLlm {
    fn name(&self) -> &'static str {
        "litellm"
    }

    fn recognises(&self, record: Node<'_>) -> bool {
        let own = [
            "proxy_server_request",
            "model_parameters",
            "spend",
            "response_cost",
        ];
        record.get("call_type").is_some() && own.iter().any(|key| record.get(key).is_some())
    }

    fn order(&self, _record: Node<'_>) -> RecordOrder {
        RecordOrder::Independent
    }

    fn reader(&self) -> Box<dyn RecordReader> {
        Box::new(read)
    }
}

fn read(record: &LogRecord<'_>, out: &mut dyn TurnSink) -> CallsRead {
    let root = record.root;
    if matches!(text(root, "status"), Some("failure")) {
        return Ok(0);
    }
    let member = |key: &str| root.get(key).and_then(|node| json(node, record.text));
    let reply = member("response").filter(|reply| !is_empty(reply));
    let Some(reply) = reply else {
        return Err(if root.get("response").is_some_and(is_cut_off) {
            CUT_OFF
        } else {
            Unreadable::because("the content was not stored (store_prompts_in_spend_logs)")
        });
    };
    let sent = member("proxy_server_request");
    let parameters = member("model_parameters");
    let tools = [&sent, &parameters]
        .into_iter()
        .flatten()
        .find_map(|text| tools(text));
    let messages = member("messages").filter(|messages| !is_empty(messages));
    let request = sent
        .filter(|sent| is_request(sent))
        .map(std::borrow::Cow::into_owned);
    let exchange = Exchange {
        request: request.or_else(|| messages.map(|list| format!(r#"{{"messages":{list}}}"#))),
        reply: Some(reply.into_owned()),
        tools,
        model: text(root, "model").map(str::to_owned),
        server: text(root, "api_base").map(|url| host(url).to_owned()),
        time: time(root, &["startTime", "start_time"]),
        ..Exchange::default()
    };
    exchange.pass_on(&record.place, out)
}

/// Returns true for `{}` and `[]`, which stand for nothing here.
fn is_empty(json: &str) -> bool {
    Tree::parse(json).is_ok_and(|tree| tree.root().is_empty())
}

fn is_request(json: &str) -> bool {
    Tree::parse(json).is_ok_and(|tree| goodcall_wire::recorded::is_request(tree.root()))
}

/// The list of tools in an object.
fn tools(json: &str) -> Option<String> {
    let tree = Tree::parse(json).ok()?;
    let list = tree
        .root()
        .get("tools")
        .filter(|list| list.kind() == Kind::Array)?;
    json.get(list.span()).map(str::to_owned)
}
