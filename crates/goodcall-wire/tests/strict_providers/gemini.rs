//! Gemini's own API, with the signatures that Gemini 3 wants back.

use serde_json::{Value, json};

use super::{Said, StrictProvider, events, list, require, schema, written};

pub(crate) struct Gemini {
    /// True for a model that refuses calls without their signatures.
    signed: bool,
    choices: usize,
    replies: usize,
}

impl Gemini {
    pub(crate) fn new(signed: bool, choices: usize) -> Self {
        Self {
            signed,
            choices,
            replies: 0,
        }
    }
}

impl StrictProvider for Gemini {
    fn provider(&self) -> goodcall_wire::Provider {
        goodcall_wire::Provider::Gemini
    }

    fn request(&self) -> Value {
        json!({"contents": [{"role": "user", "parts": [{"text": "Go."}]}],
            "generationConfig": {"candidateCount": self.choices},
            "tools": [{"functionDeclarations": [{"name": "f", "parameters": schema()}]}]})
    }

    fn check(&self, request: &Value) -> Result<(), String> {
        let contents = list(&request["contents"]);
        let is_question = |content: &Value| {
            let parts = list(&content["parts"]);
            let has_results = parts.iter().any(|part| !part["functionResponse"].is_null());
            content["role"] == "user" && !has_results
        };
        let turn = contents.iter().rposition(is_question);
        let mut open: Vec<&Value> = Vec::new();
        for (at, content) in contents.iter().enumerate() {
            let parts = list(&content["parts"]);
            require(!parts.is_empty(), || {
                format!("contents[{at}]: must include at least one part")
            })?;
            let role = if at % 2 == 0 { "user" } else { "model" };
            require(content["role"] == role, || {
                format!("contents[{at}]: order of turns")
            })?;
            let is_empty = |part: &Value| part["text"] == "" && part["thoughtSignature"].is_null();
            require(!parts.iter().any(is_empty), || {
                format!("contents[{at}]: empty text")
            })?;
            let results = parts.iter().map(|part| &part["functionResponse"]);
            let results: Vec<_> = results.filter(|result| !result.is_null()).collect();
            let names: Vec<_> = results.iter().map(|result| &result["name"]).collect();
            require(names == open, || {
                format!(
                    "contents[{at}]: the number of function response parts must be equal to the number of function call parts: {names:?} for {open:?}"
                )
            })?;
            let is_object = |result: &&Value| result["response"].is_object();
            require(results.iter().all(is_object), || {
                format!("contents[{at}]: response")
            })?;
            let calls = parts.iter().filter(|part| !part["functionCall"].is_null());
            let calls: Vec<_> = calls.collect();
            let is_current = turn.is_none_or(|turn| at > turn);
            if let Some(first) = calls.first().filter(|_| self.signed && is_current) {
                require(first["thoughtSignature"].is_string(), || {
                    format!("contents[{at}]: Function call is missing a thought_signature")
                })?;
            }
            for call in &calls {
                let is_object = call["functionCall"]["args"].is_object();
                require(is_object, || format!("contents[{at}]: args"))?;
            }
            open = calls
                .into_iter()
                .map(|call| &call["functionCall"]["name"])
                .collect();
        }
        require(open.is_empty(), || {
            "the last turn is a function call".to_owned()
        })
    }

    fn reply(&mut self, _: &Value, said: &Said) -> Value {
        self.replies += 1;
        let number = self.replies;
        let candidates = (0..self.choices).map(|index| {
            let mut parts = Vec::new();
            if said.thinks {
                parts.push(json!({"text": "So.", "thought": true}));
            }
            if said.speaks {
                parts.push(json!({"text": "I look."}));
            }
            for (at, arguments) in said.calls.iter().enumerate() {
                let args: Value = serde_json::from_str(arguments).unwrap();
                let mut part = json!({"functionCall": {"name": "f", "args": args}});
                if self.signed && at == 0 {
                    part["thoughtSignature"] = json!(format!("s{number}"));
                }
                parts.push(part);
            }
            json!({"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": index})
        });
        json!({"candidates": candidates.collect::<Vec<_>>(), "responseId": format!("r{number}"),
            "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 3}})
    }

    fn stream(&self, reply: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        for candidate in list(&reply["candidates"]) {
            let mut push = |parts: Value, reason: Value| {
                let mut own = json!({"content": {"role": "model", "parts": parts}, "index": candidate["index"]});
                if !reason.is_null() {
                    own["finishReason"] = reason;
                }
                out.push(
                    json!({"candidates": [own], "responseId": reply["responseId"],
                    "usageMetadata": reply["usageMetadata"]}),
                );
            };
            for part in list(&candidate["content"]["parts"]) {
                push(json!([part]), Value::Null);
            }
            push(json!([{"text": ""}]), candidate["finishReason"].clone());
        }
        written(&out)
    }

    fn joined(&self, stream: &[u8]) -> Value {
        let mut lists = vec![Vec::new(); self.choices];
        for chunk in events(stream) {
            assert_eq!(chunk["responseId"], "r1", "one id");
            for candidate in list(&chunk["candidates"]) {
                let own = &mut lists[candidate["index"].as_u64().unwrap() as usize];
                for part in list(&candidate["content"]["parts"]) {
                    if part["text"] != "" {
                        own.push(part.clone());
                    }
                }
            }
        }
        let candidates = lists.into_iter();
        let candidates =
            candidates.map(|parts| json!({"content": {"role": "model", "parts": parts}}));
        json!({"candidates": candidates.collect::<Vec<_>>()})
    }

    fn forget(&self, reply: &mut Value) {
        let parts = reply["candidates"][0]["content"]["parts"].as_array_mut();
        for part in parts.unwrap() {
            part.as_object_mut().unwrap().remove("thoughtSignature");
        }
    }

    fn next(&self, request: &Value, reply: &Value) -> Vec<(&'static str, Value)> {
        let content = &reply["candidates"][0]["content"];
        let mut next = request.clone();
        let contents = next["contents"].as_array_mut().unwrap();
        contents.push(content.clone());
        let calls = list(&content["parts"]).iter();
        let calls = calls.filter(|part| !part["functionCall"].is_null());
        let results = calls.map(|part| {
            json!({"functionResponse": {"name": part["functionCall"]["name"], "response": {"output": "ok"}}})
        });
        let mut results: Vec<_> = results.collect();
        if results.is_empty() {
            results.push(json!({"text": "And?"}));
        }
        contents.push(json!({"role": "user", "parts": results}));
        vec![("replay", next)]
    }
}
