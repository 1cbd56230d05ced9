//! Schemas: compiled once, when a tool is registered, and shared from then on.

mod cache;
mod describe;
mod error;
mod normalise;
mod options;

use std::sync::Arc;

use jsonschema::Validator;
use serde_json::Value;

pub use cache::SchemaCache;
pub use error::{SchemaError, SchemaWarning};
pub use options::{Draft, SchemaOptions};

pub(crate) use describe::{describe, owner, resolve};

use crate::report::Types;
use crate::tree::{Node, Tree};
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
        Self::options().compile(schema)
    }

    /// Options for a schema: its draft, documents that it may refer to.
    pub fn options() -> SchemaOptions {
        SchemaOptions::default()
    }

    fn new(validator: Validator<Lean>, document: Value, warnings: Vec<SchemaWarning>) -> Self {
        let root_types = document
            .as_object()
            .map(describe::types_of)
            .unwrap_or_default();
        let nothing = Tree::empty_object("");
        let accepts_nothing = validator.is_valid(nothing.root());
        Self(Arc::new(Inner {
            validator,
            document,
            warnings,
            root_types,
            accepts_nothing,
        }))
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

    /// The subschema or keyword at a pointer of the document.
    pub(crate) fn at(&self, pointer: &str) -> Option<&Value> {
        self.0.document.pointer(pointer)
    }
}
