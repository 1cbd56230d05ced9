//! The tools by name, and everything that happens before one of them runs.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use goodcall_core::{
    Budget, Change, Explain, Gate, Limits, Policy, ReadOptions, Refusal, Schema, SchemaError,
    SchemaWarning, StopReason, Style, Verdict,
};
use serde_json::Value;

use crate::arguments::{BoundArguments, SentCall};
use crate::definition::{Annotations, Definition};
use crate::{Context, Tool, ToolArgError, ToolCallRequest, ToolResult, tool, tool_call_request};

/// A set of tools by name. It finds the tool of a call, reads and validates the arguments, and runs
/// the tool; a call that fails before the last step runs nothing. See the [crate's first page](crate) for an example.
#[derive(Default)]
pub struct Toolbox {
    tools: BTreeMap<String, RegisteredTool>,
    policy: Policy,
    policies: BTreeMap<String, Policy>,
    limits: Limits,
    style: Style,
    budget: Option<Budget>,
    pass_through: Vec<String>,
    time_limit: Option<Duration>,
    show_errors: bool,
}

pub(crate) struct RegisteredTool {
    pub(crate) tool: Arc<dyn Tool>,
    schema: Schema,
    /// The description of the tool, or that of its schema.
    description: String,
    parameters: Option<Value>,
}

/// A registration: the tool that had the name before, and the remarks on the new schema.
struct Replaced {
    old: Option<Arc<dyn Tool>>,
    warnings: Vec<SchemaWarning>,
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

    /// Sets how long the text of a refusal may be.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Shows the model what errors say that a tool returns by `?`. They may hold paths, addresses
    /// and secrets, so this is off by default; see [`Failure`](crate::Failure).
    #[must_use]
    pub fn show_errors(mut self) -> Self {
        self.show_errors = true;
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
    /// because the server behind them validates. They must still be one JSON object, which every
    /// provider and MCP require. Without this, such tools are validated like all others.
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
        self.replace_shared(tool).map(|replaced| replaced.warnings)
    }

    /// Like [`Toolbox::register`], in place of the tool of the same name, if there is one. It is
    /// for tools whose definitions change, such as those of an MCP server.
    ///
    /// # Errors
    /// If the schema does not compile; the old tool stays then.
    pub fn replace(
        &mut self,
        tool: impl Tool + 'static,
    ) -> Result<Option<Arc<dyn Tool>>, RegisterError> {
        self.replace_shared(Arc::new(tool))
            .map(|replaced| replaced.old)
    }

    /// Removes the tool of this name.
    pub fn remove(&mut self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.remove(name).map(|entry| entry.tool)
    }

