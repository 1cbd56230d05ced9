//! Reading tool definitions from a file.

use goodcall_wire::Tools;

use crate::Failure;

/// The tools that a file defines, in whatever form.
pub(crate) fn read(path: &str) -> Result<Tools, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    Tools::read(&text).map_err(|error| format!("{path}: {error}"))
}
