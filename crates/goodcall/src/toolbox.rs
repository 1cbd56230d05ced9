//! The tools by name, and everything that happens before one of them runs.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use goodcall_core::{
    Change, Explain, Gate, Limits, Policy, Refusal, Schema, SchemaCache, SchemaError,
    SchemaWarning, StopReason, Style, Tree, Verdict,
};
use serde_json::{Value, json};

use crate::arguments::BoundArguments;
use crate::{Context, Tool, ToolCallRequest, ToolResult};

/// A set of tools by name. It finds the tool of a call, reads and validates the arguments, and runs
/// the tool; a call that fails before the last step runs nothing. See the [crate's first page](crate) for an example.
#[derive(Default)]
pub struct Toolbox {
    tools: BTreeMap<String, RegisteredTool>,
    policy: Policy,
    policies: BTreeMap<String, Policy>,
    limits: Limits,
    style: Style,
    pass_through: Vec<String>,
    time_limit: Option<Duration>,
}

pub(crate) struct RegisteredTool {
    pub(crate) tool: Arc<dyn Tool>,
    /// Accepts any object for a tool without a schema or one that is passed through.
    schema: Schema,
    /// The description of the tool, or that of its schema.
    description: String,
    parameters: Option<Value>,
}

/// A tool as it is offered to a model.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Definition<'t> {
    /// The name that the model calls.
    pub name: &'t str,
    /// What the tool does.
    pub description: &'t str,
    /// The JSON Schema of its parameters, if it has one.
    pub parameters: Option<&'t Value>,
}

/// The reason why a tool could not be registered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegisterError {
    /// There is a tool of this name already.
    NameTaken(String),
    /// The schema does not compile; the error names the tool, the place and the reason.
    Schema(SchemaError),
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegisterError::NameTaken(name) => {
                write!(f, "the name `{name}` is taken: give this tool another name")
            }
            RegisterError::Schema(error) => error.fmt(f),
        }
    }
}

impl Error for RegisterError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            RegisterError::NameTaken(_) => None,
            RegisterError::Schema(error) => Some(error),
        }
    }
}

/// A call that may run.
pub(crate) struct PreparedCall {
    pub(crate) bound: BoundArguments,
    pub(crate) changes: Vec<Change>,
    /// The arguments as JSON, if they differ from the ones that were sent.
    pub(crate) mended: Option<String>,
}

impl Toolbox {
    /// Returns an empty toolbox with the policy `safe` and the style `model`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the rules that may mend calls.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the policy for one tool. The policy of a destructive tool is `strict` unless one is set
    /// here.
    #[must_use]
    pub fn policy_for(mut self, tool: &str, policy: Policy) -> Self {
        self.policies.insert(tool.to_owned(), policy);
        self
    }

    /// Sets the style of refusals.
    #[must_use]
    pub fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    /// Sets how large a call may be.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets how long a call may take unless its tool has a limit of its own. There is no limit by
    /// default.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Leaves the arguments of tools whose names start with `prefix` (such as `mcp__`) unvalidated,
    /// because the server behind them validates.
    #[must_use]
    pub fn pass_through(mut self, prefix: &str) -> Self {
        self.pass_through.push(prefix.to_owned());
        self
    }

    /// Adds a tool and compiles its schema. The warnings name the invalid parts of the schema that
    /// were read as what they evidently mean.
    ///
    /// # Errors
    /// If the name is taken, or the schema does not compile.
    pub fn register(
        &mut self,
        tool: impl Tool + 'static,
    ) -> Result<Vec<SchemaWarning>, RegisterError> {
        self.register_shared(Arc::new(tool))
    }

    /// Like [`Toolbox::register`], for a tool that is shared.
    ///
    /// # Errors
    /// If the name is taken, or the schema does not compile.
    pub fn register_shared(
        &mut self,
        tool: Arc<dyn Tool>,
    ) -> Result<Vec<SchemaWarning>, RegisterError> {
        let name = tool.name().to_owned();
        if self.tools.contains_key(&name) {
            return Err(RegisterError::NameTaken(name));
        }
        let parameters = tool.parameters_schema();
        let any = json!({"type": "object"});
        let schema = match &parameters {
            Some(schema) if !self.passes_through(&name) => schema,
            _ => &any,
        };
        let schema = SchemaCache::shared()
            .get(schema)
            .map_err(|error| RegisterError::Schema(error.of_tool(&name)))?;
        let warnings = schema.warnings().to_vec();
        let own = tool.description();
        let of_schema = || parameters.as_ref()?.get("description")?.as_str();
        let description = match own {
            "" => of_schema().unwrap_or_default().to_owned(),
            own => own.to_owned(),
        };
        let entry = RegisteredTool {
            tool,
            schema,
            description,
            parameters,
        };
        self.tools.insert(name, entry);
        Ok(warnings)
    }

