//! `goodcall check`.

use std::borrow::Cow;
use std::cell::Cell;

use goodcall_core::{Gate, Policies, Policy, SchemaCache, StopReason, Verdict};
use goodcall_wire::{ToolDefinition, Tools};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::jsonl_output::{CheckLine, write};
use crate::{CheckArgs, CliError, input, jsonl, render, tools};

pub(crate) fn run(args: &CheckArgs) -> Result<bool, CliError> {
    let tools = match &args.tools {
        Some(path) => tools::read(path)?,
        None => Tools::default(),
    };
    let policies = input::with_formats(args.policy.clone(), args.formats);
    if args.jsonl {
        let protocol = CheckProtocol {
            args,
            policies,
            tools,
            cache: SchemaCache::default(),
            any_bad: Cell::new(false),
        };
        let done = jsonl::pump(args.file.as_deref(), |line, out| protocol.answer(line, out))?;
        return Ok(done && !(args.fail && protocol.any_bad.get()));
    }
    if args.tools.is_none() {
        return Err("name the tool definitions with --tools FILE".to_owned());
    }
    let names = || tools.names().collect::<Vec<_>>().join(", ");
    let name = match (&args.tool, tools.only()) {
        (Some(name), _) => name.as_str(),
        (None, Some(only)) => only.name.as_str(),
        (None, None) => {
            return Err(format!(
                "name the tool that was called with --tool: {}",
                names()
            ));
        }
    };
    let bytes = input::read_all(args.file.as_deref())?;
    let mut strict_because_destructive = false;
    let verdict = match tools.get(name) {
        None => {
            let text = std::str::from_utf8(&bytes).unwrap_or_default();
            Verdict::Bad(tools.unknown_call(name, text))
        }
        Some(tool) => {
            let schema = tool.schema().map_err(|error| match &args.tools {
                Some(path) => format!("{path}: {error}"),
                None => error.to_string(),
            })?;
            for warning in schema.warnings() {
                anstream::eprintln!("goodcall: schema of `{name}`: {warning}");
            }
            let ordinary = policies.for_tool(name);
            let policy = if tool.is_destructive() {
                policies.for_destructive_tool(name)
            } else {
                ordinary.clone()
            };
            strict_because_destructive = policy.is_strict() && !ordinary.is_strict();
            let gate = Gate::new(schema).policy(policy).stop(args.stop).tool(name);
            gate.check_bytes(&bytes)
        }
    };
    let file = input::name(args.file.as_deref());
    render::verdict(
        name,
        file,
        &String::from_utf8_lossy(&bytes),
        &verdict,
        args.style,
    );
    if strict_because_destructive && matches!(verdict, Verdict::Bad(_)) {
        render::destructive(name);
    }
    Ok(!matches!(verdict, Verdict::Bad(_)))
}

/// One input line of `check --jsonl`.
#[derive(Deserialize)]
struct CheckRequest<'l> {
    #[serde(borrow)]
    id: Option<&'l RawValue>,
    #[serde(borrow)]
    schema: Option<&'l RawValue>,
    #[serde(borrow)]
    tool: Option<Cow<'l, str>>,
    #[serde(borrow)]
    raw: &'l RawValue,
    #[serde(borrow)]
    policy: Option<Cow<'l, str>>,
    #[serde(borrow)]
    stop: Option<Cow<'l, str>>,
}

/// The machine protocol, with what all lines share.
struct CheckProtocol<'a> {
    args: &'a CheckArgs,
    policies: Policies,
    tools: Tools,
    cache: SchemaCache,
    any_bad: Cell<bool>,
}

impl CheckProtocol<'_> {
    fn answer(&self, line: Result<&str, String>, out: &mut String) {
        let unusable = |id, error: String| CheckLine::unusable(id, "bad_line", error);
        let text = match line {
            Ok(text) => text,
            Err(error) => return self.write(&unusable(None, error), out),
        };
        match serde_json::from_str::<CheckRequest<'_>>(text) {
            Err(error) => {
                let error = format!("not a request: {error}");
                self.write(&unusable(jsonl::id_of(text), error), out);
            }
            Ok(line) => self.write(&self.judge(&line), out),
        }
    }

    fn write(&self, line: &CheckLine<'_>, out: &mut String) {
        self.any_bad.set(self.any_bad.get() || line.is_bad());
        write(line, out);
    }

    /// Returns the tool that a line without a schema is about.
    fn tool_of<'l>(&'l self, line: &'l CheckRequest<'_>) -> Option<&'l str> {
        let named = line.tool.as_deref().or(self.args.tool.as_deref());
        named.or_else(|| self.tools.only().map(|tool| tool.name.as_str()))
    }

    fn judge<'l>(&'l self, line: &'l CheckRequest<'_>) -> CheckLine<'l> {
        let unusable = |reason, error| CheckLine::unusable(line.id, reason, error);
        let own = match line.policy.as_deref().map(str::parse::<Policy>).transpose() {
            Ok(own) => own,
            Err(error) => return unusable("bad_line", error.to_string()),
        };
        let stop = match line.stop.as_deref().map(str::parse::<StopReason>) {
            None => self.args.stop,
            Some(Ok(stop)) => stop,
            Some(Err(error)) => return unusable("bad_line", error.to_string()),
        };
        // Arguments come as text. An object in its place stands for its own text.
        let raw = match serde_json::from_str::<Cow<'_, str>>(line.raw.get()) {
            Ok(text) => text,
            Err(_) => Cow::Borrowed(line.raw.get()),
        };
        let tool = match line.schema {
            Some(_) => line.tool.as_deref(),
            None => self.tool_of(line),
        };
        let offered = tool.and_then(|name| self.tools.get(name));
        let schema = match (line.schema, tool) {
            (Some(schema), _) => self.cache.get_text(schema.get()),
            (None, None) => {
                return unusable("bad_line", "neither schema nor tool is given".to_owned());
            }
            (None, Some(name)) => match offered {
                Some(offered) => offered.schema().cloned().map_err(Clone::clone),
                None => {
                    let verdict = Verdict::Bad(self.tools.unknown_call(name, &raw));
                    return CheckLine::new(line.id, tool, verdict, self.args.style);
                }
            },
        };
        match schema {
            Err(error) => unusable("bad_schema", error.to_string()),
            Ok(schema) => {
                let destructive = offered.is_some_and(ToolDefinition::is_destructive);
                let policies = &self.policies;
                let policy = own.unwrap_or_else(|| {
                    let name = tool.unwrap_or_default();
                    if destructive {
                        policies.for_destructive_tool(name)
                    } else {
                        policies.for_tool(name)
                    }
                });
                let gate = Gate::new(&schema).policy(policy).stop(stop);
                let gate = tool.map_or(gate.clone(), |name| gate.tool(name));
                CheckLine::new(
                    line.id,
                    tool,
                    gate.check(&raw).into_owned(),
                    self.args.style,
                )
            }
        }
    }
}
