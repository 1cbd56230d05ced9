//! A recorded reply: whole, as server-sent events, or as a list of chunks.

use goodcall_core::{Kind, Node, StopReason, Tree};

use super::TokenCount;
use super::form::{self, ReplyForm};
use crate::call::RawCall;
use crate::envelope::{Envelope, Provider};
use crate::relay::replying_model;
use crate::sse::SseReader;
use crate::stream::{Assembler, CallUpdate};
use crate::tools::Tools;

/// A recorded reply with its calls.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedReply {
    /// The provider whose form it has.
    pub provider: Provider,
    /// The model that replied, if it says so.
    pub model: Option<String>,
    /// The calls, named as the offered tools are.
    pub calls: Vec<RawCall>,
    /// How the message ended.
    pub stop: StopReason,
    /// The tokens that it took, if they were counted.
    pub tokens: Option<TokenCount>,
    /// True if it was recorded as a stream.
    pub is_stream: bool,
}

impl RecordedReply {
    /// Reads a reply. Returns `None` for a text that is not one.
    pub fn read(text: &str, tools: &Tools) -> Option<Self> {
        match Tree::parse(text) {
            Ok(tree) => Self::from_node(tree.root(), text, tools),
            Err(_) => Self::from_events(text, tools),
        }
    }

    /// Reads a reply that is a part of a text which was parsed already.
    pub fn from_node(node: Node<'_>, text: &str, tools: &Tools) -> Option<Self> {
        if let Some(inner) = node.as_str() {
            // The body of a response as a string.
            return match Tree::parse(inner) {
                Ok(tree) if tree.root().kind() != Kind::String => {
                    Self::from_node(tree.root(), inner, tools)
                }
                Ok(_) => None,
                Err(_) => Self::from_events(inner, tools),
            };
        }
        let part = text.get(node.span())?;
        match form::reply(node)? {
            ReplyForm::Whole(provider) => {
                let envelope = Envelope::read(provider, part, tools).ok()?;
                Some(Self {
                    provider,
                    model: replying_model(node).map(str::to_owned),
                    calls: envelope.calls().to_vec(),
                    stop: envelope.stop(),
                    tokens: TokenCount::find(node),
                    is_stream: false,
                })
            }
            ReplyForm::Chunks(provider) => {
                let mut stream = StreamedReply::new(provider, tools);
                for chunk in node.elements() {
                    stream.push(text.get(chunk.span())?);
                }
                Some(stream.finish())
            }
        }
    }

    /// Reads server-sent events, or lines of JSON.
    fn from_events(text: &str, tools: &Tools) -> Option<Self> {
        let start = text.trim_start();
        let is_sse = ["data:", "event:", "id:", ":"]
            .iter()
            .any(|head| start.starts_with(head));
        let events: Vec<String> = if is_sse {
            let mut reader = SseReader::default();
            reader.push(text.as_bytes());
            let next = || reader.next_event().or_else(|| reader.last_event());
            std::iter::from_fn(next)
                .filter_map(|event| event.data)
                .collect()
        } else {
            text.lines().map(str::to_owned).collect()
        };
        let provider = events.iter().find_map(|event| {
            let tree = Tree::parse(event).ok()?;
            form::chunk(tree.root())
        })?;
        let mut stream = StreamedReply::new(provider, tools);
        for event in &events {
            stream.push(event);
        }
        Some(stream.finish())
    }
}

/// A reply that is put together from its events.
struct StreamedReply {
    assembler: Assembler,
    reply: RecordedReply,
}

impl StreamedReply {
    fn new(provider: Provider, tools: &Tools) -> Self {
        Self {
            assembler: Assembler::new(provider, tools.clone()),
            reply: RecordedReply {
                provider,
                model: None,
                calls: Vec::new(),
                stop: StopReason::Unknown,
                tokens: None,
                is_stream: true,
            },
        }
    }

    fn push(&mut self, event: &str) {
        // An event that is not JSON is passed over, as clients do.
        let Ok(updates) = self.assembler.push(event) else {
            return;
        };
        self.take(updates);
        let Ok(tree) = Tree::parse(event.trim()) else {
            return;
        };
        let root = tree.root();
        if self.reply.model.is_none() {
            self.reply.model = replying_model(root).map(str::to_owned);
        }
        if let Some(count) = TokenCount::find(root) {
            self.reply.tokens.get_or_insert_default().raise(count);
        }
    }

