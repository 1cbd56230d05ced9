//! Models of many providers, through the crate `genai`.
//!
//! `genai` reads arguments as JSON values before they come here. A call whose arguments it cannot
//! parse comes as raw text where it hands that on, and as an error of the model where it does not;
//! numbers beyond 64 bits are rounded by it. Where that matters, use the feature `openai`.

use async_trait::async_trait;
use futures_util::StreamExt;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, MessageContent, StopReason, Tool,
    ToolCall, ToolResponse,
};
use goodcall_core::StopReason;
use serde_json::Value;

use crate::message::{Call, Message, Reply, Usage};
use crate::model::{Model, ModelError, Prompt, TextSink};
use crate::tls;

pub use genai::Client;

/// A model of any provider that `genai` knows, chosen by its name.
///
/// ```no_run
/// use goodcall::genai::GenAi;
///
/// // The key is read from the environment, as `genai` does.
/// let model = GenAi::new("claude-sonnet-4-5")?;
/// # Ok::<(), goodcall::ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct GenAi {
    client: Client,
    model: String,
}

impl GenAi {
    /// The model of this name, with `genai`'s own client.
    ///
    /// # Errors
    /// If no HTTP client can be made here.
    pub fn new(model: impl Into<String>) -> Result<Self, ModelError> {
        tls::install();
        let client = Client::builder()
            .build()
            .map_err(|error| ModelError::new(error.to_string()))?;
        Ok(Self::with_client(client, model))
    }

    /// The model of this name, with a client of yours.
    pub fn with_client(client: Client, model: impl Into<String>) -> Self {
        Self {
            client,
            model: model.into(),
        }
    }
}

#[async_trait]
impl Model for GenAi {
    fn name(&self) -> &str {
        &self.model
    }

    fn provider(&self) -> &str {
        "genai"
    }

    async fn reply(&self, prompt: Prompt<'_>) -> Result<Reply, ModelError> {
        let request = request(&prompt);
        match prompt.on_text {
            None => {
                let response = self.client.exec_chat(self.model.as_str(), request, None);
                let response = response.await.map_err(failed)?;
                let usage = usage(&response.usage);
                let stop = stop(response.stop_reason.as_ref());
                Ok(reply(response.content, stop, usage))
            }
            Some(on_text) => self.streamed(request, on_text).await,
        }
    }
}

impl GenAi {
    async fn streamed(
        &self,
        request: ChatRequest,
        on_text: TextSink<'_>,
    ) -> Result<Reply, ModelError> {
        let options = ChatOptions::default()
            .with_capture_content(true)
            .with_capture_tool_calls(true)
            .with_capture_usage(true);
        let response = self
            .client
            .exec_chat_stream(self.model.as_str(), request, Some(&options));
        let mut stream = response.await.map_err(failed)?.stream;
        while let Some(event) = stream.next().await {
            match event.map_err(failed)? {
                ChatStreamEvent::Chunk(chunk) => on_text(&chunk.content),
                ChatStreamEvent::End(end) => {
                    let usage = end.captured_usage.as_ref().and_then(usage);
                    let stop = stop(end.captured_stop_reason.as_ref());
                    let content = end.captured_content.unwrap_or_default();
                    return Ok(reply(content, stop, usage));
                }
                _ => {}
            }
        }
        Err(ModelError::new("the stream ended before the reply did").retryable())
    }
}

fn request(prompt: &Prompt<'_>) -> ChatRequest {
    let mut messages = Vec::new();
    for message in prompt.messages {
        match message {
            Message::System { text } => messages.push(ChatMessage::system(text.as_str())),
            Message::User { text } => messages.push(ChatMessage::user(text.as_str())),
            Message::Assistant { text, calls } => {
                let mut content = MessageContent::from_tool_calls(calls.iter().map(call).collect());
                if !text.is_empty() {
                    content.prepend(text.as_str());
                }
                messages.push(ChatMessage::assistant(content));
            }
            Message::Tools { outcomes } => {
                let each = outcomes.iter().map(|outcome| {
                    let response = ToolResponse::new(&outcome.call_id, outcome.text());
                    response.with_fn_name(&outcome.tool)
                });
                let content = MessageContent::from_tool_responses(each.collect());
                messages.push(ChatMessage::tool(content));
            }
        }
    }
    let tools = prompt.tools.iter().map(|tool| {
        let own = Tool::new(tool.name).with_description(tool.description);
        match tool.parameters {
            Some(schema) => own.with_schema(schema.clone()),
            None => own,
        }
    });
    match prompt.tools.is_empty() {
        true => ChatRequest::new(messages),
        false => ChatRequest::new(messages).with_tools(tools),
    }
}

/// A call of the history. Arguments that are no object would be refused for ever.
fn call(call: &Call) -> ToolCall {
    let arguments = serde_json::from_str(&call.arguments).ok();
    let arguments = arguments.filter(Value::is_object);
    ToolCall {
        call_id: call.id.clone(),
        fn_name: call.name.clone(),
        fn_arguments: arguments.unwrap_or_else(|| Value::Object(Default::default())),
        thought_signatures: None,
    }
}

fn reply(content: MessageContent, stop: StopReason, usage: Option<Usage>) -> Reply {
    let calls = content.tool_calls().into_iter().map(|call| {
        let arguments = match &call.fn_arguments {
            Value::String(raw) => raw.clone(),
            value => value.to_string(),
        };
        Call::new(&call.call_id, &call.fn_name, arguments)
    });
    Reply {
        calls: calls.collect(),
        text: content.into_joined_texts().unwrap_or_default(),
        stop,
        usage,
    }
}

fn stop(reason: Option<&StopReason>) -> StopReason {
    match reason {
        None | Some(StopReason::Other(_)) => StopReason::Unknown,
        Some(StopReason::MaxTokens(_) | StopReason::ContentFilter(_)) => StopReason::CutOff,
        Some(_) => StopReason::Finished,
    }
}

fn usage(usage: &genai::chat::Usage) -> Option<Usage> {
    let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
    Some(Usage {
        input_tokens: count(usage.prompt_tokens)?,
        output_tokens: count(usage.completion_tokens)?,
    })
}

fn failed(error: genai::Error) -> ModelError {
    use genai::Error as E;
    let status = match &error {
        E::WebAdapterCall { webc_error, .. } | E::WebModelCall { webc_error, .. } => {
            webc_error.status()
        }
        _ => return ModelError::new(error.to_string()),
    };
    let own = ModelError::new(error.to_string());
    match status {
        // No status: no connection.
        None => own.retryable(),
        Some(status) if status.is_server_error() || status.as_u16() == 429 => own.retryable(),
        Some(_) => own,
    }
}
