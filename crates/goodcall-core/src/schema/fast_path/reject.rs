//! Values that are surely refused: what `oneOf` and `if` ask for besides a yes.
//!
//! A branch is ruled out by the kind of the value, a tag, a member that is missing or one that is
//! not allowed. What is not seen in this way may still be refused: the validator knows.

use super::{At, Check, Extra, More, Record, Values, Walk, When};
use crate::tree::{Kind, Slot};
use crate::validate::spend;

impl Walk<'_> {
    /// Does exactly one of these checks say yes?
    pub(super) fn is_one(&self, branches: &[At], id: u32, slot: &Slot) -> bool {
        let mut open = branches.iter().filter(|at| !self.refuses(**at, id, slot));
        match (open.next(), open.next()) {
            (Some(at), None) => spend() && self.check(*at, id, slot),
            _ => false,
        }
    }

    /// Is the value what it must be, being what it is?
    pub(super) fn is_when(&self, when: &When, id: u32, slot: &Slot) -> bool {
        let fits = |at: Option<At>| at.is_none_or(|at| self.check(at, id, slot));
        if self.refuses(when.test, id, slot) {
            return fits(when.otherwise);
        }
        let either = when.then.is_none() && when.otherwise.is_none();
        either || (spend() && self.check(when.test, id, slot) && fits(when.then))
    }

    /// Does a check surely say no?
    fn refuses(&self, at: At, id: u32, slot: &Slot) -> bool {
        // Every look is counted: branches in branches look twice at each level.
        let Some(check) = self.checks.get(at as usize).filter(|_| spend()) else {
            return false;
        };
        if check.loose {
            return false;
        }
        if check.kinds & super::bit(slot.kind) == 0 {
            return true;
        }
        let more = |more: &More| self.elsewhere(more, id, slot);
        !check.plain && (self.inside(check, slot) || check.more.as_deref().is_some_and(more))
    }

    /// By what the value consists of.
    fn inside(&self, check: &Check, slot: &Slot) -> bool {
        match (slot.kind, &check.array, &check.object) {
            (Kind::Object, _, Some(record)) => self.lacks(record, slot),
            (Kind::Array, Some(list), _) => {
                let refused = |at| {
                    self.elements(slot)
                        .any(|(id, slot)| self.refuses(at, id, slot))
                };
                !super::within(slot.size, list.size) || list.element.is_some_and(refused)
            }
            _ => false,
        }
    }

    /// By its text, or by other checks of the same value.
    fn elsewhere(&self, check: &More, id: u32, slot: &Slot) -> bool {
        if let Some(Values::Texts(texts)) = &check.values {
            let text = slot.kind == Kind::String;
            if !text || texts.find(self.tree, self.source, slot).is_none() {
                return true;
            }
        }
        let refused = |at: &At| self.refuses(*at, id, slot);
        let all = |branches: &[At]| branches.iter().all(refused);
        check.all.iter().any(refused)
            || check.any.iter().any(|branches| all(branches))
            || check.one.as_deref().is_some_and(all)
    }

    /// Has an object a member that is not allowed, or none that it must have?
    fn lacks(&self, record: &Record, slot: &Slot) -> bool {
        let (mut found, mut refused) = (0_u64, false);
        let mut next = slot.head;
        for _ in 0..slot.size {
            let key = self.tree.slot(next);
            let value = self.tree.slot(key.next);
            match (record.names.find(self.tree, self.source, key), record.extra) {
                // Of two members of one name only one counts, and one of too many names has no bit.
                (Some(name), _) if name.bit == 0 || found & name.bit != 0 => return false,
                (Some(name), _) => {
                    found |= name.bit;
                    refused = refused || self.refuses(name.check, key.next, value);
                }
                (None, Extra::Refused) => refused = true,
                (None, Extra::Allowed | Extra::Checked(_)) => {}
            }
            next = value.next;
        }
        refused || found & record.required != record.required
    }
}
