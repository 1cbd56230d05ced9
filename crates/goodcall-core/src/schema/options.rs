//! Compiling with options: the draft, and documents that a schema may refer to.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::{Keyword, PatternOptions, Retrieve, Uri, ValidationError, Validator};
use serde_json::{Map, Value};

use super::{Schema, SchemaError, SchemaWarning, View, limits, normalise, patterns};
use crate::limits::PATTERN_BYTES;
use crate::tree::Pointer;
use crate::validate::{BACKTRACKING_PATTERN, BacktrackingPattern, TreeJson};

/// A draft of JSON Schema, which decides what keywords mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Draft {
    /// Draft 4
    Draft4,
    /// Draft 6
    Draft6,
    /// Draft 7
    Draft7,
    /// Draft 2019-09
    Draft201909,
    /// Draft 2020-12
    #[default]
    Draft202012,
}

impl Draft {
    /// Every draft, oldest first.
    pub const ALL: &'static [Draft] = &[
        Draft::Draft4,
        Draft::Draft6,
        Draft::Draft7,
        Draft::Draft201909,
        Draft::Draft202012,
    ];

    /// The canonical `$schema` of this draft.
    pub fn uri(self) -> &'static str {
        match self {
            Draft::Draft4 => "http://json-schema.org/draft-04/schema#",
            Draft::Draft6 => "http://json-schema.org/draft-06/schema#",
            Draft::Draft7 => "http://json-schema.org/draft-07/schema#",
            Draft::Draft201909 => "https://json-schema.org/draft/2019-09/schema",
            Draft::Draft202012 => "https://json-schema.org/draft/2020-12/schema",
        }
    }

    /// The draft that a `$schema` names, whatever its scheme and with or without a final `#`.
    pub fn named(uri: &str) -> Option<Self> {
        let bare = |uri: &str| {
            let (_, path) = uri.split_once("://")?;
            Some(path.trim_end_matches('#').trim_end_matches('/').to_owned())
        };
        let named = bare(uri)?;
        Self::ALL
            .iter()
            .copied()
            .find(|draft| bare(draft.uri()).as_ref() == Some(&named))
    }

    fn foreign(self) -> jsonschema::Draft {
        match self {
            Draft::Draft4 => jsonschema::Draft::Draft4,
            Draft::Draft6 => jsonschema::Draft::Draft6,
            Draft::Draft7 => jsonschema::Draft::Draft7,
            Draft::Draft201909 => jsonschema::Draft::Draft201909,
            Draft::Draft202012 => jsonschema::Draft::Draft202012,
        }
    }
}

/// Options for compiling a schema; from [`Schema::options`].
///
/// ```
/// use goodcall_core::{Draft, Schema};
/// use serde_json::json;
///
/// let schema = Schema::options()
///     .draft(Draft::Draft7)
///     .resource("https://example.org/unit.json", json!({"enum": ["celsius", "fahrenheit"]}))
///     .compile(&json!({"properties": {"unit": {"$ref": "https://example.org/unit.json"}}}))?;
/// assert!(!schema.is_valid(&goodcall_core::Tree::parse(r#"{"unit": "kelvin"}"#).unwrap()));
/// # Ok::<(), goodcall_core::SchemaError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SchemaOptions {
    draft: Draft,
    formats: bool,
    resources: Arc<BTreeMap<String, Value>>,
}

impl SchemaOptions {
    /// Sets the draft of a schema that names none (default: 2020-12).
    #[must_use]
    pub fn draft(mut self, draft: Draft) -> Self {
        self.draft = draft;
        self
    }

    /// Asserts `format`, or takes it as an annotation (the default). A policy can ask for it
    /// per tool, see [`Formats`](crate::policy::Formats).
    #[must_use]
    pub fn formats(mut self, asserted: bool) -> Self {
        self.formats = asserted;
        self
    }

    pub(super) fn asserts_formats(&self) -> bool {
        self.formats
    }

    /// Adds a document that `$ref` and `$schema` may name by this URI. Nothing is ever fetched, so a
    /// reference to any other document is refused. Unlike in the schema itself, unknown forms in it
    /// are not rewritten.
    #[must_use]
    pub fn resource(mut self, uri: impl Into<String>, document: Value) -> Self {
        let uri = uri.into().trim_end_matches('#').to_owned();
        Arc::make_mut(&mut self.resources).insert(uri, document);
        self
    }

    /// Compiles a schema; see [`Schema::compile`].
    ///
    /// # Errors
    /// If it is not a schema, uses something that is refused, or is too large.
    pub fn compile(&self, schema: &Value) -> Result<Schema, SchemaError> {
        if !schema.is_object() && !schema.is_boolean() {
            let reason = format!("a schema is an object, this is {}", name_of(schema));
            return Err(SchemaError::new(Pointer::root(), reason));
        }
        limits::check(schema)?;
        for document in self.resources.values() {
            limits::check(document)?;
        }
        let mut document = schema.clone();
        let own_dialect = |uri: &str| self.dialect(uri);
        let warnings = normalise::normalise(&mut document, self.draft, &own_dialect);
        let built = self.build(&document)?;
        Ok(Schema::new(self.clone(), built, document, warnings))
    }

