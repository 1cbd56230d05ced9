//! Keeps the list of changes within a small multiple of the call.

use crate::report::Change;
use crate::rule::{Level, RuleId};
use crate::snippet::{MOST_CHARS, Snippet, clip};
use crate::tree::{Pointer, Tree, write_string};

/// Bytes that a change takes besides its texts, about.
const CHANGE_BYTES: usize = 110;

/// The fewest changes of one rule that become one.
const MANY: usize = 32;

/// Returns the changes as they are if they are short enough. Otherwise shows less of what was there
/// before, and makes one change of all that stand in the container where many of one rule do.
/// Returns `None` if that is not enough: the call is too broken.
pub(super) fn compact(mut changes: Vec<Change>, tree: &Tree<'_>) -> Option<Vec<Change>> {
    let most = 2 * tree.source().len() + (3 << 13);
    let fits = |changes: &[Change]| size(changes) <= most;
    if fits(&changes) {
        return Some(changes);
    }
    for change in &mut changes {
        let before = change.before.as_deref();
        change.before = before.map(shortened);
    }
    if !fits(&changes) {
        let place = common_container(&changes);
        changes = join(changes, &place, tree)?;
    }
    if !fits(&changes) {
        changes = join(changes, &Pointer::root(), tree)?;
    }
    fits(&changes).then_some(changes)
}

/// A JSON text as it is if it is short, else its start as a JSON string.
fn shortened(json: &str) -> Snippet {
    if json.len() <= MOST_CHARS {
        return json.into();
    }
    let mut start = String::new();
    write_string(&clip(json, MOST_CHARS), &mut start);
    start.into()
}

fn size(changes: &[Change]) -> usize {
    let texts = |change: &Change| {
        let before = change.before.as_deref().map_or(0, str::len);
        before + change.after.as_deref().map_or(0, str::len)
    };
    let sizes = changes
        .iter()
        .map(|c| CHANGE_BYTES + c.pointer.size() + texts(c));
    sizes.sum()
}

/// The places that a change is about.
fn places(change: &Change) -> impl Iterator<Item = &Pointer> {
    std::iter::once(&change.pointer).chain(&change.from)
}

/// The innermost container of all changes that are many of one rule; the root if another change
/// is made to it or around it.
fn common_container(changes: &[Change]) -> Pointer {
    let counts = counts(changes.iter());
    let is_many = |change: &&Change| {
        let mut known = counts.iter();
        known.any(|known| known.rule == change.rule && known.count >= MANY)
    };
    let mut place: Option<Pointer> = None;
    for pointer in changes.iter().filter(is_many).flat_map(places) {
        let mut outer = match place.take() {
            Some(place) => place,
            None => pointer.clone(),
        };
        while !pointer.is_within(&outer) || *pointer == outer {
            match outer.split_last() {
                Some((around, _)) => outer = around,
                None => return Pointer::root(),
            }
        }
        place = Some(outer);
    }
    let place = place.unwrap_or_default();
    let mut all = changes.iter().flat_map(places);
    if all.any(|pointer| place.is_within(pointer)) {
        return Pointer::root();
    }
    place
}

/// How often a rule changed something.
struct RuleCount {
    rule: RuleId,
    level: Level,
    count: usize,
}

fn counts<'c>(changes: impl Iterator<Item = &'c Change>) -> Vec<RuleCount> {
    let mut counts: Vec<RuleCount> = Vec::new();
    for change in changes {
        match counts.iter_mut().find(|known| known.rule == change.rule) {
            Some(known) => known.count += change.count as usize,
            None => counts.push(RuleCount {
                rule: change.rule,
                level: change.level,
                count: change.count as usize,
            }),
        }
    }
    counts
}

/// Makes one change for each rule of all changes inside this container. The first of them puts the
/// container as it is now in the place of what it was; the others only say how often.
fn join(changes: Vec<Change>, place: &Pointer, tree: &Tree<'_>) -> Option<Vec<Change>> {
    let node = tree.at(place)?;
    let is_inside = |change: &Change| places(change).all(|pointer| pointer.is_within(place));
    let (inside, mut kept): (Vec<Change>, Vec<Change>) = changes.into_iter().partition(is_inside);
    for (index, rule) in counts(inside.iter()).into_iter().enumerate() {
        let is_first = index == 0;
        let span = node.span();
        let sent = tree.source().get(span.clone());
        kept.push(Change {
            rule: rule.rule,
            level: rule.level,
            pointer: place.clone(),
            from: None,
            before: sent.filter(|_| is_first).map(shortened),
            after: is_first.then(|| node.to_json().into()),
            is_text: !is_first,
            span,
            count: u32::try_from(rule.count).unwrap_or(u32::MAX),
        });
    }
    Some(kept)
}
