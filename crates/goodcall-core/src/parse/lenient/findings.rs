//! Everything about a text, other than its changes, that the verdict depends on.

use std::ops::Range;

use super::rules::RuleRef;
use crate::parse::{Cut, CutKind};
use crate::rule::RuleId;
use crate::tree::Pointer;

/// A place that can be read in more than one way, whatever the policy allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ambiguity {
    /// The rule that would have to choose.
    pub(crate) rule: RuleId,
    pub(crate) pointer: Pointer,
    pub(crate) span: Range<usize>,
}

impl Ambiguity {
    pub(super) fn new(rule: RuleRef, pointer: Pointer, span: Range<usize>) -> Self {
        Self {
            rule: rule.id,
            pointer,
            span,
        }
    }
}

/// What was found while reading. Of each kind the first finding counts.
#[derive(Debug, Default)]
pub(super) struct Findings {
    cut: Option<Cut>,
    /// The cause of a cut other than that the text was truncated.
    cut_cause: Option<Ambiguity>,
    ambiguity: Option<Ambiguity>,
    stranded: Option<usize>,
    repeated_keys: bool,
    requoted: bool,
    /// The closing brackets that were added inside the text.
    added_closers: AddedClosers,
}

/// The kinds of closing brackets that were added where they seemed to be missing.
#[derive(Clone, Copy, Debug, Default)]
struct AddedClosers {
    brace: bool,
    bracket: bool,
}

impl Findings {
    /// Notes a cut. One inside a value counts more than missing brackets.
    pub(super) fn add_cut(&mut self, cut: Cut) {
        let known = self.cut.as_ref().map(|cut| cut.kind);
        if known.is_none() || known == Some(CutKind::Brackets) && cut.kind == CutKind::Inside {
            self.cut = Some(cut);
        }
    }

    pub(super) fn add_cut_cause(&mut self, cause: Ambiguity) {
        self.cut_cause.get_or_insert(cause);
    }

    pub(super) fn add_ambiguity(&mut self, ambiguity: Ambiguity) {
        self.ambiguity.get_or_insert(ambiguity);
    }

    /// Notes that members here belong to no object, or that a bracket's place cannot be known: no
    /// value is better than half of one.
    pub(super) fn add_stranded(&mut self, at: usize) {
        self.stranded.get_or_insert(at);
    }

    pub(super) fn stranded(&self) -> Option<usize> {
        self.stranded
    }

    pub(super) fn add_repeated_keys(&mut self) {
        self.repeated_keys = true;
    }

    pub(super) fn has_repeated_keys(&self) -> bool {
        self.repeated_keys
    }

    /// Notes that a closing bracket was added where it seemed to be missing.
    pub(super) fn add_closer(&mut self, closer: u8) {
        self.added_closers.brace |= closer == b'}';
        self.added_closers.bracket |= closer == b']';
    }

    /// Returns true if a bracket of this kind was added before: one that now closes nothing may be
    /// the one that seemed to be missing.
    pub(super) fn has_added(&self, closer: u8) -> bool {
        match closer {
            b'}' => self.added_closers.brace,
            b']' => self.added_closers.bracket,
            _ => false,
        }
    }

    /// Notes that what follows a string, not its quotes, decided where it ends.
    pub(super) fn add_requoted(&mut self) {
        self.requoted = true;
    }

    pub(super) fn is_requoted(&self) -> bool {
        self.requoted
    }

    /// The cut, with its cause, and the first ambiguity.
    pub(super) fn into_parts(self) -> (Option<Cut>, Option<Ambiguity>) {
        let cut = self.cut.map(|cut| Cut {
            kind: if self.cut_cause.is_some() {
                CutKind::Inside
            } else {
                cut.kind
            },
            because: self.cut_cause.or(cut.because),
            ..cut
        });
        (cut, self.ambiguity)
    }
}
