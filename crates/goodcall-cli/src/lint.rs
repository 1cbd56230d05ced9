//! `goodcall lint`: what is wrong with tool definitions, before a model sees them.

use goodcall_core::clip;
use goodcall_wire::{LintRemark, LintSeverity, LintedTool, Tools, lint};
use serde_json::{Value, json};

use crate::{CliError, input};

/// Places that are listed of one remark.
const MAX_PLACES: usize = 3;

/// Find what is wrong with tool definitions: what confuses models, what providers refuse.
///
/// Each remark names whom it concerns: models, a provider, clients of MCP, or goodcall. The exit code
/// is 1 if there is an error: then requests with these tools are refused, or calls cannot be checked.
#[derive(clap::Args)]
pub(crate) struct LintArgs {
    #[command(flatten)]
    view: LintView,
    /// Tool definitions, in any provider's form; - or nothing for standard input
    file: Option<String>,
}

/// Which remarks are shown, and how.
#[derive(clap::Args)]
pub(crate) struct LintView {
    /// Print one JSON object per tool, with all places
    #[arg(long)]
    jsonl: bool,
    /// Leave out remarks below this severity: note, warning, error
    #[arg(long, value_name = "SEVERITY", default_value_t = LintSeverity::Note, hide_default_value = true)]
    min_severity: LintSeverity,
}

pub(crate) fn run(args: &LintArgs) -> Result<bool, CliError> {
    let file = args.file.as_deref();
    let bytes = input::read_all(file)?;
    let tools = Tools::read(&String::from_utf8_lossy(&bytes))
        .map_err(|error| format!("{}: {error}", input::name(file)))?;
    let tools: Vec<_> = tools.iter().map(LintedTool::from).collect();
    Ok(args.view.print(&tools, None))
}

impl LintView {
    /// Prints tools with the remarks on them, under the name of their server if there are several.
    /// Returns true if no remark is an error.
    pub(crate) fn print(&self, tools: &[LintedTool], server: Option<&str>) -> bool {
        let mut remarks = lint(tools);
        let is_clean = !remarks
            .iter()
            .any(|one| one.severity == LintSeverity::Error);
        if self.jsonl {
            remarks.retain(|remark| remark.severity >= self.min_severity);
            print_lines(tools, &remarks, server);
            return is_clean;
        }
        if let Some(server) = server {
            anstream::println!("== {server}");
        }
        anstream::println!("{}", summary(tools, &remarks));
        remarks.retain(|remark| remark.severity >= self.min_severity);
        for group in groups(&remarks) {
            print_group(&group);
        }
        anstream::println!();
        for tool in tools {
            anstream::println!("{}{}: {}", tool.name, parameters(tool), first_line(tool));
        }
        is_clean
    }
}

/// How many tools and remarks there are.
fn summary(tools: &[LintedTool], remarks: &[LintRemark]) -> String {
    let destructive = tools.iter().filter(|tool| tool.is_destructive()).count();
    let results = tools.iter().filter(|tool| tool.output.is_some()).count();
    let mut about = Vec::new();
    if destructive > 0 {
        about.push(format!("{destructive} destructive"));
    }
    if results > 0 {
        about.push(format!("{results} with an output schema"));
    }
    let about = if about.is_empty() {
        String::new()
    } else {
        format!(" ({})", about.join(", "))
    };
    let counts = LintSeverity::ALL.map(|severity| {
        let of_it = remarks.iter().filter(|remark| remark.severity == severity);
        count(of_it.count(), severity.name())
    });
    format!(
        "{}{about}: {}",
        count(tools.len(), "tool"),
        counts.join(", ")
    )
}

fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        more => format!("{more} {what}s"),
    }
}

/// Puts equal remarks together, the worst and the most frequent first.
fn groups(remarks: &[LintRemark]) -> Vec<Vec<&LintRemark>> {
    let mut groups = Vec::<Vec<&LintRemark>>::new();
    for remark in remarks {
        let same = |group: &&mut Vec<&LintRemark>| {
            (group[0].kind, &group[0].what) == (remark.kind, &remark.what)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(remark),
            None => groups.push(vec![remark]),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse((group[0].severity, group.len())));
    groups
}

fn print_group(group: &[&LintRemark]) {
    let LintRemark {
        severity,
        what,
        who,
        claim,
        ..
    } = group[0];
    let claim = claim.map_or(String::new(), |claim| {
        format!(": `{}`, as of {}", claim.field, claim.as_of)
    });
    let times = match group.len() {
        1 => String::new(),
        more => format!(", {more} times"),
    };
    anstream::println!("\n{severity}: {what} ({who}{claim}){times}");
    for remark in group.iter().take(MAX_PLACES) {
        let place = format!("{} {}", remark.tool, remark.at);
        if !place.trim().is_empty() {
            anstream::println!("  {}", place.trim());
        }
    }
    if let Some(more) = group.len().checked_sub(MAX_PLACES).filter(|more| *more > 0) {
        anstream::println!("  and {more} more");
    }
}

fn print_lines(tools: &[LintedTool], remarks: &[LintRemark], server: Option<&str>) {
    let print = |mut line: Value| {
        if let Some(server) = server {
            line["server"] = server.into();
        }
        anstream::println!("{line}");
    };
    let of = |name: &str| -> Vec<Value> {
        let own = remarks.iter().filter(|remark| remark.tool == name);
        own.map(as_json).collect()
    };
    let list = of("");
    if !list.is_empty() {
        print(json!({"tool": null, "remarks": list}));
    }
    for tool in tools {
        print(json!({
            "tool": tool.name,
            "destructive": tool.is_destructive(),
            "remarks": of(&tool.name),
        }));
    }
}

fn as_json(remark: &LintRemark) -> Value {
    let mut line = json!({
        "at": remark.at,
        "kind": remark.kind,
        "severity": remark.severity.name(),
        "who": remark.who.name(),
        "what": remark.what,
    });
    if let Some(claim) = remark.claim {
        line["field"] = claim.field.into();
        line["as_of"] = claim.as_of.into();
    }
    line
}

/// Renders the parameters; optional ones have a question mark.
fn parameters(tool: &LintedTool) -> String {
    let required = |name: &str| {
        let all = tool.input["required"].as_array();
        all.is_some_and(|all| all.iter().any(|one| one == name))
    };
    let all = tool.input["properties"].as_object().into_iter().flatten();
    let all = all.map(|(name, _)| {
        if required(name) {
            name.clone()
        } else {
            format!("{name}?")
        }
    });
    let mark = if tool.is_destructive() {
        " [destructive]"
    } else {
        ""
    };
    format!("({}){mark}", all.collect::<Vec<_>>().join(", "))
}

/// The first line of the description that is not blank.
fn first_line(tool: &LintedTool) -> String {
    let text = tool.description.as_deref().unwrap_or_default();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    clip(line.unwrap_or("-"), 100)
}
