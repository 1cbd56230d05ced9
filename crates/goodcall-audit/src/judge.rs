//! Judges recorded calls: by the tools that were offered, and by three policies.

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};

use goodcall_core::{
    Gate, Limits, Policies, Policy, ReadOptions, Reason, Schema, SchemaCache, StopReason, Verdict,
    read,
};
use goodcall_wire::recorded::offered_tools;
use goodcall_wire::{RawCall, ToolDefinition, Tools};
use hashbrown::HashMap;

use crate::batch_requests::BatchRequests;
use crate::recorded::{KnownTools, OfferedTools, RecordedCall, SentArguments, VerdictKind};

/// Lists of tools that are kept; when there are more, all are dropped.
const MOST_LISTS: usize = 1024;
/// The longest list that is kept, in bytes.
const MOST_LIST_BYTES: usize = 1 << 20;

/// Judges recorded calls. Schemas are compiled once per content, and shared between threads.
#[derive(Debug)]
pub struct CallJudge {
    policies: Policies,
    /// The same for `safe` and `eager`, to compare with.
    safe: Policies,
    eager: Policies,
    is_safe: bool,
    /// Definitions for recordings that have none.
    tools: Tools,
    schemas: SchemaCache,
    lists: RwLock<HashMap<Box<str>, OfferedTools>>,
    batches: BatchRequests,
}

/// What is said about a call.
#[derive(Debug)]
pub enum Judgement<'c> {
    /// The tools were known.
    Judged(Judged<'c>),
    /// The schema was not known. The reason says what is wrong with the arguments all the same.
    WithoutTools(Option<Reason>),
    /// A verdict that was recorded then.
    Recorded(VerdictKind),
    /// The arguments were not recorded.
    NotRecorded,
}

/// A verdict, and those of the other policies.
#[derive(Debug)]
pub struct Judged<'c> {
    /// The verdict by the policies of the audit.
    pub verdict: Verdict<'c>,
    /// The verdict that `safe` gives.
    pub safe: VerdictKind,
    /// The verdict that `eager` gives.
    pub eager: VerdictKind,
    /// The tool's definition, if the tool is known.
    pub tool: Option<&'c ToolDefinition>,
}

impl Judged<'_> {
    /// Returns true if the call is valid as sent.
    pub fn is_good(&self) -> bool {
        matches!(self.verdict, Verdict::Good(_))
    }
}

impl CallJudge {
    /// Returns a judge with these policies, and with these definitions for recordings that have
    /// none.
    pub fn new(policies: Policies, tools: Tools) -> Self {
        let safe = Policies::new(Policy::safe());
        Self {
            is_safe: policies == safe,
            policies,
            safe,
            eager: Policies::new(Policy::eager()),
            tools,
            schemas: SchemaCache::default(),
            lists: RwLock::default(),
            batches: BatchRequests::default(),
        }
    }

    /// The policies of the audit.
    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    /// The requests of batches, which their answers are joined with.
    pub(crate) fn batches(&self) -> &BatchRequests {
        &self.batches
    }

    /// Reads a recorded list of tools; lists that were seen before are not read again.
    pub fn offered(&self, list: &str) -> OfferedTools {
        let lists = self.lists.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lists.get(list) {
            return known.clone();
        }
        drop(lists);
        let offered = match offered_tools(list, &self.schemas) {
            Ok(tools) if tools.iter().next().is_none() => {
                OfferedTools::NotRecorded(KnownTools::Some)
            }
            Ok(tools) => OfferedTools::Recorded(tools),
            Err(error) => OfferedTools::Unusable(error.to_string().into()),
        };
        if list.len() <= MOST_LIST_BYTES {
            let mut lists = self.lists.write().unwrap_or_else(PoisonError::into_inner);
            if lists.len() >= MOST_LISTS {
                lists.clear();
            }
            lists.insert(list.into(), offered.clone());
        }
        offered
    }

    /// Compiles a recorded schema.
    pub fn schema(&self, text: &str) -> OfferedTools {
        match self.schemas.get_text(text) {
            Ok(schema) => OfferedTools::Schema(schema),
            Err(error) => OfferedTools::Unusable(error.to_string().into()),
        }
    }

    /// The tools that a reply is read with.
    pub fn known<'t>(&'t self, offered: &'t OfferedTools) -> &'t Tools {
        match offered {
            OfferedTools::Recorded(tools) => tools,
            _ => &self.tools,
        }
    }

