//! Support for the code that `#[goodcall::tool]` generates; not part of the public API.

pub use async_trait::async_trait;
pub use schemars;
pub use serde;
pub use serde_json::Value;

use std::error::Error;

use goodcall_core::Tree;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Cause;
use crate::{
    BoundArguments, Context, ErrorClass, Failure, Invalid, Style, Tool, ToolResult, explain,
};

/// Deserializes arguments as the parameters of a tool.
///
/// # Errors
/// If the arguments do not fit the type.
pub fn bind<T: DeserializeOwned + Send + 'static>(
    arguments: &Tree<'_>,
) -> Result<BoundArguments, Invalid> {
    match arguments.deserialize::<T>() {
        Ok(arguments) => Ok(BoundArguments::typed(arguments)),
        Err(error) => Err(Invalid::from_deserialize_error(&error)),
    }
}

/// Checks a JSON value for a tool that takes a Rust type.
///
/// # Errors
/// If the value does not match the schema or does not fit the type.
pub fn validate<T: Tool + ?Sized>(tool: &T, params: &Value) -> Result<(), Invalid> {
    tool.default_validate_parameters(params)?;
    let text = params.to_string();
    let tree = Tree::parse(&text).map_err(|error| Invalid::from(error.to_string()))?;
    tool.bind(&tree).map(drop)
}

/// Runs a tool that takes a Rust type with a JSON value.
pub async fn execute<T: Tool + ?Sized>(tool: &T, params: &Value) -> ToolResult {
    let text = params.to_string();
    let bound = match Tree::parse(&text) {
        Ok(tree) => tool.bind(&tree),
        Err(error) => Err(Invalid::at("", error.to_string())),
    };
    match bound {
        Ok(bound) => tool.run(bound, &Context::default()).await,
        Err(invalid) => ToolResult::failure(ErrorClass::Validation, invalid.text(Style::default())),
    }
}

/// Returns the result of a call whose arguments were bound by another tool.
pub fn misbound(tool: &str) -> ToolResult {
    ToolResult::failed(Cause::Failed, explain::misbound(tool))
}

/// The value that a tool function returned.
///
/// `into_result` resolves to the inherent methods first, then to [`FallibleReturn`], which takes
/// the value, then to [`PlainReturn`], which takes a reference. A `Result` is therefore never
/// serialized as data.
#[derive(Debug)]
pub struct Returned<T>(pub T);

impl Returned<ToolResult> {
    /// Returns the result as it is.
    pub fn into_result(self) -> ToolResult {
        self.0
    }
}

impl<T, E: Into<Failure>> Returned<Result<T, E>> {
    /// Serializes the value, or turns the error into a failure.
    pub fn into_result(self) -> ToolResult
    where
        T: IntoToolResult,
    {
        match self.0 {
            Ok(value) => value.into_tool_result(),
            Err(error) => error.into().into(),
        }
    }
}

/// A return value without an error: anything that serde can serialize. The bound is on the method, so
/// that the compiler names the type that serde cannot serialize.
pub trait PlainReturn {
    /// The type of the value.
    type Value;

    /// Serializes the value.
    fn into_result(self) -> ToolResult
    where
        Self::Value: IntoToolResult;
}

impl<T> PlainReturn for &Returned<T> {
    type Value = T;

    fn into_result(self) -> ToolResult
    where
        T: IntoToolResult,
    {
        self.0.to_tool_result()
    }
}

/// An error that is not `Into<Failure>`, because it cannot be sent to another thread.
///
/// ```compile_fail,E0277
/// #[derive(serde::Serialize)]
/// struct Odd;
///
/// #[goodcall::tool]
/// async fn half(of: i64) -> Result<i64, Odd> {
///     Err(Odd)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}` as its error",
    label = "this error has no text for the model",
    note = "use `goodcall::Failure`, `anyhow::Error`, a `String`, or a type that implements \
            `std::error::Error + Send + Sync + 'static`"
)]
pub trait IntoFailure {
    /// Returns the failure that the model reads.
    fn into_failure(self) -> Failure;
}

impl IntoFailure for Box<dyn Error> {
    fn into_failure(self) -> Failure {
        Failure::runtime(explain::FAILED).caused_by(self.to_string())
    }
}

/// A `Result` whose error is not `Into<Failure>`. The bounds are on the method, so that the compiler
/// names the error type that is missing [`IntoFailure`].
pub trait FallibleReturn {
    /// The type of the value.
    type Value;
    /// The type of the error.
    type Error;

    /// Serializes the value, or turns the error into a failure.
    fn into_result(self) -> ToolResult
    where
        Self::Value: IntoToolResult,
        Self::Error: IntoFailure;
}

impl<T, E> FallibleReturn for Returned<Result<T, E>> {
    type Value = T;
    type Error = E;

    fn into_result(self) -> ToolResult
    where
        T: IntoToolResult,
        E: IntoFailure,
    {
        match self.0 {
            Ok(value) => value.into_tool_result(),
            Err(error) => error.into_failure().into(),
        }
    }
}

/// A value that a tool may return: a [`ToolResult`], or anything that serde can serialize.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "serde cannot serialize this",
    note = "add `#[derive(serde::Serialize)]` to `{Self}`, or return a `goodcall::ToolResult`"
)]
pub trait IntoToolResult: Sized {
    /// Returns the result of the value.
    fn to_tool_result(&self) -> ToolResult;

    /// Returns the value as a result.
    fn into_tool_result(self) -> ToolResult {
        self.to_tool_result()
    }
}

impl IntoToolResult for ToolResult {
    fn to_tool_result(&self) -> ToolResult {
        self.clone()
    }

    fn into_tool_result(self) -> ToolResult {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> IntoToolResult for T {
    fn to_tool_result(&self) -> ToolResult {
        ToolResult::of(self)
    }
}