    fn replace_shared(&mut self, tool: Arc<dyn Tool>) -> Result<Replaced, RegisterError> {
        let name = tool.name().to_owned();
        let parameters = Some(tool.parameters_schema()).filter(|schema| !schema.is_null());
        let schema = match &parameters {
            // Nobody validates with the schema of a tool that is passed through.
            Some(schema) if !self.passes_through(&name) => tool::compiled(schema),
            _ => tool::compiled(&Value::Null),
        };
        let schema = schema.map_err(|error| RegisterError::Schema(error.of_tool(&name)))?;
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
        let old = self.tools.insert(name, entry).map(|entry| entry.tool);
        Ok(Replaced { old, warnings })
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
            title: entry.tool.title(),
            annotations: Annotations::of(&*entry.tool),
        })
    }

    /// Returns the tool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name).map(|entry| &entry.tool)
    }

    /// Makes a call: finds the tool, reads and validates the arguments, and only then runs it.
    pub async fn invoke(&self, name: &str, raw_arguments: &str) -> ToolResult {
        match self.prepare(name, raw_arguments, StopReason::Unknown) {
            Ok(prepared) => prepared.run().await,
            Err(bad) => self.refusal(name, &bad),
        }
    }

    /// Finds the tool, reads and validates the arguments, and runs nothing: a host can show a person
    /// what a destructive call will do, and run it afterwards.
    ///
    /// ```
    /// use goodcall::Toolbox;
    ///
    /// /// Deletes a file.
    /// #[goodcall::tool(destructive)]
    /// fn delete(path: String) -> String {
    ///     format!("{path} is gone")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut toolbox = Toolbox::new();
    /// toolbox.register(Delete)?;
    /// let call = toolbox.check("delete", r#"{"path": "a.txt"}"#)?;
    /// if call.tool().is_destructive() {
    ///     println!("{} {} [y/N]?", call.name(), call.arguments());
    /// }
    /// assert_eq!(call.run().await.text(), "a.txt is gone");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the call is refused. The error is a result for the model, too: `ToolResult::from(error)`.
    pub fn check(&self, name: &str, raw_arguments: &str) -> Result<Prepared<'_>, ToolArgError> {
        self.prepare(name, raw_arguments, StopReason::Unknown)
            .map_err(|bad| self.arg_error(name, &bad))
    }

    /// Like [`Toolbox::check`], and writes the result of reading the arguments into the request.
    ///
    /// # Errors
    /// If the call is refused.
    pub fn read_request(
        &self,
        request: &mut ToolCallRequest,
    ) -> Result<Prepared<'_>, ToolArgError> {
        self.read_into(request)
            .map_err(|bad| self.arg_error(&request.tool_name, &bad))
    }

    /// Like [`Toolbox::invoke`], and writes the result of reading the arguments into the request.
    pub async fn invoke_request(&self, request: &mut ToolCallRequest) -> ToolResult {
        match self.read_into(request) {
            Ok(prepared) => {
                let context = Context::new(&request.tool_call_id, Default::default());
                prepared.run_in(context).await
            }
            Err(bad) => self.refusal(&request.tool_name, &bad),
        }
    }

    fn read_into(&self, request: &mut ToolCallRequest) -> Result<Prepared<'_>, Refusal> {
        let (name, raw) = (request.tool_name.clone(), request.raw_arguments.clone());
        match self.prepare(&name, &raw, StopReason::Unknown) {
            Ok(prepared) => {
                request.accept(prepared.arguments(), prepared.changes());
                Ok(prepared)
            }
            Err(bad) => {
                let options = ReadOptions::new().policy(self.policy_for_call(&name));
                let part = tool_call_request::readable_part(&raw, &options.limits(self.limits));
                request.refuse(&bad, part);
                Err(bad)
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
    ) -> Result<Prepared<'_>, Refusal> {
        let entry = self.tools.get(name).ok_or_else(|| self.unknown(name))?;
        let any = self
            .passes_through(name)
            .then(|| tool::compiled(&Value::Null));
        let schema = match &any {
            Some(Ok(any)) => any,
            _ => &entry.schema,
        };
        let gate = Gate::new(schema)
            .policy(self.policy_of(entry))
            .limits(self.limits)
            .stop(stop)
            .tool(name);
        let (tree, changes) = match gate.check(raw) {
            Verdict::Good(tree) => (tree, Vec::new()),
            Verdict::Mended(mended) => (mended.arguments, mended.changes.into_vec()),
            Verdict::Bad(bad) => return Err(bad),
        };
        let bound = entry.tool.bind(&tree).map_err(|invalid| {
            let mut bad = invalid.into_refusal();
            bad.changes = changes.clone();
            bad
        })?;
        Ok(Prepared {
            toolbox: self,
            entry,
            bound,
            sent: SentCall {
                tool: name.to_owned(),
                raw: raw.to_owned(),
                mended: (!changes.is_empty()).then(|| tree.to_json()),
                changes,
            },
        })
    }

    fn explain<'n>(&self, name: &'n str) -> Explain<'n> {
        let explain = Explain::new(self.style).tool(name);
        match self.budget {
            Some(budget) => explain.budget(budget),
            None => explain,
        }
    }

    fn arg_error(&self, name: &str, bad: &Refusal) -> ToolArgError {
        ToolArgError::refused(bad, self.explain(name).text(bad), Some(name))
    }

    pub(crate) fn refusal(&self, name: &str, bad: &Refusal) -> ToolResult {
        let result = ToolResult::from(self.arg_error(name, bad)).with_changes(bad.changes.clone());
        match self.tools.get(name) {
            Some(entry) => result.recommended_by(&*entry.tool),
            None => result,
        }
    }

    /// The result of a tool as the model may read it.
    pub(crate) fn finished(&self, entry: &RegisteredTool, result: ToolResult) -> ToolResult {
        let result = result.recommended_by(&*entry.tool);
        if self.show_errors {
            result.with_shown_error()
        } else {
            result
        }
    }
}

/// A call that may run: its tool is known, and its arguments match.
#[must_use = "nothing runs until `run` is called"]
pub struct Prepared<'t> {
    pub(crate) toolbox: &'t Toolbox,
    pub(crate) entry: &'t RegisteredTool,
    pub(crate) bound: BoundArguments,
    pub(crate) sent: SentCall,
}

impl Prepared<'_> {
    /// The name of the tool.
    pub fn name(&self) -> &str {
        &self.sent.tool
    }

    /// The tool.
    pub fn tool(&self) -> &Arc<dyn Tool> {
        &self.entry.tool
    }

    /// The arguments that the tool will get, as JSON text.
    pub fn arguments(&self) -> &str {
        self.sent.mended.as_deref().unwrap_or(&self.sent.raw)
    }

    /// The changes that mending made; empty if the arguments were good as sent.
    pub fn changes(&self) -> &[Change] {
        &self.sent.changes
    }
}

impl fmt::Debug for Prepared<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared")
            .field("name", &self.name())
            .field("bound", &self.bound)
            .finish_non_exhaustive()
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
