//! The request that follows a refused call: the history gets the call, and a result that tells the
//! model what is wrong with it.

use goodcall_core::{Tree, accepted_text, not_run_text};

use super::judge::{CallDecision, CallVerdict};
use crate::envelope::{Answer, Provider, legal_arguments, legal_name};
use crate::protocol::{self, Extension};
use crate::request::write_aliases;
use crate::tools::Tools;

/// A reply that the model is asked to correct.
pub(crate) struct RefusedReply<'d> {
    /// The complete reply as JSON, every call in a form that a history may hold.
    pub(crate) legal: String,
    pub(crate) decisions: &'d [CallDecision],
    /// The number of calls that the client has already; they come first.
    pub(crate) forwarded: usize,
}

/// Returns the next request; `None` if this one has no history that could be extended.
pub(crate) fn body(
    provider: Provider,
    request: &str,
    refused: &RefusedReply<'_>,
    tools: &Tools,
) -> Option<String> {
    let form = protocol::form(provider);
    let tree = Tree::parse(request).ok()?;
    let legal = Tree::parse(&refused.legal).ok()?;
    let reply = form.history_of(legal.root(), &refused.legal, tree.root())?;
    let decisions = refused.decisions.iter().enumerate();
    let answers = decisions.map(|(index, decision)| {
        let name = tools.alias_of(&decision.call.name);
        let answer = match decision.verdict {
            CallVerdict::Bad => Answer::error(decision.text.clone()),
            _ if index < refused.forwarded => Answer::ok(accepted_text(name)),
            _ => Answer::error(not_run_text(name)),
        };
        (decision, answer)
    });
    let results = form.results(&reply, &answers.collect::<Vec<_>>());
    let next = form.extend(Extension {
        request,
        root: tree.root(),
        key: provider.history_key(),
        reply,
        results,
    })?;
    Some(write_aliases(provider, &next, tools).unwrap_or(next))
}

/// A call in a form that a history may hold, whatever its verdict.
pub(crate) fn legal_call(provider: Provider, decision: &CallDecision) -> String {
    let id = decision.call.id.as_deref().unwrap_or_default();
    let (name, arguments) = legal_parts(provider, decision);
    protocol::form(provider).call(id, &name, &arguments)
}

/// Name and arguments that a history may hold.
pub(crate) fn legal_parts(provider: Provider, decision: &CallDecision) -> (String, String) {
    match decision.verdict {
        CallVerdict::Bad => (
            legal_name(
                provider,
                decision.call.alias.as_ref().unwrap_or(&decision.call.name),
            ),
            legal_arguments(&decision.call.arguments),
        ),
        _ => (
            decision.call.name.clone(),
            decision.final_arguments().to_owned(),
        ),
    }
}