    fn take(&mut self, updates: Vec<CallUpdate>) {
        let calls = updates.into_iter().filter_map(|update| match update {
            CallUpdate::Call(call) => Some(call),
            _ => None,
        });
        self.reply.calls.extend(calls);
    }

    fn finish(mut self) -> RecordedReply {
        let updates = self.assembler.finish();
        self.take(updates);
        self.reply.stop = self.assembler.stop();
        self.reply
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> RecordedReply {
        RecordedReply::read(text, &Tools::default()).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn replies_of_every_provider_have_their_call() {
        let arguments = r#"{\"n\":1}"#;
        for (text, provider, tokens) in [
            (format!(r#"{{"object":"chat.completion","model":"m","choices":[{{"finish_reason":"tool_calls","message":{{"role":"assistant","tool_calls":[{{"id":"c","type":"function","function":{{"name":"f","arguments":"{arguments}"}}}}]}}}}],"usage":{{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{{"cached_tokens":2}}}}}}"#), Provider::OpenAi, (7, 3)),
            (format!(r#"{{"object":"response","model":"m","status":"completed","output":[{{"type":"function_call","call_id":"c","name":"f","arguments":"{arguments}"}}],"usage":{{"input_tokens":7,"output_tokens":3}}}}"#), Provider::Responses, (7, 3)),
            (r#"{"type":"message","role":"assistant","model":"m","stop_reason":"tool_use","content":[{"type":"tool_use","id":"c","name":"f","input":{"n":1}}],"usage":{"input_tokens":5,"cache_read_input_tokens":2,"output_tokens":3}}"#.to_owned(), Provider::Anthropic, (7, 3)),
            (r#"{"modelVersion":"m","candidates":[{"finishReason":"STOP","content":{"role":"model","parts":[{"functionCall":{"name":"f","args":{"n":1}}}]}}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":3}}"#.to_owned(), Provider::Gemini, (7, 3)),
            (r#"{"model":"m","output":{"message":{"role":"assistant","content":[{"toolUse":{"toolUseId":"c","name":"f","input":{"n":1}}}]}},"stopReason":"tool_use","usage":{"inputTokens":7,"outputTokens":3}}"#.to_owned(), Provider::Bedrock, (7, 3)),
            (r#"{"model":"m","done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":3,"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"n":1}}}]}}"#.to_owned(), Provider::Ollama, (7, 3)),
        ] {
            let reply = read(&text);
            assert_eq!(reply.provider, provider, "{text}");
            assert_eq!(reply.model.as_deref(), Some("m"), "{text}");
            assert_eq!(reply.calls.len(), 1, "{text}");
            assert_eq!(reply.calls[0].arguments, r#"{"n":1}"#, "{text}");
            assert_eq!(reply.stop, StopReason::Finished, "{text}");
            assert_eq!(reply.tokens, Some(TokenCount::new(tokens.0, tokens.1)), "{text}");
        }
    }

    #[test]
    fn streams_are_put_together() {
        let sse = "data: {\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"n\\\"\"}}]}}]}\n\n\
            data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\":1}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n\
            data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n";
        let chunks = r#"[{"type":"message_start","message":{"model":"m","usage":{"input_tokens":7,"output_tokens":1}}},
            {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"f","input":{}}},
            {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"n\":1}"}},
            {"type":"content_block_stop","index":0},
            {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":3}}]"#;
        for text in [sse, chunks] {
            let reply = read(text);
            assert!(reply.is_stream, "{text}");
            assert_eq!(reply.model.as_deref(), Some("m"), "{text}");
            assert_eq!(
                reply.calls[0].arguments.replace(' ', ""),
                r#"{"n":1}"#,
                "{text}"
            );
            assert_eq!(reply.stop, StopReason::Finished, "{text}");
            assert_eq!(reply.tokens, Some(TokenCount::new(7, 3)), "{text}");
        }
        let body = serde_json::to_string(sse).unwrap();
        assert_eq!(read(&body).calls.len(), 1, "a body that is a string");
    }

    #[test]
    fn other_texts_are_not_replies() {
        for text in [
            "{}",
            "[]",
            "\"x\"",
            "hello",
            r#"{"role":"user","content":"x"}"#,
            "data: x",
        ] {
            assert!(
                RecordedReply::read(text, &Tools::default()).is_none(),
                "{text}"
            );
        }
    }
}