    /// The draft that a `$schema` of the host's own leads to.
    fn dialect(&self, uri: &str) -> Option<Draft> {
        let mut uri = uri;
        for _ in 0..self.resources.len() {
            let meta = self.resources.get(uri.trim_end_matches('#'))?;
            uri = meta.get("$schema")?.as_str()?;
            if let Some(draft) = Draft::named(uri) {
                return Some(draft);
            }
        }
        None
    }

    /// The draft of the document; `None` if it is of a host's own dialect.
    pub(super) fn published_draft(&self, document: &Value) -> Option<Draft> {
        match document.get("$schema").and_then(Value::as_str) {
            None => Some(self.draft),
            Some(uri) if self.resources.contains_key(uri) => None,
            Some(uri) => Draft::named(uri),
        }
    }

    /// Builds a validator. Patterns that the linear-time engine does not take are rewritten, with a
    /// warning each.
    pub(super) fn build(&self, document: &Value) -> Result<BuiltValidator, SchemaError> {
        let error = match self.build_as_written(document) {
            Ok(validator) => {
                let warnings = Vec::new();
                return Ok(BuiltValidator {
                    validator,
                    warnings,
                });
            }
            Err(error) => error,
        };
        let is_linear = |part: &Value| self.build_as_written(part).is_ok();
        let rewritten = patterns::rewrite(document, &is_linear);
        if rewritten.warnings.is_empty() {
            return Err(error);
        }
        Ok(BuiltValidator {
            validator: self.build_as_written(&rewritten.document)?,
            warnings: rewritten.warnings,
        })
    }

    fn build_as_written(&self, document: &Value) -> Result<Validator<TreeJson>, SchemaError> {
        let resources = HostResources {
            resources: Arc::clone(&self.resources),
            refused: Arc::default(),
        };
        let mut options = jsonschema::options_for::<TreeJson>()
            .with_retriever(resources.clone())
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES))
            .with_keyword(BACKTRACKING_PATTERN, backtracking_pattern)
            .should_validate_formats(self.formats);
        if !self.formats {
            // What a string encodes is a remark like its format; the older drafts leave it open.
            for encoding in CONTENT_ENCODINGS {
                options = options.without_content_encoding_support(encoding);
            }
            options = options.without_content_media_type_support("application/json");
        }
        if document.get("$schema").is_none() {
            options = options.with_draft(self.draft.foreign());
        }
        let built = options.build(document);
        let refused = resources
            .refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        built.map_err(|error| match refused.as_deref() {
            Some(uri) => {
                let named = uri.trim_start_matches("json-schema:///");
                let place = find_ref(document, named).unwrap_or_default();
                let reason = format!(
                    "`$ref` to {named} is refused: only references inside the schema are followed"
                );
                SchemaError::new(place, reason)
            }
            None => compile_error(error),
        })
    }
}

/// The encodings that the validator checks in drafts 6 and 7.
const CONTENT_ENCODINGS: [&str; 5] = ["base16", "base32", "base32hex", "base64", "base64url"];

/// A validator, and what had to be rewritten for it.
pub(super) struct BuiltValidator {
    pub(super) validator: Validator<TreeJson>,
    pub(super) warnings: Vec<SchemaWarning>,
}

/// Makes the keyword for a pattern that is matched by backtracking.
fn backtracking_pattern<'a>(
    _: &'a Map<String, Value>,
    pattern: &'a Value,
    _: jsonschema::paths::Location,
) -> Result<Box<dyn for<'i> Keyword<'i, TreeJson>>, ValidationError<'a>> {
    let pattern = pattern.as_str().and_then(BacktrackingPattern::new);
    match pattern {
        Some(pattern) => Ok(Box::new(pattern)),
        None => Err(ValidationError::schema("not a regular expression")),
    }
}

/// Hands out the host's resources. Refuses every other reference that leaves the document, and
/// remembers its URI.
#[derive(Clone)]
struct HostResources {
    resources: Arc<BTreeMap<String, Value>>,
    refused: Arc<Mutex<Option<String>>>,
}

impl Retrieve for HostResources {
    fn retrieve(
        &self,
        uri: &Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        if let Some(document) = self.resources.get(uri.as_str().trim_end_matches('#')) {
            return Ok(document.clone());
        }
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        *refused = Some(uri.to_string());
        Err("references that leave the document are refused".into())
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

/// The first place at which the document refers to `uri`.
fn find_ref(document: &Value, uri: &str) -> Option<Pointer> {
    let found = View::root(document).visit(|schema, place| {
        let target = schema.get("$ref").and_then(Value::as_str);
        let bare = target.and_then(|target| target.split('#').next());
        match bare.filter(|bare| !bare.is_empty()) {
            Some(bare) if uri.starts_with(bare) || uri.ends_with(bare) => {
                ControlFlow::Break(place.join("$ref"))
            }
            _ => ControlFlow::Continue(()),
        }
    });
    found.break_value()
}

fn compile_error(error: ValidationError<'_>) -> SchemaError {
    let place = Pointer::parse(error.instance_path().as_str())
        .expect("places of the validator are JSON Pointers");
    let reason = match place.split_last() {
        Some((_, keyword)) if keyword == "type" => {
            format!("{} is not a JSON Schema type", error.instance())
        }
        _ => error.to_string(),
    };
    let reason = crate::snippet::clip(&reason, 200);
    SchemaError::new(place, reason).caused_by(error.to_owned())
}
