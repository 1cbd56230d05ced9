//! What is replayed is what was executed.

use std::ops::Range;

use goodcall_core::{Kind, Tree, Verdict};

use super::sites::Site;
use super::{Envelope, Provider};
use crate::call::Call;

/// The longest name that every provider accepts.
const MOST_NAME: usize = 64;

/// One cut: these bytes make room for this text.
struct Cut {
    span: Range<usize>,
    text: String,
}

pub(crate) fn replay(envelope: &Envelope, verdicts: &[Verdict<'_>]) -> String {
    let mut cuts = Vec::new();
    for (index, (site, call)) in envelope.sites.iter().zip(&envelope.calls).enumerate() {
        let verdict = verdicts.get(index);
        one(
            envelope.provider,
            &envelope.text,
            site,
            call,
            verdict,
            &mut cuts,
        );
    }
    apply(&envelope.text, cuts)
}

fn one(
    provider: Provider,
    text: &str,
    site: &Site,
    call: &Call,
    verdict: Option<&Verdict<'_>>,
    cuts: &mut Vec<Cut>,
) {
    let name = match verdict {
        Some(Verdict::Bad(_)) | None => legal_name(provider, &call.name),
        Some(_) => call.name.clone(),
    };
    if name != site.name {
        cuts.push(Cut {
            span: site.name_span.clone(),
            text: quoted(&name),
        });
    }
    let executed = verdict.and_then(Verdict::arguments);
    let arguments = match executed {
        Some(tree) => tree.to_json(),
        None => legal_arguments(&call.arguments),
    };
    let unchanged = match (verdict, &site.arguments) {
        // Valid as sent, and sent in the form that is due: not a byte is touched.
        (Some(Verdict::Good(_)), Some(sent)) => sent.text.is_some() == provider.writes_text(),
        (Some(Verdict::Bad(_)), Some(sent)) => {
            let form = sent.text.is_some() == provider.writes_text();
            form && arguments == call.arguments
        }
        _ => false,
    };
    if !unchanged {
        let written = if provider.writes_text() {
            quoted(&arguments)
        } else {
            arguments
        };
        cuts.push(match &site.arguments {
            Some(sent) => Cut {
                span: sent.span.clone(),
                text: written,
            },
            None => member(text, &site.owner, site.arguments_key, &written),
        });
    }
    if site.id.is_none() && provider.needs_id() {
        let id = quoted(call.id.as_deref().unwrap_or_default());
        cuts.push(match &site.id_span {
            Some(span) => Cut {
                span: span.clone(),
                text: id,
            },
            None => member(text, &site.id_owner, site.id_key, &id),
        });
    }
}

/// A new first member of an object.
fn member(text: &str, object: &Range<usize>, key: &str, value: &str) -> Cut {
    let at = object.start + 1;
    let empty = text
        .get(at..object.end)
        .is_some_and(|rest| rest.trim_start().starts_with('}'));
    let comma = if empty { "" } else { ", " };
    Cut {
        span: at..at,
        text: format!("{}: {value}{comma}", quoted(key)),
    }
}

/// The raw arguments, if they are an object in JSON; an empty one instead of anything else, since
/// a provider refuses a history with anything else in it, for ever.
pub(super) fn legal_arguments(raw: &str) -> String {
    match Tree::parse(raw) {
        Ok(tree) if tree.root().kind() == Kind::Object => raw.to_owned(),
        _ => "{}".to_owned(),
    }
}

/// A name that the provider's own rules allow.
pub(super) fn legal_name(provider: Provider, name: &str) -> String {
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

pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn apply(text: &str, mut cuts: Vec<Cut>) -> String {
    cuts.sort_by_key(|cut| cut.span.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for cut in cuts {
        // Cuts do not overlap; one that would is left out rather than written wrongly.
        let Some(kept) = text.get(at..cut.span.start) else {
            continue;
        };
        out.push_str(kept);
        out.push_str(&cut.text);
        at = cut.span.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}
