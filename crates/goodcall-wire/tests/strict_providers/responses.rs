//! OpenAI Responses, which stores its replies or leaves that to the client.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{Said, StrictProvider, check_word, events, list, pieces, require, schema, written};

pub(crate) struct Responses {
    stored: bool,
    /// The items of each response, by its id.
    responses: HashMap<String, Vec<Value>>,
    /// The requests that led to them.
    inputs: HashMap<String, Vec<Value>>,
    replies: usize,
}

impl Responses {
    pub(crate) fn new(stored: bool) -> Self {
        Self {
            stored,
            responses: HashMap::new(),
            inputs: HashMap::new(),
            replies: 0,
        }
    }

    /// The item of this id, and the one before it, among all that are stored.
    fn stored_item(&self, id: &str) -> Option<(&Value, Option<&Value>)> {
        self.responses.values().find_map(|items| {
            let at = items.iter().position(|item| item["id"] == id)?;
            Some((&items[at], at.checked_sub(1).map(|before| &items[before])))
        })
    }

    /// The item that followed another in the response that had it.
    fn follower(&self, id: &str) -> Option<&Value> {
        self.responses.values().find_map(|items| {
            let at = items.iter().position(|item| item["id"] == id)?;
            items.get(at + 1)
        })
    }

    /// All items of a conversation: those of earlier responses, and those of the request.
    fn conversation(&self, request: &Value) -> Result<Vec<Value>, String> {
        let mut all = Vec::new();
        if let Some(id) = request["previous_response_id"].as_str() {
            let known = self.responses.get(id).filter(|_| self.stored);
            let known =
                known.ok_or_else(|| format!("Previous response with id '{id}' not found."))?;
            all.extend(self.inputs.get(id).cloned().unwrap_or_default());
            all.extend(known.iter().cloned());
        }
        for item in list(&request["input"]) {
            if item["type"] == "item_reference" {
                let id = item["id"].as_str().unwrap_or_default();
                let found = self.stored_item(id).filter(|_| self.stored);
                let (found, _) = found.ok_or_else(|| format!("Item with id '{id}' not found."))?;
                all.push(found.clone());
            } else {
                all.push(item.clone());
            }
        }
        Ok(all)
    }

    fn check_item(&self, items: &[Value], at: usize) -> Result<(), String> {
        let item = &items[at];
        let kind = item["type"].as_str().unwrap_or("message");
        let id = item["id"].as_str();
        let prefix = match kind {
            "reasoning" => "rs_",
            "function_call" => "fc_",
            _ => "msg_",
        };
        if let Some(id) = id {
            require(id.starts_with(prefix), || {
                format!(
                    "Invalid 'input[{at}].id': '{id}'. Expected an ID that begins with '{prefix}'."
                )
            })?;
        }
        let next = items.get(at + 1);
        if kind == "reasoning" {
            let id = id.unwrap_or_default();
            if !self.stored {
                require(item["encrypted_content"].is_string(), || {
                    format!("Item with id '{id}' not found. Items are not persisted.")
                })?;
            }
            let follower = self.follower(id);
            let follower = follower.ok_or_else(|| format!("Item with id '{id}' not found."))?;
            let is_paired = next.is_some_and(|next| {
                next["type"] == follower["type"]
                    && (next["call_id"] == follower["call_id"] || follower["call_id"].is_null())
            });
            return require(is_paired, || {
                format!(
                    "Item '{id}' of type 'reasoning' was provided without its required following item."
                )
            });
        }
        // An item that came with reasoning must be sent with it.
        if let Some((_, Some(before))) = id.and_then(|id| self.stored_item(id))
            && before["type"] == "reasoning"
        {
            let has_it = at > 0 && items[at - 1]["id"] == before["id"];
            require(has_it, || {
                format!(
                    "Item '{}' of type '{kind}' was provided without its required 'reasoning' item: '{}'.",
                    item["id"], before["id"]
                )
            })?;
        }
        if kind == "function_call" {
            check_word(&item["call_id"])?;
            check_word(&item["name"])?;
            require(item["arguments"].is_string(), || {
                format!("input[{at}].arguments")
            })?;
        }
        Ok(())
    }
}

impl StrictProvider for Responses {
    fn provider(&self) -> goodcall_wire::Provider {
        goodcall_wire::Provider::Responses
    }

    fn request(&self) -> Value {
        json!({"model": "m", "store": self.stored, "input": [{"role": "user", "content": "Go."}],
            "tools": [{"type": "function", "name": "f", "parameters": schema()}]})
    }

    fn check(&self, request: &Value) -> Result<(), String> {
        let items = self.conversation(request)?;
        let (mut open, mut done): (Vec<&str>, Vec<&str>) = Default::default();
        for (at, item) in items.iter().enumerate() {
            self.check_item(&items, at)?;
            let call = item["call_id"].as_str().unwrap_or_default();
            match item["type"].as_str().unwrap_or("message") {
                "function_call" => {
                    require(!open.contains(&call) && !done.contains(&call), || {
                        format!("Duplicate call_id '{call}'.")
                    })?;
                    open.push(call);
                }
                "function_call_output" => {
                    require(open.contains(&call), || {
                        format!("No tool call found for function call output with call_id {call}.")
                    })?;
                    open.retain(|open| *open != call);
                    done.push(call);
                }
                _ => {}
            }
        }
        require(open.is_empty(), || {
            format!("No tool output found for function call {open:?}.")
        })
    }

