//! Rewrites forms that real tool definitions use and JSON Schema does not know.
//!
//! Each known form is read as what it evidently means, with a warning. Everything else is left to
//! the compiler.

use serde_json::{Map, Value, json};

use super::view::{LISTS, MAPS, SINGLE};
use super::{Draft, SchemaWarning};
use crate::tree::Pointer;

/// Rewrites the known forms, with one warning each. `draft` is the draft of a schema that names
/// none, and `own_dialect` finds the draft behind a dialect of the host's own.
///
/// Only forms that the schema's draft forbids or does not know are rewritten, so that everything
/// valid keeps its meaning.
pub(crate) fn normalise(
    schema: &mut Value,
    draft: Draft,
    own_dialect: &dyn Fn(&str) -> Option<Draft>,
) -> Vec<SchemaWarning> {
    let mut normaliser = Normaliser {
        warnings: Vec::new(),
        draft,
        own_dialect,
    };
    if let Value::Object(root) = schema {
        normaliser.dialect(root);
    }
    normaliser.schema(schema, &mut Pointer::root());
    normaliser.warnings
}

struct Normaliser<'d> {
    warnings: Vec<SchemaWarning>,
    draft: Draft,
    own_dialect: &'d dyn Fn(&str) -> Option<Draft>,
}

