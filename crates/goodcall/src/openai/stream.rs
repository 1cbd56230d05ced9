//! A streamed reply, put together from its events.

use goodcall_core::Stop;
use serde_json::Value;

use super::{stop, usage};
use crate::message::{Call, Reply};
use crate::model::ModelError;

/// What has come of a reply.
#[derive(Default)]
pub(super) struct Assembly {
    reply: Reply,
    /// The index that each call was sent under.
    indices: Vec<Option<u64>>,
    ended: bool,
}

impl Assembly {
    pub(super) fn has_begun(&self) -> bool {
        !self.reply.text.is_empty() || !self.reply.calls.is_empty()
    }

    /// Takes one line of the event stream.
    pub(super) fn line(
        &mut self,
        line: &str,
        on_text: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<(), ModelError> {
        let Some(data) = line.trim_end().strip_prefix("data:") else {
            return Ok(());
        };
        let data = data.trim_start();
        if data == "[DONE]" {
            return Ok(());
        }
        let event: Value = serde_json::from_str(data)
            .map_err(|error| ModelError::new(format!("an event is not JSON: {error}")))?;
        if let Some(error) = event.get("error") {
            return Err(ModelError::new(format!("the server says: {error}")));
        }
        if let Some(usage) = usage(&event) {
            self.reply.usage = Some(usage);
        }
        let Some(choice) = event.pointer("/choices/0") else {
            return Ok(());
        };
        if let Some(text) = choice.pointer("/delta/content").and_then(Value::as_str)
            && !text.is_empty()
        {
            on_text(text);
            self.reply.text.push_str(text);
        }
        let calls = choice
            .pointer("/delta/tool_calls")
            .and_then(Value::as_array);
        for fragment in calls.into_iter().flatten() {
            self.fragment(fragment);
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.ended = true;
            self.reply.stop = stop(reason);
        }
        Ok(())
    }

    /// Takes one fragment of a call. A new id is a new call, whatever its index: some servers
    /// send every call under index 0.
    fn fragment(&mut self, fragment: &Value) {
        let text = |pointer: &str| fragment.pointer(pointer).and_then(Value::as_str);
        let index = fragment.get("index").and_then(Value::as_u64);
        let id = text("/id").filter(|id| !id.is_empty());
        let known = self.indices.iter().rposition(|known| *known == index);
        let known = known.filter(|at| {
            let call = &self.reply.calls[*at];
            id.is_none_or(|id| call.id == id)
        });
        let at = known.unwrap_or_else(|| {
            self.indices.push(index);
            self.reply
                .calls
                .push(Call::new(id.unwrap_or_default(), "", ""));
            self.reply.calls.len() - 1
        });
        let call = &mut self.reply.calls[at];
        if let Some(name) = text("/function/name") {
            call.name.push_str(name);
        }
        match fragment.pointer("/function/arguments") {
            Some(Value::String(piece)) => call.arguments.push_str(piece),
            Some(whole @ Value::Object(_)) => call.arguments.push_str(&whole.to_string()),
            _ => {}
        }
    }

    /// The reply. One that never said that it was over is cut off.
    pub(super) fn finish(mut self) -> Reply {
        if !self.ended {
            self.reply.stop = Stop::CutOff;
        }
        self.reply
    }
}
