//! Explains a value that fits several branches of a union of which it should fit one.

use super::phrase;
use crate::limits::DESCRIBED_KEYS;
use crate::report::Expected;

/// Names the branches that the value fits, and what would tell them apart.
pub(super) fn complaint(expected: &Expected, short: &str) -> String {
    let forms = &expected.alternatives[..];
    let names: Vec<String> = forms.iter().map(name).collect();
    if names.is_empty() || !differ(&names) {
        return format!("{short} fits more than one form; make it fit exactly one");
    }
    let names = phrase::all(&names);
    let apart = by_name(forms).unwrap_or_default();
    format!("{short} fits more than one form ({names}); make it fit exactly one{apart}")
}

/// The members of which one alone may stay, if each branch is told by a member of its own.
pub(super) fn rivals(expected: &Expected) -> Option<String> {
    let keys = own_keys(expected).filter(|_| by_name(&expected.alternatives).is_none())?;
    Some(phrase::all(&keys))
}

/// Returns the title of a branch, or a description where it has none.
fn name(form: &Expected) -> String {
    match &form.prose.about {
        Some(title) => title.clone(),
        None => phrase::expected(form),
    }
}

/// Returns true if no two of these few words are the same.
fn differ(words: &[String]) -> bool {
    let mut all = words.iter().enumerate();
    all.all(|(at, word)| !words[..at].contains(word))
}

/// Finds a member that every branch requires with a different constant, such as `kind`.
fn by_name(forms: &[Expected]) -> Option<String> {
    let first = forms.first()?;
    let tag = first.object.keys.iter().find_map(|tag| {
        let value = |form: &Expected| {
            let key = form.object.keys.iter().find(|key| key.name == tag.name)?;
            match key.allowed.as_slice() {
                [only] => Some(only.clone()),
                _ => None,
            }
        };
        let values = forms.iter().map(value).collect::<Option<Vec<String>>>()?;
        differ(&values).then_some((&tag.name, values))
    });
    let (name, values) = tag?;
    Some(format!(" by adding {name}: {}", phrase::either(&values)))
}

/// Finds for each branch the first member that no other branch requires. Returns `None` if the
/// object needs one of these members anyway.
fn own_keys(expected: &Expected) -> Option<Vec<String>> {
    let forms = &expected.alternatives[..];
    if forms
        .iter()
        .any(|form| form.object.keys.len() >= DESCRIBED_KEYS)
    {
        // The list of keys is cut at this length, so a key may be missing from it.
        return None;
    }
    let own = |form: &Expected| {
        let others = || forms.iter().filter(|other| !std::ptr::eq(*other, form));
        let alone = |name: &str| others().all(|o| o.object.keys.iter().all(|key| key.name != name));
        let key = form.object.keys.iter().find(|key| alone(&key.name))?;
        Some(key.name.clone())
    };
    let keys = forms.iter().map(own).collect::<Option<Vec<String>>>()?;
    if expected
        .object
        .keys
        .iter()
        .any(|key| keys.contains(&key.name))
    {
        return None;
    }
    (keys.len() > 1).then_some(keys)
}