impl Normaliser<'_> {
    fn warn(&mut self, place: &Pointer, message: String) {
        self.warnings.push(SchemaWarning {
            pointer: place.clone(),
            message,
        });
    }

    /// Keeps a known `$schema`, and reads any other as 2020-12.
    fn dialect(&mut self, root: &mut Map<String, Value>) {
        let Some(named) = root.get("$schema") else {
            return;
        };
        // A `$schema` that is not a string names no draft.
        let uri = named.as_str().unwrap_or("");
        if let Some(draft) = (self.own_dialect)(uri) {
            self.draft = draft;
        } else if let Some(draft) = Draft::named(uri) {
            self.draft = draft;
            root.insert("$schema".to_owned(), Value::from(draft.uri()));
        } else {
            self.draft = Draft::Draft202012;
            let message = format!("`$schema` {named} is not known; read as draft 2020-12");
            self.warn(&Pointer::root(), message);
            root.insert("$schema".to_owned(), Value::from(self.draft.uri()));
        }
    }

    fn schema(&mut self, schema: &mut Value, place: &mut Pointer) {
        let Value::Object(map) = schema else { return };
        let around = self.draft;
        self.draft = embedded_draft(map).unwrap_or(around);
        self.relative_reference(map, place);
        self.types(map, place);
        self.required(map, place);
        self.bounds(map, place);
        self.containers(map, place);
        self.children(map, place);
        self.nullable(schema, place);
        self.draft = around;
    }

    fn children(&mut self, map: &mut Map<String, Value>, place: &Pointer) {
        for keyword in SINGLE {
            if let Some(child @ Value::Object(_)) = map.get_mut(keyword) {
                self.schema(child, &mut place.join(keyword));
            }
        }
        for keyword in LISTS {
            if let Some(Value::Array(children)) = map.get_mut(keyword) {
                for (index, child) in children.iter_mut().enumerate() {
                    self.schema(child, &mut place.join(keyword).join(&index.to_string()));
                }
            }
        }
        for keyword in MAPS {
            if let Some(Value::Object(children)) = map.get_mut(keyword) {
                for (name, child) in children {
                    self.schema(child, &mut place.join(keyword).join(name));
                }
            }
        }
    }

    /// Rewrites `$ref: "2/properties/name"`, which counts the levels up from the schema itself, as
    /// zod-to-json-schema writes it on request.
    fn relative_reference(&mut self, map: &mut Map<String, Value>, place: &Pointer) {
        let Some(written) = map.get("$ref").and_then(Value::as_str) else {
            return;
        };
        let (levels, down) = written.split_once('/').unwrap_or((written, ""));
        let Some(depth) = levels
            .parse::<usize>()
            .ok()
            .and_then(|levels| place.depth().checked_sub(levels))
        else {
            return;
        };
        let up = place.segments().take(depth);
        let target = up.fold(Pointer::root(), |target, name| target.join(&name));
        let target = match down {
            "" => target.to_string(),
            down => format!("{target}/{down}"),
        };
        self.warn(
            place,
            format!("`$ref` {written:?} is read as \"#{target}\""),
        );
        map.insert("$ref".to_owned(), Value::from(format!("#{target}")));
    }

    /// Rewrites `dict`, `float`, `any`, `STRING` and similar type names.
    fn types(&mut self, map: &mut Map<String, Value>, place: &Pointer) {
        let Some(written) = map.get("type").cloned() else {
            return;
        };
        let read = match &written {
            Value::Array(names) => {
                let names: Vec<_> = names.iter().map(type_name).collect();
                if names.contains(&Some(Value::Null)) {
                    Some(Value::Null)
                } else {
                    let kept = names
                        .into_iter()
                        .zip(written.as_array().into_iter().flatten());
                    Some(kept.map(|(new, old)| new.unwrap_or(old.clone())).collect())
                }
            }
            other => type_name(other),
        };
        let Some(read) = read.filter(|read| *read != written) else {
            return;
        };
        if read.is_null() {
            self.warn(place, format!("type {written} is read as any type"));
            map.remove("type");
        } else {
            self.warn(place, format!("type {written} is read as {read}"));
            map.insert("type".to_owned(), read);
        }
    }

    /// Rewrites `required: true` inside a property, and `required: "name"`.
    fn required(&mut self, map: &mut Map<String, Value>, place: &Pointer) {
        let mut lifted = Vec::new();
        if let Some(Value::Object(properties)) = map.get_mut("properties") {
            for (name, property) in properties {
                let Value::Object(property) = property else {
                    continue;
                };
                if let Some(Value::Bool(flag)) = property.get("required") {
                    let flag = *flag;
                    property.remove("required");
                    let place = place.join("properties").join(name);
                    self.warn(&place, format!("`required: {flag}` belongs to the parent"));
                    if flag {
                        lifted.push(Value::from(name.as_str()));
                    }
                }
            }
        }
        match map.get_mut("required") {
            Some(Value::String(name)) => {
                let list = json!([name]);
                self.warn(place, "`required` is read as a list of one name".to_owned());
                map.insert("required".to_owned(), list);
            }
            Some(Value::Bool(_) | Value::Null) => {
                self.warn(place, "`required` without names is left out".to_owned());
                map.remove("required");
            }
            Some(Value::Array(names)) if names.is_empty() && lifted.is_empty() => {
                // Empty means the same as absent; draft 4 forbids it.
                map.remove("required");
            }
            _ => {}
        }
        if !lifted.is_empty() {
            match map.get_mut("required") {
                Some(Value::Array(names)) => {
                    lifted.retain(|name| !names.contains(name));
                    names.append(&mut lifted);
                }
                Some(_) => {}
                None => {
                    map.insert("required".to_owned(), Value::Array(lifted));
                }
            }
        }
    }

    /// Rewrites draft 4's `exclusiveMinimum: true` in later drafts.
    fn bounds(&mut self, map: &mut Map<String, Value>, place: &Pointer) {
        if self.draft == Draft::Draft4 {
            return;
        }
        for (keyword, exclusive) in [
            ("minimum", "exclusiveMinimum"),
            ("maximum", "exclusiveMaximum"),
        ] {
            if let Some(Value::Bool(flag)) = map.get(exclusive) {
                let flag = *flag;
                self.warn(
                    place,
                    format!("`{exclusive}: {flag}` is read as draft 4 means it"),
                );
                map.remove(exclusive);
                if flag && let Some(limit) = map.remove(keyword) {
                    map.insert(exclusive.to_owned(), limit);
                }
            }
        }
    }

    /// Rewrites a list under `items` in 2020-12, and `properties: []`.
    fn containers(&mut self, map: &mut Map<String, Value>, place: &Pointer) {
        if let Some(Value::Array(empty)) = map.get("properties")
            && empty.is_empty()
        {
            self.warn(
                place,
                "`properties: []` is read as no properties".to_owned(),
            );
            map.insert("properties".to_owned(), json!({}));
        }
        if self.draft == Draft::Draft202012 && map.get("items").is_some_and(Value::is_array) {
            self.warn(
                place,
                "a list under `items` is read as `prefixItems`".to_owned(),
            );
            if let Some(list) = map.remove("items")
                && list.as_array().is_some_and(|list| !list.is_empty())
            {
                map.insert("prefixItems".to_owned(), list);
            }
            if let Some(rest) = map.remove("additionalItems") {
                map.insert("items".to_owned(), rest);
            }
        }
    }

    /// Rewrites OpenAPI 3.0's `nullable: true`.
    fn nullable(&mut self, schema: &mut Value, place: &Pointer) {
        let Value::Object(map) = schema else { return };
        let Some(Value::Bool(flag)) = map.get("nullable") else {
            return;
        };
        let flag = *flag;
        map.remove("nullable");
        if !flag {
            return;
        }
        self.warn(place, "`nullable: true` is read as: or null".to_owned());
        match map.get_mut("enum") {
            Some(Value::Array(values)) if !values.contains(&Value::Null) => {
                values.push(Value::Null);
            }
            _ => {}
        }
        match map.get_mut("type") {
            Some(Value::String(name)) if name != "null" => {
                let both = json!([name, "null"]);
                map.insert("type".to_owned(), both);
            }
            Some(Value::Array(names)) if !names.contains(&json!("null")) => {
                names.push(json!("null"));
            }
            Some(_) => {}
            None => {}
        }
        let restricted = ["const", "anyOf", "oneOf", "allOf", "$ref", "not", "if"];
        if restricted.iter().any(|keyword| map.contains_key(*keyword)) {
            let mut inner = std::mem::take(map);
            let mut outer = Map::new();
            // Targets of references stay where they were.
            for keyword in ["$schema", "$id", "id", "$anchor", "$defs", "definitions"] {
                if let Some(kept) = inner.remove(keyword) {
                    outer.insert(keyword.to_owned(), kept);
                }
            }
            outer.insert("anyOf".to_owned(), json!([{"type": "null"}, inner]));
            *schema = Value::Object(outer);
        }
    }
}

