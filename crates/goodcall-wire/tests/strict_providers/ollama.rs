//! Ollama's own chat API, which pairs by order and checks little.

use serde_json::{Value, json};

use super::{Said, StrictProvider, list, require, schema};

#[derive(Default)]
pub(crate) struct Ollama;

impl StrictProvider for Ollama {
    fn provider(&self) -> goodcall_wire::Provider {
        goodcall_wire::Provider::Ollama
    }

    fn request(&self) -> Value {
        json!({"model": "m", "messages": [{"role": "user", "content": "Go."}],
            "tools": [{"type": "function", "function": {"name": "f", "parameters": schema()}}]})
    }

    fn check(&self, request: &Value) -> Result<(), String> {
        let mut open = 0;
        for (at, message) in list(&request["messages"]).iter().enumerate() {
            require(message["content"].is_string(), || {
                format!("messages.{at}: content")
            })?;
            if message["role"] == "tool" {
                require(open > 0, || {
                    format!("messages.{at}: a result without a call")
                })?;
                open -= 1;
                continue;
            }
            require(open == 0, || {
                format!("messages.{at}: a call without a result")
            })?;
            for call in list(&message["tool_calls"]) {
                let is_object = call["function"]["arguments"].is_object();
                require(is_object, || format!("messages.{at}: arguments"))?;
                open += 1;
            }
        }
        require(open == 0, || "a call without a result".to_owned())
    }

    fn reply(&mut self, _: &Value, said: &Said) -> Value {
        let mut message = json!({"role": "assistant", "content": ""});
        if said.thinks {
            message["thinking"] = json!("So.");
        }
        if said.speaks {
            message["content"] = json!("I look.");
        }
        let calls = said.calls.iter().map(|arguments| {
            let arguments: Value = serde_json::from_str(arguments).unwrap();
            json!({"function": {"name": "f", "arguments": arguments}})
        });
        message["tool_calls"] = json!(calls.collect::<Vec<_>>());
        json!({"model": "m", "created_at": "t", "message": message, "done": true, "done_reason": "stop"})
    }

    fn stream(&self, reply: &Value) -> Vec<u8> {
        let message = &reply["message"];
        let mut lines = Vec::new();
        for key in ["thinking", "content"] {
            if message[key].as_str().is_some_and(|text| !text.is_empty()) {
                lines.push(json!({"role": "assistant", "content": "", key: message[key]}));
            }
        }
        for call in list(&message["tool_calls"]) {
            lines.push(json!({"role": "assistant", "content": "", "tool_calls": [call]}));
        }
        let lines = lines.into_iter().map(
            |message| json!({"model": "m", "created_at": "t", "message": message, "done": false}),
        );
        let end = json!({"model": "m", "created_at": "t", "message": {"role": "assistant",
            "content": ""}, "done": true, "done_reason": "stop"});
        let lines = lines.chain([end]).map(|line| format!("{line}\n"));
        lines.collect::<String>().into_bytes()
    }

    fn joined(&self, stream: &[u8]) -> Value {
        let mut message = json!({"role": "assistant", "content": "", "tool_calls": []});
        let mut is_done = false;
        for line in std::str::from_utf8(stream).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            for key in ["thinking", "content"] {
                if let Some(more) = line["message"][key].as_str() {
                    let before = message[key].as_str().unwrap_or_default();
                    message[key] = json!(format!("{before}{more}"));
                }
            }
            let calls = list(&line["message"]["tool_calls"]).to_vec();
            message["tool_calls"].as_array_mut().unwrap().extend(calls);
            is_done |= line["done"] == true;
        }
        assert!(is_done, "the stream has an end");
        json!({"message": message})
    }

    fn next(&self, request: &Value, reply: &Value) -> Vec<(&'static str, Value)> {
        let mut next = request.clone();
        let messages = next["messages"].as_array_mut().unwrap();
        messages.push(reply["message"].clone());
        for _ in list(&reply["message"]["tool_calls"]) {
            messages.push(json!({"role": "tool", "tool_name": "f", "content": "ok"}));
        }
        vec![("replay", next)]
    }
}