    /// Judges a call of a turn that ended like this.
    pub fn judge<'c>(
        &'c self,
        call: &'c RecordedCall<'_>,
        offered: &'c OfferedTools,
        stop: StopReason,
    ) -> Judgement<'c> {
        let text = match &call.arguments {
            SentArguments::Text(text) | SentArguments::Value(text) => text.as_ref(),
            SentArguments::Free(_) => return Judgement::WithoutTools(None),
            SentArguments::NotRecorded => {
                let recorded = call.verdict.as_ref().map(|verdict| verdict.kind);
                return recorded.map_or(Judgement::NotRecorded, Judgement::Recorded);
            }
        };
        let (tools, known) = match offered {
            OfferedTools::Recorded(tools) => (tools, KnownTools::All),
            OfferedTools::Schema(schema) => return self.by_schema(schema, call, text, stop),
            OfferedTools::Unusable(_) => return without_tools(text, stop),
            OfferedTools::NotRecorded(known) => (&self.tools, *known),
        };
        if let Some(tool) = tool_named(tools, &call.tool) {
            if call
                .found
                .as_ref()
                .is_none_or(|found| found.changes.is_empty())
            {
                return match tool.schema() {
                    Ok(schema) => self.by_tool(tool, schema, text, stop),
                    Err(_) => without_tools(text, stop),
                };
            }
        } else if tools.names().next().is_none()
            || known == KnownTools::Some && tools.meant(&call.tool).is_none()
        {
            let recorded = call.verdict.as_ref().map(|verdict| verdict.kind);
            return recorded.map_or_else(|| without_tools(text, stop), Judgement::Recorded);
        }
        let found = match &call.found {
            Some(found) => Cow::Borrowed(found.as_ref()),
            None => Cow::Owned(RawCall::new(tools, &call.tool, text)),
        };
        let tool = tools.get(&found.name);
        if tool.is_some_and(|tool| tool.schema().is_err()) {
            return without_tools(text, stop);
        }
        let check = |policies: &Policies, _: Limits| {
            let policy = policy_of(policies, tool, &found.name);
            found.check(tools, &policy, stop).into_owned()
        };
        Judgement::Judged(self.judged(tool, check))
    }

    /// Judges by a schema that stands alone.
    fn by_schema<'c>(
        &self,
        schema: &Schema,
        call: &'c RecordedCall<'_>,
        text: &'c str,
        stop: StopReason,
    ) -> Judgement<'c> {
        let name = call.tool.as_ref();
        let check = |policies: &Policies, limits: Limits| {
            let gate = Gate::new(schema).policy(policies.for_tool(name));
            let gate = gate.limits(limits).stop(stop);
            let gate = if name.is_empty() {
                gate
            } else {
                gate.tool(name)
            };
            gate.check(text)
        };
        Judgement::Judged(self.judged(None, check))
    }

    /// Judges by the definition of a tool that has exactly the name that was sent. Nearly every call
    /// goes this way.
    fn by_tool<'c>(
        &self,
        tool: &'c ToolDefinition,
        schema: &'c Schema,
        text: &'c str,
        stop: StopReason,
    ) -> Judgement<'c> {
        let check = |policies: &Policies, limits: Limits| {
            let policy = policy_of(policies, Some(tool), &tool.name);
            let gate = Gate::new(schema).policy(policy).limits(limits);
            gate.stop(stop).tool(&tool.name).check(text)
        };
        Judgement::Judged(self.judged(Some(tool), check))
    }

    /// Asks for the verdicts of the other policies only where they can differ.
    fn judged<'c>(
        &self,
        tool: Option<&'c ToolDefinition>,
        check: impl Fn(&Policies, Limits) -> Verdict<'c>,
    ) -> Judged<'c> {
        let verdict = check(&self.policies, Limits::default());
        // Of the other verdicts only the kind counts.
        let kind_by = |policies| {
            let verdict = check(policies, Limits::default().max_issues(0));
            VerdictKind::from(&verdict)
        };
        let kind = VerdictKind::from(&verdict);
        let (mut safe, mut eager) = (kind, kind);
        if kind != VerdictKind::Good {
            if !self.is_safe {
                safe = kind_by(&self.safe);
            }
            eager = match safe {
                VerdictKind::Bad => kind_by(&self.eager),
                other => other,
            };
        }
        Judged {
            verdict,
            safe,
            eager,
            tool,
        }
    }
}

/// The policy of a tool, which may be destructive.
fn policy_of(policies: &Policies, tool: Option<&ToolDefinition>, name: &str) -> Policy {
    if tool.is_some_and(ToolDefinition::is_destructive) {
        policies.for_destructive_tool(name)
    } else {
        policies.for_tool(name)
    }
}

/// Finds a tool by the name that was sent. Clients put `mcp__SERVER__` before the name that a server
/// itself gives to a tool.
fn tool_named<'t>(tools: &'t Tools, sent: &str) -> Option<&'t ToolDefinition> {
    tools.get(sent).or_else(|| tools.get(split_server(sent)?.1))
}

/// Splits the name that clients give to a tool of an MCP server: `mcp__SERVER__TOOL`.
pub(crate) fn split_server(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("mcp__")?.split_once("__")
}

/// Says what can be said without a schema: whether the arguments are one whole JSON object.
fn without_tools<'c>(text: &str, stop: StopReason) -> Judgement<'c> {
    let options = ReadOptions::new().policy(Policy::strict()).stop(stop);
    let reason = match read(text, &options) {
        Ok(reading) => match reading.tree.root().kind() {
            goodcall_core::Kind::Object => None,
            goodcall_core::Kind::Null => Some(Reason::Empty),
            _ => Some(Reason::NotAnObject),
        },
        Err(refusal) => Some(refusal.reason),
    };
    Judgement::WithoutTools(reason)
}
