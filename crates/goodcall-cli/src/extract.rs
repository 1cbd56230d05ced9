//! `goodcall extract`.

use std::borrow::Cow;

use goodcall_core::{Formats, Policy, SchemaCache, StopReason, Style, Verdict};
use goodcall_wire::{Scanner, TextCallScope, Tools, dialects, openings};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::jsonl_output::{CallLine, ExtractLine, write};
use crate::{CliError, input, jsonl, render, tools};

/// Find the calls that a model wrote into plain text, and show their verdicts.
///
/// With --jsonl, each line in is {"id"?, "text", "tools"?: [...], "policy"?, "where"?, "stop"?,
/// "prompt"?}, and each line out is {"id", "calls": [{"name", "arguments", "verdict", "changes",
/// "issues", "span"}], "text": "<the rest>", "reasoning": "<the thoughts>"}.
#[derive(clap::Args)]
pub(crate) struct ExtractArgs {
    /// Tool definitions, in any provider's form
    #[arg(long, value_name = "FILE")]
    tools: Option<String>,
    /// The form to look for: auto, or one by its name (--list names them)
    #[arg(long, default_value = "auto", value_parser = dialect)]
    dialect: String,
    /// List the dialects, each with how a call begins in it
    #[arg(long, conflicts_with_all = ["tools", "dialect", "place", "policy", "formats", "stop", "prompt", "style", "jsonl", "file"])]
    list: bool,
    /// Where calls without a marker count: explicit (fenced, or the whole message), anywhere
    #[arg(long = "where", default_value = "explicit")]
    place: TextCallScope,
    /// What may be mended: strict (nothing), safe, eager
    #[arg(long, default_value = "safe")]
    policy: Policy,
    /// What `format` means: annotate (a remark) or assert (the call is bad without it)
    #[arg(long)]
    formats: Option<Formats>,
    /// How the model's message ended: unknown, finished, cut_off
    #[arg(long, default_value = "unknown")]
    stop: StopReason,
    /// The end of the prompt, if the template opens a thought there (<think>)
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "TEXT"
    )]
    prompt: String,
    /// How the text for the model reads: model, instruction, numbered, plain, structured, record
    #[arg(long, default_value = "model")]
    style: Style,
    /// Read and write JSON lines
    #[arg(long)]
    jsonl: bool,
    /// The input; - or nothing for standard input
    file: Option<String>,
}

impl ExtractArgs {
    /// The policy, with the flag `--formats` laid over it.
    fn policy(&self) -> Policy {
        match self.formats {
            Some(formats) => self.policy.clone().with_formats(formats),
            None => self.policy.clone(),
        }
    }
}

fn dialect(name: &str) -> Result<String, String> {
    if name == "auto" || dialects().contains(&name) {
        return Ok(name.to_owned());
    }
    Err(format!(
        "unknown dialect `{name}`: expected auto, or one that `goodcall extract --list` names"
    ))
}

/// Prints all dialects with what opens a call in them, in the order of the table.
fn list() {
    let all = dialects();
    let width = all.iter().map(|name| name.len()).max().unwrap_or(0);
    for name in all {
        anstream::println!("{name:width$}  {}", openings(name).join("  "));
    }
}

pub(crate) fn run(args: &ExtractArgs) -> Result<bool, CliError> {
    if args.list {
        list();
        return Ok(true);
    }
    let tools = args.tools.as_deref().map(tools::read).transpose()?;
    if args.jsonl {
        let protocol = ExtractProtocol {
            args,
            tools,
            cache: SchemaCache::default(),
        };
        return jsonl::pump(args.file.as_deref(), |line, out| protocol.answer(line, out));
    }
    let Some(tools) = tools else {
        return Err("name the tool definitions with --tools FILE".to_owned());
    };
    let bytes = input::read_all(args.file.as_deref())?;
    let name = input::name(args.file.as_deref());
    let text = std::str::from_utf8(&bytes).map_err(|error| format!("{name}: {error}"))?;
    let found = Scanner::new(tools.clone(), args.place)
        .dialect(&args.dialect)
        .after_prompt(&args.prompt)
        .whole(text);
    let mut all_good = true;
    for call in &found.calls {
        let verdict = call.check(&tools, &args.policy(), args.stop);
        all_good &= !matches!(verdict, Verdict::Bad(_));
        render::verdict(&call.name, name, text, &verdict, args.style);
        if let Verdict::Good(arguments) = &verdict {
            anstream::println!("\narguments:\n  {arguments}");
        }
        anstream::println!();
    }
    if found.calls.is_empty() {
        anstream::println!("no call");
    }
    for (title, text) in [("the rest", &found.text), ("reasoning", &found.reasoning)] {
        if !text.trim().is_empty() {
            anstream::println!("{title}:\n{}", text.trim());
        }
    }
    Ok(all_good)
}

