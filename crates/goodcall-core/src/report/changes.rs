//! A list of changes that is written out when somebody looks at it.
//!
//! Reading a text that is broken everywhere takes a change for every few bytes. What is needed to
//! tell a change later fits in a few words: spans of the text, and a step of the path to its place.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::OnceLock;

use super::{Change, Edit};
use crate::rule::{Level, RuleId};
use crate::snippet::{Snippet, push_clipped};
use crate::tree::Pointer;

/// The changes that reading a text took, in order. It reads as a slice of [`Change`]s.
#[derive(Clone, Default)]
pub struct Changes {
    /// As they were recorded; empty once others were added.
    record: Record,
    written: OnceLock<Vec<Change>>,
}

/// Where a piece of text stands, or what else a step of a path is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Source {
    /// Nowhere: there is none.
    #[default]
    Nothing,
    /// In the text that was read.
    Text,
    /// In the text that was read, shown in quotes.
    Quoted,
    /// In [`Record::apart`].
    Apart,
    /// It is a number.
    Index,
}

/// A piece of text, or a number in place of `start`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) start: u32,
    pub(crate) size: u32,
}

/// One change, as recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Note {
    pub(crate) rule: RuleId,
    pub(crate) span: (u32, u32),
    /// The path to the container, and the last step.
    pub(crate) path: u32,
    pub(crate) step: Part,
    pub(crate) after: Part,
    pub(crate) sources: (Source, Source),
    pub(crate) level: Level,
}

/// A path to a container: one step from another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// The path before, or [`Path::NONE`].
    pub(crate) before: u32,
    pub(crate) step: Part,
    pub(crate) source: Source,
    /// Bytes of the whole, about.
    pub(crate) size: u32,
}

impl Path {
    pub(crate) const NONE: u32 = u32::MAX;
}

/// Changes as they were recorded, and the texts that they are about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    pub(crate) notes: Vec<Note>,
    pub(crate) paths: Vec<Path>,
    /// Texts that do not stand in the text that was read.
    pub(crate) apart: String,
    /// The text that was read.
    pub(crate) text: Box<str>,
    /// If there are several values: how many changes there were before the second, the third, …
    pub(crate) borders: Vec<usize>,
}

impl Record {
    fn get<'r>(&'r self, text: &'r str, part: Part, source: Source) -> &'r str {
        let range = part.start as usize..(part.start + part.size) as usize;
        match source {
            Source::Text | Source::Quoted => text.get(range).unwrap_or_default(),
            Source::Apart => self.apart.get(range).unwrap_or_default(),
            Source::Nothing | Source::Index => "",
        }
    }

    fn push_step(&self, text: &str, place: &mut Pointer, part: Part, source: Source) {
        match source {
            Source::Nothing => {}
            Source::Index => place.push_index(part.start),
            source => place.push(self.get(text, part, source)),
        }
    }

    /// The container that a path leads to.
    fn container(&self, text: &str, path: u32, root: Option<usize>) -> Pointer {
        let mut steps = Vec::new();
        let mut at = self.paths.get(path as usize);
        while let Some(path) = at {
            steps.push((path.step, path.source));
            at = self.paths.get(path.before as usize);
        }
        let mut place = Pointer::root();
        if let Some(root) = root {
            place.push_index(root as u32);
        }
        for (part, source) in steps.into_iter().rev() {
            self.push_step(text, &mut place, part, source);
        }
        place
    }

    fn change(&self, text: &str, note: &Note, mut place: Pointer) -> Change {
        self.push_step(text, &mut place, note.step, note.sources.0);
        let span = note.span.0 as usize..note.span.1 as usize;
        let before = text.get(span.clone()).unwrap_or_default();
        let after = self.get(text, note.after, note.sources.1);
        Change {
            rule: note.rule,
            level: note.level,
            pointer: place,
            edit: Edit::Text,
            before: shown(before, false),
            after: match note.sources.1 {
                Source::Quoted => shown(after, true),
                _ => shown(after, false),
            },
            span,
        }
    }

