//! Schemas: compiled once, when a tool is registered, and shared from then on.

mod cache;
mod describe;
mod error;
mod normalise;

use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::{PatternOptions, Retrieve, Uri, ValidationError, Validator};
use serde_json::Value;

pub use cache::SchemaCache;
pub use error::{SchemaError, SchemaWarning};

pub(crate) use describe::{describe, owner, resolve};

use crate::limits::{PATTERN_BYTES, SCHEMA_BYTES, SCHEMA_DEPTH};
use crate::report::Types;
use crate::tree::{Node, Pointer, Tree};
use crate::validate::{Fault, Lean, faults};

/// A compiled schema; cheap to clone, shared between threads.
///
/// ```
/// use goodcall_core::Schema;
///
/// let schema = Schema::compile(&serde_json::json!({
///     "type": "dict",
///     "properties": {"limit": {"type": "integer", "minimum": 1}},
/// }))?;
/// assert_eq!(schema.warnings()[0].to_string(), "type \"dict\" is read as \"object\"");
///
/// let error = Schema::compile(&serde_json::json!({"type": "objekt"})).unwrap_err();
/// assert_eq!(error.pointer().as_str(), "/type");
/// # Ok::<(), goodcall_core::SchemaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Schema(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    validator: Validator<Lean>,
    document: Value,
    warnings: Vec<SchemaWarning>,
    root_types: Types,
    accepts_nothing: bool,
}

impl Schema {
    /// Compiles a schema: draft 4, 6, 7, 2019-09 or 2020-12 by its `$schema`, 2020-12 without.
    ///
    /// `format` is asserted, `pattern` runs on a linear-time engine, and a `$ref` that leaves the
    /// document is refused.
    ///
    /// # Errors
    /// If it is not a schema, uses something that is refused, or is too large.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        if !schema.is_object() && !schema.is_boolean() {
            let reason = format!("a schema is an object, this is {}", name_of(schema));
            return Err(SchemaError::new(Pointer::root(), reason));
        }
        Size::default().measure(schema, 0)?;
        let mut document = schema.clone();
        let warnings = normalise::normalise(&mut document);
        let validator = build(&document)?;
        let root_types = document
            .as_object()
            .map(describe::types_of)
            .unwrap_or_default();
        let nothing = Tree::empty_object("");
        let accepts_nothing = validator.is_valid(nothing.root());
        Ok(Self(Arc::new(Inner {
            validator,
            document,
            warnings,
            root_types,
            accepts_nothing,
        })))
    }

    /// Forms that were read as what they evidently mean.
    pub fn warnings(&self) -> &[SchemaWarning] {
        &self.0.warnings
    }

    /// The schema document as compiled, dirty forms normalised.
    pub fn document(&self) -> &Value {
        &self.0.document
    }

    /// Does this value match the schema?
    pub fn is_valid(&self, tree: &Tree<'_>) -> bool {
        self.accepts(tree.root())
    }

    pub(crate) fn accepts(&self, node: Node<'_>) -> bool {
        self.0.validator.is_valid(node)
    }

    /// All that the validator finds wrong, at most `most` faults, and how many more there were.
    pub(crate) fn faults(&self, node: Node<'_>, most: usize) -> (Vec<Fault>, usize) {
        faults(self.0.validator.iter_errors(node), most)
    }

    /// Does the root's `type` name the kind of this value?
    pub(crate) fn names_root_kind(&self, node: Node<'_>) -> bool {
        self.0.root_types.admits(node.kind())
    }

    /// Does the root's `type` name a string?
    pub(crate) fn admits_root_string(&self) -> bool {
        self.0.root_types.has("string")
    }

    /// Does `{}` match, so that a call needs no arguments?
    pub fn accepts_nothing(&self) -> bool {
        self.0.accepts_nothing
    }

    /// Every property name in the document, at any depth.
    pub(crate) fn property_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut left = vec![&self.0.document];
        while let Some(value) = left.pop() {
            match value {
                Value::Array(items) => left.extend(items),
                Value::Object(map) => {
                    if let Some(Value::Object(properties)) = map.get("properties") {
                        names.extend(properties.keys().cloned());
                    }
                    left.extend(map.values());
                }
                _ => {}
            }
        }
        names
    }

    /// The subschema or keyword at a pointer of the document.
    pub(crate) fn at(&self, pointer: &str) -> Option<&Value> {
        self.0.document.pointer(pointer)
    }
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Keeps huge and deep documents away from the compiler, which recurses.
#[derive(Default)]
struct Size {
    bytes: usize,
}

impl Size {
    fn measure(&mut self, value: &Value, depth: usize) -> Result<(), SchemaError> {
        if depth > SCHEMA_DEPTH {
            let reason = format!("nested deeper than {SCHEMA_DEPTH} levels");
            return Err(SchemaError::new(Pointer::root(), reason));
        }
        self.bytes += 8;
        match value {
            Value::String(text) => self.bytes += text.len(),
            Value::Array(items) => {
                for item in items {
                    self.measure(item, depth + 1)?;
                }
            }
            Value::Object(map) => {
                for (key, item) in map {
                    self.bytes += key.len();
                    self.measure(item, depth + 1)?;
                }
            }
            _ => {}
        }
        if self.bytes > SCHEMA_BYTES {
            let reason = format!("larger than {SCHEMA_BYTES} bytes");
            return Err(SchemaError::new(Pointer::root(), reason));
        }
        Ok(())
    }
}

/// Refuses every reference that leaves the document, and remembers its name.
#[derive(Clone, Default)]
struct Refuse(Arc<Mutex<Option<String>>>);

impl Retrieve for Refuse {
    fn retrieve(
        &self,
        uri: &Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        let mut refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *refused = Some(uri.to_string());
        Err("references that leave the document are refused".into())
    }
}

fn build(document: &Value) -> Result<Validator<Lean>, SchemaError> {
    let refuse = Refuse::default();
    let built = jsonschema::options_for::<Lean>()
        .with_retriever(refuse.clone())
        .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES))
        .should_validate_formats(true)
        .build(document);
    let refused = refuse
        .0
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    built.map_err(|error| match refused {
        Some(uri) => {
            let named = uri.trim_start_matches("json-schema:///");
            let place = find_ref(document, &mut Pointer::root(), named).unwrap_or_default();
            let reason = format!(
                "`$ref` to {named} is refused: only references inside the schema are followed"
            );
            SchemaError::new(place, reason)
        }
        None => compile_error(&error),
    })
}

/// Where the document refers to `uri`.
fn find_ref(value: &Value, place: &mut Pointer, uri: &str) -> Option<Pointer> {
    match value {
        Value::Object(map) => map.iter().find_map(|(key, child)| match child {
            Value::String(target) if key == "$ref" => {
                let bare = target.split('#').next().unwrap_or_default();
                let same = !bare.is_empty() && (uri.starts_with(bare) || uri.ends_with(bare));
                same.then(|| place.join("$ref"))
            }
            child => find_ref(child, &mut place.join(key), uri),
        }),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| find_ref(item, &mut place.join(&index.to_string()), uri)),
        _ => None,
    }
}

fn compile_error(error: &ValidationError<'_>) -> SchemaError {
    let place = Pointer::parse(error.instance_path().as_str()).unwrap_or_default();
    let reason = crate::report::clip(&error.to_string(), 200);
    SchemaError::new(place, reason)
}
