//! How each provider writes whole messages: requests, their histories, and replies. Each provider's
//! folder has its own [`Form`].

use std::sync::Arc;

use goodcall_core::{Kind, Node, Tree};

use super::framing::Framing;
use crate::definitions::Definition;
use crate::envelope::{Answer, Provider, result};
use crate::relay::{
    CallDecision, CallMemory, Endpoint, FailedGeneration, FindCall, RecoveredReply,
};
use crate::splice::{Splice, quoted};

/// The URL of a request.
pub(crate) struct RequestUrl<'u> {
    /// The path, without a slash at its end.
    pub(crate) path: &'u str,
    pub(crate) query: &'u str,
    /// Returns true if the request has a header of this name.
    pub(crate) has_header: &'u dyn Fn(&str) -> bool,
}

/// Who wrote a message of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    Model,
    User,
}

impl Author {
    /// The role of the author, in the words of most providers.
    pub(super) fn role(self) -> &'static str {
        match self {
            Author::Model => "assistant",
            Author::User => "user",
        }
    }
}

/// Where the texts and the calls of a reply are.
#[derive(Clone, Debug)]
pub(crate) enum Layout<'t> {
    /// Messages, each with a text and a list of calls beside it.
    Messages(Vec<Node<'t>>),
    /// Lists of blocks, each of which is a text, a call or something else.
    Blocks(Vec<Node<'t>>),
}

/// A place of a reply that says why it ended.
pub(crate) struct StopPlace<'t> {
    pub(crate) owner: Node<'t>,
    pub(crate) key: &'static str,
    pub(crate) reasons: &'static StopReasons,
}

/// The stop reasons that a protocol gives to a reply with calls, and to one without.
#[derive(Debug)]
pub(crate) struct StopReasons {
    pub(crate) with_calls: &'static str,
    pub(crate) without_calls: &'static str,
}

impl StopReasons {
    /// Returns the reason that a reply with so many calls must give, if it gives another one.
    /// Reasons that are not about calls are left alone.
    pub(crate) fn corrected(&self, reason: Option<&str>, calls: usize) -> Option<&'static str> {
        match (reason, calls) {
            (None | Some("" | "stop" | "eos" | "end_turn"), 1..) => Some(self.with_calls),
            (Some(reason), 0) if reason == self.with_calls => Some(self.without_calls),
            _ => None,
        }
    }
}

/// A request that is extended by a reply and its results.
pub(crate) struct Extension<'e> {
    pub(crate) request: &'e str,
    pub(crate) root: Node<'e>,
    /// The key of the history.
    pub(crate) key: &'static str,
    /// The messages of the reply.
    pub(crate) reply: String,
    /// The messages with its results.
    pub(crate) results: String,
}

impl Extension<'_> {
    /// Returns the request with both at the end of its list of messages.
    pub(crate) fn append(self) -> Option<String> {
        let history = self.root.get(self.key)?;
        let mut splice = Splice::new(self.request);
        let (reply, results) = (self.reply, self.results);
        let is_list = history.kind() == Kind::Array;
        is_list.then(|| {
            splice.append(history, &format!("{reply},{results}"));
            splice.apply()
        })
    }
}

/// A provider's form of whole messages.
pub(crate) trait Form: Sync {
    fn provider(&self) -> Provider;

