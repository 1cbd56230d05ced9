//! Bedrock Converse, with the reasoning of Claude switched on or off.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{Said, StrictProvider, check_word, list, pieces, require, schema};
use crate::requests::aws;

pub(crate) struct Bedrock {
    thinking: bool,
    replies: usize,
}

impl Bedrock {
    pub(crate) fn new(thinking: bool) -> Self {
        Self {
            thinking,
            replies: 0,
        }
    }

    /// Checks one block.
    fn check_block(block: &Value) -> Result<(), String> {
        if let Some(text) = block["text"].as_str() {
            require(!text.trim().is_empty(), || {
                "The text field is blank".to_owned()
            })?;
        }
        let call = &block["toolUse"];
        if !call.is_null() {
            check_word(&call["toolUseId"])?;
            check_word(&call["name"])?;
            require(call["input"].is_object(), || "toolUse.input".to_owned())?;
        }
        let reasoning = &block["reasoningContent"]["reasoningText"];
        if !reasoning.is_null() {
            let signed = format!("signed {}", reasoning["text"].as_str().unwrap_or_default());
            require(reasoning["signature"] == signed.as_str(), || {
                "signature".to_owned()
            })?;
        }
        Ok(())
    }
}

impl StrictProvider for Bedrock {
    fn provider(&self) -> goodcall_wire::Provider {
        goodcall_wire::Provider::Bedrock
    }

    fn request(&self) -> Value {
        let tool = json!({"toolSpec": {"name": "f", "inputSchema": {"json": schema()}}});
        json!({"messages": [{"role": "user", "content": [{"text": "Go."}]}],
            "toolConfig": {"tools": [tool]}})
    }

    fn check(&self, request: &Value) -> Result<(), String> {
        let messages = list(&request["messages"]);
        let has_results = |message: &Value| {
            let mut blocks = list(&message["content"]).iter();
            blocks.any(|block| !block["toolResult"].is_null())
        };
        let is_question = |message: &Value| message["role"] == "user" && !has_results(message);
        let turn = messages.iter().rposition(is_question);
        let (mut open, mut seen): (Vec<&Value>, HashSet<&Value>) = Default::default();
        for (at, message) in messages.iter().enumerate() {
            let role = if at % 2 == 0 { "user" } else { "assistant" };
            require(message["role"] == role, || {
                format!("messages.{at}: roles must alternate")
            })?;
            let blocks = list(&message["content"]);
            require(!blocks.is_empty(), || {
                format!("messages.{at}: empty content")
            })?;
            for block in blocks {
                Self::check_block(block).map_err(|error| format!("messages.{at}: {error}"))?;
            }
            let results = blocks.iter().map(|block| &block["toolResult"]["toolUseId"]);
            let results: Vec<_> = results.filter(|id| !id.is_null()).collect();
            require(results == open, || {
                format!("messages.{at}: toolResult blocks {results:?} for toolUse blocks {open:?}")
            })?;
            let calls = blocks.iter().map(|block| &block["toolUse"]["toolUseId"]);
            open = calls.filter(|id| !id.is_null()).collect();
            require(open.iter().all(|id| seen.insert(*id)), || {
                "duplicate Ids".to_owned()
            })?;
            let begins_turn = turn.is_none_or(|turn| at == turn + 1);
            if self.thinking && begins_turn && !open.is_empty() {
                let thinks = !blocks[0]["reasoningContent"].is_null();
                require(thinks, || format!("messages.{at}: expected thinking first"))?;
            }
        }
        require(open.is_empty(), || format!("no result of {open:?}"))
    }

    fn reply(&mut self, _: &Value, said: &Said) -> Value {
        self.replies += 1;
        let number = self.replies;
        let mut blocks = Vec::new();
        if said.thinks {
            let text = format!("So {number}.");
            let signature = format!("signed {text}");
            let text = json!({"text": text, "signature": signature});
            blocks.push(json!({"reasoningContent": {"reasoningText": text}}));
        }
        if said.speaks {
            blocks.push(json!({"text": "I look."}));
        }
        for (at, arguments) in said.calls.iter().enumerate() {
            let input: Value = serde_json::from_str(arguments).unwrap();
            let id = format!("tooluse_{number}_{at}");
            blocks.push(json!({"toolUse": {"toolUseId": id, "name": "f", "input": input}}));
        }
        json!({"output": {"message": {"role": "assistant", "content": blocks}},
            "stopReason": "tool_use", "usage": {"inputTokens": 1, "outputTokens": 2}})
    }

