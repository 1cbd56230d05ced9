//! Anthropic Messages, with extended thinking switched on or off.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{Said, StrictProvider, check_word, events, list, pieces, require, schema, written};

pub(crate) struct Messages {
    thinking: bool,
    replies: usize,
}

impl Messages {
    pub(crate) fn new(thinking: bool) -> Self {
        Self {
            thinking,
            replies: 0,
        }
    }

    /// Checks the blocks of one message of the assistant.
    fn check_assistant(&self, blocks: &[Value], begins_turn: bool) -> Result<(), String> {
        let is_thinking = |block: &Value| {
            matches!(
                block["type"].as_str(),
                Some("thinking" | "redacted_thinking")
            )
        };
        let has_calls = blocks.iter().any(|block| block["type"] == "tool_use");
        if self.thinking && has_calls && begins_turn {
            require(is_thinking(&blocks[0]), || {
                format!(
                    "Expected `thinking` or `redacted_thinking`, but found `{}`",
                    blocks[0]["type"]
                )
            })?;
        }
        for block in blocks {
            if block["type"] == "thinking" {
                let signed = format!("signed {}", block["thinking"].as_str().unwrap_or_default());
                require(block["signature"] == signed.as_str(), || {
                    "Invalid `signature`".to_owned()
                })?;
            }
        }
        let ends_well = blocks.last().is_none_or(|last| !is_thinking(last));
        require(ends_well, || {
            "The final block cannot be `thinking`".to_owned()
        })
    }
}

impl StrictProvider for Messages {
    fn provider(&self) -> goodcall_wire::Provider {
        goodcall_wire::Provider::Anthropic
    }

