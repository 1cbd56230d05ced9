//! What is replayed is what was executed.

use std::borrow::Cow;

use goodcall_core::{Kind, Tree, Verdict};

use super::sites::{Arguments, Site};
use super::{Located, Provider};
use crate::call::RawCall;
use crate::cuts::{Cuts, quoted};

/// The longest name that every provider accepts.
const MOST_NAME: usize = 64;

/// What becomes of one call in a rewritten envelope.
#[derive(Clone, Debug)]
pub(crate) enum CallRewrite<'a> {
    /// Valid as sent: only its form may have to change.
    Sent,
    /// These arguments, in place of what was sent.
    Write(Cow<'a, str>),
    /// Bad, and written so that a provider accepts it in a history.
    Legal,
    /// Not touched at all.
    Untouched,
}

pub(crate) fn replay(located: &Located, text: &str, verdicts: &[Verdict<'_>]) -> String {
    let due = (0..located.calls.len()).map(|index| match verdicts.get(index) {
        Some(Verdict::Good(tree)) => match &located.sites[index].arguments {
            Some(sent) if sent.text.is_some() == located.provider.writes_text() => {
                CallRewrite::Sent
            }
            _ => CallRewrite::Write(tree.to_json().into()),
        },
        Some(Verdict::Mended(mended)) => CallRewrite::Write(mended.arguments.to_json().into()),
        Some(Verdict::Bad(_)) | None => CallRewrite::Legal,
    });
    let mut cuts = Cuts::new(text);
    write(located, &due.collect::<Vec<_>>(), &mut cuts);
    cuts.apply()
}

/// Writes each call as it is due.
pub(crate) fn write(located: &Located, due: &[CallRewrite<'_>], cuts: &mut Cuts<'_>) {
    for ((site, call), due) in located.sites.iter().zip(&located.calls).zip(due) {
        one(located.provider, site, call, due, cuts);
    }
}

fn one(
    provider: Provider,
    site: &Site,
    call: &RawCall,
    due: &CallRewrite<'_>,
    cuts: &mut Cuts<'_>,
) {
    let name: Cow<'_, str> = match due {
        CallRewrite::Untouched if call.told.is_none() => return,
        CallRewrite::Untouched => {
            return cuts.string(site.name_span.clone(), &call.name);
        }
        CallRewrite::Legal => legal_name(provider, call.told.as_ref().unwrap_or(&call.name)).into(),
        CallRewrite::Sent | CallRewrite::Write(_) => call.name.as_str().into(),
    };
    if name != site.name {
        cuts.string(site.name_span.clone(), &name);
    }
    let form = |sent: &Arguments| sent.text.is_some() == provider.writes_text();
    let legal = || legal_arguments(&call.arguments);
    let arguments: Option<Cow<'_, str>> = match (due, &site.arguments) {
        // Valid as sent, and sent in the form that is due: not a byte is touched.
        (CallRewrite::Sent, Some(sent)) if form(sent) => None,
        (CallRewrite::Sent | CallRewrite::Untouched, _) => Some(call.arguments.as_str().into()),
        (CallRewrite::Write(arguments), _) => Some(arguments.as_ref().into()),
        (CallRewrite::Legal, Some(sent)) => {
            let legal = Some(legal()).filter(|legal| !form(sent) || *legal != call.arguments);
            legal.map(Cow::from)
        }
        (CallRewrite::Legal, None) => Some(legal().into()),
    };
    if let Some(arguments) = arguments {
        let written = match provider.writes_text() {
            true => quoted(&arguments),
            false => arguments.into_owned(),
        };
        match &site.arguments {
            Some(sent) => cuts.replace(sent.span.clone(), written),
            None => cuts.first(&site.owner, site.arguments_key, &written),
        }
    }
    if provider.needs_id() && !site.id_key.is_empty() && site.id != call.id {
        let id = quoted(call.id.as_deref().unwrap_or_default());
        match &site.id_span {
            Some(span) => cuts.replace(span.clone(), id),
            None => cuts.first(&site.id_owner, site.id_key, &id),
        }
    }
}

/// The raw arguments, if they are an object in JSON; an empty one instead of anything else, since
/// a provider refuses a history with anything else in it, for ever.
pub(crate) fn legal_arguments(raw: &str) -> String {
    match Tree::parse(raw) {
        Ok(tree) if tree.root().kind() == Kind::Object => raw.to_owned(),
        _ => "{}".to_owned(),
    }
}

/// A name that the provider's own rules allow.
pub(crate) fn legal_name(provider: Provider, name: &str) -> String {
    let dots = matches!(
        provider,
        Provider::Gemini | Provider::Mcp | Provider::Ollama
    );
    let legal = |c: char| match c {
        c if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') => c,
        '.' if dots => c,
        _ => '_',
    };
    let name: String = name.chars().take(MOST_NAME).map(legal).collect();
    if name.is_empty() {
        "unknown".to_owned()
    } else {
        name
    }
}