    /// Reads the URL of a request that this provider answers.
    fn endpoint(&self, url: &RequestUrl<'_>) -> Option<Endpoint>;

    /// The framing of streams, unless the URL asks for another.
    fn framing(&self) -> Framing {
        Framing::Events
    }

    /// The list of tools in a request.
    fn tools<'t>(&self, root: Node<'t>) -> Option<Node<'t>> {
        root.get("tools")
    }

    /// Returns true for an entry of that list that has functions with a schema. Other entries are
    /// tools of the provider's own, or of a form that this version does not know.
    fn is_function(&self, entry: Node<'_>) -> bool {
        let definition = Definition::read(entry);
        definition.wrapper.is_some() && definition.name().is_some()
    }

    /// Returns true for an entry whose calls cannot be told from those of functions.
    fn is_opaque(&self, entry: Node<'_>) -> bool {
        // The calls of a custom tool are free text, and never look like function calls.
        !self.is_function(entry) && Definition::read(entry).kind != Some("custom")
    }

    /// Returns true if a request asks for a streamed reply, unless the URL says that.
    fn streams(&self, root: Node<'_>) -> bool {
        root.get("stream").and_then(Node::as_bool) == Some(true)
    }

    /// Returns true if a request asks for several messages.
    fn has_several_choices(&self, root: Node<'_>) -> bool {
        let _ = root;
        false
    }

    /// Returns true if a request forbids calls.
    fn forbids_calls(&self, root: Node<'_>) -> bool {
        let choice = root.get("tool_choice");
        let choice = choice.map(|choice| choice.get("type").unwrap_or(choice));
        choice.and_then(Node::as_str) == Some("none")
    }

    /// The request's limit on the tokens of a reply.
    fn token_limit<'t>(&self, root: Node<'t>) -> Option<Node<'t>> {
        let keys = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
        let limits = keys.iter().filter_map(|key| root.get(key));
        limits.into_iter().find(|limit| !limit.is_null())
    }

    /// The usage that a reply reports.
    fn usage<'t>(&self, root: Node<'t>) -> Option<Node<'t>> {
        root.get("usage")
    }

    /// Returns true if a reply is an error, or has no content.
    fn is_failure(&self, root: Node<'_>) -> bool;

    /// Returns true if a reply must not be asked for again: it was stopped for safety, or calls
    /// something that only the client can answer.
    fn is_settled(&self, root: Node<'_>) -> bool;

    fn layout<'t>(&self, root: Node<'t>) -> Layout<'t>;

    /// The strings of a block that are text of the model; results and reasoning are not.
    fn block_texts<'t>(&self, block: Node<'t>) -> Vec<Node<'t>> {
        let _ = block;
        Vec::new()
    }

    /// Returns true if the provider refuses a history with an empty text in it.
    fn refuses_empty_text(&self) -> bool {
        false
    }

    /// Returns true for a block that the provider wants back only together with the block behind it.
    fn is_companion(&self, block: Node<'_>) -> bool {
        let _ = block;
        false
    }

    /// Returns true if the provider stores its replies for this request, so that a call cannot be
    /// taken out of one: it must have a result in the next request.
    fn is_stored(&self, request: Node<'_>) -> bool {
        let _ = request;
        false
    }

    /// The places that say why a reply ended, where that has to do with calls.
    fn stop_places<'t>(&self, root: Node<'t>) -> Vec<StopPlace<'t>> {
        let _ = root;
        Vec::new()
    }

    /// The beginning of ids that are made up.
    fn id_prefix(&self) -> &'static str {
        "call_"
    }

    /// The member of a message that thoughts are written to which are found in its text; `None`
    /// where they stay in it.
    fn reasoning_key(&self) -> Option<&'static str> {
        None
    }

    /// A call as a reply has it. The arguments are a JSON object where the provider writes one.
    fn call(&self, id: &str, name: &str, arguments: &str) -> String;

    /// A text as a block that replaces a call.
    fn text_block(&self, decision: &CallDecision) -> String {
        let _ = decision;
        String::new()
    }

    /// The blocks at the head of a reply that must come before every later call in the client's
    /// history, as a list without brackets.
    fn thinking_before(&self, reply: &str) -> Option<String> {
        let _ = reply;
        None
    }

    /// A reply as messages of a history; `None` if the calls are not where they belong, as in a
    /// reply that repeats a key. `legal` is its text, `request` the request that it answers.
    fn history_of(&self, root: Node<'_>, legal: &str, request: Node<'_>) -> Option<String>;

    /// The results of calls as messages of a history. `reply` is the message with the calls.
    fn results(&self, reply: &str, answers: &[(&CallDecision, Answer)]) -> String {
        let _ = reply;
        joined_results(self.provider(), answers)
    }

    /// A message of a history with nothing but this text.
    fn message(&self, author: Author, text: &str) -> String {
        let (role, text) = (author.role(), quoted(text));
        format!(r#"{{"role":"{role}","content":{text}}}"#)
    }

    /// What the model wrote that the upstream could not read as calls, and quotes in this error or
    /// reply.
    fn failed_generation(&self, root: Node<'_>) -> Option<FailedGeneration> {
        let _ = root;
        None
    }

    /// A whole reply in place of `failed`, which says that the calls in it could not be read.
    fn recovered(
        &self,
        failed: &str,
        root: Node<'_>,
        reply: &RecoveredReply<'_>,
    ) -> Option<String> {
        let _ = (failed, root, reply);
        None
    }

    /// What came with the calls of a reply that a client may drop, though the provider wants it back.
    fn memorable(&self, root: Node<'_>, reply: &str) -> Vec<CallMemory> {
        let _ = (root, reply);
        Vec::new()
    }

    /// Returns the request with what a client dropped from its history; `None` if nothing is missing.
    fn put_back(&self, request: &str, root: Node<'_>, find: &FindCall<'_>) -> Option<String> {
        let _ = (request, root, find);
        None
    }

    /// The member of a block that must be on the first call of a reply, wherever that is.
    fn first_call_member(&self) -> Option<&'static str> {
        None
    }

    /// Returns the request with a reply and its results at the end; `None` if it has no history
    /// that could be extended.
    fn extend(&self, extension: Extension<'_>) -> Option<String> {
        extension.append()
    }
}

