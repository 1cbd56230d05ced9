//! `Tools`: definitions, verdicts on calls, and calls in text.

use goodcall_wire::{RawCall, Scanner, Tools as Offered};
use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Task};
use napi_derive::napi;
use serde::Serialize;

use crate::error::{ErrorCode, Result, coded};
use crate::options::{self, Judging};
use crate::verdict::{self, VerdictLine, answer, to_json};

/// The offered tools, compiled once.
#[napi]
#[derive(Clone)]
pub struct Tools {
    pub(crate) offered: Offered,
    pub(crate) judging: Judging,
}

#[napi]
impl Tools {
    /// Reads definitions and options from JSON text.
    #[napi(constructor)]
    pub fn new(definitions: String, options: String) -> Result<Self> {
        let judging = Judging::read(&options)?;
        let offered = Offered::read(&definitions).map_err(coded(ErrorCode::BadTools))?;
        for tool in offered.iter() {
            if let Err(error) = tool.schema() {
                return Err(coded(ErrorCode::BadSchema)(error));
            }
        }
        Ok(Self { offered, judging })
    }

    /// The names in the order of the definitions.
    #[napi]
    pub fn names(&self) -> Vec<String> {
        self.offered.names().map(str::to_owned).collect()
    }

    /// Judges one call; the answer is described at [`answer`].
    #[napi]
    pub fn check(&self, name: String, raw: String, stop: Option<String>) -> Result<Option<String>> {
        let stop = options::stop(stop.as_deref())?;
        let call = RawCall::new(&self.offered, &name, raw);
        let verdict = verdict::judge(&call, &self.offered, &self.judging, stop);
        Ok(answer(&name, &call, &verdict, &self.judging))
    }

    /// Judges one call on another thread.
    #[napi]
    pub fn check_async(
        &self,
        name: String,
        raw: String,
        stop: Option<String>,
    ) -> AsyncTask<CheckTask> {
        let tools = self.clone();
        AsyncTask::new(CheckTask {
            tools,
            name,
            raw,
            stop,
        })
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
        let found = Scanner::new(self.offered.clone(), scope).whole(&text);
        let calls: Vec<_> = found
            .calls
            .iter()
            .map(|call| {
                (
                    call,
                    verdict::judge(call, &self.offered, &self.judging, stop),
                )
            })
            .collect();
        let calls = calls
            .iter()
            .map(|(call, verdict)| CallLine::new(call, verdict, &self.judging));
        Ok(to_json(&ExtractLine {
            calls: calls.collect(),
            text: &found.text,
            reasoning: &found.reasoning,
        }))
    }
}

/// One call on another thread.
pub struct CheckTask {
    tools: Tools,
    name: String,
    raw: String,
    stop: Option<String>,
}

impl Task for CheckTask {
    type Output = Option<String>;
    type JsValue = Option<String>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        let take = std::mem::take::<String>;
        let (name, raw) = (take(&mut self.name), take(&mut self.raw));
        let answer = self.tools.check(name, raw, self.stop.take());
        // Errors of a task carry no code of ours; the option was checked before the task began.
        answer.map_err(|error| napi::Error::from_reason(error.reason))
    }

    fn resolve(&mut self, _: Env, output: Self::Output) -> napi::Result<Self::JsValue> {
        Ok(output)
    }
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
    pub(crate) fn new(
        call: &'v RawCall,
        verdict: &'v goodcall_core::Verdict<'_>,
        judging: &Judging,
    ) -> Self {
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
