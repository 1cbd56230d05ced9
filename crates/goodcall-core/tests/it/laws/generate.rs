//! Generates schemas and instances from a stream of bytes, so that shrinking the stream shrinks them.

use serde_json::{Map, Value, json};

/// The decisions, one byte each. They are zero when they run out, which is the simplest choice.
pub(crate) struct Choices<'b> {
    bytes: &'b [u8],
    at: usize,
}

const NAMES: [&str; 6] = ["file_name", "limit", "tags", "kind", "maxLines", "a"];
const KEYS: [&str; 12] = [
    "file_name",
    "limit",
    "tags",
    "kind",
    "maxLines",
    "a",
    "fileName",
    "File-Name",
    "max_lines",
    "limits",
    "0",
    "extra",
];
const WORDS: [&str; 8] = [
    "open",
    "Open",
    "in_progress",
    "In Progress",
    "done",
    "celsius",
    "celcius",
    "1",
];
const TEXTS: [&str; 30] = [
    "x",
    "5",
    "-1.50",
    "12345678901234567890",
    "02134",
    "1e3",
    "true",
    "True",
    "false",
    "null",
    "None",
    "",
    "[1, 2]",
    "[\"a\"]",
    "['a', 'b']",
    "{\"a\": 1}",
    "{\"limit\": \"5\"}",
    "[[1]]",
    "a, b",
    "1, 2",
    "1,234",
    "5 km",
    "yes",
    "off",
    "2025/03/04",
    "March 4, 2025",
    "03/04/2025",
    "20250304T1200Z",
    "[1, 2",
    "unknown",
];
const DIGITS: [&str; 10] = [
    "0",
    "1",
    "5",
    "-3",
    "100",
    "5.0",
    "2.5",
    "1e2",
    "12345678901234567890",
    "0.1",
];

