//! Patterns that the linear-time engine does not take: they are matched by backtracking within a limit
//! of steps, or left out. Either way the rest of the schema holds.

use serde_json::{Value, json};

use super::{SchemaWarning, View};
use crate::snippet::clip;
use crate::tree::Pointer;
use crate::validate::{BACKTRACKING_PATTERN, BacktrackingPattern};

/// The characters of a pattern that a warning shows.
const SHOWN: usize = 60;

/// What was made of a document's patterns.
pub(super) struct RewrittenPatterns {
    pub(super) document: Value,
    pub(super) warnings: Vec<SchemaWarning>,
}

/// Rewrites a document whose patterns the engine refuses. `is_linear` asks the engine.
pub(super) fn rewrite(document: &Value, is_linear: &dyn Fn(&Value) -> bool) -> RewrittenPatterns {
    let mut found = Vec::new();
    collect(
        View::root(document),
        &Pointer::root(),
        is_linear,
        &mut found,
    );
    let mut rewritten = RewrittenPatterns {
        document: document.clone(),
        warnings: Vec::new(),
    };
    for (place, pattern) in found {
        rewritten.replace(place, pattern);
    }
    rewritten
}

/// A pattern that the engine refuses.
enum Refused {
    /// The value of `pattern`.
    Text(String),
    /// A key of `patternProperties`.
    Key(String),
}

fn collect(
    schema: View<'_>,
    place: &Pointer,
    is_linear: &dyn Fn(&Value) -> bool,
    found: &mut Vec<(Pointer, Refused)>,
) {
    let refuses = |pattern: &str| !is_linear(&json!({ "pattern": pattern }));
    if let Some(Value::String(pattern)) = schema.get("pattern")
        && refuses(pattern)
    {
        found.push((place.clone(), Refused::Text(pattern.clone())));
    }
    let keys = schema.get("patternProperties").and_then(Value::as_object);
    for (pattern, _) in keys.into_iter().flatten() {
        if refuses(pattern) {
            found.push((place.clone(), Refused::Key(pattern.clone())));
        }
    }
    for child in schema.children() {
        collect(child.view, &child.pointer(place), is_linear, found);
    }
}

impl RewrittenPatterns {
    fn replace(&mut self, place: Pointer, refused: Refused) {
        let schema = self.document.pointer_mut(place.as_str());
        let Some(schema) = schema.and_then(Value::as_object_mut) else {
            return;
        };
        let shown = |pattern: &str| Value::from(clip(pattern, SHOWN));
        let (pointer, message) = match refused {
            Refused::Text(pattern) => {
                schema.remove("pattern");
                let shown = shown(&pattern);
                let message = if BacktrackingPattern::new(&pattern).is_some() {
                    schema.insert(BACKTRACKING_PATTERN.to_owned(), Value::from(pattern));
                    format!(
                        "the pattern {shown} is matched within a limit of steps, because it needs \
                         look-around or back-references; a text that takes more is accepted"
                    )
                } else {
                    format!("the pattern {shown} cannot be used and is left out")
                };
                (place.join("pattern"), message)
            }
            Refused::Key(pattern) => {
                if let Some(Value::Object(keys)) = schema.get_mut("patternProperties") {
                    keys.remove(&pattern);
                }
                // These would refuse the keys that the pattern allows.
                schema.remove("additionalProperties");
                schema.remove("unevaluatedProperties");
                let shown = shown(&pattern);
                let message = format!(
                    "the pattern {shown} for keys cannot be used and is left out, so other keys \
                     are allowed"
                );
                (place.join("patternProperties"), message)
            }
        };
        self.warnings.push(SchemaWarning { pointer, message });
    }
}
