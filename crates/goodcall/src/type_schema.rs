//! The JSON Schema of a Rust type, as a model should read it.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// Returns the JSON Schema of a type for a model: subschemas are inlined where they do not recurse,
/// titles are removed, and the names of Rust's number types are replaced by the bounds of those with up
/// to 32 bits.
///
/// ```
/// #[derive(schemars::JsonSchema)]
/// struct Args {
///     /// How many.
///     count: u8,
/// }
/// assert_eq!(
///     goodcall::schema_of::<Args>(),
///     serde_json::json!({
///         "type": "object",
///         "properties": {
///             "count": {"type": "integer", "description": "How many.", "minimum": 0, "maximum": 255},
///         },
///         "required": ["count"],
///     })
/// );
/// ```
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    tidy(&mut schema, true);
    share(&mut schema);
    // OpenAI refuses an object schema that lacks them.
    if let Some(root) = schema.as_object_mut()
        && root.get("type").is_some_and(|kind| kind == "object")
    {
        root.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// Formats that name a Rust type and mean nothing to a model, with the bounds that they stand for. The
/// bounds of 64 bits are left out: no model comes near them, and not every provider reads such numbers.
const RUST_FORMATS: [(&str, Option<(i64, i64)>); 14] = [
    ("int8", Some((i8::MIN as i64, i8::MAX as i64))),
    ("int16", Some((i16::MIN as i64, i16::MAX as i64))),
    ("int32", Some((i32::MIN as i64, i32::MAX as i64))),
    ("int64", None),
    ("int128", None),
    ("int", None),
    ("uint8", Some((0, u8::MAX as i64))),
    ("uint16", Some((0, u16::MAX as i64))),
    ("uint32", Some((0, u32::MAX as i64))),
    ("uint64", None),
    ("uint128", None),
    ("uint", None),
    ("float", None),
    ("double", None),
];

/// Removes what is noise to a model. `schema` is false for a map of schemas by name.
fn tidy(value: &mut Value, schema: bool) {
    match value {
        Value::Object(map) => {
            if schema {
                if map.get("title").is_some_and(Value::is_string) {
                    map.remove("title");
                }
                let format = map.get("format").and_then(Value::as_str);
                let known = RUST_FORMATS.iter().find(|(name, _)| Some(*name) == format);
                if let Some((_, bounds)) = known {
                    map.remove("format");
                    if let Some((least, most)) = bounds {
                        map.entry("minimum").or_insert_with(|| json!(least));
                        map.entry("maximum").or_insert_with(|| json!(most));
                    }
                }
            }
            for (key, child) in map.iter_mut() {
                match key.as_str() {
                    // Data, not schemas.
                    "default" | "const" | "enum" | "examples" if schema => {}
                    "properties" | "$defs" | "definitions" | "patternProperties" if schema => {
                        tidy(child, false);
                    }
                    _ => tidy(child, true),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| tidy(item, true)),
        _ => {}
    }
}

/// Replaces the copies of recursive types by references: schemars writes such a type where it is used,
/// and once more for its own references.
fn share(schema: &mut Value) {
    let Some(Value::Object(definitions)) = schema.get("$defs").cloned() else {
        return;
    };
    for (name, definition) in &definitions {
        let Some(root) = schema.as_object_mut() else {
            return;
        };
        for (key, part) in root.iter_mut() {
            match (key.as_str(), part) {
                ("$defs", Value::Object(others)) => {
                    let others = others.iter_mut().filter(|(other, _)| *other != name);
                    others.for_each(|(_, other)| refer(other, name, definition));
                }
                (_, part) => refer(part, name, definition),
            }
        }
    }
}

/// Replaces the copies of one definition.
fn refer(value: &mut Value, name: &str, definition: &Value) {
    let reference = json!({"$ref": format!("#/$defs/{name}")});
    let plain = |value: &Value| {
        let mut plain = value.clone();
        if let Some(map) = plain.as_object_mut() {
            map.remove("description");
        }
        plain
    };
    let (own, copied) = (plain(value), plain(definition));
    let mut nullable = copied.clone();
    if let Some(kind) = nullable.get_mut("type") {
        *kind = json!([kind, "null"]);
    }
    let mut replaced = if own == copied {
        reference
    } else if own == nullable {
        json!({"anyOf": [reference, {"type": "null"}]})
    } else {
        match value {
            Value::Object(map) => map
                .values_mut()
                .for_each(|part| refer(part, name, definition)),
            Value::Array(items) => items
                .iter_mut()
                .for_each(|part| refer(part, name, definition)),
            _ => {}
        }
        return;
    };
    // What a field says of itself, beside what its type says.
    if let Some(description) = value.get("description")
        && Some(description) != definition.get("description")
    {
        replaced["description"] = description.clone();
    }
    *value = replaced;
}
