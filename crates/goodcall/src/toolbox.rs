//! The one place where calls are made.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use goodcall_core::{
    Bad, Change, Explain, Gate, Limits, Policy, Schema, SchemaCache, SchemaError, SchemaWarning,
    Style, Verdict,
};
use serde_json::{Value, json};

use crate::{ErrorClass, Parameters, Tool, ToolCallRequest, ToolResult};

/// Tools by name. Finds the tool, reads the arguments, validates them, runs the tool: a call that
/// fails before the last step runs nothing. See the [crate's first page](crate) for an example.
#[derive(Default)]
pub struct Toolbox {
    tools: BTreeMap<String, Entry>,
    policy: Policy,
    policies: BTreeMap<String, Policy>,
    limits: Limits,
    style: Style,
    pass_through: Vec<String>,
}

struct Entry {
    tool: Arc<dyn Tool>,
    /// Any object, for a tool without a schema and for one that is passed through.
    schema: Schema,
}

/// A tool as it is offered to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition<'t> {
    /// The name.
    pub name: &'t str,
    /// What it does.
    pub description: &'t str,
    /// The JSON Schema of its parameters, if it has one.
    pub parameters: Option<Value>,
}

/// Why a tool could not be registered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegisterError {
    /// There is a tool of this name already.
    NameTaken(String),
    /// Its schema is not one; the error names the tool, the place and the reason.
    Schema(SchemaError),
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegisterError::NameTaken(name) => {
                write!(
                    f,
                    "there is a tool `{name}` already: give this one another name"
                )
            }
            RegisterError::Schema(error) => error.fmt(f),
        }
    }
}

impl Error for RegisterError {}

/// Arguments that may be used, and what was changed in them.
type Prepared = Result<(Value, Vec<Change>), Bad>;

impl Toolbox {
    /// An empty toolbox: policy `safe`, style `model`.
    pub fn new() -> Self {
        Self::default()
    }

    /// What may be mended.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// What may be mended in calls of one tool. A tool marked destructive is `strict` unless a
    /// policy is set for it here.
    #[must_use]
    pub fn policy_for(mut self, tool: &str, policy: Policy) -> Self {
        self.policies.insert(tool.to_owned(), policy);
        self
    }

    /// How refusals read.
    #[must_use]
    pub fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    /// How large a call may be.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Tools whose names start with `prefix` (such as `mcp__`) get their arguments unvalidated,
    /// because the server behind them validates.
    #[must_use]
    pub fn pass_through(mut self, prefix: &str) -> Self {
        self.pass_through.push(prefix.to_owned());
        self
    }

    /// Adds a tool and compiles its schema; what comes back are the forms in the schema that were
    /// read as what they evidently mean.
    ///
    /// # Errors
    /// If the name is taken, or the schema is not one.
    pub fn register(
        &mut self,
        tool: impl Tool + 'static,
    ) -> Result<Vec<SchemaWarning>, RegisterError> {
        self.register_shared(Arc::new(tool))
    }

    /// Like [`Toolbox::register`], for a tool that is shared.
    ///
    /// # Errors
    /// If the name is taken, or the schema is not one.
    pub fn register_shared(
        &mut self,
        tool: Arc<dyn Tool>,
    ) -> Result<Vec<SchemaWarning>, RegisterError> {
        let name = tool.name().to_owned();
        if self.tools.contains_key(&name) {
            return Err(RegisterError::NameTaken(name));
        }
        let schema = match tool.parameters_schema() {
            Some(schema) if !self.passes_through(&name) => schema,
            _ => json!({"type": "object"}),
        };
        let schema = SchemaCache::shared()
            .get(&schema)
            .map_err(|error| RegisterError::Schema(error.of_tool(&name)))?;
        let warnings = schema.warnings().to_vec();
        self.tools.insert(name, Entry { tool, schema });
        Ok(warnings)
    }

    /// The tools, by name.
    pub fn list(&self) -> impl Iterator<Item = Definition<'_>> {
        self.tools.values().map(|entry| Definition {
            name: entry.tool.name(),
            description: entry.tool.description(),
            parameters: entry.tool.parameters_schema(),
        })
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name).map(|entry| &entry.tool)
    }

    /// Makes a call: finds the tool, reads and validates the arguments, and only then runs it.
    pub async fn invoke(&self, name: &str, raw_arguments: &str) -> ToolResult {
        let Some(entry) = self.tools.get(name) else {
            return self.refusal(name, &self.unknown(name));
        };
        match self.prepare(name, entry, raw_arguments) {
            Ok((params, changes)) => entry.tool.execute(&params).await.with_changes(changes),
            Err(bad) => self.refusal(name, &bad),
        }
    }

    /// Like [`Toolbox::invoke`], and fills in what reading the arguments gave.
    pub async fn invoke_request(&self, request: &mut ToolCallRequest) -> ToolResult {
        let name = request.tool_name.clone();
        let Some(entry) = self.tools.get(&name) else {
            let bad = self.unknown(&name);
            request.fill(Err(&bad));
            return self.refusal(&name, &bad);
        };
        let prepared = self.prepare(&name, entry, &request.raw_arguments);
        let read = prepared.as_ref();
        request.fill(read.map(|(value, changes)| (value, changes.as_slice())));
        match prepared {
            Ok((params, changes)) => entry.tool.execute(&params).await.with_changes(changes),
            Err(bad) => self.refusal(&name, &bad),
        }
    }

    fn passes_through(&self, name: &str) -> bool {
        self.pass_through
            .iter()
            .any(|prefix| name.starts_with(prefix.as_str()))
    }

    fn unknown(&self, name: &str) -> Bad {
        Bad::unknown_tool(name, self.tools.keys().map(String::as_str))
    }

    fn policy_of(&self, entry: &Entry) -> Policy {
        match self.policies.get(entry.tool.name()) {
            Some(own) => own.clone(),
            None if entry.tool.is_destructive() => Policy::strict(),
            None => self.policy.clone(),
        }
    }

    /// Reads and validates arguments; nothing is run.
    fn prepare(&self, name: &str, entry: &Entry, raw: &str) -> Prepared {
        let gate = Gate::new(&entry.schema)
            .policy(self.policy_of(entry))
            .limits(self.limits)
            .tool(name);
        let (tree, changes) = match gate.check(raw) {
            Verdict::Good(tree) => (tree, Vec::new()),
            Verdict::Mended(mended) => (mended.arguments, mended.changes),
            Verdict::Bad(bad) => return Err(bad),
        };
        let inexact = |error: goodcall_core::Inexact| Bad::wrong_shape(vec![error.into()]);
        let value = tree.to_value().map_err(inexact)?;
        match entry.tool.validate_parameters(&Parameters::checked(&value)) {
            Ok(()) => Ok((value, changes)),
            Err(invalid) => Err(invalid.into_bad()),
        }
    }

    fn refusal(&self, name: &str, bad: &Bad) -> ToolResult {
        let explain = Explain::new(self.style).tool(name);
        ToolResult::failure(ErrorClass::from(bad.reason), explain.text(bad))
            .with_recommendations(explain.structured(bad).recommendations)
            .with_changes(bad.changes.clone())
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.tools.keys().collect();
        f.debug_struct("Toolbox")
            .field("tools", &names)
            .finish_non_exhaustive()
    }
}