    fn reply(&mut self, request: &Value, said: &Said) -> Value {
        self.replies += 1;
        let number = self.replies;
        let mut items = Vec::new();
        if said.thinks {
            let mut item =
                json!({"type": "reasoning", "id": format!("rs_{number}"), "summary": []});
            if !self.stored {
                item["encrypted_content"] = json!("x");
            }
            items.push(item);
        }
        if said.speaks {
            items.push(json!({"type": "message", "id": format!("msg_{number}"), "status": "completed",
                "role": "assistant", "content": [{"type": "output_text", "text": "I look.", "annotations": []}]}));
        }
        for (at, arguments) in said.calls.iter().enumerate() {
            items.push(
                json!({"type": "function_call", "id": format!("fc_{number}_{at}"),
                "call_id": format!("call_{number}_{at}"), "name": "f", "arguments": arguments,
                "status": "completed"}),
            );
        }
        let id = format!("resp_{number}");
        let input = self.conversation(request).unwrap();
        self.inputs.insert(id.clone(), input);
        self.responses.insert(id.clone(), items.clone());
        json!({"id": id, "object": "response", "status": "completed", "model": "m", "output": items,
            "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}})
    }

    fn stream(&self, reply: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        let mut push = |mut event: Value| {
            event["sequence_number"] = json!(out.len());
            out.push(event);
        };
        let mut head = reply.clone();
        (head["output"], head["status"]) = (json!([]), json!("in_progress"));
        push(json!({"type": "response.created", "response": head}));
        push(json!({"type": "response.in_progress", "response": head}));
        for (index, item) in list(&reply["output"]).iter().enumerate() {
            let mut start = item.clone();
            let place = |kind: &str, more: Value| {
                let mut event = json!({"type": format!("response.{kind}"), "item_id": item["id"], "output_index": index});
                event
                    .as_object_mut()
                    .unwrap()
                    .extend(more.as_object().unwrap().clone());
                event
            };
            let mut deltas = Vec::new();
            match item["type"].as_str().unwrap() {
                "message" => {
                    start["content"] = json!([]);
                    let text = &item["content"][0]["text"];
                    let empty = json!({"type": "output_text", "text": "", "annotations": []});
                    deltas.push(place(
                        "content_part.added",
                        json!({"content_index": 0, "part": empty}),
                    ));
                    for piece in pieces(text.as_str().unwrap()) {
                        deltas.push(place(
                            "output_text.delta",
                            json!({"content_index": 0, "delta": piece}),
                        ));
                    }
                    deltas.push(place(
                        "output_text.done",
                        json!({"content_index": 0, "text": text}),
                    ));
                    deltas.push(place(
                        "content_part.done",
                        json!({"content_index": 0, "part": item["content"][0]}),
                    ));
                }
                "function_call" => {
                    start["arguments"] = json!("");
                    let arguments = item["arguments"].as_str().unwrap();
                    for piece in pieces(arguments) {
                        deltas.push(place(
                            "function_call_arguments.delta",
                            json!({"delta": piece}),
                        ));
                    }
                    deltas.push(place(
                        "function_call_arguments.done",
                        json!({"arguments": arguments}),
                    ));
                }
                _ => {}
            }
            push(
                json!({"type": "response.output_item.added", "output_index": index, "item": start}),
            );
            deltas.into_iter().for_each(&mut push);
            push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
        }
        push(json!({"type": "response.completed", "response": reply}));
        written(&out)
    }

    fn joined(&self, stream: &[u8]) -> Value {
        let all = events(stream);
        let numbers: Vec<_> = all
            .iter()
            .map(|event| event["sequence_number"].as_u64())
            .collect();
        let wanted: Vec<_> = (0..all.len() as u64).map(Some).collect();
        assert_eq!(numbers, wanted, "sequence numbers without gaps");
        let created = all
            .iter()
            .filter(|event| event["type"] == "response.created");
        let created: Vec<_> = created.collect();
        assert_eq!(created.len(), 1, "one beginning");
        let done = all
            .iter()
            .filter(|event| event["type"] == "response.output_item.done");
        let done: Vec<_> = done.map(|event| event["item"].clone()).collect();
        let last = all.last().unwrap();
        assert_eq!(last["type"], "response.completed");
        assert_eq!(
            last["response"]["output"],
            json!(done),
            "the last event repeats all items"
        );
        let mut reply = last["response"].clone();
        reply["created_id"] = created[0]["response"]["id"].clone();
        reply
    }

    fn next(&self, request: &Value, reply: &Value) -> Vec<(&'static str, Value)> {
        let output = list(&reply["output"]);
        let calls = output.iter().filter(|item| item["type"] == "function_call");
        let results = calls.map(|item| {
            json!({"type": "function_call_output", "call_id": item["call_id"], "output": "ok"})
        });
        let mut results: Vec<_> = results.collect();
        if results.is_empty() {
            results.push(json!({"role": "user", "content": "And?"}));
        }
        let with_input = |items: Vec<Value>| {
            let mut next = request.clone();
            let input = next["input"].as_array_mut().unwrap();
            input.extend(items.into_iter().chain(results.clone()));
            next
        };
        let mut ways = vec![("replay", with_input(output.to_vec()))];
        if self.stored {
            let reference = |item: &Value| json!({"type": "item_reference", "id": item["id"]});
            ways.push((
                "references",
                with_input(output.iter().map(reference).collect()),
            ));
            for (way, key) in [
                ("id of the end", "id"),
                ("id of the beginning", "created_id"),
            ] {
                if reply[key].is_string() {
                    let mut next = request.clone();
                    next["previous_response_id"] = reply[key].clone();
                    next["input"] = json!(results);
                    ways.push((way, next));
                }
            }
        }
        ways
    }
}
