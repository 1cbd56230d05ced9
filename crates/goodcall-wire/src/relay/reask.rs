//! The request that follows a refused call: the history gets the call, and a result that tells the
//! model what is wrong with it.

use goodcall_core::{Tree, accepted_text, not_run_text};

use super::judge::{CallDecision, CallVerdict};
use crate::envelope::{Answer, Provider, legal_arguments, legal_name};
use crate::protocol::{self, Author, Extension};
use crate::request::write_aliases;
use crate::tools::Tools;

/// A reply that the model is asked to correct.
pub(crate) enum RefusedReply<'d> {
    /// A reply with calls.
    Calls {
        /// The complete reply as JSON, every call in a form that a history may hold.
        legal: String,
        decisions: &'d [CallDecision],
        /// The number of calls that the client has already; they come first.
        forwarded: usize,
    },
    /// A text that the upstream could not read as calls.
    Unread { said: String, explanation: String },
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
    let (reply, results) = match refused {
        RefusedReply::Calls {
            legal,
            decisions,
            forwarded,
        } => {
            let answers = answers(decisions, *forwarded, tools);
            let root = Tree::parse(legal).ok()?;
            let reply = form.history_of(root.root(), legal, tree.root())?;
            let results = form.results(&reply, &answers);
            (reply, results)
        }
        RefusedReply::Unread { said, explanation } => (
            form.message(Author::Model, said),
            form.message(Author::User, explanation),
        ),
    };
    let next = form.extend(Extension {
        request,
        root: tree.root(),
        key: provider.history_key(),
        reply,
        results,
    })?;
    Some(write_aliases(provider, &next, tools).unwrap_or(next))
}

/// Returns what the model reads as the result of each call.
fn answers<'d>(
    decisions: &'d [CallDecision],
    forwarded: usize,
    tools: &Tools,
) -> Vec<(&'d CallDecision, Answer)> {
    let decisions = decisions.iter().enumerate();
    let answers = decisions.map(|(index, decision)| {
        let name = tools.alias_of(&decision.call.name);
        let answer = match decision.verdict {
            CallVerdict::Bad => Answer::error(decision.text.clone()),
            _ if index < forwarded => Answer::ok(accepted_text(name)),
            _ => Answer::error(not_run_text(name)),
        };
        (decision, answer)
    });
    answers.collect()
}

/// A call in a form that a history may hold, whatever its verdict.
pub(crate) fn legal_call(provider: Provider, decision: &CallDecision) -> String {
    let (name, arguments) = legal_parts(provider, decision);
    protocol::form(provider).call(decision.id(), &name, &arguments)
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
