//! `Tools`: definitions, verdicts on calls, and calls in text.

use goodcall_core::{Policy, StopReason, Verdict};
use goodcall_wire::{RawCall, Scanner, TextCallScope, ToolDefinition, Tools as Offered};
use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Task};
use napi_derive::napi;
use serde::Serialize;

use crate::error::{ErrorCode, Result, coded, contained};
use crate::options::{self, Judging};
use crate::outline::names_of;
use crate::registry::{Entry, Registered, Set};
use crate::verdict::{VerdictLine, answer, described, to_json};

/// The offered tools, compiled once.
#[napi]
pub struct Tools {
    pub(crate) judge: Judge,
    registered: Registered,
}

/// What judges calls of the offered tools, on any thread.
#[derive(Clone)]
pub(crate) struct Judge {
    pub(crate) offered: Offered,
    pub(crate) judging: Judging,
}

impl Judge {
    /// Which rules may mend calls of this tool.
    fn policy_of(&self, name: &str) -> Policy {
        let tool = self.offered.get(name);
        if tool.is_some_and(|tool| tool.is_destructive()) {
            self.judging.policies.for_destructive_tool(name)
        } else {
            self.judging.policies.for_tool(name)
        }
    }

    /// Judges a call by the policy of its tool.
    pub(crate) fn verdict<'c>(&self, call: &'c RawCall, stop: StopReason) -> Verdict<'c> {
        call.check(&self.offered, &self.policy_of(&call.name), stop)
    }

    /// Judges a call; the answer is described at [`answer`]. A call of a tool that goes by another name
    /// is answered like a bad one, with the verdict as JSON.
    fn check(&self, name: &str, raw: String, stop: StopReason) -> Option<String> {
        let call = RawCall::new(&self.offered, name, raw);
        let verdict = self.verdict(&call, stop);
        if call.name == name {
            answer(name, &call.arguments, &verdict, &self.judging)
        } else {
            Some(described(&call.name, &verdict, &self.judging))
        }
    }

    /// Finds the calls in a text and judges them.
    fn extract(&self, text: &str, scope: TextCallScope, stop: StopReason) -> String {
        let found = Scanner::new(self.offered.clone(), scope).whole(text);
        let calls = found.calls.iter();
        let calls: Vec<_> = calls.map(|call| (call, self.verdict(call, stop))).collect();
        let lines = calls
            .iter()
            .map(|(call, verdict)| CallLine::new(call, verdict, &self.judging));
        to_json(&ExtractLine {
            calls: lines.collect(),
            text: &found.text,
            reasoning: &found.reasoning,
        })
    }

    /// Compiles what the quick way to check needs.
    fn entries(&self) -> Result<Vec<Entry>> {
        let entry = |tool: &ToolDefinition| match tool.schema() {
            Ok(schema) => Ok(Entry {
                name: tool.name.clone(),
                schema: schema.clone(),
                policy: self.policy_of(&tool.name),
                names: names_of(&tool.parameters),
            }),
            Err(error) => Err(coded(ErrorCode::BadSchema)(error)),
        };
        self.offered.iter().map(entry).collect()
    }
}

#[napi]
impl Tools {
    /// Reads definitions and options from JSON text.
    #[napi(constructor)]
    pub fn new(definitions: String, options: String) -> Result<Self> {
        contained(|| {
            let judging = Judging::read(&options)?;
            let offered = Offered::read(&definitions).map_err(coded(ErrorCode::BadTools))?;
            let judge = Judge { offered, judging };
            let registered = Registered::new(Set {
                judging: judge.judging.clone(),
                entries: judge.entries()?,
            });
            Ok(Self { judge, registered })
        })?
    }

    /// The names in the order of the definitions.
    #[napi]
    pub fn names(&self) -> Vec<String> {
        self.judge.offered.names().map(str::to_owned).collect()
    }

    /// The names that have numbers in outlines, of each tool.
    #[napi]
    pub fn keys(&self) -> Vec<Vec<String>> {
        let names = |tool: &ToolDefinition| {
            let names = names_of(&tool.parameters).into_iter();
            names.map(String::from).collect()
        };
        self.judge.offered.iter().map(names).collect()
    }

    /// The number of these tools for `checkWritten`.
    #[napi]
    pub fn number(&self) -> u32 {
        self.registered.number()
    }

