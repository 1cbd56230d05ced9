//! Input files, and values of flags.

use std::fs::File;
use std::io::{BufReader, Read, stdin};
use std::path::{Path, PathBuf};

use goodcall_core::{Formats, Limits, Policies, Policy};
use goodcall_server::ConfigFile;

use crate::CliError;

/// Reads the whole input, up to one byte beyond the limit on arguments.
pub(crate) fn read_all(file: Option<&str>) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    // One byte more than the limit is enough to find that it is exceeded.
    let most = Limits::default().max_bytes as u64 + 1;
    open(file)?
        .take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("{}: {error}", name(file)))?;
    Ok(bytes)
}

/// Opens the input, for reading line by line.
pub(crate) fn open(file: Option<&str>) -> Result<BufReader<Box<dyn Read>>, CliError> {
    let input: Box<dyn Read> = match file {
        None | Some("-") => Box::new(stdin()),
        Some(path) => Box::new(File::open(path).map_err(|error| format!("{path}: {error}"))?),
    };
    Ok(BufReader::with_capacity(1 << 16, input))
}

/// The name of the input in messages.
pub(crate) fn name(file: Option<&str>) -> &str {
    match file {
        None | Some("-") => "standard input",
        Some(path) => path,
    }
}

/// Reads policies: a level with switches (`eager,-enum-typo`), or a file of them by its name.
pub(crate) fn policies(text: &str) -> Result<Policies, String> {
    let file =
        |text: &str| std::fs::read_to_string(text).map_err(|error| format!("{text}: {error}"));
    if text.ends_with(".toml") {
        toml::from_str(&file(text)?).map_err(|error| format!("{text}: {error}"))
    } else if text.ends_with(".json") {
        serde_json::from_str(&file(text)?).map_err(|error| format!("{text}: {error}"))
    } else {
        let policy = text.parse::<Policy>();
        policy.map(Policies::new).map_err(|error| error.to_string())
    }
}

/// Lays the flag `--formats` over policies.
pub(crate) fn with_formats(policies: Policies, formats: Option<Formats>) -> Policies {
    match formats {
        Some(formats) => policies.with_formats(formats),
        None => policies,
    }
}

/// The name of the configuration file.
pub(crate) const CONFIG_FILE: &str = "goodcall.toml";

/// Returns the path of the configuration file: the one that was named, or `goodcall.toml` in this
/// folder if there is one.
pub(crate) fn config_path(named: Option<&Path>) -> Option<&Path> {
    let here = Path::new(CONFIG_FILE);
    named.or_else(|| here.exists().then_some(here))
}

/// Reads the configuration file, if there is one.
pub(crate) fn config_file(named: Option<&Path>) -> Result<ConfigFile, CliError> {
    read_config(config_path(named))
}

/// Reads `goodcall.toml` in the user's own configuration folder, if there is one.
pub(crate) fn user_config() -> Result<ConfigFile, CliError> {
    let path = user_folder().map(|folder| folder.join(CONFIG_FILE));
    read_config(path.as_deref().filter(|path| path.exists()))
}

/// The folder of goodcall in the user's configuration folder.
pub(crate) fn user_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty());
    let folder = folder("XDG_CONFIG_HOME")
        .or_else(|| folder("APPDATA"))
        .map(PathBuf::from)
        .or_else(|| folder("HOME").map(|home| Path::new(&home).join(".config")));
    folder.map(|folder| folder.join("goodcall"))
}

fn read_config(path: Option<&Path>) -> Result<ConfigFile, CliError> {
    match path {
        Some(path) => ConfigFile::read(path).map_err(|error| error.to_string()),
        None => Ok(ConfigFile::default()),
    }
}
