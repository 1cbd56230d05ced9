//! Support for the code that `#[goodcall::tool]` generates; not part of the public API.

pub use async_trait::async_trait;
pub use schemars;
pub use serde;
pub use serde_json::Value;

use std::error::Error;
use std::marker::PhantomData;

use goodcall_core::Tree;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Cause;
use crate::{
    BoundArguments, Context, ErrorClass, Failure, Invalid, Style, Tool, ToolResult, explain,
    schema_of,
};

// A parameter of a tool function.
//
// The generated code derives `Deserialize` and `JsonSchema` for the parameters of a function. If a type
// has neither, each derive would complain several times. They are told instead that the bounds hold
// (`Param<X, T>: Deserialize`), which the compiler believes while `X` is unknown, and `is_parameter`
// complains once.
#[derive(Debug, JsonSchema)]
#[schemars(transparent, bound = "T: JsonSchema")]
#[allow(
    missing_docs,
    reason = "with documentation of its own, its schema would not be that of the value"
)]
pub struct Param<X, T> {
    pub value: T,
    #[schemars(skip)]
    any: PhantomData<X>,
}

impl<X, T> Param<X, T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        let any = PhantomData;
        Self { value, any }
    }
}

impl<X, T: Default> Default for Param<X, T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<'de, X, T: Deserialize<'de>> Deserialize<'de> for Param<X, T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::deserialize(from).map(Self::new)
    }
}

impl<X, T: Serialize> Serialize for Param<X, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(to)
    }
}

/// A type of parameters.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a tool",
    label = "this type cannot be read from JSON, or has no schema",
    note = "add `#[derive(goodcall::Args)]` to a type of your own; a type of another crate needs \
            `serde::Deserialize` and `schemars::JsonSchema`, mostly by a feature of that crate"
)]
pub trait Parameter: DeserializeOwned + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> Parameter for T {}

/// Compiles if a type can be a parameter, or a part of one.
pub fn is_parameter<T: Parameter>() {}

/// Compiles if a parameter can be sent to the thread of its tool.
pub fn is_sent<T: Send + 'static>() {}

/// What the derives made of a type. If they failed, which is an error of its own, the methods of
/// [`Underived`] are called instead, and compile.
#[derive(Debug)]
pub struct Derived<T>(PhantomData<T>);

impl<T> Derived<T> {
    /// Names the type.
    #[allow(clippy::new_without_default, reason = "only the macros call it")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: JsonSchema> Derived<T> {
    /// Returns the schema of the arguments of a tool.
    pub fn schema(&self) -> Value {
        schema_of::<T>()
    }

    /// Returns the schema of a part of the arguments.
    pub fn json_schema(&self, generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }

    /// Returns true if the schema has to be inlined.
    pub fn inline_schema(&self) -> bool {
        T::inline_schema()
    }
}

impl<T: DeserializeOwned + Send + 'static> Derived<T> {
    /// Deserializes arguments as the parameters of a tool.
    ///
    /// # Errors
    /// If the arguments do not fit the type.
    pub fn bind(&self, arguments: &Tree<'_>) -> Result<BoundArguments, Invalid> {
        match arguments.deserialize::<T>() {
            Ok(arguments) => Ok(BoundArguments::typed(arguments)),
            Err(error) => Err(Invalid::from_deserialize_error(&error)),
        }
    }
}

/// The methods of [`Derived`], for a type whose derives failed. Nothing is ever run with it.
pub trait Underived {
    /// See [`Derived::schema`].
    fn schema(&self) -> Value {
        Value::Null
    }

    /// See [`Derived::json_schema`].
    fn json_schema(&self, _: &mut SchemaGenerator) -> Schema {
        Schema::default()
    }

    /// See [`Derived::inline_schema`].
    fn inline_schema(&self) -> bool {
        false
    }

    /// See [`Derived::bind`].
    ///
    /// # Errors
    /// Always.
    fn bind(&self, _: &Tree<'_>) -> Result<BoundArguments, Invalid> {
        Err(Invalid::new(Vec::new()))
    }
}

impl<T> Underived for Derived<T> {}

/// The function that serde derives for a copy of a type, if that derive failed.
pub trait Unread {
    /// Reads nothing.
    ///
    /// # Errors
    /// Always.
    fn deserialize<'de, D: Deserializer<'de>, T>(_: D) -> Result<T, D::Error> {
        Err(serde::de::Error::custom("the type could not be derived"))
    }
}

impl<T> Unread for T {}

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
