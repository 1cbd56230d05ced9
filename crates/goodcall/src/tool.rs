//! What a tool is.

use std::ops::Deref;
use std::time::Duration;

use async_trait::async_trait;
use goodcall_core::{
    Explain, Gate, Issue, Pointer, Policy, Refusal, Schema, SchemaError, Style, Tree, Verdict,
};
use serde_json::Value;

use crate::bound::{BoundArguments, Context, LoopKey};
use crate::{ToolResult, explain};

/// A tool that a model can call. See the [crate's first page](crate) for an example.
#[async_trait]
pub trait Tool: Send + Sync {
    /// The name that the model calls.
    fn name(&self) -> &str;

    /// What the tool does, for the model.
    fn description(&self) -> &str;

    /// The JSON Schema of the parameters. Without one, any object is accepted.
    fn parameters_schema(&self) -> Option<Value>;

    /// Checks the parameters. Override it for what a schema cannot say, and start with
    /// [`default_validate_parameters`]:
    ///
    /// ```
    /// use goodcall::{Invalid, Parameters, default_validate_parameters};
    ///
    /// fn validate_parameters(params: &Parameters<'_>) -> Result<(), Invalid> {
    ///     default_validate_parameters(params)?;
    ///     match params["age"].as_i64() {
    ///         Some(0..=150) => Ok(()),
    ///         _ => Err(Invalid::at("age", "use an age from 0 to 150")),
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// If the tool must not run with these parameters.
    fn validate_parameters(&self, params: &Parameters<'_>) -> Result<(), Invalid> {
        default_validate_parameters(params)
    }

    /// Marks a tool whose effect cannot be taken back: its calls are not mended.
    fn is_destructive(&self) -> bool {
        false
    }

    /// Marks a tool that may run twice for one call without harm. If the host dies while such a
    /// call runs, the call is made again; of any other tool the model is told that nobody knows.
    fn is_repeatable(&self) -> bool {
        false
    }

    /// Marks a tool that blocks its thread: it runs off the async threads. Nobody can stop such a
    /// thread from outside; a long one asks its [`Context`] now and then.
    fn is_blocking(&self) -> bool {
        false
    }

    /// How long a call may take. `None`: as long as the toolbox says.
    fn time_limit(&self) -> Option<Duration> {
        None
    }

    /// What tells one call from another when loops are looked for.
    fn loop_key(&self, _params: &Value) -> LoopKey {
        LoopKey::Arguments
    }

    /// Runs the tool. The parameters have been validated.
    async fn execute(&self, params: &Value) -> ToolResult;

    /// Brings arguments that match the schema into the form that [`Tool::run`] takes, or refuses
    /// them. Tools of a Rust type override it ([`TypedTool`](crate::TypedTool)).
    ///
    /// # Errors
    /// If the tool must not run with these arguments.
    fn bind(&self, arguments: &Tree<'_>) -> Result<BoundArguments, Invalid> {
        let value = arguments
            .to_value()
            .map_err(|inexact| Invalid::new(vec![inexact.into()]))?;
        self.validate_parameters(&Parameters::checked(&value))?;
        let key = self.loop_key(&value);
        Ok(BoundArguments::value(value).with_loop_key(key))
    }

    /// Runs the tool with what [`Tool::bind`] made. Override it to know the call's id or to see
    /// it called off.
    async fn run(&self, bound: BoundArguments, _context: &Context) -> ToolResult {
        self.execute(bound.as_value()).await
    }
}

/// The parameters of a call, and what is already known of them. Derefs to their `Value`.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'p> {
    value: &'p Value,
    /// The schema that is still to be checked.
    unchecked: Option<&'p Schema>,
}

impl<'p> Parameters<'p> {
    /// Parameters that have not been checked against the tool's schema.
    pub fn unchecked(value: &'p Value, schema: Option<&'p Schema>) -> Self {
        Self {
            value,
            unchecked: schema,
        }
    }

    /// Parameters that are known to match the tool's schema.
    pub(crate) fn checked(value: &'p Value) -> Self {
        Self::unchecked(value, None)
    }
}

impl Deref for Parameters<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.value
    }
}

/// Checks parameters against the tool's schema, unless that was done when they were read.
///
/// # Errors
/// If they do not match.
pub fn default_validate_parameters(params: &Parameters<'_>) -> Result<(), Invalid> {
    let Some(schema) = params.unchecked else {
        return Ok(());
    };
    let text = params.value.to_string();
    match Gate::new(schema).policy(Policy::strict()).check(&text) {
        Verdict::Bad(bad) => Err(Invalid(bad)),
        _ => Ok(()),
    }
}

/// Checks parameters for a tool directly, its own checks included; nothing is run or mended.
///
/// # Errors
/// If the tool's schema does not compile; the inner result says whether the parameters are valid.
pub fn validate(tool: &dyn Tool, params: &Value) -> Result<Result<(), Invalid>, SchemaError> {
    let schema = tool.parameters_schema();
    let schema = schema.as_ref().map(Schema::compile).transpose();
    let schema = schema.map_err(|error| error.of_tool(tool.name()))?;
    Ok(tool.validate_parameters(&Parameters::unchecked(params, schema.as_ref())))
}

/// Parameters that a tool must not run with, and why.
#[derive(Clone, Debug)]
pub struct Invalid(Refusal);

impl Invalid {
    /// One parameter (dotted: `edits.0.path`) and what is wanted of it, in words for the model.
    pub fn at(parameter: &str, wanted: impl Into<String>) -> Self {
        let place = parameter.split('.').filter(|segment| !segment.is_empty());
        let place = place.fold(Pointer::root(), |place, segment| place.join(segment));
        Self(Refusal::wrong_shape(vec![Issue::custom(place, wanted)]))
    }

    /// Several issues at once.
    pub fn new(issues: Vec<Issue>) -> Self {
        Self(Refusal::wrong_shape(issues))
    }

    /// The same, with another one's issues added.
    #[must_use]
    pub fn and(mut self, other: Invalid) -> Self {
        self.0.issues.extend(other.0.issues);
        self.0.more += other.0.more;
        self
    }

    /// All that is wrong.
    pub fn issues(&self) -> &[Issue] {
        &self.0.issues
    }

    /// A value that the schema accepts and the Rust type refuses.
    pub(crate) fn refused(error: &goodcall_core::DeserializeError) -> Self {
        Self::new(vec![Issue::custom(
            error.pointer(),
            explain::refused(error.message()),
        )])
    }

    /// The text for the model in this style.
    pub fn text(&self, style: Style) -> String {
        Explain::new(style).text(&self.0)
    }

    pub(crate) fn into_bad(self) -> Refusal {
        self.0
    }
}