/// The draft that an embedded schema resource names.
fn embedded_draft(map: &Map<String, Value>) -> Option<Draft> {
    Draft::named(map.get("$schema")?.as_str()?)
}

/// The JSON Schema name for a type name: `Null` for "any", `None` for an unknown name.
fn type_name(written: &Value) -> Option<Value> {
    if written.is_null() {
        return Some(Value::from("null"));
    }
    let name = match written.as_str()?.to_ascii_lowercase().as_str() {
        "string" | "str" | "char" | "text" | "date" | "datetime" | "time" | "timestamp"
        | "uuid" | "url" | "uri" | "email" | "regexp" | "bytes" | "binary" => "string",
        "number" | "float" | "double" | "decimal" | "float32" | "float64" => "number",
        "integer" | "int" | "long" | "short" | "byte" | "int8" | "int16" | "int32" | "int64"
        | "uint" | "uint8" | "uint16" | "uint32" | "uint64" | "bigint" => "integer",
        "boolean" | "bool" => "boolean",
        "array" | "list" | "tuple" | "arraylist" => "array",
        "object" | "dict" | "dictionary" | "map" | "hashmap" | "record" | "struct" => "object",
        "null" | "none" | "nil" | "undefined" | "void" => "null",
        "any" | "mixed" | "unknown" | "json" | "uint8array" => return Some(Value::Null),
        _ => return None,
    };
    Some(Value::from(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalised(draft: Draft, mut schema: Value) -> (Value, usize) {
        let warnings = normalise(&mut schema, draft, &|_| None);
        (schema, warnings.len())
    }

    #[test]
    fn forms_that_the_draft_allows_are_kept() {
        let exclusive = json!({"minimum": 3, "exclusiveMinimum": true});
        let tuple = json!({"items": [{"type": "string"}], "additionalItems": false});
        for (draft, schema) in [
            (Draft::Draft4, exclusive.clone()),
            (Draft::Draft7, tuple.clone()),
            (Draft::Draft201909, tuple.clone()),
        ] {
            assert_eq!(normalised(draft, schema.clone()), (schema, 0), "{draft:?}");
        }
        let (rewritten, warnings) = normalised(Draft::Draft7, exclusive);
        assert_eq!((rewritten, warnings), (json!({"exclusiveMinimum": 3}), 1));
        let (rewritten, warnings) = normalised(Draft::Draft202012, tuple);
        let wanted = json!({"prefixItems": [{"type": "string"}], "items": false});
        assert_eq!((rewritten, warnings), (wanted, 1));
    }

    #[test]
    fn values_and_property_names_are_not_rewritten() {
        let dirty = json!({"type": "dict", "required": true, "nullable": true, "items": [1]});
        let schema = json!({
            "const": dirty,
            "enum": [dirty],
            "default": dirty,
            "examples": [dirty],
            "properties": {
                "type": {"type": "string"},
                "required": {"type": "boolean"},
                "items": {"type": "array"},
                "nullable": {"const": true},
                "properties": {"enum": [[]]},
            },
        });
        assert_eq!(normalised(Draft::Draft202012, schema.clone()), (schema, 0));
    }

    #[test]
    fn embedded_resource_keeps_its_own_draft() {
        let schema = json!({"$defs": {"old": {
            "$id": "https://example.org/old",
            "$schema": "http://json-schema.org/draft-04/schema#",
            "minimum": 1, "exclusiveMinimum": true,
        }}});
        assert_eq!(normalised(Draft::Draft202012, schema.clone()), (schema, 0));
    }

    #[test]
    fn nullable_keeps_targets_of_references_in_place() {
        let schema = json!({
            "nullable": true,
            "$ref": "#/$defs/name",
            "$defs": {"name": {"type": "str"}},
        });
        let wanted = json!({
            "$defs": {"name": {"type": "string"}},
            "anyOf": [{"type": "null"}, {"$ref": "#/$defs/name"}],
        });
        assert_eq!(normalised(Draft::Draft202012, schema), (wanted, 2));
    }
}