/// Returns the leading blocks of a list that `is_thinking` accepts, without brackets.
pub(super) fn leading_blocks(
    reply: &str,
    list: impl FnOnce(Node<'_>) -> Option<Node<'_>>,
    is_thinking: fn(Node<'_>) -> bool,
) -> Option<String> {
    let tree = Tree::parse(reply).ok()?;
    let blocks = list(tree.root())?.elements();
    let blocks = blocks.take_while(|block| is_thinking(*block));
    let blocks: Vec<_> = blocks.filter_map(|block| reply.get(block.span())).collect();
    (!blocks.is_empty()).then(|| blocks.join(","))
}

/// The calls of a list of blocks, each with the reasoning that came before them.
pub(super) fn block_memories(
    blocks: Option<Node<'_>>,
    reasoning: Option<String>,
    read: fn(Node<'_>) -> Option<CallMemory>,
) -> Vec<CallMemory> {
    let Some(reasoning) = reasoning else {
        return Vec::new();
    };
    let blocks = blocks.into_iter().flat_map(Node::elements);
    let calls = blocks.filter_map(|block| {
        let mut memory = read(block)?;
        memory.message.push((String::new(), reasoning.clone()));
        Some(memory)
    });
    calls.collect()
}

/// Puts reasoning back before the blocks of each list that begins without it. `find` returns what is
/// remembered of a block that is a call.
pub(super) fn put_back_blocks<'t>(
    request: &str,
    lists: impl Iterator<Item = Node<'t>>,
    is_reasoning: fn(Node<'_>) -> bool,
    find: impl Fn(Node<'_>) -> Option<Arc<CallMemory>>,
) -> Option<String> {
    let mut splice = Splice::new(request);
    for list in lists {
        if list.element(0).is_none_or(is_reasoning) {
            continue;
        }
        let known = list.elements().find_map(&find);
        if let Some((_, blocks)) = known.as_ref().and_then(|known| known.message.first()) {
            let start = list.span().start + 1;
            splice.replace(start..start, format!("{blocks},"));
        }
    }
    (!splice.is_empty()).then(|| splice.apply())
}

/// A list of blocks without those that a history must not hold; `None` if it is not a list. `legal` is
/// the text of the reply.
pub(super) fn block_history(
    list: Node<'_>,
    legal: &str,
    is_blank: impl Fn(Node<'_>) -> bool,
) -> Option<String> {
    if list.kind() != Kind::Array {
        return None;
    }
    let blocks = list.elements().filter(|block| !is_blank(*block));
    let blocks: Vec<_> = blocks.filter_map(|block| legal.get(block.span())).collect();
    if blocks.len() == list.len() {
        return legal.get(list.span()).map(str::to_owned);
    }
    Some(format!("[{}]", blocks.join(",")))
}

fn joined_results(provider: Provider, answers: &[(&CallDecision, Answer)]) -> String {
    let results = answers.iter();
    let results = results.map(|(decision, answer)| result(provider, &decision.call, answer));
    results.collect::<Vec<_>>().join(",")
}

/// The results of calls as one message of the user, in the list under `key`.
pub(super) fn user_results(
    provider: Provider,
    key: &str,
    answers: &[(&CallDecision, Answer)],
) -> String {
    let results = joined_results(provider, answers);
    format!(r#"{{"role":"user","{key}":[{results}]}}"#)
}

/// Returns true if a member is there and is not null.
pub(super) fn has(node: Node<'_>, key: &str) -> bool {
    node.get(key).is_some_and(|value| !value.is_null())
}
