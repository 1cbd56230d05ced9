//! `goodcall convert`.

use goodcall_wire::{Provider, convert};

use crate::{CliError, input};

/// Turn tool definitions and transcripts from one provider's form into another's.
///
/// FILE holds tool definitions, a list of messages, or a request with its tools and messages.
/// What the other form cannot say is named on standard error.
#[derive(clap::Args)]
pub(crate) struct ConvertArgs {
    /// The form of the input: openai, responses, anthropic, gemini, bedrock, ollama, mistral, mcp
    #[arg(long, value_name = "PROVIDER")]
    from: Provider,
    /// The form of the output
    #[arg(long, value_name = "PROVIDER")]
    to: Provider,
    /// The input; - or nothing for standard input
    file: Option<String>,
}

pub(crate) fn run(args: &ConvertArgs) -> Result<bool, CliError> {
    let bytes = input::read_all(args.file.as_deref())?;
    let name = input::name(args.file.as_deref());
    let text = std::str::from_utf8(&bytes).map_err(|error| format!("{name}: {error}"))?;
    let converted = convert(args.from, args.to, text);
    let converted = converted.map_err(|error| format!("{name}: {error}"))?;
    match converted.left_out.as_slice() {
        [] => {}
        [one] => anstream::eprintln!("{name}: not converted: {one}; set it yourself"),
        all => {
            let all = all.join(", ");
            anstream::eprintln!("{name}: not converted: {all}; set them yourself");
        }
    }
    anstream::println!("{}", converted.text);
    Ok(true)
}
