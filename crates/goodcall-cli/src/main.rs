//! The `goodcall` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words: Vec<_> = std::env::args_os().collect();
    // Other programs start this one by its path, from any folder.
    if let (Some(first), Ok(path)) = (words.first_mut(), std::env::current_exe()) {
        *first = path.into();
    }
    ExitCode::from(goodcall_cli::main(&words))
}
