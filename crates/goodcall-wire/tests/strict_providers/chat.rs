//! OpenAI Chat Completions. With `thinking`, the rule of DeepSeek and Kimi: the reasoning of the
//! current turn must come back.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{Said, StrictProvider, check_word, events, list, pieces, require, schema, written};

pub(crate) struct Chat {
    pub(crate) thinking: bool,
    pub(crate) choices: usize,
    replies: usize,
}

impl Chat {
    pub(crate) fn new(thinking: bool, choices: usize) -> Self {
        Self {
            thinking,
            choices,
            replies: 0,
        }
    }
}

impl StrictProvider for Chat {
    fn provider(&self) -> goodcall_wire::Provider {
        goodcall_wire::Provider::OpenAi
    }

    fn request(&self) -> Value {
        json!({"model": "m", "n": self.choices, "messages": [{"role": "user", "content": "Go."}],
            "tools": [{"type": "function", "function": {"name": "f", "parameters": schema()}}]})
    }

    fn check(&self, request: &Value) -> Result<(), String> {
        let messages = list(&request["messages"]);
        let turn = messages
            .iter()
            .rposition(|message| message["role"] == "user");
        let mut open: HashSet<&str> = HashSet::new();
        for (at, message) in messages.iter().enumerate() {
            if message["role"] == "tool" {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                require(open.remove(id), || {
                    format!("messages.{at}: no call `{id}` before it")
                })?;
                require(message["content"].is_string(), || {
                    format!("messages.{at}: no content")
                })?;
                continue;
            }
            require(open.is_empty(), || {
                format!("messages.{at}: no result of {open:?}")
            })?;
            let calls = list(&message["tool_calls"]);
            if message["role"] == "assistant" && calls.is_empty() {
                require(message["content"].is_string(), || {
                    format!("messages.{at}: no content")
                })?;
            }
            let is_current = turn.is_none_or(|turn| at > turn);
            if self.thinking && !calls.is_empty() && is_current {
                require(message["reasoning_content"].is_string(), || {
                    format!("messages.{at}: reasoning_content must be passed back")
                })?;
            }
            for call in calls {
                check_word(&call["id"])?;
                check_word(&call["function"]["name"])?;
                require(call["type"] == "function", || {
                    format!("messages.{at}: no type")
                })?;
                let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
                let is_object =
                    serde_json::from_str::<Value>(arguments).is_ok_and(|own| own.is_object());
                require(is_object, || {
                    format!("messages.{at}: arguments are not an object")
                })?;
                let is_new = open.insert(call["id"].as_str().unwrap_or_default());
                require(is_new, || format!("messages.{at}: two calls with one id"))?;
            }
        }
        require(open.is_empty(), || format!("no result of {open:?}"))
    }

    fn reply(&mut self, _: &Value, said: &Said) -> Value {
        self.replies += 1;
        let number = self.replies;
        let choices = (0..self.choices).map(|index| {
            let calls = said.calls.iter().enumerate();
            let calls = calls.map(|(at, arguments)| {
                json!({"id": format!("call_{number}_{index}_{at}"), "type": "function",
                    "function": {"name": "f", "arguments": arguments}})
            });
            let calls: Vec<_> = calls.collect();
            let mut message = json!({"role": "assistant", "content": null});
            if said.thinks {
                message["reasoning_content"] = json!("So.");
            }
            if said.speaks {
                message["content"] = json!("I look.");
            }
            if !calls.is_empty() {
                message["tool_calls"] = json!(calls);
            }
            json!({"index": index, "message": message, "finish_reason": "tool_calls"})
        });
        json!({"id": format!("c{number}"), "object": "chat.completion", "model": "m",
            "choices": choices.collect::<Vec<_>>(),
            "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}})
    }

    fn stream(&self, reply: &Value) -> Vec<u8> {
        let mut chunks = Vec::new();
        for choice in list(&reply["choices"]) {
            let message = &choice["message"];
            let mut push = |delta: Value, reason: Value| {
                chunks.push(json!({"id": reply["id"], "object": "chat.completion.chunk",
                    "choices": [{"index": choice["index"], "delta": delta, "finish_reason": reason}]}));
            };
            push(json!({"role": "assistant", "content": ""}), Value::Null);
            for key in ["reasoning_content", "content"] {
                for piece in message[key].as_str().map(pieces).unwrap_or_default() {
                    push(json!({key: piece}), Value::Null);
                }
            }
            for (at, call) in list(&message["tool_calls"]).iter().enumerate() {
                let mut head = call.clone();
                head["index"] = json!(at);
                head["function"]["arguments"] = json!("");
                push(json!({"tool_calls": [head]}), Value::Null);
                for piece in pieces(call["function"]["arguments"].as_str().unwrap()) {
                    let part = json!({"index": at, "function": {"arguments": piece}});
                    push(json!({"tool_calls": [part]}), Value::Null);
                }
            }
            push(json!({}), choice["finish_reason"].clone());
        }
        chunks.push(json!({"id": reply["id"], "choices": [], "usage": reply["usage"]}));
        let mut bytes = written(&chunks);
        bytes.extend_from_slice(b"data: [DONE]\n\n");
        bytes
    }

    fn joined(&self, stream: &[u8]) -> Value {
        assert!(stream.ends_with(b"data: [DONE]\n\n"));
        let empty = json!({"role": "assistant", "content": null});
        let mut messages = vec![empty; self.choices];
        for chunk in events(stream) {
            assert_eq!(chunk["id"], "c1", "one id");
            for choice in list(&chunk["choices"]) {
                let message = &mut messages[choice["index"].as_u64().unwrap() as usize];
                for key in ["reasoning_content", "content"] {
                    if let Some(text) = choice["delta"][key]
                        .as_str()
                        .filter(|text| !text.is_empty())
                    {
                        let before = message[key].as_str().unwrap_or_default();
                        message[key] = json!(format!("{before}{text}"));
                    }
                }
                for part in list(&choice["delta"]["tool_calls"]) {
                    let at = part["index"].as_u64().unwrap() as usize;
                    if message["tool_calls"].is_null() {
                        message["tool_calls"] = json!([]);
                    }
                    let calls = message["tool_calls"].as_array_mut().unwrap();
                    if calls.len() == at {
                        calls.push(json!({"id": part["id"], "type": part["type"],
                            "function": {"name": part["function"]["name"], "arguments": ""}}));
                    }
                    let more = part["function"]["arguments"].as_str().unwrap_or_default();
                    let own = &mut calls[at]["function"]["arguments"];
                    *own = json!(format!("{}{more}", own.as_str().unwrap()));
                }
            }
        }
        let choices = messages.into_iter().enumerate();
        let choices = choices.map(|(index, message)| json!({"index": index, "message": message}));
        json!({"choices": choices.collect::<Vec<_>>()})
    }

    fn forget(&self, reply: &mut Value) {
        let message = reply["choices"][0]["message"].as_object_mut().unwrap();
        message.remove("reasoning_content");
    }

    fn next(&self, request: &Value, reply: &Value) -> Vec<(&'static str, Value)> {
        let message = &reply["choices"][0]["message"];
        let mut next = request.clone();
        let messages = next["messages"].as_array_mut().unwrap();
        messages.push(message.clone());
        for call in list(&message["tool_calls"]) {
            messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": "ok"}));
        }
        vec![("replay", next)]
    }
}
