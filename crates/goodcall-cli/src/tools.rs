//! Reading tool definitions from a file.

use goodcall_wire::Tools;

use crate::CliError;

/// Reads the tools that a file defines, in any provider's form.
pub(crate) fn read(path: &str) -> Result<Tools, CliError> {
    let bytes = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| format!("{path}: tool definitions must be JSON: not UTF-8"))?;
    Tools::read(&text).map_err(|error| format!("{path}: {error}"))
}
