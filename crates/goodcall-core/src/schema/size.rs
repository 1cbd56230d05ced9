//! How large a schema is, and how much larger it becomes when its references are followed.
//!
//! Two references to the same place in each of thirty definitions are a thousand million paths.
//! The validator walks them all, so such a schema is refused before it gets there.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::SchemaError;
use crate::limits::{SCHEMA_BYTES, SCHEMA_DEPTH, SCHEMA_PATHS, SCHEMA_STEPS};
use crate::tree::Pointer;

/// Refuses a document that is too large, too deep, or grows too much.
pub(super) fn check(document: &Value) -> Result<(), SchemaError> {
    let mut bytes = 0;
    measure(document, 0, &mut bytes)?;
    let mut growth = Growth {
        document,
        named: HashMap::new(),
        paths: HashMap::new(),
    };
    growth.name(document);
    growth.walk(document, &mut Pointer::root())
}

fn refuse<T>(place: &Pointer, reason: String) -> Result<T, SchemaError> {
    Err(SchemaError::new(place.clone(), reason))
}

fn measure(value: &Value, depth: usize, bytes: &mut usize) -> Result<(), SchemaError> {
    if depth > SCHEMA_DEPTH {
        let reason = format!("nested deeper than {SCHEMA_DEPTH} levels");
        return refuse(&Pointer::root(), reason);
    }
    *bytes += 8;
    match value {
        Value::String(text) => *bytes += text.len(),
        Value::Array(items) => {
            for item in items {
                measure(item, depth + 1, bytes)?;
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                *bytes += key.len();
                measure(item, depth + 1, bytes)?;
            }
        }
        _ => {}
    }
    if *bytes > SCHEMA_BYTES {
        let reason = format!("larger than {SCHEMA_BYTES} bytes");
        return refuse(&Pointer::root(), reason);
    }
    Ok(())
}

/// Keywords whose schemas judge the same value as the schema around them.
const SAME_VALUE: [&str; 7] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];
/// The same, with schemas by name.
const SAME_VALUE_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];

/// What one value meets in one place.
#[derive(Clone, Copy)]
struct Paths {
    /// Schemas that judge it, references followed.
    count: u64,
    /// Schemas that lead from one to the next.
    longest: usize,
}

struct Growth<'d> {
    document: &'d Value,
    /// Schemas by `$id` and by `#anchor`.
    named: HashMap<String, &'d Value>,
    /// By address; `None` while counting.
    paths: HashMap<usize, Option<Paths>>,
}

impl<'d> Growth<'d> {
    fn name(&mut self, value: &'d Value) {
        match value {
            Value::Object(map) => {
                for (key, form) in [
                    ("$id", ""),
                    ("id", ""),
                    ("$anchor", "#"),
                    ("$dynamicAnchor", "#"),
                ] {
                    if let Some(Value::String(name)) = map.get(key) {
                        self.named.insert(format!("{form}{name}"), value);
                    }
                }
                map.values().for_each(|child| self.name(child));
            }
            Value::Array(items) => items.iter().for_each(|child| self.name(child)),
            _ => {}
        }
    }

    /// Counts the paths from every place of the document.
    fn walk(&mut self, value: &'d Value, place: &mut Pointer) -> Result<(), SchemaError> {
        match value {
            Value::Object(map) => {
                self.paths(value, 0)
                    .or_else(|reason| refuse(place, reason))?;
                for (key, child) in map {
                    self.walk(child, &mut place.join(key))?;
                }
            }
            Value::Array(items) => {
                for (index, child) in items.iter().enumerate() {
                    self.walk(child, &mut place.join(&index.to_string()))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The paths of one value through this schema, or why there are too many.
    fn paths(&mut self, schema: &'d Value, steps: usize) -> Result<Paths, String> {
        let mut paths = Paths {
            count: 1,
            longest: 1,
        };
        let Value::Object(map) = schema else {
            return Ok(paths);
        };
        let address = std::ptr::from_ref(schema) as usize;
        match self.paths.get(&address) {
            Some(Some(known)) => return Ok(*known),
            // It leads back to itself, which the validator notices too.
            Some(None) => return Ok(paths),
            None => {}
        }
        self.paths.insert(address, None);
        for next in same_value(map).into_iter().chain(self.targets(map)) {
            // The count below comes too late for this function's own stack.
            let inner = if steps < SCHEMA_STEPS {
                self.paths(next, steps + 1)?
            } else {
                Paths {
                    count: 1,
                    longest: SCHEMA_STEPS,
                }
            };
            paths.count = paths.count.saturating_add(inner.count);
            paths.longest = paths.longest.max(inner.longest + 1);
        }
        if paths.longest > SCHEMA_STEPS {
            return Err(format!(
                "references lead through more than {SCHEMA_STEPS} schemas"
            ));
        }
        if paths.count > SCHEMA_PATHS {
            return Err(format!(
                "with its references followed, a value meets over {SCHEMA_PATHS} schemas"
            ));
        }
        self.paths.insert(address, Some(paths));
        Ok(paths)
    }

    /// Where the references of one schema lead, inside the document.
    fn targets(&self, map: &Map<String, Value>) -> Vec<&'d Value> {
        let target = |keyword| {
            let reference = map.get(keyword)?.as_str()?;
            let known = self.named.get(reference).copied();
            known.or_else(|| self.document.pointer(reference.strip_prefix('#')?))
        };
        ["$ref", "$dynamicRef", "$recursiveRef"]
            .into_iter()
            .filter_map(target)
            .collect()
    }
}

/// The schemas inside this one that judge the same value.
fn same_value(map: &Map<String, Value>) -> Vec<&Value> {
    let mut inner = Vec::new();
    for keyword in SAME_VALUE {
        match map.get(keyword) {
            Some(Value::Array(schemas)) => inner.extend(schemas),
            schema => inner.extend(schema),
        }
    }
    for keyword in SAME_VALUE_MAPS {
        let schemas = map.get(keyword).and_then(Value::as_object);
        inner.extend(schemas.into_iter().flat_map(Map::values));
    }
    inner
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn doubling(levels: usize) -> Value {
        let mut defs = Map::new();
        for level in 0..levels {
            let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
            defs.insert(format!("a{level}"), json!({"allOf": [next, next]}));
        }
        json!({"properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": defs})
    }

    #[test]
    fn growth_is_bounded() {
        assert!(check(&doubling(10)).is_ok());
        let error = check(&doubling(30)).unwrap_err();
        assert!(error.reason().contains("references"), "{error}");
    }

    #[test]
    fn going_round_is_no_growth() {
        let tree = json!({
            "properties": {"children": {"items": {"$ref": "#"}}},
            "anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#"}],
            "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}},
        });
        assert!(check(&tree).is_ok());
    }
}
