//! Schemas: compiled once, when a tool is registered, and shared from then on.

mod cache;
mod describe;
mod error;
mod fast_path;
mod limits;
mod lookup;
mod normalise;
mod options;
mod view;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use jsonschema::Validator;
use serde_json::Value;

pub use cache::SchemaCache;
pub use error::{SchemaError, SchemaWarning};
pub use options::{Draft, SchemaOptions};

pub use view::{Child, ChildKey, View};

pub(crate) use describe::{describe, key};
pub(crate) use lookup::{allowed_names, declarations, is_required, member, owner};

use crate::limits::{KEPT_EXPECTED, WORK_QUICK, WORK_VERDICT};
use crate::report::{Expected, SharedExpected, Types};
use crate::tree::{Node, Tree, step};
use crate::validate::{Fault, Lean, bounded, faults};
use fast_path::Quick;

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
    /// Made for the second call: a schema that judges one call only does not pay for it.
    quick: OnceLock<Option<Quick>>,
    was_used: OnceLock<()>,
    options: SchemaOptions,
    document: Value,
    warnings: Vec<SchemaWarning>,
    root_types: Types,
    accepts_empty_object: bool,
    conditions: OnceLock<bool>,
    expected: RwLock<Described>,
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

    fn new(
        options: SchemaOptions,
        validator: Validator<Lean>,
        document: Value,
        warnings: Vec<SchemaWarning>,
    ) -> Self {
        let root_types = View::root(&document).types();
        let nothing = Tree::empty_object("");
        let accepts_empty_object = validator.is_valid(nothing.root());
        Self(Arc::new(Inner {
            validator,
            quick: OnceLock::new(),
            was_used: OnceLock::new(),
            options,
            document,
            warnings,
            root_types,
            accepts_empty_object,
            conditions: OnceLock::new(),
            expected: RwLock::default(),
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
        self.surely_accepts(node) == Some(true) || self.truly_accepts(node)
    }

    /// Does the short program say yes? `None` if there is none.
    pub(crate) fn surely_accepts(&self, node: Node<'_>) -> Option<bool> {
        let quick = self.quick()?;
        let nodes = node.tree.slots.len();
        let (valid, finished) = bounded(nodes, WORK_QUICK, || quick.admits(node));
        let sure = valid && finished;
        debug_assert!(!sure || self.truly_accepts(node), "{}", node.tree.to_json());
        Some(sure)
    }

    /// Does the validator accept this value?
    pub(crate) fn truly_accepts(&self, node: Node<'_>) -> bool {
        let run = || self.0.validator.is_valid(node);
        let (valid, finished) = bounded(node.tree.slots.len(), WORK_VERDICT, run);
        valid && finished
    }

    /// The short program, if the schema has one and is used again.
    fn quick(&self) -> Option<&Quick> {
        let inner = &self.0;
        if let Some(quick) = inner.quick.get() {
            return quick.as_ref();
        }
        let again = inner.was_used.set(()).is_err();
        if !again && !cfg!(debug_assertions) {
            return None;
        }
        let make = || {
            let build = |part: &Value| inner.options.build(part).ok();
            Quick::new(&inner.document, &build).filter(|_| inner.options.is_plain(&inner.document))
        };
        inner.quick.get_or_init(make).as_ref()
    }

    /// All that the validator finds wrong.
    pub(crate) fn faults(&self, node: Node<'_>, most: usize) -> Found {
        let run = || self.0.validator.iter_errors(node);
        let (errors, finished) = bounded(node.tree.slots.len(), 1, run);
        let (faults, more) = faults(errors, most);
        Found {
            faults,
            more,
            finished,
        }
    }

    /// May what is allowed in one place hang on what is in others?
    pub(crate) fn has_conditions(&self) -> bool {
        *self.0.conditions.get_or_init(|| {
            let found = self.root().visit(|view, _| {
                if CONDITIONS.iter().any(|keyword| view.get(keyword).is_some()) {
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            });
            found.is_break()
        })
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

    /// What is wanted at a keyword of the document (of a name that it speaks of, if any), made
    /// once and kept.
    pub(crate) fn expected(
        &self,
        keyword: &str,
        name: &str,
        make: impl FnOnce() -> Expected,
    ) -> SharedExpected {
        let expected = &self.0.expected;
        let known = expected.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(keyword).and_then(|names| names.get(name)) {
            return known.clone();
        }
        drop(known);
        let made = SharedExpected::from(make());
        let mut known = expected.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() < KEPT_EXPECTED {
            let names = known.entry(keyword.into()).or_default();
            if names.len() < KEPT_EXPECTED {
                names.insert(name.into(), made.clone());
            }
        }
        made
    }
}

/// Keywords by which one member can be needed because of others.
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

/// What a validation found.
pub(crate) struct Found {
    pub(crate) faults: Vec<Fault>,
    /// How many more there were than were asked for.
    pub(crate) more: usize,
    /// Everything was looked at; else there may be more faults.
    pub(crate) finished: bool,
}

/// Descriptions by keyword and name.
type Described = HashMap<Box<str>, HashMap<Box<str>, SharedExpected, QuickHash>, QuickHash>;

/// A hash for a few texts that a schema's author chose, and nobody who sends calls.
type QuickHash = BuildHasherDefault<QuickHasher>;

#[derive(Default)]
struct QuickHasher(u64);

impl Hasher for QuickHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let mixed = self.0.rotate_left(5) ^ u64::from_le_bytes(word);
            self.0 = mixed.wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
