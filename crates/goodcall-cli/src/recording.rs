//! Recorded conversations, for `goodcall run --replay`.

use std::borrow::Cow;

use goodcall::{Call, Reply};
use goodcall_wire::{Envelope, Provider, Tools};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::CliError;

/// What was said, and what the model replied.
#[derive(Default)]
pub(crate) struct Recording {
    pub(crate) said: Vec<String>,
    pub(crate) replies: Vec<Reply>,
}

/// One line: a message in our own form or OpenAI's. What becomes arguments stays raw text, so
/// that no digit and no order of keys is lost.
#[derive(Deserialize)]
struct Line<'l> {
    #[serde(borrow)]
    role: Option<Cow<'l, str>>,
    #[serde(borrow)]
    text: Option<&'l RawValue>,
    #[serde(borrow)]
    content: Option<&'l RawValue>,
    #[serde(borrow)]
    calls: Option<&'l RawValue>,
    #[serde(borrow)]
    tool_calls: Option<&'l RawValue>,
}

/// A call in our own form.
#[derive(Deserialize)]
struct Recorded<'l> {
    #[serde(default)]
    id: Option<String>,
    name: String,
    #[serde(borrow)]
    arguments: &'l RawValue,
    #[serde(default)]
    stop: Option<Value>,
    #[serde(default)]
    changes: Option<Value>,
}

/// Reads a file of messages, one per line.
pub(crate) fn read(path: &str) -> Result<Recording, CliError> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let mut recording = Recording::default();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let fault = |what: String| format!("{path}:{}: {what}", number + 1);
        let message: Line<'_> =
            serde_json::from_str(line).map_err(|error| fault(error.to_string()))?;
        match message.role.as_deref() {
            Some("user") => recording.said.push(message.words()),
            Some("assistant") => {
                let reply = message.reply(line).map_err(fault)?;
                recording.replies.push(reply);
            }
            // The tools are run, so what they said then is passed over.
            Some("tool" | "tools" | "system") => {}
            _ => return Err(fault("a message has the role user or assistant".to_owned())),
        }
    }
    if recording.said.is_empty() {
        return Err(format!("{path}: there is no message of a user"));
    }
    Ok(recording)
}

impl Line<'_> {
    fn words(&self) -> String {
        let mut words = [self.text, self.content].into_iter().flatten();
        words.find_map(string).unwrap_or_default()
    }

    fn reply(&self, line: &str) -> Result<Reply, String> {
        if self.tool_calls.is_none() && self.content.is_none() {
            let calls = match self.calls {
                Some(calls) => own_calls(calls.get()).map_err(|error| format!("calls: {error}"))?,
                None => Vec::new(),
            };
            let mut reply = Reply::calls(calls);
            reply.text = self.words();
            return Ok(reply);
        }
        let envelope = Envelope::read(Provider::OpenAi, line, &Tools::default());
        let envelope = envelope.map_err(|error| error.to_string())?;
        let mut reply = Reply::calls(envelope.calls().iter().map(Call::from_wire));
        reply.text = envelope.content().to_owned();
        Ok(reply)
    }
}

/// Calls in our own form: their arguments are text, or the value itself in its own text.
fn own_calls(list: &str) -> Result<Vec<Call>, serde_json::Error> {
    let recorded: Vec<Recorded<'_>> = serde_json::from_str(list)?;
    let call = |call: Recorded<'_>| {
        let sent = call.arguments;
        let mut whole = json!({
            "id": call.id.unwrap_or_default(),
            "name": call.name,
            "arguments": string(sent).unwrap_or_else(|| sent.get().to_owned()),
        });
        for (key, value) in [("stop", call.stop), ("changes", call.changes)] {
            if let Some(value) = value {
                whole[key] = value;
            }
        }
        serde_json::from_value(whole)
    };
    recorded.into_iter().map(call).collect()
}

/// The string that this JSON text is, if it is one.
fn string(json: &RawValue) -> Option<String> {
    serde_json::from_str(json.get()).ok()
}
