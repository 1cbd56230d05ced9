//! Tools whose parameters are a Rust type. The type defines the schema that the model sees, the
//! value that the tool receives, and the documentation.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use goodcall_core::{Explain, Refusal, Schema, SchemaError, Style, Tree, check};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arguments::{BoundArguments, Context, LoopKey};
use crate::type_schema::schema_of;
use crate::{ErrorClass, Failure, Invalid, Tool, ToolArgError, ToolResult};

/// A tool whose parameters are a Rust type. Every one is a [`Tool`].
///
/// ```
/// use goodcall::{Args, Context, Failure, Toolbox, TypedTool, async_trait};
///
/// /// Replaces text in a file.
/// #[derive(Args)]
/// struct EditArgs {
///     /// The file, relative to the project.
///     path: String,
///     /// At most this many places.
///     #[schemars(range(min = 1, max = 100))]
///     limit: Option<u8>,
/// }
///
/// struct Edit;
///
/// #[async_trait]
/// impl TypedTool for Edit {
///     type Args = EditArgs;
///     type Output = String;
///
///     fn name(&self) -> &str { "edit" }
///     async fn execute(&self, args: EditArgs, _: &Context) -> Result<String, Failure> {
///         Ok(format!("{} edited", args.path))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut toolbox = Toolbox::new();
/// toolbox.register(Edit)?;
/// assert_eq!(toolbox.list().next().unwrap().description, "Replaces text in a file.");
/// assert_eq!(toolbox.invoke("edit", r#"{"path": "a.txt"}"#).await.text(), "a.txt edited");
/// assert_eq!(
///     toolbox.invoke("edit", r#"{"path": "a.txt", "limit": 500}"#).await.text(),
///     "The tool `edit` was not run. Correct its arguments and call it again:\n\
///      limit: 500 is too large, it must be at most 100 or null"
/// );
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait TypedTool: Send + Sync {
    /// The type of the parameters.
    type Args: DeserializeOwned + JsonSchema + Send + 'static;
    /// The type of the data that the tool returns.
    type Output: Serialize;

    /// The name that the model calls.
    fn name(&self) -> &str;

    /// What the tool does, for the model. If empty, the doc comment of the parameters is used.
    fn description(&self) -> &str {
        ""
    }

    /// Checks what a schema cannot say.
    ///
    /// # Errors
    /// If the tool must not run with these parameters.
    fn validate(&self, _args: &Self::Args) -> Result<(), Invalid> {
        Ok(())
    }

    /// See [`Tool::recommendations`].
    fn recommendations(&self, _class: ErrorClass) -> Vec<String> {
        Vec::new()
    }

    /// See [`Tool::title`].
    fn title(&self) -> Option<&str> {
        None
    }

    /// See [`Tool::is_destructive`].
    fn is_destructive(&self) -> bool {
        false
    }

    /// See [`Tool::is_read_only`].
    fn is_read_only(&self) -> bool {
        false
    }

    /// See [`Tool::is_repeatable`].
    fn is_repeatable(&self) -> bool {
        TypedTool::is_read_only(self)
    }

    /// See [`Tool::is_open_world`].
    fn is_open_world(&self) -> Option<bool> {
        None
    }

    /// See [`Tool::is_blocking`].
    fn is_blocking(&self) -> bool {
        false
    }

    /// See [`Tool::time_limit`].
    fn time_limit(&self) -> Option<Duration> {
        None
    }

    /// See [`Tool::loop_key`].
    fn loop_key(&self, _args: &Self::Args) -> LoopKey {
        LoopKey::Arguments
    }

    /// Runs the tool. The parameters have been validated.
    async fn execute(&self, args: Self::Args, context: &Context) -> Result<Self::Output, Failure>;
}

/// Deserializes the arguments as the type of the tool, and lets the tool check them.
fn read<T: TypedTool>(tool: &T, arguments: &Tree<'_>) -> Result<T::Args, Invalid> {
    let args = arguments
        .deserialize()
        .map_err(|error| Invalid::from_deserialize_error(&error))?;
    tool.validate(&args)?;
    Ok(args)
}

#[diagnostic::do_not_recommend]
#[async_trait]
impl<T: TypedTool> Tool for T {
    fn name(&self) -> &str {
        TypedTool::name(self)
    }