/// One input line of `extract --jsonl`.
#[derive(Deserialize)]
struct ExtractRequest<'l> {
    #[serde(borrow)]
    id: Option<&'l RawValue>,
    #[serde(borrow)]
    text: Cow<'l, str>,
    #[serde(borrow)]
    tools: Option<&'l RawValue>,
    #[serde(borrow)]
    policy: Option<Cow<'l, str>>,
    #[serde(borrow, rename = "where")]
    place: Option<Cow<'l, str>>,
    #[serde(borrow)]
    stop: Option<Cow<'l, str>>,
    #[serde(borrow)]
    prompt: Option<Cow<'l, str>>,
}

/// The machine protocol, with what all lines share.
struct ExtractProtocol<'a> {
    args: &'a ExtractArgs,
    tools: Option<Tools>,
    cache: SchemaCache,
}

impl ExtractProtocol<'_> {
    fn answer(&self, line: Result<&str, String>, out: &mut String) {
        let known = line.as_ref().ok().and_then(|text| jsonl::id_of(text));
        let line = line.and_then(|text| {
            serde_json::from_str::<ExtractRequest<'_>>(text)
                .map_err(|error| format!("not a request: {error}"))
        });
        let (id, answer) = match &line {
            Ok(line) => (line.id, self.judge(line)),
            Err(error) => (known, Err(error.clone())),
        };
        let answer = answer.unwrap_or_else(|error| ExtractLine {
            id,
            calls: Vec::new(),
            text: String::new(),
            reasoning: String::new(),
            error: Some(error),
        });
        write(&answer, out);
    }

    fn judge<'l>(&self, line: &ExtractRequest<'l>) -> Result<ExtractLine<'l>, String> {
        let policy = match line.policy.as_deref() {
            None => self.args.policy(),
            Some(name) => name.parse::<Policy>().map_err(|error| error.to_string())?,
        };
        let place = match line.place.as_deref() {
            None => self.args.place,
            Some(name) => name
                .parse::<TextCallScope>()
                .map_err(|error| error.to_string())?,
        };
        let stop = match line.stop.as_deref() {
            None => self.args.stop,
            Some(name) => name
                .parse::<StopReason>()
                .map_err(|error| error.to_string())?,
        };
        let tools = match (line.tools, &self.tools) {
            // An empty list is not an error here: nothing can be called.
            (Some(tools), _) if tools.get().trim() == "[]" => Tools::default(),
            (Some(tools), _) => {
                Tools::read_with(tools.get(), &self.cache).map_err(|error| error.to_string())?
            }
            (None, Some(tools)) => tools.clone(),
            (None, None) => return Err("no tools are given".to_owned()),
        };
        let prompt = line.prompt.as_deref().unwrap_or(&self.args.prompt);
        let scanner = Scanner::new(tools.clone(), place).dialect(&self.args.dialect);
        let found = scanner.after_prompt(prompt).whole(&line.text);
        let calls = found.calls.iter().map(|call| {
            let verdict = call.check(&tools, &policy, stop);
            CallLine::new(call, verdict.into_owned(), self.args.style)
        });
        Ok(ExtractLine {
            id: line.id,
            calls: calls.collect(),
            text: found.text.clone(),
            reasoning: found.reasoning.clone(),
            error: None,
        })
    }
}