    fn request(&self) -> Value {
        let mut request = json!({"model": "m", "max_tokens": 100,
            "messages": [{"role": "user", "content": "Go."}],
            "tools": [{"name": "f", "input_schema": schema()}]});
        if self.thinking {
            request["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
        }
        request
    }

    fn check(&self, request: &Value) -> Result<(), String> {
        let messages = list(&request["messages"]);
        let is_question = |message: &Value| {
            let results = list(&message["content"]);
            let has_results = results.iter().any(|block| block["type"] == "tool_result");
            message["role"] == "user" && !has_results
        };
        let turn = messages.iter().rposition(is_question);
        let (mut open, mut seen): (Vec<&Value>, HashSet<&Value>) = Default::default();
        for (at, message) in messages.iter().enumerate() {
            let role = if at % 2 == 0 { "user" } else { "assistant" };
            require(message["role"] == role, || {
                format!("messages.{at}: roles must alternate")
            })?;
            let blocks = list(&message["content"]);
            let has_text = message["content"]
                .as_str()
                .is_some_and(|text| !text.is_empty());
            require(has_text || !blocks.is_empty(), || {
                format!("messages.{at}: empty content")
            })?;
            if role == "assistant" {
                // Within one turn, Claude thinks before its first reply only.
                let begins_turn = turn.is_none_or(|turn| at == turn + 1);
                let checked = self.check_assistant(blocks, begins_turn);
                checked.map_err(|error| format!("messages.{at}.content.0.type: {error}"))?;
            }
            let mut results = Vec::new();
            for block in blocks {
                match block["type"].as_str().unwrap_or_default() {
                    "text" => {
                        let text = block["text"].as_str().unwrap_or_default();
                        require(!text.trim().is_empty(), || {
                            format!("messages.{at}: text content blocks must be non-empty")
                        })?;
                    }
                    "tool_use" => {
                        check_word(&block["id"])?;
                        check_word(&block["name"])?;
                        require(block["input"].is_object(), || {
                            format!("messages.{at}: input")
                        })?;
                        let is_new = seen.insert(&block["id"]);
                        require(is_new, || "`tool_use` ids must be unique".to_owned())?;
                    }
                    "tool_result" => results.push(&block["tool_use_id"]),
                    _ => {}
                }
            }
            require(results == open, || {
                format!("messages.{at}: results {results:?} for calls {open:?}")
            })?;
            let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
            open = calls.map(|block| &block["id"]).collect();
        }
        require(open.is_empty(), || format!("no result of {open:?}"))
    }

    fn reply(&mut self, _: &Value, said: &Said) -> Value {
        self.replies += 1;
        let number = self.replies;
        let mut blocks = Vec::new();
        if said.thinks {
            let thought = format!("So {number}.");
            let signature = format!("signed {thought}");
            blocks.push(json!({"type": "thinking", "thinking": thought, "signature": signature}));
        }
        if said.speaks {
            blocks.push(json!({"type": "text", "text": "I look."}));
        }
        for (at, arguments) in said.calls.iter().enumerate() {
            let input: Value = serde_json::from_str(arguments).unwrap();
            let id = format!("toolu_{number}_{at}");
            blocks.push(json!({"type": "tool_use", "id": id, "name": "f", "input": input}));
        }
        json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "m",
            "content": blocks, "stop_reason": "tool_use", "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 2}})
    }

    fn stream(&self, reply: &Value) -> Vec<u8> {
        let mut head = reply.clone();
        head["content"] = json!([]);
        head["stop_reason"] = Value::Null;
        let mut out = vec![json!({"type": "message_start", "message": head})];
        for (index, block) in list(&reply["content"]).iter().enumerate() {
            let (start, deltas) = match block["type"].as_str().unwrap() {
                "thinking" => (
                    json!({"type": "thinking", "thinking": "", "signature": ""}),
                    vec![
                        json!({"type": "thinking_delta", "thinking": block["thinking"]}),
                        json!({"type": "signature_delta", "signature": block["signature"]}),
                    ],
                ),
                "text" => (
                    json!({"type": "text", "text": ""}),
                    vec![json!({"type": "text_delta", "text": block["text"]})],
                ),
                _ => {
                    let mut start = block.clone();
                    start["input"] = json!({});
                    let input = block["input"].to_string();
                    let parts = pieces(&input).into_iter();
                    let parts =
                        parts.map(|part| json!({"type": "input_json_delta", "partial_json": part}));
                    (start, parts.collect())
                }
            };
            out.push(
                json!({"type": "content_block_start", "index": index, "content_block": start}),
            );
            for delta in deltas {
                out.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
            }
            out.push(json!({"type": "content_block_stop", "index": index}));
        }
        out.push(
            json!({"type": "message_delta", "delta": {"stop_reason": reply["stop_reason"],
            "stop_sequence": null}, "usage": {"output_tokens": 2}}),
        );
        out.push(json!({"type": "message_stop"}));
        written(&out)
    }

    fn joined(&self, stream: &[u8]) -> Value {
        let (mut blocks, mut inputs, mut ends) = (Vec::<Value>::new(), Vec::<String>::new(), 0);
        for event in events(stream) {
            let index = event["index"].as_u64().unwrap_or_default() as usize;
            match event["type"].as_str().unwrap() {
                "content_block_start" => {
                    assert_eq!(index, blocks.len(), "blocks in order");
                    blocks.push(event["content_block"].clone());
                    inputs.push(String::new());
                }
                "content_block_delta" => {
                    let delta = &event["delta"];
                    for key in ["thinking", "signature", "text"] {
                        if let Some(more) = delta[key].as_str() {
                            let before = blocks[index][key].as_str().unwrap();
                            blocks[index][key] = json!(format!("{before}{more}"));
                        }
                    }
                    inputs[index] += delta["partial_json"].as_str().unwrap_or_default();
                }
                "content_block_stop" if !inputs[index].is_empty() => {
                    blocks[index]["input"] = serde_json::from_str(&inputs[index]).unwrap();
                }
                "message_start" | "message_stop" => ends += 1,
                _ => {}
            }
        }
        assert_eq!(ends, 2, "one beginning and one end");
        json!({"content": blocks})
    }

    fn forget(&self, reply: &mut Value) {
        let blocks = reply["content"].as_array_mut().unwrap();
        blocks.retain(|block| block["type"] != "thinking");
    }

    fn next(&self, request: &Value, reply: &Value) -> Vec<(&'static str, Value)> {
        let mut next = request.clone();
        let messages = next["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": "assistant", "content": reply["content"]}));
        let calls = list(&reply["content"]).iter();
        let calls = calls.filter(|block| block["type"] == "tool_use");
        let results = calls
            .map(|call| json!({"type": "tool_result", "tool_use_id": call["id"], "content": "ok"}));
        let results: Vec<_> = results.collect();
        let content = if results.is_empty() {
            json!("And?")
        } else {
            json!(results)
        };
        messages.push(json!({"role": "user", "content": content}));
        vec![("replay", next)]
    }
}
