//! `goodcall hook`: the hook of a coding agent, which runs before each call of a tool.

use goodcall_core::{Explain, Policies, StopReason, Style, Verdict};
use goodcall_wire::{RawCall, Tools};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{CliError, input, tools};

/// Check the calls of a coding agent, as the command of its hook.
///
/// The agent writes one JSON object to standard input for each call of a tool, and reads the answer.
/// A good call and a call of a tool that FILE does not define get no answer, so that the agent goes on
/// as before. A mended call is answered with its new input, a bad one with the text for the model.
#[derive(clap::Args)]
pub(crate) struct HookArgs {
    /// The coding agent
    agent: Agent,
    /// Tool definitions, in any provider's form; such as the result of `tools/list`
    #[arg(long, value_name = "FILE")]
    tools: String,
    /// The MCP server that the tools belong to, as the agent's configuration names it: its calls are
    /// those of mcp__NAME__tool (opencode: NAME_tool). Without it, tools have the names of FILE
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// What may be mended: strict (nothing), safe or eager, with rules switched on and off
    /// (eager,-enum-typo), or a .toml or .json file with a policy for each tool
    #[arg(long, default_value = "safe", value_parser = input::policies)]
    policy: Policies,
    /// How the text for the model reads: model, instruction, numbered, plain, structured, record
    #[arg(long, default_value = "model")]
    style: Style,
    /// What to do with a mended call: ask the user, or allow it without asking. Claude Code asks unless
    /// it is told otherwise; Codex cannot ask
    #[arg(long)]
    decision: Option<Decision>,
    /// The input; - or nothing for standard input
    file: Option<String>,
}

/// A coding agent with a hook before each call.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Agent {
    /// Claude Code: `PreToolUse`
    ClaudeCode,
    /// Codex: `PreToolUse`
    Codex,
    /// opencode: `tool.execute.before`, by a plugin
    Opencode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Decision {
    Ask,
    Allow,
}

/// The call in the input of any agent. Its other members do not matter.
#[derive(Deserialize)]
struct HookInput<'i> {
    #[serde(alias = "tool")]
    tool_name: String,
    #[serde(borrow, alias = "args")]
    tool_input: &'i RawValue,
}

/// The answer that Claude Code and Codex read.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PreToolUse {
    hook_event_name: &'static str,
    permission_decision: &'static str,
    permission_decision_reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_input: Option<Box<RawValue>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PreToolUseAnswer {
    hook_specific_output: PreToolUse,
}

/// The answer that a plugin of opencode reads.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum PluginAnswer {
    Args(Box<RawValue>),
    Error(String),
}

/// What to answer: new arguments and the rules that changed them, or the text for the model.
enum Answer {
    Mended(Box<RawValue>, String),
    Bad(String),
}

pub(crate) fn run(args: &HookArgs) -> Result<bool, CliError> {
    if matches!(args.agent, Agent::Codex) && args.decision == Some(Decision::Ask) {
        // It would take the answer for a failure of the hook, and run the call as it was sent.
        return Err("--decision ask: Codex cannot ask in a hook: expected allow".into());
    }
    let offered = tools::read(&args.tools)?;
    let bytes = input::read_all(args.file.as_deref())?;
    let name = input::name(args.file.as_deref());
    let input: HookInput<'_> = serde_json::from_slice(&bytes)
        .map_err(|error| format!("{name}: not the input of a hook: {error}"))?;
    if let Some(answer) = judge(&input, &offered, args) {
        anstream::println!("{}", written(answer, args));
    }
    // The exit code is not the verdict: agents take another one than 0 for a failure of the hook.
    Ok(true)
}

impl HookArgs {
    /// The word for a mended call in the answer.
    fn permission(&self) -> &'static str {
        match (self.decision, self.agent) {
            (Some(Decision::Allow), _) | (None, Agent::Codex) => "allow",
            _ => "ask",
        }
    }

    /// The name that the server itself gives to a tool; `None` for a tool of another server.
    fn own_name<'n>(&self, name: &'n str) -> Option<&'n str> {
        let Some(server) = &self.server else {
            return Some(name);
        };
        let (before, after) = match self.agent {
            Agent::ClaudeCode | Agent::Codex => ("mcp__", "__"),
            Agent::Opencode => ("", "_"),
        };
        let rest = name.strip_prefix(before)?.strip_prefix(server.as_str())?;
        rest.strip_prefix(after)
    }
}

/// Judges the call. Returns `None` for one that is to go on as it is.
fn judge(input: &HookInput<'_>, offered: &Tools, args: &HookArgs) -> Option<Answer> {
    // Hooks see calls of all tools, also of those that the file does not define.
    let tool = offered.get(args.own_name(&input.tool_name)?)?;
    let call = RawCall::new(offered, &tool.name, input.tool_input.get());
    let policy = if tool.is_destructive() {
        args.policy.for_destructive_tool(&tool.name)
    } else {
        args.policy.for_tool(&tool.name)
    };
    match call.check(offered, &policy, StopReason::Finished) {
        Verdict::Good(_) => None,
        Verdict::Mended(mended) => {
            let rules: Vec<_> = mended
                .changes
                .iter()
                .map(|change| change.rule.name())
                .collect();
            let json = RawValue::from_string(mended.arguments.to_json());
            let json = json.expect("a tree writes valid JSON");
            Some(Answer::Mended(json, rules.join(", ")))
        }
        Verdict::Bad(bad) => {
            let explain = Explain::new(args.style).tool(&input.tool_name);
            Some(Answer::Bad(explain.text(&bad)))
        }
    }
}

/// Writes the answer as the agent reads it.
fn written(answer: Answer, args: &HookArgs) -> String {
    let json = match args.agent {
        Agent::ClaudeCode | Agent::Codex => {
            let (permission_decision, permission_decision_reason, updated_input) = match answer {
                Answer::Mended(json, rules) => {
                    let reason = format!("goodcall mended it: {rules}");
                    (args.permission(), reason, Some(json))
                }
                Answer::Bad(text) => ("deny", text, None),
            };
            serde_json::to_string(&PreToolUseAnswer {
                hook_specific_output: PreToolUse {
                    hook_event_name: "PreToolUse",
                    permission_decision,
                    permission_decision_reason,
                    updated_input,
                },
            })
        }
        Agent::Opencode => serde_json::to_string(&match answer {
            Answer::Mended(json, _) => PluginAnswer::Args(json),
            Answer::Bad(text) => PluginAnswer::Error(text),
        }),
    };
    json.expect("answers have string keys and no failing value")
}
