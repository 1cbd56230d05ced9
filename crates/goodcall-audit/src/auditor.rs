//! Judges turns as readers find them, and counts what comes of it.

use std::sync::Arc;

#[cfg(feature = "arrow")]
use arrow_array::RecordBatch;
use goodcall_core::{Limits, Tree, Verdict};

use crate::aggregate::{Aggregate, CallState, ExampleSettings};
#[cfg(feature = "arrow")]
use crate::columns::{self, ColumnNames};
use crate::input::MOST_RECORD_BYTES;
use crate::judge::{CallJudge, Judgement};
use crate::loops::{self, Conversations};
use crate::readers::{LogRecord, RecordReader, TurnSink, Unreadable};
use crate::recorded::{OfferedTools, RecordPlace, RecordedLoop, RecordedTurn};

/// Counts the calls of one recording, or of a part of one.
#[derive(Debug)]
pub struct Auditor {
    judge: Arc<CallJudge>,
    examples: ExampleSettings,
    aggregate: Aggregate,
    conversations: Conversations,
    /// Calls that were found, for the counts of their format.
    calls: u64,
    /// Parts of records that could not be read, until they are counted.
    unreadable_parts: Vec<(Unreadable, RecordPlace)>,
}

impl Auditor {
    /// Returns an auditor that has seen nothing.
    pub fn new(judge: Arc<CallJudge>, examples: ExampleSettings) -> Self {
        Self {
            judge,
            examples,
            aggregate: Aggregate::default(),
            conversations: Conversations::default(),
            calls: 0,
            unreadable_parts: Vec::new(),
        }
    }

    /// What was counted so far.
    pub fn counted(&self) -> &Aggregate {
        &self.aggregate
    }

    /// Returns what was counted.
    pub fn finish(self) -> Aggregate {
        self.aggregate
    }

    /// Counts a file of a format.
    pub(crate) fn file(&mut self, format: &str) {
        self.aggregate.source(format).files += 1;
    }

    /// Counts a record that cannot be read.
    pub(crate) fn unreadable(&mut self, format: &str, reason: &str, place: RecordPlace) {
        self.aggregate.source(format).records += 1;
        self.aggregate.unreadable(format, reason, place);
    }

    /// Reads one record, and counts it.
    pub(crate) fn record(
        &mut self,
        name: &str,
        reader: &mut dyn RecordReader,
        bytes: &[u8],
        place: RecordPlace,
    ) {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let Ok(text) = std::str::from_utf8(bytes) else {
            return self.unreadable(name, "not UTF-8", place);
        };
        let limits = Limits::default()
            .max_bytes(MOST_RECORD_BYTES)
            .max_depth(Limits::MOST_DEPTH);
        let tree = match Tree::parse_within(text, &limits) {
            Ok(tree) => tree,
            Err(error) => {
                let reason = match error.class() {
                    goodcall_core::ParseClass::CutOff => "JSON that is cut off",
                    goodcall_core::ParseClass::TooDeep => "JSON that is nested too deep",
                    goodcall_core::ParseClass::TooLarge => "JSON that is too large",
                    _ => "not JSON",
                };
                return self.unreadable(name, reason, place);
            }
        };
        let record = LogRecord::new(text, tree.root(), place.clone());
        match reader.read(&record, self) {
            Ok(calls) => {
                let source = self.aggregate.source(name);
                source.records += 1;
                source.with_calls += u64::from(calls > 0);
            }
            Err(reason) => self.unreadable(name, &reason.0, place),
        }
        self.count_unreadable_parts(name);
    }

    fn count_unreadable_parts(&mut self, name: &str) {
        for (reason, place) in std::mem::take(&mut self.unreadable_parts) {
            self.unreadable(name, &reason.0, place);
        }
    }

    /// Ends the reading of a file, or of a part of one.
    pub(crate) fn end(&mut self, format: &str, reader: &mut dyn RecordReader) {
        reader.finish(self);
        self.count_unreadable_parts(format);
        self.aggregate.source(format).calls += self.calls;
    }

    /// Judges the calls of a batch, one per row. `first` is the number of its first row, from 1 on.
    ///
    /// # Errors
    /// If there is no column of arguments, or one is not of strings.
    #[cfg(feature = "arrow")]
    pub fn batch(
        &mut self,
        batch: &RecordBatch,
        names: &ColumnNames,
        file: &Arc<str>,
        first: u64,
    ) -> Result<(), String> {
        columns::pass_on(batch, names, file, first, self)?;
        let rows = batch.num_rows() as u64;
        let source = self.aggregate.source(columns::COLUMNS);
        source.records += rows;
        source.with_calls += rows;
        source.calls += rows;
        Ok(())
    }

    /// The number of calls so far.
    pub(crate) fn calls(&self) -> u64 {
        self.calls
    }
}

impl TurnSink for Auditor {
    fn judge(&self) -> &CallJudge {
        &self.judge
    }

    fn unreadable_part(&mut self, reason: Unreadable, place: RecordPlace) {
        self.unreadable_parts.push((reason, place));
    }

    fn turn(&mut self, turn: &RecordedTurn<'_>) {
        if let OfferedTools::Unusable(why) = &turn.tools
            && !turn.calls.is_empty()
        {
            let places = self.aggregate.unusable_tools.entry(why.to_string());
            places.or_default().name(turn.place.clone());
        }
        let judge = &self.judge;
        let mut outcomes = Vec::new();
        let mut worst = CallState::Fine;
        for (index, call) in turn.calls.iter().enumerate() {
            let judgement = judge.judge(call, &turn.tools, turn.stop);
            let index = index + turn.place.call as usize;
            let state = self
                .aggregate
                .call(&self.examples, turn, call, index, &judgement);
            worst = worst.max(state);
            if turn.conversation.is_some() {
                let refusal = match &judgement {
                    Judgement::Judged(judged) => match &judged.verdict {
                        Verdict::Bad(bad) => Some(bad),
                        _ => None,
                    },
                    _ => None,
                };
                outcomes.push(loops::outcome(call, refusal));
            }
            self.calls += 1;
        }
        if !turn.calls.is_empty() {
            self.aggregate.turn(turn, worst);
        }
        let own = turn.conversation.as_deref().and_then(|conversation| {
            self.conversations
                .observe(conversation, turn.after_user, &outcomes)
        });
        let own = own.as_ref().map(RecordedLoop::from);
        if let Some(found) = own.as_ref().or(turn.recorded_loop.as_ref()) {
            self.aggregate.looped(found, &turn.place);
        }
    }
}