impl<'b> Choices<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn next(&mut self, most: usize) -> usize {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(byte) % most
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.next(from.len())]
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.next(one_in) == one_in - 1
    }

    /// Generates a schema for arguments.
    pub(crate) fn arguments_schema(&mut self) -> Value {
        let mut schema = self.object(2);
        let mut defs = Map::new();
        defs.insert("d".to_owned(), self.schema(1));
        if let Value::Object(map) = &mut schema {
            map.insert("$defs".to_owned(), Value::Object(defs));
        }
        schema
    }

    fn schema(&mut self, depth: usize) -> Value {
        let kinds = if depth == 0 { 12 } else { 22 };
        match self.next(kinds) {
            0 => json!({"type": "string"}),
            1 => json!({"type": "integer"}),
            2 => json!({"type": "number", "minimum": 0, "maximum": 1000}),
            3 => json!({"type": "boolean"}),
            4 => json!({"type": "string", "enum": [self.pick(&WORDS), "other"]}),
            5 => json!({"enum": [self.pick(&WORDS), 1, true, null]}),
            6 => json!({"const": self.pick(&WORDS)}),
            7 => json!({"type": [self.type_name(), "null"]}),
            8 => json!({"type": "integer", "nullable": true}),
            9 => json!({"type": "string", "format": self.pick(&["date", "date-time", "uuid"])}),
            10 => json!({"type": "string", "minLength": 1, "pattern": "^[a-z0-9]"}),
            11 => json!({"type": [self.type_name(), self.type_name()]}),
            12 | 13 => self.object(depth - 1),
            14 | 15 => self.array(depth - 1),
            16 => json!({"anyOf": [self.schema(depth - 1), self.schema(depth - 1)]}),
            17 => json!({"oneOf": [self.schema(depth - 1), self.schema(depth - 1)]}),
            18 => json!({"allOf": [self.schema(depth - 1), self.schema(depth - 1)]}),
            19 => json!({"$ref": "#/$defs/d"}),
            20 => json!({"anyOf": [self.variant(depth - 1), self.variant(depth - 1)]}),
            _ => json!({"anyOf": [self.schema(depth - 1), {"type": "null"}]}),
        }
    }

    fn type_name(&mut self) -> &'static str {
        self.pick(&["string", "integer", "number", "boolean", "array", "object"])
    }

    /// Generates a branch of a tagged union.
    fn variant(&mut self, depth: usize) -> Value {
        let mut object = self.object(depth);
        let tag = self.pick(&WORDS);
        object["properties"]["kind"] = json!({"const": tag});
        object["required"] = json!(["kind"]);
        object
    }

    fn array(&mut self, depth: usize) -> Value {
        let mut schema = json!({"type": "array"});
        if !self.chance(4) {
            schema["items"] = self.schema(depth);
        }
        match self.next(6) {
            1 => schema["prefixItems"] = json!([self.schema(depth)]),
            2 => schema["minItems"] = json!(1),
            3 => schema["maxItems"] = json!(2),
            4 => schema["uniqueItems"] = json!(true),
            _ => {}
        }
        schema
    }

    fn object(&mut self, depth: usize) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for _ in 0..=self.next(4) {
            let name = self.pick(&NAMES);
            let mut property = self.schema(depth);
            if self.chance(8) {
                property["default"] = self.default();
            }
            if self.chance(3) && !required.contains(&name) {
                required.push(name);
            }
            properties.insert(name.to_owned(), property);
        }
        let mut schema = json!({"type": "object", "properties": properties, "required": required});
        match self.next(8) {
            1 | 2 => schema["additionalProperties"] = json!(false),
            3 => schema["additionalProperties"] = self.schema(0),
            4 => schema["patternProperties"] = json!({"^f": self.schema(0)}),
            5 => schema["dependentRequired"] = json!({"a": [self.pick(&NAMES)]}),
            6 => {
                schema["if"] = json!({"properties": {"kind": {"const": "open"}}});
                schema["then"] = json!({"required": [self.pick(&NAMES)]});
                schema["else"] = json!({"properties": {"limit": {"type": "integer"}}});
            }
            7 => schema["maxProperties"] = json!(3),
            _ => {}
        }
        schema
    }

    fn default(&mut self) -> Value {
        match self.next(4) {
            0 => json!(5),
            1 => json!("open"),
            2 => json!([]),
            _ => json!("5"),
        }
    }

    /// Generates arguments as text: close to the schema, with the usual mistakes.
    pub(crate) fn arguments(&mut self, schema: &Value) -> String {
        let mut out = String::new();
        match self.next(12) {
            10 => {
                out.push_str("{\"arguments\":");
                self.instance(schema, schema, 4, &mut out);
                out.push('}');
            }
            11 => self.anything(3, &mut out),
            _ => self.instance(schema, schema, 4, &mut out),
        }
        out
    }

    fn instance(&mut self, root: &Value, schema: &Value, depth: usize, out: &mut String) {
        if depth == 0 || self.chance(6) {
            return self.anything(depth.min(2), out);
        }
        if self.chance(8) {
            let mut inner = String::new();
            self.instance(root, schema, depth - 1, &mut inner);
            if self.chance(2) {
                out.push_str(&Value::from(inner).to_string());
            } else {
                out.push_str(&format!("[{inner}]"));
            }
            return;
        }
        for keyword in ["anyOf", "oneOf", "allOf"] {
            if let Some(Value::Array(branches)) = schema.get(keyword) {
                let branch = self.next(branches.len());
                return self.instance(root, &branches[branch], depth - 1, out);
            }
        }
        if schema.get("$ref").is_some() {
            return self.instance(root, &root["$defs"]["d"], depth - 1, out);
        }
        if let Some(value) = schema.get("const") {
            return out.push_str(&value.to_string());
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            let at = self.next(values.len());
            return out.push_str(&values[at].to_string());
        }
        let named = match &schema["type"] {
            Value::Array(names) => names[self.next(names.len())].clone(),
            name => name.clone(),
        };
        self.typed(root, schema, named.as_str().unwrap_or("null"), depth, out);
    }

    fn typed(&mut self, root: &Value, schema: &Value, kind: &str, depth: usize, out: &mut String) {
        match kind {
            "object" => {
                let mut members = Vec::new();
                for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                    if self.chance(5) {
                        continue;
                    }
                    let key = if self.chance(8) {
                        self.pick(&KEYS)
                    } else {
                        name
                    };
                    let mut value = String::new();
                    self.instance(root, property, depth - 1, &mut value);
                    members.push((key.to_owned(), value));
                }
                if self.chance(4) {
                    let mut value = String::new();
                    self.anything(1, &mut value);
                    members.push((self.pick(&KEYS).to_owned(), value));
                }
                write_object(members, out);
            }
            "array" => {
                out.push('[');
                for index in 0..self.next(4) {
                    if index > 0 {
                        out.push(',');
                    }
                    let items = schema.get("items").cloned().unwrap_or(json!({}));
                    self.instance(root, &items, depth - 1, out);
                }
                out.push(']');
            }
            "string" => out.push_str(&Value::from(self.pick(&TEXTS)).to_string()),
            "integer" | "number" => out.push_str(self.pick(&DIGITS)),
            "boolean" => out.push_str(self.pick(&["true", "false"])),
            _ => out.push_str("null"),
        }
    }

    fn anything(&mut self, depth: usize, out: &mut String) {
        match self.next(if depth == 0 { 5 } else { 7 }) {
            0 => out.push_str("null"),
            1 => out.push_str(self.pick(&["true", "false"])),
            2 => out.push_str(self.pick(&DIGITS)),
            3 => out.push_str(&Value::from(self.pick(&TEXTS)).to_string()),
            4 => out.push_str(&Value::from(self.pick(&WORDS)).to_string()),
            5 => {
                let mut members = Vec::new();
                for _ in 0..self.next(4) {
                    let mut value = String::new();
                    self.anything(depth - 1, &mut value);
                    members.push((self.pick(&KEYS).to_owned(), value));
                }
                write_object(members, out);
            }
            _ => {
                out.push('[');
                for index in 0..self.next(3) {
                    if index > 0 {
                        out.push(',');
                    }
                    self.anything(depth - 1, out);
                }
                out.push(']');
            }
        }
    }
}

/// Writes an object with each key once; repeated keys are a matter of parsing.
fn write_object(members: Vec<(String, String)>, out: &mut String) {
    let mut seen: Vec<String> = Vec::new();
    out.push('{');
    for (key, value) in members {
        if seen.contains(&key) {
            continue;
        }
        if !seen.is_empty() {
            out.push(',');
        }
        out.push_str(&format!("{}:{value}", Value::from(key.as_str())));
        seen.push(key);
    }
    out.push('}');
}

/// Returns the schema with the branches of unions and the values of enums in reverse order.
pub(crate) fn reversed(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| {
                let mut value = reversed(value);
                if let ("anyOf" | "oneOf" | "enum", Value::Array(items)) =
                    (key.as_str(), &mut value)
                {
                    items.reverse();
                }
                (key.clone(), value)
            })
            .collect(),
        Value::Array(items) => items.iter().map(reversed).collect(),
        other => other.clone(),
    }
}