    fn stream(&self, reply: &Value) -> Vec<u8> {
        let mut out = vec![json!({"messageStart": {"role": "assistant"}})];
        let blocks = list(&reply["output"]["message"]["content"]);
        for (index, block) in blocks.iter().enumerate() {
            let call = &block["toolUse"];
            let mut deltas = Vec::new();
            if !call.is_null() {
                let start =
                    json!({"toolUse": {"toolUseId": call["toolUseId"], "name": call["name"]}});
                out.push(
                    json!({"contentBlockStart": {"contentBlockIndex": index, "start": start}}),
                );
                let input = call["input"].to_string();
                deltas.extend(
                    pieces(&input)
                        .iter()
                        .map(|part| json!({"toolUse": {"input": part}})),
                );
            } else if let Some(text) = block["text"].as_str() {
                deltas.push(json!({"text": text}));
            } else {
                let reasoning = &block["reasoningContent"]["reasoningText"];
                deltas.push(json!({"reasoningContent": {"text": reasoning["text"]}}));
                deltas.push(json!({"reasoningContent": {"signature": reasoning["signature"]}}));
            }
            for delta in deltas {
                out.push(
                    json!({"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}),
                );
            }
            out.push(json!({"contentBlockStop": {"contentBlockIndex": index}}));
        }
        out.push(json!({"messageStop": {"stopReason": reply["stopReason"]}}));
        out.push(json!({"metadata": {"usage": reply["usage"]}}));
        aws::written(out.iter().map(Value::to_string))
    }

    fn joined(&self, stream: &[u8]) -> Value {
        let (mut blocks, mut ends) = (Vec::<Value>::new(), 0);
        let mut inputs: Vec<String> = Vec::new();
        for event in aws::events(stream) {
            let event: Value = serde_json::from_str(&event).unwrap();
            let (kind, event) = event.as_object().unwrap().iter().next().unwrap();
            let index = event["contentBlockIndex"].as_u64().unwrap_or_default() as usize;
            if kind.starts_with("contentBlock") && index == blocks.len() {
                blocks.push(json!({}));
                inputs.push(String::new());
            }
            match kind.as_str() {
                "contentBlockStart" => blocks[index] = event["start"].clone(),
                "contentBlockDelta" => {
                    let delta = &event["delta"];
                    if let Some(text) = delta["text"].as_str() {
                        let before = blocks[index]["text"].as_str().unwrap_or_default();
                        blocks[index]["text"] = json!(format!("{before}{text}"));
                    }
                    if let Some(parts) = delta["reasoningContent"].as_object() {
                        for (key, value) in parts {
                            let own = &mut blocks[index]["reasoningContent"]["reasoningText"][key];
                            *own = value.clone();
                        }
                    }
                    inputs[index] += delta["toolUse"]["input"].as_str().unwrap_or_default();
                }
                "contentBlockStop" if !blocks[index]["toolUse"].is_null() => {
                    let input: Value = serde_json::from_str(&inputs[index]).unwrap();
                    blocks[index]["toolUse"]["input"] = input;
                }
                "messageStart" | "messageStop" => ends += 1,
                _ => {}
            }
        }
        assert_eq!(ends, 2, "one beginning and one end");
        json!({"output": {"message": {"role": "assistant", "content": blocks}}})
    }

    fn forget(&self, reply: &mut Value) {
        let blocks = reply["output"]["message"]["content"].as_array_mut();
        blocks
            .unwrap()
            .retain(|block| block["reasoningContent"].is_null());
    }

    fn next(&self, request: &Value, reply: &Value) -> Vec<(&'static str, Value)> {
        let message = &reply["output"]["message"];
        let mut next = request.clone();
        let messages = next["messages"].as_array_mut().unwrap();
        messages.push(message.clone());
        let calls = list(&message["content"]).iter();
        let calls = calls.filter(|block| !block["toolUse"].is_null());
        let results = calls.map(|block| {
            let id = &block["toolUse"]["toolUseId"];
            json!({"toolResult": {"toolUseId": id, "content": [{"text": "ok"}]}})
        });
        let mut results: Vec<_> = results.collect();
        if results.is_empty() {
            results.push(json!({"text": "And?"}));
        }
        messages.push(json!({"role": "user", "content": results}));
        vec![("replay", next)]
    }
}
