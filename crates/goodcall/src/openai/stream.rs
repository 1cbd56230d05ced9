//! Assembles a streamed reply from its events.

use goodcall_core::StopReason;
use goodcall_wire::sse::SseReader;
use goodcall_wire::{Assembler, CallUpdate, Provider, Tools};
use serde_json::Value;

use crate::message::{Call, Reply};
use crate::model::{ModelError, TextSink};
use crate::reasoning;
use crate::wire::usage;

/// The part of a reply that has arrived.
pub(super) struct ReplyAssembly {
    reader: SseReader,
    assembler: Assembler,
    reply: Reply,
    /// The members of the message that hold reasoning.
    reasoning: Value,
    begun: bool,
    ended: bool,
}

impl ReplyAssembly {
    pub(super) fn new(tools: Tools) -> Self {
        Self {
            reader: SseReader::default(),
            assembler: Assembler::new(Provider::OpenAi, tools),
            reply: Reply::default(),
            reasoning: Value::Null,
            begun: false,
            ended: false,
        }
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Takes bytes of the event stream.
    pub(super) fn push(&mut self, bytes: &[u8], on_text: TextSink<'_>) -> Result<(), ModelError> {
        self.reader.push(bytes);
        while let Some(event) = self.reader.next_event() {
            if let Some(data) = &event.data {
                self.event(data, on_text)?;
            }
        }
        Ok(())
    }

    fn event(&mut self, data: &str, on_text: TextSink<'_>) -> Result<(), ModelError> {
        let data = data.trim();
        if data == "[DONE]" {
            self.ended = true;
            return Ok(());
        }
        let event: Value = serde_json::from_str(data)
            .map_err(|error| ModelError::new(format!("an event is not JSON: {error}")))?;
        if let Some(error) = event.get("error") {
            return Err(ModelError::new(format!("the server says: {error}")));
        }
        if event.get("usage").is_some()
            && let Some(usage) = usage(&event)
        {
            self.reply.usage = Some(usage);
        }
        reasoning::add_delta(&mut self.reasoning, &event["choices"][0]["delta"]);
        let updates = self.assembler.push(data)?;
        self.take(updates, on_text);
        Ok(())
    }

    fn take(&mut self, updates: Vec<CallUpdate>, on_text: TextSink<'_>) {
        for update in updates {
            self.begun = true;
            match update {
                CallUpdate::Text(text) => {
                    on_text(&text);
                    self.reply.text.push_str(&text);
                }
                CallUpdate::Call(call) => self.reply.calls.push(Call::from_wire(&call)),
                // The call follows when it is complete.
                _ => {}
            }
        }
    }

    /// Returns the reply, which is cut off unless the stream marked its end.
    pub(super) fn finish(mut self, on_text: TextSink<'_>) -> Result<Reply, ModelError> {
        // The last event may lack the blank line that ends it.
        self.push(b"\n\n", on_text)?;
        let updates = self.assembler.finish();
        self.take(updates, on_text);
        self.reply.reasoning = reasoning::of_chat(&self.reasoning);
        self.reply.stop = match self.assembler.stop() {
            StopReason::Unknown if !self.ended => StopReason::CutOff,
            stop => stop,
        };
        Ok(self.reply)
    }
}