    /// Judges one call; the answer is described at [`Judge::check`].
    #[napi]
    pub fn check(&self, name: String, raw: String, stop: Option<String>) -> Result<Option<String>> {
        let stop = options::stop(stop.as_deref())?;
        contained(|| self.judge.check(&name, raw, stop))
    }

    /// The verdict on a call as JSON, with its changes.
    #[napi]
    pub fn describe(&self, name: String, raw: String, stop: Option<String>) -> Result<String> {
        let stop = options::stop(stop.as_deref())?;
        contained(|| {
            let call = RawCall::new(&self.judge.offered, &name, raw);
            let verdict = self.judge.verdict(&call, stop);
            to_json(&VerdictLine::new(&call.name, &verdict, &self.judge.judging))
        })
    }

    /// Judges one call on another thread.
    #[napi]
    pub fn check_async(
        &self,
        name: String,
        raw: String,
        stop: Option<String>,
    ) -> Result<AsyncTask<CheckTask>> {
        let stop = options::stop(stop.as_deref())?;
        let judge = self.judge.clone();
        Ok(AsyncTask::new(CheckTask {
            judge,
            name,
            raw,
            stop,
        }))
    }

    /// Finds the calls in a text and judges them.
    #[napi]
    pub fn extract(
        &self,
        text: String,
        scope: Option<String>,
        stop: Option<String>,
    ) -> Result<String> {
        let scope = options::scope(scope.as_deref())?;
        let stop = options::stop(stop.as_deref())?;
        contained(|| self.judge.extract(&text, scope, stop))
    }

    /// Finds the calls in a text and judges them on another thread.
    #[napi]
    pub fn extract_async(
        &self,
        text: String,
        scope: Option<String>,
        stop: Option<String>,
    ) -> Result<AsyncTask<ExtractTask>> {
        Ok(AsyncTask::new(ExtractTask {
            judge: self.judge.clone(),
            text,
            scope: options::scope(scope.as_deref())?,
            stop: options::stop(stop.as_deref())?,
        }))
    }
}

/// One call on another thread.
pub struct CheckTask {
    judge: Judge,
    name: String,
    raw: String,
    stop: StopReason,
}

impl Task for CheckTask {
    type Output = Option<String>;
    type JsValue = Option<String>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        let raw = std::mem::take(&mut self.raw);
        off_thread(|| self.judge.check(&self.name, raw, self.stop))
    }

    fn resolve(&mut self, _: Env, output: Self::Output) -> napi::Result<Self::JsValue> {
        Ok(output)
    }
}

/// One text on another thread.
pub struct ExtractTask {
    judge: Judge,
    text: String,
    scope: TextCallScope,
    stop: StopReason,
}

impl Task for ExtractTask {
    type Output = String;
    type JsValue = String;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        off_thread(|| self.judge.extract(&self.text, self.scope, self.stop))
    }

    fn resolve(&mut self, _: Env, output: Self::Output) -> napi::Result<Self::JsValue> {
        Ok(output)
    }
}

/// Runs the work of a task, whose errors carry no code of ours.
fn off_thread<T>(work: impl FnOnce() -> T) -> napi::Result<T> {
    contained(work).map_err(|error| napi::Error::from_reason(error.reason))
}

/// A call that was found in a text or a stream, with its verdict.
#[derive(Serialize)]
pub(crate) struct CallLine<'v> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'v str>,
    name: &'v str,
    /// The arguments as sent, or translated to JSON.
    raw: &'v str,
    span: [usize; 2],
    #[serde(flatten)]
    verdict: VerdictLine<'v>,
}

impl<'v> CallLine<'v> {
    pub(crate) fn new(call: &'v RawCall, verdict: &'v Verdict<'_>, judging: &Judging) -> Self {
        Self {
            id: call.id.as_deref(),
            name: &call.name,
            raw: &call.arguments,
            span: [call.span.start, call.span.end],
            verdict: VerdictLine::new(&call.name, verdict, judging),
        }
    }
}

#[derive(Serialize)]
struct ExtractLine<'v> {
    calls: Vec<CallLine<'v>>,
    text: &'v str,
    #[serde(skip_serializing_if = "str::is_empty")]
    reasoning: &'v str,
}
