//! What a model is to a run.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use crate::message::{Message, Reply};
use crate::toolbox::Definition;

/// A model that replies to a conversation.
#[async_trait]
pub trait Model: Send + Sync {
    /// The model's name, for spans and events.
    fn name(&self) -> &str;

    /// Who serves it, for spans: a name from the OpenTelemetry GenAI conventions where it has one.
    fn provider(&self) -> &str {
        "custom"
    }

    /// The reply to this prompt.
    async fn reply(&self, prompt: Prompt<'_>) -> Result<Reply, ModelError>;
}

/// Where streamed words go as they come.
pub type TextSink<'p> = &'p (dyn Fn(&str) + Send + Sync);

/// What a model gets.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Prompt<'p> {
    /// The conversation.
    pub messages: &'p [Message],
    /// The tools on offer.
    pub tools: &'p [Definition<'p>],
    /// Set if the host wants the words as they come; the whole reply is returned all the same.
    pub on_text: Option<TextSink<'p>>,
}

impl<'p> Prompt<'p> {
    /// A conversation and the tools on offer; nobody waits for single words.
    pub fn new(messages: &'p [Message], tools: &'p [Definition<'p>]) -> Self {
        Self {
            messages,
            tools,
            on_text: None,
        }
    }
}

impl fmt::Debug for Prompt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt")
            .field("messages", &self.messages)
            .field("tools", &self.tools)
            .field("streamed", &self.on_text.is_some())
            .finish()
    }
}

/// A model that gave no reply. The run is as it was; it can be driven again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    message: String,
    retryable: bool,
}

impl ModelError {
    /// An error that will come again.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            retryable: false,
        }
    }

    /// An error that may pass: no connection, too many requests, a fault of the server.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// May it pass?
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ModelError {}

/// A model that gives the replies it was given: for tests, examples and replays.
#[derive(Debug, Default)]
pub struct Script {
    replies: Mutex<VecDeque<Reply>>,
}

impl Script {
    /// These replies, one after the other.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self {
            replies: Mutex::new(replies.into_iter().collect()),
        }
    }

    /// Leaves out the first replies, for a run that has had them.
    #[must_use]
    pub fn skip(self, count: usize) -> Self {
        let replies = self.replies.into_inner();
        Self::new(
            replies
                .unwrap_or_else(PoisonError::into_inner)
                .into_iter()
                .skip(count),
        )
    }
}

#[async_trait]
impl Model for Script {
    fn name(&self) -> &str {
        "script"
    }

    async fn reply(&self, prompt: Prompt<'_>) -> Result<Reply, ModelError> {
        let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        let reply = replies.pop_front();
        let reply = reply.ok_or_else(|| ModelError::new("the script has no more replies"))?;
        if let Some(on_text) = prompt.on_text
            && !reply.text.is_empty()
        {
            on_text(&reply.text);
        }
        Ok(reply)
    }
}
