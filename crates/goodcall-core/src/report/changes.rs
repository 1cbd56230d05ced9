//! A list of changes that is written out when somebody looks at it.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::OnceLock;

use super::Change;
use super::change_log::{ChangeLog, RecordedChange};
use crate::rule::{Level, RuleId};

/// The changes that reading and mending a call took, in order. It dereferences to a slice of
/// [`Change`]s.
#[derive(Clone, Default)]
pub struct Changes {
    /// `None` if the list was written from the start.
    recorded: Option<Box<Recorded>>,
    written: OnceLock<Vec<Change>>,
}

/// Changes that are not written out yet, and the raw text that they are about.
#[derive(Clone)]
struct Recorded {
    log: ChangeLog,
    raw: Box<str>,
}

/// The bytes of text that are copied faster than one change is written out.
const COPIED_PER_CHANGE: usize = 1 << 12;

impl Changes {
    /// Takes what was recorded about `raw`. A long text with few changes is not worth a copy: its
    /// changes are written out at once.
    pub(crate) fn recorded(log: ChangeLog, raw: &str) -> Self {
        let count = log.changes().len();
        if count == 0 {
            return Self::default();
        }
        if count.saturating_mul(COPIED_PER_CHANGE) < raw.len() {
            return Self::from(log.write_all(raw));
        }
        let raw = raw.into();
        Self {
            recorded: Some(Box::new(Recorded { log, raw })),
            written: OnceLock::new(),
        }
    }

    /// The changes as recorded, unless they were written from the start.
    fn log(&self) -> &[RecordedChange] {
        let recorded = self.recorded.as_deref();
        recorded.map_or(&[], |recorded| recorded.log.changes())
    }

    /// Writes out what was recorded.
    fn write(&self) -> Vec<Change> {
        let recorded = self.recorded.as_deref();
        recorded.map_or_else(Vec::new, |recorded| recorded.log.write_all(&recorded.raw))
    }

    /// The number of changes. Asking for it does not write them out.
    pub fn len(&self) -> usize {
        match self.written.get() {
            Some(list) => list.len(),
            None => self.log().len(),
        }
    }

    /// Returns true if the text was read without any change.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the changes as a plain list.
    pub fn into_vec(mut self) -> Vec<Change> {
        match self.written.take() {
            Some(list) => list,
            None => self.write(),
        }
    }

    /// Writes the changes out and returns the list, to be edited.
    pub fn to_mut(&mut self) -> &mut Vec<Change> {
        *self = Self::from(std::mem::take(self).into_vec());
        self.written.get_mut().expect("the list was just written")
    }

    /// The first change whose rule and level pass a test, which is asked once for each of them.
    pub(crate) fn find(&self, test: impl Fn(RuleId, Level) -> bool) -> Option<Change> {
        let mut failed = [0_u8; RuleId::ALL.len()];
        let mut passes = |rule: RuleId, level: Level| {
            let (known, bit) = (&mut failed[rule as usize], 1 << level as u8);
            let passes = *known & bit == 0 && test(rule, level);
            *known |= bit;
            passes
        };
        if let Some(list) = self.written.get() {
            return list.iter().find(|c| passes(c.rule, c.level)).cloned();
        }
        let index = self.log().iter().position(|c| passes(c.rule, c.level))?;
        let recorded = self.recorded.as_deref()?;
        recorded.log.write_one(&recorded.raw, index)
    }

    /// Moves every span, and returns the changes as a plain list.
    pub(crate) fn map_spans(self, map: impl Fn(Range<usize>) -> Range<usize>) -> Vec<Change> {
        let mut list = self.into_vec();
        for change in &mut list {
            change.span = map(change.span.clone());
        }
        list
    }
}

impl From<Vec<Change>> for Changes {
    fn from(list: Vec<Change>) -> Self {
        Self {
            recorded: None,
            written: OnceLock::from(list),
        }
    }
}

impl Deref for Changes {
    type Target = [Change];

    fn deref(&self) -> &[Change] {
        self.written.get_or_init(|| self.write())
    }
}

impl<'c> IntoIterator for &'c Changes {
    type Item = &'c Change;
    type IntoIter = std::slice::Iter<'c, Change>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Changes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
