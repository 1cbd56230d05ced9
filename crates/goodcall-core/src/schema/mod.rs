//! Schemas: compiled once, when a tool is registered, and shared from then on.
//!
//! A [`Schema`] owns its document, the validator and the fast path that were compiled from it, and
//! the descriptions of its places that issues share.

mod cache;
mod describe;
mod error;
mod expected_cache;
mod fast_path;
mod limits;
mod lookup;
mod normalise;
mod options;
mod view;

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use jsonschema::Validator;
use serde_json::Value;

pub use cache::SchemaCache;
pub use error::{SchemaError, SchemaWarning};
pub use options::{Draft, SchemaOptions};

pub use view::{Child, ChildKey, View};

pub(crate) use describe::{describe, key};
pub(crate) use lookup::{allowed_names, declarations, is_required, member, owner};

use expected_cache::ExpectedCache;
use fast_path::FastPath;

use crate::limits::{WORK_FAST_PATH, WORK_VERDICT};
use crate::report::{Expected, JsonType, SharedExpected, Types};
use crate::tree::{Node, Tree, step};
use crate::validate::{Fault, TreeJson, bounded, faults};

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
pub struct Schema(Arc<CompiledSchema>);

#[derive(Debug)]
struct CompiledSchema {
    validator: Validator<TreeJson>,
    /// Compiled for the second call, so that a schema which judges a single call does not pay for it.
    fast_path: OnceLock<Option<FastPath>>,
    was_used: OnceLock<()>,
    options: SchemaOptions,
    document: Value,
    warnings: Vec<SchemaWarning>,
    root_types: Types,
    accepts_empty_object: bool,
    has_conditions: OnceLock<bool>,
    expected: ExpectedCache,
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

    /// Options for compiling: the draft, and documents that the schema may refer to.
    pub fn options() -> SchemaOptions {
        SchemaOptions::default()
    }

    fn new(
        options: SchemaOptions,
        validator: Validator<TreeJson>,
        document: Value,
        warnings: Vec<SchemaWarning>,
    ) -> Self {
        let root_types = View::root(&document).types();
        let nothing = Tree::empty_object("");
        let accepts_empty_object = validator.is_valid(nothing.root());
        Self(Arc::new(CompiledSchema {
            validator,
            fast_path: OnceLock::new(),
            was_used: OnceLock::new(),
            options,
            document,
            warnings,
            root_types,
            accepts_empty_object,
            has_conditions: OnceLock::new(),
            expected: ExpectedCache::default(),
        }))
    }

    /// Forms that JSON Schema does not know and that were read as what they evidently mean.
    pub fn warnings(&self) -> &[SchemaWarning] {
        &self.0.warnings
    }

    /// The document as compiled, with the forms that [`Schema::warnings`] names rewritten.
    pub fn document(&self) -> &Value {
        &self.0.document
    }

    /// Returns true if the value matches the schema.
    pub fn is_valid(&self, tree: &Tree<'_>) -> bool {
        self.accepts(tree.root())
    }

    pub(crate) fn accepts(&self, node: Node<'_>) -> bool {
        self.fast_accepts(node) == FastAnswer::Accepts || self.validator_accepts(node)
    }

    /// Asks the fast path. It never refuses a value: see [`FastAnswer`].
    pub(crate) fn fast_accepts(&self, node: Node<'_>) -> FastAnswer {
        let Some(fast_path) = self.fast_path() else {
            return FastAnswer::Unavailable;
        };
        let nodes = node.tree.slots.len();
        let (accepted, finished) = bounded(nodes, WORK_FAST_PATH, || fast_path.accepts(node));
        if !(accepted && finished) {
            return FastAnswer::Unsure;
        }
        debug_assert!(self.validator_accepts(node), "{}", node.tree.to_json());
        FastAnswer::Accepts
    }

    /// Asks the validator, whose answer is final.
    pub(crate) fn validator_accepts(&self, node: Node<'_>) -> bool {
        let run = || self.0.validator.is_valid(node);
        let (valid, finished) = bounded(node.tree.slots.len(), WORK_VERDICT, run);
        valid && finished
    }