    fn description(&self) -> &str {
        TypedTool::description(self)
    }

    fn parameters_schema(&self) -> Value {
        schema_of::<T::Args>()
    }

    fn validate_parameters(&self, params: &Value) -> Result<(), Invalid> {
        self.default_validate_parameters(params)?;
        let text = params.to_string();
        let tree = Tree::parse(&text).map_err(|error| Invalid::from(error.to_string()))?;
        read(self, &tree).map(drop)
    }

    fn recommendations(&self, class: ErrorClass) -> Vec<String> {
        TypedTool::recommendations(self, class)
    }

    fn title(&self) -> Option<&str> {
        TypedTool::title(self)
    }

    fn is_destructive(&self) -> bool {
        TypedTool::is_destructive(self)
    }

    fn is_read_only(&self) -> bool {
        TypedTool::is_read_only(self)
    }

    fn is_open_world(&self) -> Option<bool> {
        TypedTool::is_open_world(self)
    }

    fn is_repeatable(&self) -> bool {
        TypedTool::is_repeatable(self)
    }

    fn is_blocking(&self) -> bool {
        TypedTool::is_blocking(self)
    }

    fn time_limit(&self) -> Option<Duration> {
        TypedTool::time_limit(self)
    }

    fn bind(&self, arguments: &Tree<'_>) -> Result<BoundArguments, Invalid> {
        let args = read(self, arguments)?;
        let key = TypedTool::loop_key(self, &args);
        Ok(BoundArguments::typed(args).with_loop_key(key))
    }

    async fn run(&self, bound: BoundArguments, context: &Context) -> ToolResult {
        match bound.into_typed::<T::Args>() {
            Some(args) => match TypedTool::execute(self, args, context).await {
                Ok(output) => ToolResult::of(output),
                Err(failure) => failure.into(),
            },
            None => crate::__private::misbound(TypedTool::name(self)),
        }
    }

    async fn execute(&self, params: &Value) -> ToolResult {
        crate::__private::execute(self, params).await
    }
}

/// Reads raw arguments as a type, by its schema and with mending: `validateArgs` of an agent that
/// has no toolbox. The error is for the model; [`ToolArgError::message`] tells it what to rewrite.
///
/// ```
/// use goodcall::{Args, validate_args};
///
/// #[derive(Args, Debug)]
/// struct Edit {
///     file_path: String,
///     old_string: String,
/// }
///
/// let edit: Edit = validate_args(r#"{"file_path": "a", "old_string": "b"}"#)?;
/// assert_eq!(edit.old_string, "b");
/// assert_eq!(
///     validate_args::<Edit>(r#"{"file_path": "a"}"#).unwrap_err().to_string(),
///     "Please rewrite the input with valid arguments. Errors: old_string: Required"
/// );
/// # Ok::<(), goodcall::ToolArgError>(())
/// ```
///
/// # Errors
/// If the arguments cannot be read, do not match the schema, or do not fit the type.
pub fn validate_args<T: DeserializeOwned + JsonSchema + 'static>(
    raw: &str,
) -> Result<T, ToolArgError> {
    let explain = Explain::new(Style::Instruction);
    let refused = |bad: Refusal| ToolArgError::refused(&bad, explain.text(&bad), None);
    let schema = schema_by_type::<T>()
        .map_err(|error| ToolArgError::new(ErrorClass::Validation, error.to_string()))?;
    let tree = check(raw, &schema).into_result().map_err(refused)?;
    tree.deserialize()
        .map_err(|error| refused(Invalid::from_deserialize_error(&error).into_refusal()))
}

/// The compiled schema of a type, made once.
fn schema_by_type<T: JsonSchema + 'static>() -> Result<Schema, SchemaError> {
    static SCHEMAS: Mutex<BTreeMap<TypeId, Schema>> = Mutex::new(BTreeMap::new());
    let mut schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(schema) = schemas.get(&TypeId::of::<T>()) {
        return Ok(schema.clone());
    }
    let schema = Schema::compile(&schema_of::<T>())?;
    schemas.insert(TypeId::of::<T>(), schema.clone());
    Ok(schema)
}
