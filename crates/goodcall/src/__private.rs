//! For the code that `#[goodcall::tool]` writes; no part of the public API.

pub use async_trait::async_trait;
pub use schemars;
pub use serde;
pub use serde_json::Value;

use std::borrow::Cow;
use std::error::Error;

use goodcall_core::Tree;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Cause;
use crate::{
    BoundArguments, Context, ErrorClass, Failure, Invalid, Style, Tool, ToolResult, explain,
};

/// Reads arguments as the parameters of a tool.
///
/// # Errors
/// If they do not fit.
pub fn bind<T: DeserializeOwned + Send + 'static>(
    arguments: &Tree<'_>,
) -> Result<BoundArguments, Invalid> {
    let args = arguments.deserialize::<T>();
    args.map(BoundArguments::typed)
        .map_err(|error| Invalid::refused(&error))
}

/// Runs a tool of a Rust type with a JSON value.
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

/// For arguments that another tool has bound.
pub fn misbound(tool: &str) -> ToolResult {
    ToolResult::failed(Cause::Failed, explain::misbound(tool))
}

/// What a tool function returned. The inherent methods come first, then [`Words`], which takes it
/// by value, then [`Plain`], which takes a reference: a `Result` is not taken for data.
#[derive(Debug)]
pub struct Returned<T>(pub T);

impl Returned<ToolResult> {
    /// As it is.
    pub fn into_result(self) -> ToolResult {
        self.0
    }
}

impl<E: Into<Failure>> Returned<Result<ToolResult, E>> {
    /// As it is, or what went wrong.
    pub fn into_result(self) -> ToolResult {
        self.0.unwrap_or_else(|error| error.into().into())
    }
}

impl<T: Serialize, E: Into<Failure>> Returned<Result<T, E>> {
    /// Data, or what went wrong.
    pub fn into_result(self) -> ToolResult {
        match self.0 {
            Ok(data) => ToolResult::of(data),
            Err(error) => error.into().into(),
        }
    }
}

/// Anything that serde can write is data.
pub trait Plain {
    /// As data.
    fn into_result(self) -> ToolResult;
}

impl<T: Serialize> Plain for &Returned<T> {
    fn into_result(self) -> ToolResult {
        ToolResult::of(&self.0)
    }
}

/// Errors that are no `std::error::Error`, but words all the same.
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
    label = "no error that a model can be told",
    note = "use `goodcall::Failure`, a type with `std::error::Error`, or a `String`"
)]
pub trait Said {
    /// What the model is told.
    fn failure(self) -> Failure;
}

impl Said for String {
    fn failure(self) -> Failure {
        Failure::new(self)
    }
}

impl Said for &'static str {
    fn failure(self) -> Failure {
        Failure::new(self)
    }
}

impl Said for Cow<'static, str> {
    fn failure(self) -> Failure {
        Failure::new(self)
    }
}

impl Said for Box<dyn Error> {
    fn failure(self) -> Failure {
        Failure::runtime(self.to_string())
    }
}

impl Said for Box<dyn Error + Send + Sync> {
    fn failure(self) -> Failure {
        Failure::runtime(self.to_string())
    }
}

/// What a `Result` is made of: data or words. An error that is neither is told by the compiler.
pub trait Words {
    /// What succeeded.
    type Data;
    /// What went wrong.
    type Error;

    /// Data, or what went wrong.
    fn into_result(self) -> ToolResult
    where
        Self::Data: Data,
        Self::Error: Said;
}

impl<T, E> Words for Returned<Result<T, E>> {
    type Data = T;
    type Error = E;

    fn into_result(self) -> ToolResult
    where
        T: Data,
        E: Said,
    {
        match self.0 {
            Ok(data) => data.result(),
            Err(error) => error.failure().into(),
        }
    }
}

/// What a tool may return.
pub trait Data {
    /// As a result.
    fn result(self) -> ToolResult;
}

impl Data for ToolResult {
    fn result(self) -> ToolResult {
        self
    }
}

impl<T: Serialize> Data for T {
    fn result(self) -> ToolResult {
        ToolResult::of(self)
    }
}
