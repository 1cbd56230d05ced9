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
mod misspelt;
mod normalise;
mod options;
mod patterns;
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
pub(crate) use fast_path::BYTE_MASKS;
pub(crate) use lookup::{
    allowed_names, declarations, holders, is_required, member, owner, schema_for,
};
pub(crate) use misspelt::{CallSchema, KeySpelling};

use expected_cache::ExpectedCache;
use fast_path::{FastPath, SpellingSearch};
use misspelt::NameIndex;
use options::BuiltValidator;

use crate::limits::{WORK_FAST_PATH, WORK_VERDICT};
use crate::report::{Expected, JsonType, SharedExpected, Types};
use crate::tree::{Node, Tree, step};
use crate::validate::{Fault, TreeJson, bounded, faults, fits, with_assumptions};

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
    /// True if a match of a pattern may be given up, so that nobody can tell.
    backtracks: bool,
    accepts_empty_object: bool,
    facts: LazyFacts,
    /// The same schema with formats asserted, compiled when a host first asks for that.
    asserting: OnceLock<Option<Schema>>,
    expected: ExpectedCache,
}

/// What is found out about a document when it is first asked for.
#[derive(Debug, Default)]
struct LazyFacts {
    has_conditions: OnceLock<bool>,
    has_if: OnceLock<bool>,
    property_names: OnceLock<Vec<String>>,
    names: OnceLock<NameIndex>,
}

