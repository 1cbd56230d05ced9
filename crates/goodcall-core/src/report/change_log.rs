//! Changes in the compact form in which the lenient parser records them.
//!
//! A text that is broken everywhere takes a change for every few bytes, and most lists of changes
//! are never looked at. So a change is recorded as a few numbers: spans of the raw text, and the
//! path to its place as a chain of steps that changes of one container share.

use std::ops::Range;

use super::Change;
use crate::rule::{Level, RuleId};
use crate::snippet::{Snippet, push_clipped};
use crate::tree::Pointer;

/// A piece of text in 32-bit positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextSpan {
    pub(crate) start: u32,
    pub(crate) size: u32,
}

impl TextSpan {
    fn range(self) -> Range<usize> {
        self.start as usize..(self.start + self.size) as usize
    }
}

/// A text that a recorded change refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextRef {
    Nothing,
    /// A part of the raw text.
    Raw(TextSpan),
    /// A part of the raw text, shown in quotes.
    Quoted(TextSpan),
    /// A text that the log keeps, because it is not part of the raw text.
    Kept(TextSpan),
}

impl TextRef {
    /// The bytes of the text.
    pub(crate) fn size(self) -> usize {
        match self {
            TextRef::Nothing => 0,
            TextRef::Raw(span) | TextRef::Quoted(span) | TextRef::Kept(span) => span.size as usize,
        }
    }
}

/// One step from a container to a value in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathStep {
    /// The value is read in place of its container, as in `(5)`.
    Nothing,
    Key(TextRef),
    Index(u32),
}

impl PathStep {
    /// The bytes that this takes in a pointer, about.
    fn size(self) -> u32 {
        match self {
            PathStep::Key(TextRef::Raw(span) | TextRef::Kept(span)) => span.size + 1,
            PathStep::Index(_) => 8,
            PathStep::Nothing | PathStep::Key(_) => 0,
        }
    }
}

/// Identifies the path to a container in a [`ChangeLog`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathId(u32);

impl PathId {
    /// The path to the root.
    pub(crate) const ROOT: Self = Self(u32::MAX);
}

/// The path to a container: one step from another container.
#[derive(Clone, Copy, Debug)]
struct ContainerPath {
    outer: PathId,
    step: PathStep,
    /// The bytes that the whole path takes in a pointer, about.
    size: u32,
}

/// One change, as recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedChange {
    pub(crate) rule: RuleId,
    pub(crate) level: Level,
    /// The bytes of the raw text.
    pub(crate) span: (u32, u32),
    /// The path to the container, and the step from there.
    pub(crate) path: PathId,
    pub(crate) step: PathStep,
    /// What the bytes were read as.
    pub(crate) after: TextRef,
    pub(crate) count: u32,
}

/// Changes as they were recorded, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangeLog {
    changes: Vec<RecordedChange>,
    paths: Vec<ContainerPath>,
    /// The texts of [`TextRef::Kept`], one after the other.
    kept: String,
    /// If there are several values: how many changes came before the second, the third, …
    borders: Vec<usize>,
}

/// The changes, paths and bytes of kept text that a log has room for before it grows.
const FIRST_CHANGES: usize = 16;
const FIRST_PATHS: usize = 8;
const FIRST_KEPT: usize = 64;

/// Recording.
impl ChangeLog {
    pub(crate) fn push(&mut self, change: RecordedChange) {
        if self.changes.is_empty() {
            self.changes.reserve(FIRST_CHANGES);
        }
        self.changes.push(change);
    }

    /// Keeps a text that is not part of the raw text. The same text twice in a row is kept once.
    pub(crate) fn keep_again(&mut self, text: &str) -> TextRef {
        let last = self.changes.last().map(|change| change.after);
        match last {
            Some(TextRef::Kept(span)) if self.kept.get(span.range()) == Some(text) => {
                TextRef::Kept(span)
            }
            _ => self.keep(text),
        }
    }

    /// Keeps a text that is not part of the raw text.
    pub(crate) fn keep(&mut self, text: &str) -> TextRef {
        let start = self.kept.len() as u32;
        if start == 0 {
            self.kept.reserve(text.len().max(FIRST_KEPT));
        }
        self.kept.push_str(text);
        TextRef::Kept(TextSpan {
            start,
            size: text.len() as u32,
        })
    }

    /// Adds the path one step from another.
    pub(crate) fn add_path(&mut self, outer: PathId, step: PathStep) -> PathId {
        let id = PathId(self.paths.len() as u32);
        let size = self.path_size(outer).saturating_add(step.size());
        if self.paths.is_empty() {
            self.paths.reserve(FIRST_PATHS);
        }
        self.paths.push(ContainerPath { outer, step, size });
        id
    }

