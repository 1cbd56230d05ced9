//! Rewrites the calls of an envelope, so that a replay holds what was executed.

use std::borrow::Cow;

use goodcall_core::{Kind, Tree, Verdict};

use super::sites::{Arguments, Site};
use super::{Located, Provider};
use crate::call::RawCall;
use crate::splice::{Splice, quoted};

/// The length of the longest name that every provider accepts.
const MOST_NAME: usize = 64;

/// How one call is rewritten.
#[derive(Clone, Debug)]
pub(crate) enum CallRewrite<'a> {
    /// The call is valid as sent: only its form may have to change.
    KeepAsSent,
    /// The call gets these arguments.
    Replace(Cow<'a, str>),
    /// The call is bad, and written so that a provider accepts it in a history.
    MakeHistorySafe,
    /// The call stays as it is, except that an alias becomes the tool's name.
    Untouched,
}

pub(crate) fn replay(located: &Located, text: &str, verdicts: &[Verdict<'_>]) -> String {
    let rewrites = (0..located.calls.len()).map(|index| match verdicts.get(index) {
        Some(Verdict::Good(tree)) => match &located.sites[index].arguments {
            Some(sent) if sent.text.is_some() == located.provider.writes_text() => {
                CallRewrite::KeepAsSent
            }
            _ => CallRewrite::Replace(tree.to_json().into()),
        },
        Some(Verdict::Mended(mended)) => CallRewrite::Replace(mended.arguments.to_json().into()),
        Some(Verdict::Bad(_)) | None => CallRewrite::MakeHistorySafe,
    });
    let mut splice = Splice::new(text);
    write(located, &rewrites.collect::<Vec<_>>(), &mut splice);
    splice.apply()
}

/// Rewrites each call.
pub(crate) fn write(located: &Located, rewrites: &[CallRewrite<'_>], splice: &mut Splice<'_>) {
    for ((site, call), rewrite) in located.sites.iter().zip(&located.calls).zip(rewrites) {
        write_call(located.provider, site, call, rewrite, splice);
    }
}

fn write_call(
    provider: Provider,
    site: &Site,
    call: &RawCall,
    rewrite: &CallRewrite<'_>,
    splice: &mut Splice<'_>,
) {
    let name: Cow<'_, str> = match rewrite {
        CallRewrite::Untouched if call.alias.is_none() => return,
        CallRewrite::Untouched => {
            return splice.replace_string(site.name_span.clone(), &call.name);
        }
        CallRewrite::MakeHistorySafe => {
            legal_name(provider, call.alias.as_ref().unwrap_or(&call.name)).into()
        }
        CallRewrite::KeepAsSent | CallRewrite::Replace(_) => call.name.as_str().into(),
    };
    if name != site.name {
        splice.replace_string(site.name_span.clone(), &name);
    }
    let has_form = |sent: &Arguments| sent.text.is_some() == provider.writes_text();
    let legal = || legal_arguments(&call.arguments);
    let arguments: Option<Cow<'_, str>> = match (rewrite, &site.arguments) {
        // Valid as sent, and sent in the provider's form: not a byte changes.
        (CallRewrite::KeepAsSent, Some(sent)) if has_form(sent) => None,
        (CallRewrite::KeepAsSent | CallRewrite::Untouched, _) => {
            Some(call.arguments.as_str().into())
        }
        (CallRewrite::Replace(arguments), _) => Some(arguments.as_ref().into()),
        (CallRewrite::MakeHistorySafe, Some(sent)) => {
            let legal = Some(legal()).filter(|legal| !has_form(sent) || *legal != call.arguments);
            legal.map(Cow::from)
        }
        (CallRewrite::MakeHistorySafe, None) => Some(legal().into()),
    };
    if let Some(arguments) = arguments {
        let written = if provider.writes_text() {
            quoted(&arguments)
        } else {
            arguments.into_owned()
        };
        match &site.arguments {
            Some(sent) => splice.replace(sent.span.clone(), written),
            None => splice.insert_first(&site.owner, site.arguments_key, &written),
        }
    }
    if let Some(id) = &call.id
        && provider.needs_id()
        && !site.id_key.is_empty()
        && site.id.as_ref() != Some(id)
    {
        let id = quoted(id);
        match &site.id_span {
            Some(span) => splice.replace(span.clone(), id),
            None => splice.insert_first(&site.id_owner, site.id_key, &id),
        }
    }
}

/// Returns the raw arguments if they are a JSON object, and an empty object otherwise: a provider
/// refuses every request whose history holds anything else.
pub(crate) fn legal_arguments(raw: &str) -> String {
    match Tree::parse(raw) {
        Ok(tree) if tree.root().kind() == Kind::Object => raw.to_owned(),
        _ => "{}".to_owned(),
    }
}

/// Returns the name with every character replaced that the provider does not allow.
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
