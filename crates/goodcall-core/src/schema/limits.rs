//! Refuses schemas that are too large, or become too large when their references are followed.
//!
//! Two references to the same place in each of thirty definitions make 2^30 paths. The validator
//! would walk them all, so such a schema is refused before it gets there.

use std::collections::HashMap;
use std::ops::ControlFlow;

use serde_json::Value;

use super::{SchemaError, View};
use crate::limits::{SCHEMA_BYTES, SCHEMA_DEPTH, SCHEMA_PATHS, SCHEMA_STEPS};
use crate::tree::Pointer;

/// Refuses a document that is too large, too deep, or grows too much.
pub(super) fn check(document: &Value) -> Result<(), SchemaError> {
    let mut size = DocumentSize::default();
    size.measure(document, 0)?;
    if size.has_bounded_paths() {
        return Ok(());
    }
    let mut counter = PathCounter {
        named: HashMap::new(),
        paths: HashMap::new(),
    };
    View::root(document).visit_all(|schema, _| counter.name(schema));
    let grown = View::root(document).visit(|schema, place| match counter.paths(schema, 0) {
        Ok(_) => ControlFlow::Continue(()),
        Err(reason) => ControlFlow::Break(SchemaError::new(place.clone(), reason)),
    });
    grown.break_value().map_or(Ok(()), Err)
}

fn refuse<T>(place: &Pointer, reason: String) -> Result<T, SchemaError> {
    Err(SchemaError::new(place.clone(), reason))
}

/// What a document holds.
#[derive(Default)]
struct DocumentSize {
    bytes: usize,
    /// The depth of the deepest value.
    depth: usize,
    objects: u64,
    /// True if a key is the name of a keyword that refers to other schemas.
    has_references: bool,
}

impl DocumentSize {
    fn measure(&mut self, value: &Value, depth: usize) -> Result<(), SchemaError> {
        if depth > SCHEMA_DEPTH {
            let reason = format!("nested deeper than {SCHEMA_DEPTH} levels");
            return refuse(&Pointer::root(), reason);
        }
        self.bytes += 8;
        self.depth = self.depth.max(depth);
        match value {
            Value::String(text) => self.bytes += text.len(),
            Value::Array(items) => {
                for item in items {
                    self.measure(item, depth + 1)?;
                }
            }
            Value::Object(map) => {
                self.objects += 1;
                for (key, item) in map {
                    self.bytes += key.len();
                    self.has_references |= REFERENCES.contains(&key.as_str());
                    self.measure(item, depth + 1)?;
                }
            }
            _ => {}
        }
        if self.bytes > SCHEMA_BYTES {
            let reason = format!("larger than {SCHEMA_BYTES} bytes");
            return refuse(&Pointer::root(), reason);
        }
        Ok(())
    }

    /// Returns true if the paths need not be counted: without references a value meets each schema
    /// once at most, and a chain of them is no longer than the document is deep.
    fn has_bounded_paths(&self) -> bool {
        !self.has_references && self.objects <= SCHEMA_PATHS && self.depth < SCHEMA_STEPS
    }
}

/// The keywords that refer to other schemas.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The schemas that one value meets at one place.
#[derive(Clone, Copy)]
struct PathCount {
    /// The number of schemas that judge it, references followed.
    count: u64,
    /// The length of the longest chain of schemas that lead from one to the next.
    longest: usize,
}

struct PathCounter<'d> {
    /// Schemas by `$id` and by `#anchor`.
    named: HashMap<String, View<'d>>,
    /// Counts by the address of the schema; `None` while counting.
    paths: HashMap<usize, Option<PathCount>>,
}

impl<'d> PathCounter<'d> {
    fn name(&mut self, schema: View<'d>) {
        for (key, prefix) in [
            ("$id", ""),
            ("id", ""),
            ("$anchor", "#"),
            ("$dynamicAnchor", "#"),
        ] {
            if let Some(Value::String(name)) = schema.get(key) {
                self.named.insert(format!("{prefix}{name}"), schema);
            }
        }
    }

    /// Counts the paths of one value through this schema, or says why there are too many.
    fn paths(&mut self, schema: View<'d>, steps: usize) -> Result<PathCount, String> {
        let mut paths = PathCount {
            count: 1,
            longest: 1,
        };
        if !schema.value().is_object() {
            return Ok(paths);
        }
        let address = std::ptr::from_ref(schema.value()) as usize;
        match self.paths.get(&address) {
            Some(Some(known)) => return Ok(*known),
            // The schema leads back to itself, where the validator stops, too.
            Some(None) => return Ok(paths),
            None => {}
        }
        self.paths.insert(address, None);
        for next in self.next_schemas(schema) {
            // Checked before the recursion, which the limit below would not stop in time.
            let inner = if steps < SCHEMA_STEPS {
                self.paths(next, steps + 1)?
            } else {
                PathCount {
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

    /// The schemas that judge the same value next: those inside this one, and the targets of its
    /// references. Collected here, so that the recursion above has a small stack frame.
    fn next_schemas(&self, schema: View<'d>) -> Vec<View<'d>> {
        let targets = REFERENCES.into_iter().filter_map(|keyword| {
            let reference = schema.get(keyword)?.as_str()?;
            let named = self.named.get(reference).copied();
            named.or_else(|| schema.referred(reference))
        });
        schema.same_value().chain(targets).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

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
    fn exponential_references_are_refused() {
        assert!(check(&doubling(10)).is_ok());
        let error = check(&doubling(30)).unwrap_err();
        assert!(error.reason().contains("references"), "{error}");
    }

    #[test]
    fn long_chain_is_refused_without_references() {
        let nested = |levels| (0..levels).fold(json!({}), |inner, _| json!({"not": inner}));
        assert!(check(&nested(SCHEMA_STEPS - 1)).is_ok());
        let error = check(&nested(SCHEMA_STEPS)).unwrap_err();
        assert!(error.reason().contains("more than 128"), "{error}");
    }

    #[test]
    fn recursive_schema_is_bounded() {
        let tree = json!({
            "properties": {"children": {"items": {"$ref": "#"}}},
            "anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#"}],
            "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}},
        });
        assert!(check(&tree).is_ok());
    }
}
