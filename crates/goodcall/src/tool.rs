//! The trait [`Tool`], and the validation of its parameters.

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use goodcall_core::{
    DeserializeError, Explain, Gate, Issue, Pointer, Policy, Refusal, Schema, SchemaCache,
    SchemaError, Style, Tree, Verdict,
};
use serde_json::{Value, json};

use crate::arguments::{BoundArguments, Context, LoopKey};
use crate::{ErrorClass, ToolResult, explain};

/// A tool that a model can call. See the [crate's first page](crate) for an example.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "this is not a tool",
    note = "a function `read_file` with `#[goodcall::tool]` is registered as the type `ReadFile`",
    note = "methods in an impl block with `#[goodcall::tool]` are registered with \
            `register_all(Arc::new(state).tools())`"
)]
#[async_trait]
pub trait Tool: Send + Sync {
    /// The name that the model calls.
    fn name(&self) -> &str;

    /// What the tool does, for the model.
    fn description(&self) -> &str;

    /// The JSON Schema of the parameters. With `Value::Null`, any object is accepted.
    fn parameters_schema(&self) -> Value;

    /// Checks the parameters. Override it for what a schema cannot say, and start with
    /// [`Tool::default_validate_parameters`]:
    ///
    /// ```
    /// # use goodcall::{Invalid, Tool, ToolResult, async_trait};
    /// # use serde_json::{Value, json};
    /// # struct Register;
    /// # #[async_trait]
    /// # impl Tool for Register {
    /// #     fn name(&self) -> &str { "register" }
    /// #     fn description(&self) -> &str { "" }
    /// #     fn parameters_schema(&self) -> Value { json!({"properties": {"age": {"type": "number"}}}) }
    /// #     async fn execute(&self, _: &Value) -> ToolResult { ToolResult::success("done") }
    /// fn validate_parameters(&self, params: &Value) -> Result<(), Invalid> {
    ///     self.default_validate_parameters(params)?;
    ///     match params["age"].as_f64() {
    ///         Some(0.0..=150.0) => Ok(()),
    ///         _ => Err("Age must be between 0 and 150".into()),
    ///     }
    /// }
    /// # }
    /// # let error = Register.validate_parameters(&json!({"age": 200})).unwrap_err();
    /// # assert_eq!(error.text(goodcall::Style::Plain), "Age must be between 0 and 150");
    /// ```
    ///
    /// The words reach the model as they are. [`Invalid::at`] names the parameter as well.
    ///
    /// # Errors
    /// If the tool must not run with these parameters.
    fn validate_parameters(&self, params: &Value) -> Result<(), Invalid> {
        self.default_validate_parameters(params)
    }

    /// Checks the parameters against [`Tool::parameters_schema`]. Parameters that the toolbox has
    /// just checked are not checked again.
    ///
    /// # Errors
    /// If they do not match, or the schema does not compile.
    fn default_validate_parameters(&self, params: &Value) -> Result<(), Invalid> {
        if CHECKED.get() == Some(std::ptr::from_ref(params)) {
            return Ok(());
        }
        let schema = compiled(&self.parameters_schema())
            .map_err(|error| Invalid::from(error.of_tool(self.name()).to_string()))?;
        match strict(&schema).check_value(params) {
            Verdict::Bad(bad) => Err(Invalid(bad)),
            _ => Ok(()),
        }
    }

    /// What the model should do after an error of this class, for this tool. Used if the error
    /// itself recommends nothing; if this is empty too, [`ErrorClass::recommendations`] are.
    fn recommendations(&self, _class: ErrorClass) -> Vec<String> {
        Vec::new()
    }

    /// The name for people, such as `Read a file`.
    fn title(&self) -> Option<&str> {
        None
    }

    /// Marks a tool whose effect cannot be taken back: its calls are not mended.
    fn is_destructive(&self) -> bool {
        false
    }

    /// Marks a tool that changes nothing.
    fn is_read_only(&self) -> bool {
        false
    }

    /// Marks a tool that may run twice for one call without harm, by default one that only reads. If
    /// the host dies while such a call runs, the call is made again; for any other tool, the model
    /// is told that the effect of the call is unknown.
    fn is_repeatable(&self) -> bool {
        self.is_read_only()
    }

    /// Whether the tool deals with things beyond the host, such as the web; `None` if it does not
    /// say. It is passed on to MCP clients.
    fn is_open_world(&self) -> Option<bool> {
        None
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

    /// Runs the tool. The parameters have been validated: what the schema requires is there, of the
    /// type that it says, so `params["path"].as_str().unwrap()` is safe. An integer is one for
    /// `as_i64`, however the model has written it (`5.0`, `1e1`).
    ///
    /// `"type": "integer"` by itself sets no bound, and a call is not refused for one that the schema
    /// does not state: above `i64::MAX` an integer is one for `as_u64` only, and beyond 64 bits an
    /// `f64` that holds it exactly. A schema with a `minimum` and a `maximum` makes
    /// `as_i64().unwrap()` safe for every call; a tool that takes a Rust type is not run with what the
    /// type cannot hold.
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
        checked(&value, || self.validate_parameters(&value))?;
        let key = self.loop_key(&value);
        Ok(BoundArguments::value(value).with_loop_key(key))
    }

    /// Runs the tool with what [`Tool::bind`] returned. Override it to learn the id of the call, the
    /// changes that were made to read it, or whether it was cancelled.
    async fn run(&self, bound: BoundArguments, _context: &Context) -> ToolResult {
        self.execute(bound.as_value()).await
    }
}

thread_local! {
    /// The address of the parameters that match the schema, while the tool's own check runs.
    static CHECKED: Cell<Option<*const Value>> = const { Cell::new(None) };
}

/// Runs a tool's own check of parameters that match its schema.
fn checked<T>(params: &Value, check: impl FnOnce() -> T) -> T {
    struct Restore(Option<*const Value>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CHECKED.set(self.0);
        }
    }
    let _restore = Restore(CHECKED.replace(Some(std::ptr::from_ref(params))));
    check()
}

/// Compiles the schema of a tool; `null` accepts any object.
pub(crate) fn compiled(schema: &Value) -> Result<Schema, SchemaError> {
    match schema {
        Value::Null => SchemaCache::shared().get(&json!({"type": "object"})),
        schema => SchemaCache::shared().get(schema),
    }
}

fn strict(schema: &Schema) -> Gate<'_> {
    Gate::new(schema).policy(Policy::strict())
}

/// Checks parameters for a tool directly, its own checks included; nothing is run or mended.
///
/// # Errors
/// If the schema of the tool does not compile, or the tool must not run with these parameters.
pub fn validate(tool: &dyn Tool, params: &Value) -> Result<(), ValidateError> {
    let schema = compiled(&tool.parameters_schema())
        .map_err(|error| ValidateError::Schema(error.of_tool(tool.name())))?;
    match strict(&schema).check_value(params) {
        Verdict::Bad(bad) => Err(ValidateError::Invalid(Invalid(bad))),
        Verdict::Good(tree) => tool.bind(&tree).map(drop).map_err(ValidateError::Invalid),
        Verdict::Mended(mended) => {
            let bound = tool.bind(&mended.arguments);
            bound.map(drop).map_err(ValidateError::Invalid)
        }
    }
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

/// Refuses parameters with words that reach the model as they are.
impl From<String> for Invalid {
    fn from(words: String) -> Self {
        Self::at("", words)
    }
}

/// Refuses parameters with words that reach the model as they are.
impl From<&str> for Invalid {
    fn from(words: &str) -> Self {
        Self::at("", words)
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.summary())
    }
}

impl Error for Invalid {}
