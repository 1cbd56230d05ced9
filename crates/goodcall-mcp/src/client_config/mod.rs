//! Edits the configurations of MCP clients, so that their servers run behind goodcall.
//!
//! A configuration is edited in place, value by value: comments, order and white space stay. JSON
//! with comments is the form of most clients; TOML is that of Codex, YAML of Goose and Continue.

mod json;
mod servers;
mod toml;
mod wrapped_words;
mod yaml;

use std::fmt;
use std::path::Path;

pub use servers::ConfiguredServer;

/// An edited configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wrapped {
    /// The new text.
    pub text: String,
    /// The servers that were changed.
    pub changed: Vec<String>,
    /// The servers that were not changed, each with the reason.
    pub left: Vec<(String, &'static str)>,
}

/// The error for a configuration that cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrapError(String);

impl fmt::Display for WrapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrapError {}

/// Why a server that is behind goodcall already is left as it is.
const WRAPPED_ALREADY: &str = "is behind goodcall already";
/// Why a server that is not behind goodcall is left as it is.
const NOT_WRAPPED: &str = "is not behind goodcall";

/// Puts every server of a configuration behind goodcall. `goodcall` is the program to start; `file`
/// is where the text comes from, because clients give the same keys different meanings.
///
/// # Errors
/// If the text has no known form, or no servers.
pub fn wrap_config(text: &str, goodcall: &str, file: &Path) -> Result<Wrapped, WrapError> {
    match ConfigForm::of(file) {
        ConfigForm::Json => json::wrap(text, goodcall, file),
        ConfigForm::Toml => toml::wrap(text, goodcall),
        ConfigForm::Yaml => yaml::wrap(text, goodcall),
    }
}

/// Undoes [`wrap_config`]. An entry that is still as it was written then is restored to the letter
/// from `before`, the text as it was; one that was edited since is derived from its present form.
///
/// # Errors
/// As [`wrap_config`].
pub fn unwrap_config(text: &str, before: Option<&str>, file: &Path) -> Result<Wrapped, WrapError> {
    match ConfigForm::of(file) {
        ConfigForm::Json => json::unwrap(text, before, file),
        ConfigForm::Toml => toml::unwrap(text, before),
        ConfigForm::Yaml => yaml::unwrap(text, before),
    }
}

/// Returns the servers of a configuration, so that they can be started without their client.
///
/// # Errors
/// As [`wrap_config`].
pub fn configured_servers(text: &str, file: &Path) -> Result<Vec<ConfiguredServer>, WrapError> {
    match ConfigForm::of(file) {
        ConfigForm::Json => json::servers(text),
        ConfigForm::Toml => toml::servers(text),
        ConfigForm::Yaml => yaml::servers(text),
    }
}

/// The form of a configuration.
enum ConfigForm {
    /// JSON, with or without comments.
    Json,
    Toml,
    Yaml,
}

impl ConfigForm {
    fn of(file: &Path) -> Self {
        match file.extension().and_then(|end| end.to_str()) {
            Some("toml") => Self::Toml,
            Some("yaml" | "yml") => Self::Yaml,
            _ => Self::Json,
        }
    }
}

/// Returns `derived`, with the original text if nobody has edited the file since it was wrapped.
/// `program` is the goodcall that it names.
fn restored(
    derived: Wrapped,
    text: &str,
    before: Option<&str>,
    program: Option<&str>,
    wrap: impl Fn(&str, &str) -> Result<Wrapped, WrapError>,
) -> Wrapped {
    let original = before.filter(|before| {
        let again = program.map(|program| wrap(before, program));
        again.is_some_and(|again| again.is_ok_and(|again| again.text == text))
    });
    match original {
        Some(original) => Wrapped {
            text: original.to_owned(),
            ..derived
        },
        None => derived,
    }
}
