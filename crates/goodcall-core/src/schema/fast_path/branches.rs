//! Branches of `oneOf` and `if` that surely do not match, which both need to know besides a match.
//!
//! A branch is ruled out by the kind of the value, by a tag, by a member that is missing or by one
//! that is not allowed. A branch that is not ruled out may still refuse the value: only the
//! validator decides that.

use super::key_table::KeyTable;
use super::{
    ArrayCheck, CheckId, Conditional, Details, ExtraMembers, FastPathRun, ObjectCheck,
    SeveralChecks, TextCheck,
};
use crate::tree::{Kind, Slot};
use crate::validate::spend;

impl FastPathRun<'_> {
    /// Returns true if all branches but one are ruled out, and that one accepts.
    pub(super) fn exactly_one(&self, branches: &[CheckId], id: u32, slot: &Slot) -> bool {
        let mut open = branches.iter().filter(|at| !self.rejects(**at, id, slot));
        match (open.next(), open.next()) {
            (Some(at), None) => spend() && self.check(*at, id, slot),
            _ => false,
        }
    }

    /// Evaluates `if`, `then` and `else`.
    pub(super) fn condition(&self, condition: &Conditional, id: u32, slot: &Slot) -> bool {
        let fits = |at: Option<CheckId>| at.is_none_or(|at| self.check(at, id, slot));
        if self.rejects(condition.test, id, slot) {
            return fits(condition.otherwise);
        }
        let no_effect = condition.then.is_none() && condition.otherwise.is_none();
        no_effect || (spend() && self.check(condition.test, id, slot) && fits(condition.then))
    }

    /// Returns true if the value surely fails this check.
    fn rejects(&self, at: CheckId, id: u32, slot: &Slot) -> bool {
        // Counted, since branches in branches double the work at each level.
        let Some(check) = self.checks.get(at as usize).filter(|_| spend()) else {
            return false;
        };
        if check.cannot_reject {
            return false;
        }
        if check.kinds & super::bit(slot.kind) == 0 {
            return true;
        }
        match (&check.details, slot.kind) {
            (Details::Text(check), Kind::String) => self.rejects_text(check, slot),
            (Details::Array(check), Kind::Array) => self.rejects_elements(check, slot),
            (Details::Object(check), Kind::Object) => self.rejects_members(check, slot),
            (Details::Several(checks), _) => self.rejects_several(checks, id, slot),
            _ => false,
        }
    }

    /// Returns true if the string is not one of those listed.
    fn rejects_text(&self, check: &TextCheck, slot: &Slot) -> bool {
        let found = |values: &KeyTable| values.find(self.tree, self.source, slot).is_some();
        !check.values.as_ref().is_none_or(found)
    }

    /// Returns true if the array has too few or too many elements, or one that surely fails.
    fn rejects_elements(&self, array: &ArrayCheck, slot: &Slot) -> bool {
        let mut elements = self.elements(slot);
        let mut first = array.first.iter().zip(&mut elements);
        !super::within(slot.size, array.size)
            || first.any(|(at, (id, slot))| self.rejects(*at, id, slot))
            || (array.element)
                .is_some_and(|at| elements.any(|(id, slot)| self.rejects(at, id, slot)))
    }

    fn rejects_several(&self, checks: &SeveralChecks, id: u32, slot: &Slot) -> bool {
        let refused = |at: &CheckId| self.rejects(*at, id, slot);
        let all = |branches: &[CheckId]| branches.iter().all(refused);
        let rejected = match slot.kind {
            Kind::String => (checks.text.as_deref()).is_some_and(|c| self.rejects_text(c, slot)),
            Kind::Array => {
                (checks.array.as_deref()).is_some_and(|c| self.rejects_elements(c, slot))
            }
            Kind::Object => {
                (checks.object.as_deref()).is_some_and(|c| self.rejects_members(c, slot))
            }
            _ => false,
        };
        rejected
            || checks.all.iter().any(refused)
            || checks.any.as_deref().is_some_and(all)
            || checks.one.as_deref().is_some_and(all)
    }

    /// Returns true if the object has a member that is not allowed, or lacks a required one.
    fn rejects_members(&self, object: &ObjectCheck, slot: &Slot) -> bool {
        let (mut found, mut refused) = (0_u64, false);
        let mut next = slot.head;
        for _ in 0..slot.size {
            let key = self.slot(next);
            let value = self.slot(key.next);
            match (object.names.find(self.tree, self.source, key), object.extra) {
                // Of two members of one name only one counts, and one of too many names has no bit.
                (Some(name), _) if name.bit == 0 || found & name.bit != 0 => return false,
                (Some(name), _) => {
                    found |= name.bit;
                    refused = refused || self.rejects(name.check, key.next, value);
                }
                (None, ExtraMembers::Refused) if object.patterns.is_empty() => refused = true,
                (None, _) => {}
            }
            next = value.next;
        }
        refused || found & object.required != object.required
    }
}
