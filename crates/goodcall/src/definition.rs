//! A tool as it is offered to a model.

use serde::Serialize;
use serde_json::Value;

use crate::Tool;

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
    /// The name for people.
    pub title: Option<&'t str>,
    /// What the tool does to the world.
    pub annotations: Annotations,
}

impl<'t> Definition<'t> {
    /// Returns the definition of a tool that is not in a toolbox.
    pub fn new(name: &'t str, description: &'t str, parameters: Option<&'t Value>) -> Self {
        Self {
            name,
            description,
            parameters,
            title: None,
            annotations: Annotations::default(),
        }
    }

    /// Sets the name for people.
    #[must_use]
    pub fn title(mut self, title: &'t str) -> Self {
        self.title = Some(title);
        self
    }

    /// Sets what the tool does to the world.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = annotations;
        self
    }
}

/// What a tool does to the world. It serializes in MCP's form, in which a client reads what is left
/// out as the worst.
///
/// ```
/// use goodcall::Tool;
///
/// /// Reads a file.
/// #[goodcall::tool(read_only, open_world = false)]
/// fn read(path: String) -> String {
///     path
/// }
///
/// let annotations = goodcall::Annotations::of(&Read);
/// assert_eq!(
///     serde_json::to_string(&annotations)?,
///     r#"{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}"#
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Annotations {
    /// It changes nothing.
    #[serde(rename = "readOnlyHint", skip_serializing_if = "is_false")]
    pub read_only: bool,
    /// Its effect cannot be taken back.
    #[serde(rename = "destructiveHint", skip_serializing_if = "is_false")]
    pub destructive: bool,
    /// It may run twice for one call without harm.
    #[serde(rename = "idempotentHint", skip_serializing_if = "is_false")]
    pub repeatable: bool,
    /// Whether it deals with things beyond the host.
    #[serde(rename = "openWorldHint", skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands in a reference"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Annotations {
    /// Returns what this tool says of itself.
    pub fn of(tool: &dyn Tool) -> Self {
        Self {
            read_only: tool.is_read_only(),
            destructive: tool.is_destructive(),
            repeatable: tool.is_repeatable(),
            open_world: tool.is_open_world(),
        }
    }
}