impl Schema {
    /// Compiles a schema: draft 4, 6, 7, 2019-09 or 2020-12 by its `$schema`, 2020-12 without.
    ///
    /// `format` is an annotation unless the options or a call's policy assert it. `pattern` runs on
    /// a linear-time engine, or on one with a step limit if it needs look-around. A `$ref` that
    /// leaves the document is refused.
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
        built: BuiltValidator,
        document: Value,
        mut warnings: Vec<SchemaWarning>,
    ) -> Self {
        let validator = built.validator;
        let backtracks = !built.warnings.is_empty();
        warnings.extend(built.warnings);
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
            backtracks,
            accepts_empty_object,
            facts: LazyFacts::default(),
            asserting: OnceLock::new(),
            expected: ExpectedCache::default(),
        }))
    }

    /// Forms that JSON Schema does not know and that were read as what they evidently mean, and
    /// patterns that cannot be matched in linear time.
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

    /// The same schema with `format` asserted.
    pub(crate) fn asserting_formats(&self) -> &Self {
        let inner = &self.0;
        if inner.options.asserts_formats() {
            return self;
        }
        let compile = || {
            let options = inner.options.clone().formats(true);
            options.compile(&inner.document).ok()
        };
        inner
            .asserting
            .get_or_init(compile)
            .as_ref()
            .unwrap_or(self)
    }

    fn accepts(&self, node: Node<'_>) -> bool {
        self.fast_accepts(node) == FastAnswer::Accepts || self.validator_accepts(node)
    }

    /// Asks the fast path. It never refuses a value: see [`FastAnswer`].
    pub(crate) fn fast_accepts(&self, node: Node<'_>) -> FastAnswer {
        let Some(fast_path) = self.fast_path() else {
            return FastAnswer::Unavailable;
        };
        let nodes = node.tree.slots.len();
        let names = match fast_path.spelling {
            SpellingSearch::OwnNames => None,
            SpellingSearch::AllNames | SpellingSearch::EveryKey => Some(self.name_index()),
        };
        let accepts = || fast_path.accepts(node, names);
        let (accepted, finished) = bounded(nodes, WORK_FAST_PATH, accepts);
        if !(accepted && finished) {
            return FastAnswer::Unsure;
        }
        if fast_path.spelling == SpellingSearch::EveryKey
            && self.name_index().has_suspicious_key(node)
        {
            return FastAnswer::Unsure;
        }
        debug_assert!(self.validator_accepts(node), "{}", node.tree.to_json());
        FastAnswer::Accepts
    }

    /// Asks the validator, whose answer is final.
    pub(crate) fn validator_accepts(&self, node: Node<'_>) -> bool {
        let run = || self.0.validator.is_valid(node);
        let (valid, finished) = bounded(node.tree.slots.len(), WORK_VERDICT, run);
        if !valid && finished && self.0.backtracks {
            return self.nothing_is_surely_wrong(node);
        }
        valid && finished
    }

    /// Returns true if nothing is wrong whatever the matches that were given up would have been.
    #[cold]
    fn nothing_is_surely_wrong(&self, node: Node<'_>) -> bool {
        let found = self.faults(node, 1);
        found.finished && found.faults.is_empty()
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
            let build = |part: &Value| inner.options.build(part).ok().map(|built| built.validator);
            let draft = inner.options.published_draft(&inner.document)?;
            let formats = inner.options.asserts_formats();
            FastPath::new(&inner.document, draft, formats, &build)
        };
        inner.fast_path.get_or_init(compile).as_ref()
    }

    /// Lists what the validator finds wrong, at most `most` faults.
    pub(crate) fn faults(&self, node: Node<'_>, most: usize) -> FoundFaults {
        if !self.0.backtracks {
            return self.faults_of_run(node, most);
        }
        let (mut found, other) = with_assumptions(|| self.faults_of_run(node, usize::MAX));
        if let Some(other) = other {
            found.faults.retain(|fault| other.faults.contains(fault));
            found.finished &= other.finished;
        }
        found.more += found.faults.len().saturating_sub(most);
        found.faults.truncate(most);
        found
    }

    fn faults_of_run(&self, node: Node<'_>, most: usize) -> FoundFaults {
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
        let find = || self.has_any_keyword(&CONDITIONS);
        *self.0.facts.has_conditions.get_or_init(find)
    }

    /// Returns true if `if` stands anywhere in the document.
    pub(crate) fn has_if(&self) -> bool {
        let find = || self.has_any_keyword(&["if"]);
        *self.0.facts.has_if.get_or_init(find)
    }

    fn has_any_keyword(&self, keywords: &[&str]) -> bool {
        let found = self.root().visit(|view, _| {
            if keywords.iter().any(|keyword| view.get(keyword).is_some()) {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        found.is_break()
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

    fn name_index(&self) -> &NameIndex {
        let make = || NameIndex::new(self.property_names());
        self.0.facts.names.get_or_init(make)
    }

    /// Every property name in the document, at any depth, sorted.
    pub(crate) fn property_names(&self) -> &[String] {
        self.0.facts.property_names.get_or_init(|| {
            let mut names = Vec::new();
            self.root().visit_all(|view, _| {
                names.extend(view.properties().map(|(name, _)| name.to_owned()));
            });
            names.sort_unstable();
            names.dedup();
            names
        })
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

    /// One of the schemas that the keyword at a pointer lists.
    pub(crate) fn branch(&self, keyword: &str, index: usize) -> Option<View<'_>> {
        let schema = self.at(keyword)?.get(index)?;
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

    /// A description that [`Schema::expected`] has kept.
    pub(crate) fn known_expected(&self, keyword: &str, name: &str) -> Option<SharedExpected> {
        self.0.expected.get(keyword, name)
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

impl FoundFaults {
    /// A list that is known to be complete.
    pub(crate) fn all(faults: Vec<Fault>) -> Self {
        Self {
            faults,
            more: 0,
            finished: true,
        }
    }

    /// Returns true if a list of at most `most` faults would be the same.
    pub(crate) fn fits(&self, most: usize) -> bool {
        self.more == 0 && fits(&self.faults, most)
    }
}

/// What the fast path says of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FastAnswer {
    /// The value matches, and no key in it can be a declared one misspelt.
    Accepts,
    /// The validator has to decide.
    Unsure,
    /// The schema has no fast path, or is used for the first time.
    Unavailable,
}