    /// Adds several shared tools, such as those of an `impl` block with `#[goodcall::tool]`.
    ///
    /// # Errors
    /// If a name is taken, or a schema does not compile. The tools before it stay registered.
    pub fn register_all(
        &mut self,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Result<Vec<SchemaWarning>, RegisterError> {
        let mut warnings = Vec::new();
        for tool in tools {
            warnings.extend(self.register_shared(tool)?);
        }
        Ok(warnings)
    }

    /// Returns the tools in the order of their names.
    pub fn list(&self) -> impl Iterator<Item = Definition<'_>> {
        self.tools.iter().map(|(name, entry)| Definition {
            name,
            description: &entry.description,
            parameters: entry.parameters.as_ref(),
        })
    }

    /// Returns the tool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name).map(|entry| &entry.tool)
    }

    /// Makes a call: finds the tool, reads and validates the arguments, and only then runs it.
    pub async fn invoke(&self, name: &str, raw_arguments: &str) -> ToolResult {
        match self.prepare(name, raw_arguments, StopReason::Unknown) {
            Ok((entry, prepared)) => self.run(entry, prepared, Context::default()).await,
            Err(bad) => self.refusal(name, &bad),
        }
    }

    /// Like [`Toolbox::invoke`], and writes the result of reading the arguments into the request.
    pub async fn invoke_request(&self, request: &mut ToolCallRequest) -> ToolResult {
        let name = request.tool_name.clone();
        match self.prepare(&name, &request.raw_arguments, StopReason::Unknown) {
            Ok((entry, prepared)) => {
                let text = prepared.mended.as_deref().unwrap_or(&request.raw_arguments);
                let value = Tree::parse(text).ok().and_then(|tree| tree.to_value().ok());
                let value = value.unwrap_or_default();
                request.fill(Ok((&value, &prepared.changes)));
                let context = Context::new(&request.tool_call_id, Default::default());
                self.run(entry, prepared, context).await
            }
            Err(bad) => {
                request.fill(Err(&bad));
                self.refusal(&name, &bad)
            }
        }
    }

    /// The time limit of a call of this tool.
    pub(crate) fn limit_of(&self, entry: &RegisteredTool) -> Option<Duration> {
        entry.tool.time_limit().or(self.time_limit)
    }

    fn passes_through(&self, name: &str) -> bool {
        self.pass_through
            .iter()
            .any(|prefix| name.starts_with(prefix.as_str()))
    }

    /// The policy for a call of this tool.
    pub(crate) fn policy_for_call(&self, name: &str) -> Policy {
        let entry = self.tools.get(name);
        entry.map_or_else(|| self.policy.clone(), |entry| self.policy_of(entry))
    }

    pub(crate) fn unknown(&self, name: &str) -> Refusal {
        Refusal::unknown_tool(name, self.tools.keys().map(String::as_str))
    }

    fn policy_of(&self, entry: &RegisteredTool) -> Policy {
        match self.policies.get(entry.tool.name()) {
            Some(own) => own.clone(),
            None if entry.tool.is_destructive() => Policy::strict(),
            None => self.policy.clone(),
        }
    }

    /// Finds the tool, reads and validates the arguments; nothing is run.
    pub(crate) fn prepare(
        &self,
        name: &str,
        raw: &str,
        stop: StopReason,
    ) -> Result<(&RegisteredTool, PreparedCall), Refusal> {
        let entry = self.tools.get(name).ok_or_else(|| self.unknown(name))?;
        let gate = Gate::new(&entry.schema)
            .policy(self.policy_of(entry))
            .limits(self.limits)
            .stop(stop)
            .tool(name);
        let (tree, changes) = match gate.check(raw) {
            Verdict::Good(tree) => (tree, Vec::new()),
            Verdict::Mended(mended) => (mended.arguments, mended.changes),
            Verdict::Bad(bad) => return Err(bad),
        };
        let bound = entry.tool.bind(&tree).map_err(|invalid| {
            let mut bad = invalid.into_refusal();
            bad.changes = changes.clone();
            bad
        })?;
        let mended = (!changes.is_empty()).then(|| tree.to_json());
        let prepared = PreparedCall {
            bound,
            changes,
            mended,
        };
        Ok((entry, prepared))
    }

    pub(crate) fn refusal(&self, name: &str, bad: &Refusal) -> ToolResult {
        let explain = Explain::new(self.style).tool(name);
        ToolResult::refused(bad, explain.text(bad))
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
