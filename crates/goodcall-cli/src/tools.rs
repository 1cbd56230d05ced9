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

/// Reads the tools that several files define; none if there are no files.
pub(crate) fn read_all(paths: &[String]) -> Result<Tools, CliError> {
    match paths {
        [] => Ok(Tools::default()),
        [path] => read(path),
        paths => {
            let list = format!("[{}]", texts(paths)?.join(","));
            Tools::read(&list).map_err(|error| error.to_string())
        }
    }
}

/// Reads the texts of files with definitions, each of which must be usable by itself.
pub(crate) fn texts(paths: &[String]) -> Result<Vec<String>, CliError> {
    let text = |path: &String| {
        read(path)?;
        std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
    };
    paths.iter().map(text).collect()
}
