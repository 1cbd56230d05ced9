//! Recording changes, within bounds.

use std::ops::Range;

use super::brackets::is_unsure_end;
use super::containers::{OpenContainer, OpenContainers};
use super::parser::Parser;
use super::rules::RuleRef;
use super::source_text::SourceText;
use crate::limits::Limits;
use crate::report::{ChangeLog, PathId, PathStep, RecordedChange, TextRef, TextSpan};
use crate::snippet::MOST_CHARS;
use crate::tree::{Kind, Pointer, TextStore, TreeBuilder, write_string};

/// Records changes until there are more of them, or longer pointers, than the limits allow.
pub(super) struct ChangeRecorder {
    log: ChangeLog,
    overflowed: bool,
    max_changes: usize,
    /// Bytes that pointers may still take: one long key must not be copied for every change.
    pointer_bytes_left: usize,
    /// Bytes that written changes may still take, about. After that a change is added to the last
    /// one of its rule.
    bytes_left: usize,
    /// The last change of each rule and level, once there is no budget left.
    last: Vec<(RuleRef, usize)>,
    /// The bytes of the last change that decided where a value ends.
    last_unsure: Option<Range<usize>>,
}

/// Bytes that a change takes besides its texts, about.
const CHANGE_BYTES: usize = 110;

/// Where a change is: the containers that are open, and the tree that holds their keys.
pub(super) struct Place<'p, 'a> {
    pub(super) containers: &'p mut OpenContainers,
    pub(super) tree: &'p TreeBuilder,
    pub(super) source: SourceText<'a>,
}

impl ChangeRecorder {
    pub(super) fn new(limits: &Limits, bytes: usize) -> Self {
        Self {
            log: ChangeLog::default(),
            overflowed: false,
            max_changes: limits.max_changes,
            pointer_bytes_left: 2 * bytes + (3 << 13),
            bytes_left: bytes + (3 << 13),
            last: Vec::new(),
            last_unsure: None,
        }
    }

    pub(super) fn is_overflowed(&self) -> bool {
        self.overflowed
    }

    /// The bytes of the last change that decided where a value ends.
    pub(super) fn last_unsure(&self) -> Option<&Range<usize>> {
        self.last_unsure.as_ref()
    }

    /// Notes that a value at the root is complete.
    pub(super) fn end_value(&mut self) {
        self.log.end_value();
    }

    pub(super) fn finish(self) -> ChangeLog {
        self.log.finish()
    }

    /// Records that these bytes were read as `after`.
    pub(super) fn record_text(
        &mut self,
        place: Place<'_, '_>,
        rule: RuleRef,
        span: Range<usize>,
        after: &str,
    ) {
        if self.overflowed {
            return;
        }
        let after = match after {
            "" => TextRef::Nothing,
            text => self.log.keep_again(text),
        };
        self.record(place, rule, span, after);
    }

    #[inline]
    pub(super) fn record(
        &mut self,
        mut place: Place<'_, '_>,
        rule: RuleRef,
        span: Range<usize>,
        after: TextRef,
    ) {
        if self.overflowed {
            return;
        }
        if is_unsure_end(rule.id) {
            self.last_unsure = Some(span.clone());
        }
        if self.bytes_left == 0 && self.add_to_last(rule, span.end) {
            return;
        }
        let innermost = place.containers.len().saturating_sub(1);
        let path = self.path_to(&mut place, innermost);
        let step = match place.containers.innermost().copied() {
            Some(container) => self.step_in(&place, &container),
            None => PathStep::Nothing,
        };
        let size = self.log.pointer_size(path, step);
        if self.log.changes().len() >= self.max_changes || size > self.pointer_bytes_left {
            self.overflowed = true;
            return;
        }
        self.pointer_bytes_left -= size;
        let texts = span.len().min(MOST_CHARS) + after.size().min(MOST_CHARS);
        let bytes = CHANGE_BYTES + size + texts;
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        self.log.push(RecordedChange {
            count: 1,
            rule: rule.id,
            level: rule.level,
            span: (span.start as u32, span.end as u32),
            path,
            step,
            after,
        });
    }