    /// The fast path, if the schema has one and was used before.
    fn fast_path(&self) -> Option<&FastPath> {
        let inner = &self.0;
        if let Some(fast_path) = inner.fast_path.get() {
            return fast_path.as_ref();
        }
        let used_before = inner.was_used.set(()).is_err();
        if !used_before && !cfg!(debug_assertions) {
            return None;
        }
        let compile = || {
            let build = |part: &Value| inner.options.build(part).ok();
            let known_dialect = inner.options.is_known_dialect(&inner.document);
            FastPath::new(&inner.document, &build).filter(|_| known_dialect)
        };
        inner.fast_path.get_or_init(compile).as_ref()
    }

    /// Lists what the validator finds wrong, at most `most` faults.
    pub(crate) fn faults(&self, node: Node<'_>, most: usize) -> FoundFaults {
        let run = || self.0.validator.iter_errors(node);
        let (errors, finished) = bounded(node.tree.slots.len(), 1, run);
        let (faults, more) = faults(errors, most);
        FoundFaults {
            faults,
            more,
            finished,
        }
    }

    /// Returns true if what is allowed in one place may depend on what is in others.
    pub(crate) fn has_conditions(&self) -> bool {
        *self.0.has_conditions.get_or_init(|| {
            let found = self.root().visit(|view, _| {
                if CONDITIONS.iter().any(|keyword| view.get(keyword).is_some()) {
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            });
            found.is_break()
        })
    }

    /// Returns true if the root's `type` names the kind of this value.
    pub(crate) fn names_root_kind(&self, node: Node<'_>) -> bool {
        self.0.root_types.admits(node.kind())
    }

    /// Returns true if the root's `type` names strings.
    pub(crate) fn admits_root_string(&self) -> bool {
        self.0.root_types.has(JsonType::String)
    }

    /// Returns true if `{}` matches, so that a call needs no arguments.
    pub fn accepts_empty_object(&self) -> bool {
        self.0.accepts_empty_object
    }

    /// Every property name in the document, at any depth.
    pub(crate) fn property_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.root().visit_all(|view, _| {
            names.extend(view.properties().map(|(name, _)| name.to_owned()));
        });
        names
    }

    /// The root of the document, to look into it.
    #[doc(hidden)]
    pub fn root(&self) -> View<'_> {
        View::root(&self.0.document)
    }

    /// The subschema at a pointer of the document.
    pub(crate) fn view(&self, pointer: &str) -> Option<View<'_>> {
        let schema = self.at(pointer)?;
        Some(View::new(&self.0.document, schema))
    }

    /// The subschema or keyword at a pointer of the document.
    pub(crate) fn at(&self, pointer: &str) -> Option<&Value> {
        if pointer.as_bytes().contains(&b'~') {
            return self.0.document.pointer(pointer);
        }
        // Without escapes no segment has to be copied.
        let mut value = &self.0.document;
        let mut rest = pointer;
        while let Some(segment) = step(&mut rest) {
            value = match value {
                Value::Object(map) => map.get(segment)?,
                Value::Array(items) => items.get(segment.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        Some(value)
    }

    /// The description of what is expected at a keyword of the document, or of a name that the
    /// keyword speaks of. Made once and kept.
    pub(crate) fn expected(
        &self,
        keyword: &str,
        name: &str,
        make: impl FnOnce() -> Expected,
    ) -> SharedExpected {
        self.0.expected.get_or_make(keyword, name, make)
    }
}

/// Keywords by which one member can be required because of others.
const CONDITIONS: [&str; 10] = [
    "if",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "minProperties",
    "$ref",
];

/// The faults that one validation found.
pub(crate) struct FoundFaults {
    pub(crate) faults: Vec<Fault>,
    /// The number of faults beyond those that were asked for.
    pub(crate) more: usize,
    /// True if the validator came to its end; else there may be more faults.
    pub(crate) finished: bool,
}

/// What the fast path says of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FastAnswer {
    /// The value matches.
    Accepts,
    /// The validator has to decide.
    Unsure,
    /// The schema has no fast path, or is used for the first time.
    Unavailable,
}