    /// The root value that a change belongs to, if there are several.
    fn root_of(&self, index: usize) -> Option<usize> {
        let several = !self.borders.is_empty();
        several.then(|| self.borders.partition_point(|border| *border <= index))
    }

    fn write(&self, text: &str) -> Vec<Change> {
        // Neighbours stand in the same container more often than not.
        let mut last = (Path::NONE, None, Pointer::root());
        let notes = self.notes.iter().enumerate();
        let write = notes.map(|(index, note)| {
            let root = self.root_of(index);
            if (note.path, root) != (last.0, last.1) {
                last = (note.path, root, self.container(text, note.path, root));
            }
            self.change(text, note, last.2.clone())
        });
        write.collect()
    }
}

/// A text as far as a change shows it; `None` if there is none.
fn shown(text: &str, quoted: bool) -> Option<Snippet> {
    if text.is_empty() && !quoted {
        return None;
    }
    let mut out = Snippet::default();
    if quoted {
        out.push('"');
    }
    push_clipped(text, &mut out);
    if quoted {
        out.push('"');
    }
    Some(out)
}

/// Bytes of text that are copied faster than one change is written out.
const COPIED: usize = 1 << 12;

impl Changes {
    /// What was recorded of this text. A long text with few changes is not worth a copy: they
    /// are written out at once.
    pub(crate) fn recorded(mut record: Record, text: &str) -> Self {
        if record.notes.is_empty() {
            return Self::default();
        }
        if record.notes.len().saturating_mul(COPIED) < text.len() {
            return Self::from(record.write(text));
        }
        record.text = text.into();
        Self {
            record,
            written: OnceLock::new(),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self.written.get() {
            Some(list) => list.len(),
            None => self.record.notes.len(),
        }
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them.
    pub fn into_vec(mut self) -> Vec<Change> {
        match self.written.take() {
            Some(list) => list,
            None => self.record.write(&self.record.text),
        }
    }

    /// Adds one at the end.
    pub(crate) fn push(&mut self, change: Change) {
        let mut list = std::mem::take(self).into_vec();
        list.push(change);
        *self = Self::from(list);
    }

    /// Changes of this rule have this level.
    pub(crate) fn set_level(&mut self, rule: RuleId, level: Level) {
        if let Some(list) = self.written.get_mut() {
            for change in list.iter_mut().filter(|change| change.rule == rule) {
                change.level = level;
            }
        }
        for note in self
            .record
            .notes
            .iter_mut()
            .filter(|note| note.rule == rule)
        {
            note.level = level;
        }
    }

    /// The first change whose rule and level fail a test.
    pub(crate) fn first(&self, mut fails: impl FnMut(RuleId, Level) -> bool) -> Option<Change> {
        if let Some(list) = self.written.get() {
            return list.iter().find(|c| fails(c.rule, c.level)).cloned();
        }
        let mut notes = self.record.notes.iter().enumerate();
        let (index, note) = notes.find(|(_, note)| fails(note.rule, note.level))?;
        let (text, root) = (&self.record.text, self.record.root_of(index));
        let place = self.record.container(text, note.path, root);
        Some(self.record.change(text, note, place))
    }

    /// Moves every span.
    pub(crate) fn map_spans(self, at: impl Fn(Range<usize>) -> Range<usize>) -> Vec<Change> {
        let mut list = self.into_vec();
        for change in &mut list {
            change.span = at(change.span.clone());
        }
        list
    }
}

impl From<Vec<Change>> for Changes {
    fn from(list: Vec<Change>) -> Self {
        Self {
            record: Record::default(),
            written: OnceLock::from(list),
        }
    }
}

impl Deref for Changes {
    type Target = [Change];

    fn deref(&self) -> &[Change] {
        self.written
            .get_or_init(|| self.record.write(&self.record.text))
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