    fn path(&self, id: PathId) -> Option<&ContainerPath> {
        self.paths.get(id.0 as usize)
    }

    fn path_size(&self, id: PathId) -> u32 {
        self.path(id).map_or(0, |path| path.size)
    }

    /// The bytes that the pointer of a place takes, about.
    pub(crate) fn pointer_size(&self, path: PathId, step: PathStep) -> usize {
        self.path_size(path) as usize + step.size() as usize
    }

    /// Notes that the changes so far belong to the values so far.
    pub(crate) fn end_value(&mut self) {
        self.borders.push(self.changes.len());
    }

    /// Ends the recording. Changes after the last value belong to it.
    pub(crate) fn finish(mut self) -> Self {
        self.borders.pop();
        self
    }

    /// Adds one more change, up to `end`, to the one at this index.
    pub(crate) fn add_to(&mut self, index: usize, end: u32) {
        if let Some(change) = self.changes.get_mut(index) {
            change.count = change.count.saturating_add(1);
            change.span.1 = change.span.1.max(end);
        }
    }

    pub(crate) fn changes(&self) -> &[RecordedChange] {
        &self.changes
    }
}

/// Writing out.
impl ChangeLog {
    /// Writes all changes out; `raw` is the text that they are about.
    pub(super) fn write_all(&self, raw: &str) -> Vec<Change> {
        let mut changes = Vec::with_capacity(self.changes.len());
        // Neighbours are in the same container more often than not.
        let mut last = (PathId::ROOT, None, Pointer::root());
        for (index, change) in self.changes.iter().enumerate() {
            let root = self.root_of(index);
            if (change.path, root) != (last.0, last.1) {
                last = (change.path, root, self.container(raw, change.path, root));
            }
            changes.push(self.write(raw, change, last.2.clone()));
        }
        changes
    }

    /// Writes the change at `index` out.
    pub(super) fn write_one(&self, raw: &str, index: usize) -> Option<Change> {
        let change = self.changes.get(index)?;
        let container = self.container(raw, change.path, self.root_of(index));
        Some(self.write(raw, change, container))
    }

    fn write(&self, raw: &str, change: &RecordedChange, mut place: Pointer) -> Change {
        self.push_step(raw, &mut place, change.step);
        let span = change.span.0 as usize..change.span.1 as usize;
        let before = raw.get(span.clone()).unwrap_or_default();
        let after = self.text(raw, change.after);
        Change {
            rule: change.rule,
            level: change.level,
            pointer: place,
            from: None,
            before: shown(before),
            after: match change.after {
                TextRef::Quoted(_) => Some(shown_in_quotes(after)),
                _ => shown(after),
            },
            is_text: true,
            span,
            count: change.count,
        }
    }

    fn text<'r>(&'r self, raw: &'r str, text: TextRef) -> &'r str {
        match text {
            TextRef::Raw(span) | TextRef::Quoted(span) => raw.get(span.range()).unwrap_or_default(),
            TextRef::Kept(span) => self.kept.get(span.range()).unwrap_or_default(),
            TextRef::Nothing => "",
        }
    }

    fn push_step(&self, raw: &str, place: &mut Pointer, step: PathStep) {
        match step {
            PathStep::Nothing => {}
            PathStep::Index(index) => place.push_index(index),
            PathStep::Key(key) => place.push(self.text(raw, key)),
        }
    }

    /// The pointer to a container.
    fn container(&self, raw: &str, path: PathId, root: Option<usize>) -> Pointer {
        let mut steps = Vec::new();
        let mut next = self.path(path);
        while let Some(path) = next {
            steps.push(path.step);
            next = self.path(path.outer);
        }
        let mut place = Pointer::root();
        if let Some(root) = root {
            place.push_index(root as u32);
        }
        for step in steps.into_iter().rev() {
            self.push_step(raw, &mut place, step);
        }
        place
    }

    /// The value that a change belongs to, if there are several.
    fn root_of(&self, index: usize) -> Option<usize> {
        let several = !self.borders.is_empty();
        several.then(|| self.borders.partition_point(|border| *border <= index))
    }
}

/// A text as far as a change shows it; `None` if it is empty.
fn shown(text: &str) -> Option<Snippet> {
    if text.is_empty() {
        return None;
    }
    let mut out = Snippet::default();
    push_clipped(text, &mut out);
    Some(out)
}

fn shown_in_quotes(text: &str) -> Snippet {
    let mut out = Snippet::default();
    out.push('"');
    push_clipped(text, &mut out);
    out.push('"');
    out
}
