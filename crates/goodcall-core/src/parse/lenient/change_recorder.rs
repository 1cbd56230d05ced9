//! Recording changes, within bounds.

use std::ops::Range;

use super::parser::{OpenContainer, Opener, Parser};
use super::rules::RuleRef;
use crate::limits::Limits;
use crate::report::{Note, Part, Path, Record, Source};
use crate::snippet::MOST_CHARS;
use crate::tree::{Kind, Pointer, TextStore, write_string};

/// Changes so far.
pub(super) struct ChangeRecorder {
    pub(super) record: Record,
    /// More changes, or longer pointers, than the limits allow.
    pub(super) overflow: bool,
    most: usize,
    /// Bytes that pointers may still take: one long key must not be copied for every change.
    room: usize,
}

impl ChangeRecorder {
    pub(super) fn new(limits: &Limits, bytes: usize) -> Self {
        Self {
            record: Record::default(),
            overflow: false,
            most: limits.max_changes,
            room: 16 * bytes + 4096,
        }
    }

    fn keep_apart(&mut self, text: &str) -> Part {
        let start = self.record.apart.len() as u32;
        self.record.apart.push_str(text);
        Part {
            start,
            size: text.len() as u32,
        }
    }
}

impl Parser<'_> {
    pub(super) fn note(&mut self, rule: RuleRef, span: Range<usize>, after: &str) {
        if self.notes.overflow {
            return;
        }
        let source = match after {
            "" => Source::Nothing,
            _ => Source::Apart,
        };
        // The last text is often the same once more.
        let last = self.notes.record.notes.last();
        let again = last.filter(|last| {
            last.sources.1 == Source::Apart && {
                let at = last.after.start as usize;
                let kept = self
                    .notes
                    .record
                    .apart
                    .get(at..at + last.after.size as usize);
                kept == Some(after)
            }
        });
        let after = match (again, source) {
            (Some(last), _) => last.after,
            (None, Source::Apart) => self.notes.keep_apart(after),
            _ => Part::default(),
        };
        self.record(rule, span, after, source);
    }

    /// Notes that these bytes were read as if they had quotes.
    pub(super) fn note_quoted(&mut self, rule: RuleRef, start: usize, end: usize) {
        self.note_string(rule, start..end, start..end);
    }

    /// Notes that a string was read as `text` in quotes.
    pub(super) fn note_string(&mut self, rule: RuleRef, span: Range<usize>, text: Range<usize>) {
        let after = Part {
            start: text.start as u32,
            size: text.len() as u32,
        };
        self.record(rule, span, after, Source::Quoted);
    }

    #[inline]
    fn record(&mut self, rule: RuleRef, span: Range<usize>, after: Part, source: Source) {
        if self.notes.overflow {
            return;
        }
        let path = self.path_before(self.frames.len().saturating_sub(1));
        let (step, kind) = match self.frames.last().copied() {
            Some(frame) => self.step_of(&frame),
            None => (Part::default(), Source::Nothing),
        };
        let before = self.notes.record.paths.get(path as usize);
        let size = before.map_or(0, |path| path.size) as usize + step_size(step, kind);
        if self.notes.record.notes.len() >= self.notes.most || size > self.notes.room {
            self.notes.overflow = true;
            return;
        }
        self.notes.room -= size;
        self.notes.record.notes.push(Note {
            rule: rule.id,
            level: rule.level,
            span: (span.start as u32, span.end as u32),
            path,
            step,
            after,
            sources: (kind, source),
        });
    }

    /// The path to the container in this frame; made when it is needed first.
    fn path_before(&mut self, frame: usize) -> u32 {
        if frame == 0 {
            return Path::NONE;
        }
        if let Some(path) = self.frames[frame].path {
            return path;
        }
        let mut first = frame;
        while first > 1 && self.frames[first - 1].path.is_none() {
            first -= 1;
        }
        let mut before = match first {
            1 => Path::NONE,
            _ => self.frames[first - 1].path.unwrap_or(Path::NONE),
        };
        for index in first..=frame {
            let around = self.frames[index - 1];
            let (step, source) = self.step_of(&around);
            let paths = &mut self.notes.record.paths;
            let size = paths.get(before as usize).map_or(0, |path| path.size);
            let id = paths.len() as u32;
            paths.push(Path {
                before,
                step,
                source,
                size: size.saturating_add(step_size(step, source) as u32),
            });
            self.frames[index].path = Some(id);
            before = id;
        }
        before
    }

    /// The step from a container to the value that is being read in it.
    fn step_of(&mut self, frame: &OpenContainer) -> (Part, Source) {
        match (self.out.slot(frame.id).map(|slot| slot.kind), frame.key) {
            (Some(Kind::Object), Some(key)) => {
                let Some(slot) = self.out.slot(key) else {
                    return (Part::default(), Source::Nothing);
                };
                let part = Part {
                    start: slot.head,
                    size: slot.size,
                };
                if slot.text == TextStore::Source {
                    return (part, Source::Text);
                }
                let text = self.out.text(slot, self.text);
                (self.notes.keep_apart(text), Source::Apart)
            }
            (Some(Kind::Array), _) => {
                let alone = matches!(frame.opener, Opener::Paren | Opener::Call);
                let part = Part {
                    start: frame.count,
                    size: 0,
                };
                match alone && frame.count == 0 {
                    true => (part, Source::Nothing),
                    false => (part, Source::Index),
                }
            }
            _ => (Part::default(), Source::Nothing),
        }
    }

    /// The place that is being read.
    pub(super) fn place(&self) -> Pointer {
        let mut place = Pointer::root();
        for frame in &self.frames {
            match (self.out.slot(frame.id).map(|slot| slot.kind), frame.key) {
                (Some(Kind::Object), Some(key)) => {
                    if let Some(slot) = self.out.slot(key) {
                        place.push(self.out.text(slot, self.text));
                    }
                }
                (Some(Kind::Array), _) => {
                    let alone = matches!(frame.opener, Opener::Paren | Opener::Call);
                    if !(alone && frame.count == 0) {
                        place.push_index(frame.count);
                    }
                }
                _ => {}
            }
        }
        place
    }
}

fn step_size(step: Part, source: Source) -> usize {
    match source {
        Source::Nothing => 0,
        Source::Index => 8,
        _ => step.size as usize + 1,
    }
}

/// As much of a text as a change may show.
pub(super) fn start_of(text: &str) -> &str {
    let end = text.char_indices().nth(2 * MOST_CHARS);
    end.map_or(text, |(at, _)| &text[..at])
}

/// The text as it stands inside a JSON string.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::new();
    write_string(start_of(text), &mut out);
    out.pop();
    out.split_off(1)
}
