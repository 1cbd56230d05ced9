//! `Stream`: calls that arrive in fragments.

use goodcall_core::Explain;
use goodcall_wire::{Assembler, CallUpdate, Provider};
use napi_derive::napi;
use serde::Serialize;

use crate::error::{ErrorCode, Result, coded, contained};
use crate::options::{self, Judging};
use crate::tools::{CallLine, Judge, Tools};
use crate::verdict::to_json;

/// Assembles the calls of one streamed message.
#[napi]
pub struct Stream {
    judge: Judge,
    assembler: Assembler,
}

/// One update as JavaScript reads it.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum UpdateLine<'u> {
    Text { text: &'u str },
    Reasoning { text: &'u str },
    TextWasReasoning,
    Started { id: &'u str, name: &'u str },
    Hopeless(HopelessLine<'u>),
    Call(CallLine<'u>),
}

#[derive(Serialize)]
struct HopelessLine<'u> {
    id: &'u str,
    reason: &'static str,
    issues: &'u [goodcall_core::Issue],
    text: String,
}

#[napi]
impl Stream {
    /// Begins a message in the form of this provider. `text_calls` says where calls in text count.
    #[napi(constructor)]
    pub fn new(tools: &Tools, provider: String, text_calls: Option<String>) -> Result<Self> {
        let provider: Provider = provider.parse().map_err(coded(ErrorCode::BadOption))?;
        let judge = tools.judge.clone();
        let policy = judge.judging.policies.default_policy().clone();
        let mut assembler = Assembler::new(provider, judge.offered.clone()).policy(policy);
        if text_calls.is_some() {
            assembler = assembler.text_calls(options::scope(text_calls.as_deref())?);
        }
        Ok(Self { judge, assembler })
    }

    /// Takes one event, and returns the updates as JSON.
    #[napi]
    pub fn push(&mut self, event: String) -> Result<Option<String>> {
        contained(|| {
            let updates = self.assembler.push(&event);
            let updates = updates.map_err(coded(ErrorCode::BadEvent))?;
            Ok(self.lines(&updates))
        })?
    }

    /// Takes text of the message that is not in an event.
    #[napi]
    pub fn push_text(&mut self, text: String) -> Result<Option<String>> {
        contained(|| {
            let updates = self.assembler.push_text(&text);
            self.lines(&updates)
        })
    }

    /// Ends the message.
    #[napi]
    pub fn finish(&mut self) -> Result<Option<String>> {
        contained(|| {
            let updates = self.assembler.finish();
            self.lines(&updates)
        })
    }

    /// How the message ended: `unknown`, `finished` or `cut_off`.
    #[napi]
    pub fn stop(&self) -> &'static str {
        self.assembler.stop().name()
    }
}

impl Stream {
    fn lines(&self, updates: &[CallUpdate]) -> Option<String> {
        if updates.is_empty() {
            return None;
        }
        let judging = &self.judge.judging;
        let verdicts: Vec<_> = updates.iter().map(|update| self.verdict(update)).collect();
        let lines = updates.iter().zip(&verdicts);
        let lines = lines.filter_map(|(update, verdict)| line(update, verdict.as_ref(), judging));
        Some(to_json(&lines.collect::<Vec<_>>()))
    }

    fn verdict<'u>(&self, update: &'u CallUpdate) -> Option<goodcall_core::Verdict<'u>> {
        let CallUpdate::Call(call) = update else {
            return None;
        };
        Some(self.judge.verdict(call, self.assembler.stop()))
    }
}

fn line<'u>(
    update: &'u CallUpdate,
    verdict: Option<&'u goodcall_core::Verdict<'_>>,
    judging: &Judging,
) -> Option<UpdateLine<'u>> {
    Some(match update {
        CallUpdate::Text(text) => UpdateLine::Text { text },
        CallUpdate::Reasoning(text) => UpdateLine::Reasoning { text },
        CallUpdate::TextWasReasoning => UpdateLine::TextWasReasoning,
        CallUpdate::Started { id, name } => UpdateLine::Started { id, name },
        CallUpdate::Hopeless { id, bad } => UpdateLine::Hopeless(HopelessLine {
            id,
            reason: bad.reason.name(),
            issues: &bad.issues,
            text: Explain::new(judging.style).text(bad),
        }),
        CallUpdate::Call(call) => UpdateLine::Call(CallLine::new(call, verdict?, judging)),
        _ => return None,
    })
}