    /// Counts a change in the last one of its rule, if there is one.
    fn add_to_last(&mut self, rule: RuleRef, end: usize) -> bool {
        let changes = self.log.changes();
        let indexed = self.last.iter().map(|(_, index)| index + 1).max();
        for (index, change) in changes.iter().enumerate().skip(indexed.unwrap_or(0)) {
            let rule = RuleRef {
                id: change.rule,
                level: change.level,
            };
            match self.last.iter_mut().find(|(known, _)| *known == rule) {
                Some((_, last)) => *last = index,
                None => self.last.push((rule, index)),
            }
        }
        let known = self.last.iter().find(|(known, _)| *known == rule);
        if let Some((_, index)) = known {
            self.log.add_to(*index, end as u32);
        }
        known.is_some()
    }

    /// The path to the container at this index. Paths are made when they are first needed.
    fn path_to(&mut self, place: &mut Place<'_, '_>, index: usize) -> PathId {
        let mut path = PathId::ROOT;
        let mut known = index;
        while known > 0 {
            if let Some(found) = place.containers.get(known).and_then(|known| known.path) {
                path = found;
                break;
            }
            known -= 1;
        }
        for index in known + 1..=index {
            let Some(outer) = place.containers.get(index - 1).copied() else {
                break;
            };
            let step = self.step_in(place, &outer);
            path = self.log.add_path(path, step);
            place.containers.set_path(index, path);
        }
        path
    }

    /// The step from a container to the value that is being read in it.
    fn step_in(&mut self, place: &Place<'_, '_>, container: &OpenContainer) -> PathStep {
        let kind = place.tree.slot(container.id).map(|slot| slot.kind);
        match (kind, container.key) {
            (Some(Kind::Object), Some(key)) => {
                let Some(slot) = place.tree.slot(key) else {
                    return PathStep::Nothing;
                };
                PathStep::Key(match slot.text {
                    TextStore::Source => TextRef::Raw(TextSpan {
                        start: slot.head,
                        size: slot.size,
                    }),
                    TextStore::Buffer => {
                        let text = place.tree.text(slot, place.source.as_str());
                        self.log.keep(text)
                    }
                })
            }
            (Some(Kind::Array), _) if is_sole_value(container) => PathStep::Nothing,
            (Some(Kind::Array), _) => PathStep::Index(container.count),
            _ => PathStep::Nothing,
        }
    }
}

/// Returns true if the value being read may turn out to be all that the parentheses hold, in which
/// case it takes their place.
fn is_sole_value(container: &OpenContainer) -> bool {
    container.opener.is_paren() && container.count == 0
}

impl Parser<'_> {
    /// Notes that these bytes were read as if they were in quotes.
    pub(super) fn note_quoted(&mut self, rule: RuleRef, start: usize, end: usize) {
        self.note_string(rule, start..end, start..end);
    }

    /// The pointer to the value that is being read.
    pub(super) fn place(&self) -> Pointer {
        let mut place = Pointer::root();
        for container in self.containers().iter() {
            let kind = self.tree().slot(container.id).map(|slot| slot.kind);
            match (kind, container.key) {
                (Some(Kind::Object), Some(key)) => {
                    if let Some(slot) = self.tree().slot(key) {
                        place.push(self.tree().text(slot, self.source().as_str()));
                    }
                }
                (Some(Kind::Array), _) if !is_sole_value(container) => {
                    place.push_index(container.count);
                }
                _ => {}
            }
        }
        place
    }
}

/// As much of a text as a change may show.
pub(super) fn start_of(text: &str) -> &str {
    let end = text.char_indices().nth(2 * MOST_CHARS);
    end.map_or(text, |(at, _)| &text[..at])
}

/// The text as it is written inside a JSON string.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::new();
    write_string(start_of(text), &mut out);
    out.pop();
    out.split_off(1)
}
