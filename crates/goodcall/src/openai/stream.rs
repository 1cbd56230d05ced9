//! A streamed reply, put together from its events.

use goodcall_core::StopReason;
use goodcall_wire::{Assembler, CallUpdate, Provider, Tools};
use serde_json::Value;

use super::usage;
use crate::message::{Call, Reply};
use crate::model::ModelError;

/// What has come of a reply.
pub(super) struct Assembly {
    assembler: Assembler,
    reply: Reply,
    begun: bool,
    ended: bool,
}

impl Assembly {
    pub(super) fn new(tools: Tools) -> Self {
        Self {
            assembler: Assembler::new(Provider::OpenAi, tools),
            reply: Reply::default(),
            begun: false,
            ended: false,
        }
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun
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
            self.ended = true;
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
        let updates = self.assembler.push(data);
        let updates = updates.map_err(|error| ModelError::new(error.to_string()))?;
        self.take(updates, on_text);
        Ok(())
    }

    fn take(&mut self, updates: Vec<CallUpdate>, on_text: &(dyn Fn(&str) + Send + Sync)) {
        for update in updates {
            self.begun = true;
            match update {
                CallUpdate::Text(text) => {
                    on_text(&text);
                    self.reply.text.push_str(&text);
                }
                CallUpdate::Call(call) => self.reply.calls.push(Call::from_wire(&call)),
                // Told when the call is whole.
                _ => {}
            }
        }
    }

    /// The reply. One that never said that it was over is cut off.
    pub(super) fn finish(mut self, on_text: &(dyn Fn(&str) + Send + Sync)) -> Reply {
        let updates = self.assembler.finish();
        self.take(updates, on_text);
        self.reply.stop = match self.assembler.stop() {
            StopReason::Unknown if !self.ended => StopReason::CutOff,
            stop => stop,
        };
        self.reply
    }
}
