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

/// Reads the tools that several files define.
pub(crate) fn read_all(paths: &[String]) -> Result<Tools, CliError> {
    let [path] = paths else {
        let mut texts = Vec::new();
        for path in paths {
            // Each file by itself first, so that an error names it.
            read(path)?;
            texts.push(std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?);
        }
        if texts.is_empty() {
            return Ok(Tools::default());
        }
        return Tools::read(&format!("[{}]", texts.join(","))).map_err(|error| error.to_string());
    };
    read(path)
}
