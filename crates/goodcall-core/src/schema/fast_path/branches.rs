//! Branches of `oneOf` and `if` that surely do not match, which both need to know besides a match.
//!
//! A branch is ruled out by the kind of the value, by a tag, by a member that is missing or by one
//! that is not allowed. A branch that is not ruled out may still refuse the value: only the
//! validator decides that.

use super::{
    AllowedValues, CheckId, CombinedChecks, Conditional, ExtraMembers, FastPathRun, ObjectCheck,
    ValueCheck,
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
        if check.kinds_only {
            return false;
        }
        let combined = check.combined.as_deref();
        self.rejects_content(check, slot)
            || combined.is_some_and(|combined| self.rejects_combined(combined, id, slot))
    }

    /// Returns true if the members or elements of the value surely fail.
    fn rejects_content(&self, check: &ValueCheck, slot: &Slot) -> bool {
        match (slot.kind, &check.array, &check.object) {
            (Kind::Object, _, Some(object)) => self.rejects_members(object, slot),
            (Kind::Array, Some(array), _) => {
                let refused = |at| {
                    self.elements(slot)
                        .any(|(id, slot)| self.rejects(at, id, slot))
                };
                !super::within(slot.size, array.size) || array.element.is_some_and(refused)
            }
            _ => false,
        }
    }

    /// Returns true if the value is not one of those listed, or surely fails other checks.
    fn rejects_combined(&self, check: &CombinedChecks, id: u32, slot: &Slot) -> bool {
        if let Some(AllowedValues::Texts(texts)) = &check.values {
            let text = slot.kind == Kind::String;
            if !text || texts.find(self.tree, self.source, slot).is_none() {
                return true;
            }
        }
        let refused = |at: &CheckId| self.rejects(*at, id, slot);
        let all = |branches: &[CheckId]| branches.iter().all(refused);
        check.all.iter().any(refused)
            || check.any.as_deref().is_some_and(all)
            || check.one.as_deref().is_some_and(all)
    }

    /// Returns true if the object has a member that is not allowed, or lacks a required one.
    fn rejects_members(&self, object: &ObjectCheck, slot: &Slot) -> bool {
        let (mut found, mut refused) = (0_u64, false);
        let mut next = slot.head;
        for _ in 0..slot.size {
            let key = self.tree.slot(next);
            let value = self.tree.slot(key.next);
            match (object.names.find(self.tree, self.source, key), object.extra) {
                // Of two members of one name only one counts, and one of too many names has no bit.
                (Some(name), _) if name.bit == 0 || found & name.bit != 0 => return false,
                (Some(name), _) => {
                    found |= name.bit;
                    refused = refused || self.rejects(name.check, key.next, value);
                }
                (None, ExtraMembers::Refused) => refused = true,
                (None, _) => {}
            }
            next = value.next;
        }
        refused || found & object.required != object.required
    }
}
