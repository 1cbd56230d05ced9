//! The trait [`Model`], and a scripted model for tests.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use goodcall_wire::{ConvertError, EnvelopeError};

use crate::definition::Definition;
use crate::message::{Message, Reply};

/// A model that replies to a conversation.
#[async_trait]
pub trait Model: Send + Sync {
    /// The model's name, for spans and events.
    fn name(&self) -> &str;

    /// The provider's name, for spans; if possible one from the OpenTelemetry GenAI conventions.
    fn provider(&self) -> &str {
        "custom"
    }

    /// Returns the reply to this prompt.
    async fn reply(&self, prompt: Prompt<'_>) -> Result<Reply, ModelError>;
}

/// A function that gets the text of a reply while it is streamed.
pub type TextSink<'p> = &'p (dyn Fn(&str) + Send + Sync);

/// The input of a model.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Prompt<'p> {
    /// The conversation.
    pub messages: &'p [Message],
    /// The tools on offer.
    pub tools: &'p [Definition<'p>],
    /// Set if the host wants the text while it is streamed. The whole reply is returned as well.
    pub on_text: Option<TextSink<'p>>,
}

impl<'p> Prompt<'p> {
    /// Returns a prompt whose reply is not streamed.
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

/// The reason why a model gave no reply. The run is unchanged and can be driven again.
#[derive(Clone, Debug)]
pub struct ModelError {
    message: String,
    retryable: bool,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl ModelError {
    /// Returns an error that will occur again.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            retryable: false,
            source: None,
        }
    }

    /// Sets the error behind it.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(Arc::from(source.into()));
        self
    }

    /// Marks the error as one that may pass: no connection, too many requests, a server error.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// Returns true if another request may succeed.
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ModelError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let source: &(dyn Error + 'static) = self.source.as_deref()?;
        Some(source)
    }
}

/// A conversation that cannot be written in the form of a provider.
impl From<ConvertError> for ModelError {
    fn from(error: ConvertError) -> Self {
        Self::new(error.to_string()).caused_by(error)
    }
}

/// A response that cannot be read.
impl From<EnvelopeError> for ModelError {
    fn from(error: EnvelopeError) -> Self {
        Self::new(error.to_string()).caused_by(error)
    }
}

/// A model that plays back replies, for tests and examples.
#[derive(Debug, Default)]
pub struct Script {
    replies: Mutex<VecDeque<Reply>>,
}

impl Script {
    /// Returns a model that gives these replies, one after the other.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self {
            replies: Mutex::new(replies.into_iter().collect()),
        }
    }

    /// Skips the first replies, for a run that has had them.
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
