//! The trait [`Tool`], and the validation of its parameters.

use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use async_trait::async_trait;
use goodcall_core::{
    DeserializeError, Explain, Gate, Issue, Pointer, Policy, Refusal, Schema, SchemaError, Style,
    Tree, Verdict,
};
use serde_json::Value;

use crate::arguments::{BoundArguments, Context, LoopKey};
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
    /// call runs, the call is made again; for any other tool, the model is told that the effect of
    /// the call is unknown.
    fn is_repeatable(&self) -> bool {
        false
    }

    /// Marks a tool that blocks its thread, so that it runs off the async threads. Such a thread
    /// cannot be stopped from outside; a tool that runs long asks its [`Context`] now and then.
    fn is_blocking(&self) -> bool {
        false
    }

    /// The time limit of a call; `None` for that of the toolbox.
    fn time_limit(&self) -> Option<Duration> {
        None
    }

    /// The part of a call that loop detection compares with other calls of this tool.
    fn loop_key(&self, _params: &Value) -> LoopKey {
        LoopKey::Arguments
    }

    /// Runs the tool. The parameters have been validated.
    async fn execute(&self, params: &Value) -> ToolResult;

    /// Converts arguments that match the schema into the form that [`Tool::run`] takes, or refuses
    /// them. Tools that take a Rust type override it ([`TypedTool`](crate::TypedTool)).
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

    /// Runs the tool with what [`Tool::bind`] returned. Override it to learn the id of the call or
    /// whether it was cancelled.
    async fn run(&self, bound: BoundArguments, _context: &Context) -> ToolResult {
        self.execute(bound.as_value()).await
    }
}

/// The parameters of a call, and whether they still have to be checked. Derefs to their `Value`.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'p> {
    value: &'p Value,
    /// The schema that is still to be checked.
    unchecked: Option<&'p Schema>,
}

impl<'p> Parameters<'p> {
    /// Wraps parameters that have not been checked against the schema of the tool.
    pub fn unchecked(value: &'p Value, schema: Option<&'p Schema>) -> Self {
        Self {
            value,
            unchecked: schema,
        }
    }

    /// Wraps parameters that are known to match the schema of the tool.
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

/// Checks parameters against the schema of the tool, unless that was done when they were read.
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
/// If the schema of the tool does not compile, or the tool must not run with these parameters.
pub fn validate(tool: &dyn Tool, params: &Value) -> Result<(), ValidateError> {
    let document = tool.parameters_schema();
    let schema = document.as_ref().map(Schema::compile).transpose();
    let schema = schema.map_err(|error| ValidateError::Schema(error.of_tool(tool.name())))?;
    tool.validate_parameters(&Parameters::unchecked(params, schema.as_ref()))
        .map_err(ValidateError::Invalid)
}

/// The reason why [`validate`] did not accept parameters.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ValidateError {
    /// The schema of the tool does not compile.
    Schema(SchemaError),
    /// The tool must not run with these parameters.
    Invalid(Invalid),
}

impl fmt::Display for ValidateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValidateError::Schema(error) => error.fmt(f),
            ValidateError::Invalid(invalid) => invalid.fmt(f),
        }
    }
}

impl Error for ValidateError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ValidateError::Schema(error) => Some(error),
            ValidateError::Invalid(invalid) => Some(invalid),
        }
    }
}

/// The reason why a tool must not run with its parameters.
#[derive(Clone, Debug)]
pub struct Invalid(Refusal);

impl Invalid {
    /// Refuses one parameter (dotted: `edits.0.path`) and tells the model what is expected of it.
    pub fn at(parameter: &str, expected: impl Into<String>) -> Self {
        let place = parameter.split('.').filter(|segment| !segment.is_empty());
        let place = place.fold(Pointer::root(), |place, segment| place.join(segment));
        Self(Refusal::wrong_shape(vec![Issue::custom(place, expected)]))
    }

    /// Refuses parameters because of these issues.
    pub fn new(issues: Vec<Issue>) -> Self {
        Self(Refusal::wrong_shape(issues))
    }

    /// Adds the issues of another refusal.
    #[must_use]
    pub fn and(mut self, other: Invalid) -> Self {
        self.0.issues.extend(other.0.issues);
        self.0.more += other.0.more;
        self
    }

    /// The issues of the parameters.
    pub fn issues(&self) -> &[Issue] {
        &self.0.issues
    }

    /// Refuses a value that the schema accepts and the Rust type does not.
    pub(crate) fn from_deserialize_error(error: &DeserializeError) -> Self {
        Self::new(vec![Issue::custom(
            error.pointer(),
            explain::refused_by_type(error),
        )])
    }

    /// Returns the text for the model in this style.
    pub fn text(&self, style: Style) -> String {
        Explain::new(style).text(&self.0)
    }

    pub(crate) fn into_refusal(self) -> Refusal {
        self.0
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.summary())
    }
}

impl Error for Invalid {}
