//! One client request, and the replies to it until one is good.

use std::collections::{BTreeSet, HashSet};
use std::fmt::{self, Write as _};
use std::sync::{Arc, OnceLock};

use goodcall_core::{Kind, Node, StopReason, Tree, stable_hash};

use super::endpoint::Endpoint;
use super::judge::{
    CallDecision, CallRecord, CallVerdict, GiveUp, Judge, RelaySettings, UsageMode,
};
use super::reask::{self, RefusedReply};
use super::reply_facts::ReplyFacts;
use super::tools_cache::ToolsCache;
use super::usage::{TokenCounts, Usage};
use crate::envelope::{Located, Provider, call_sites};
use crate::protocol::{self, Form, Framing};
use crate::request::{Adapt, adapt_with_aliases};
use crate::splice::Splice;
use crate::text::TextCallScope;

/// The length of an id of Mistral.
const SHORT_ID: usize = 9;

/// The most calls that are recorded per exchange.
const MOST_RECORDS: usize = 1024;

/// Why the replies to a request cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotJudged {
    /// The request is not a JSON object.
    NotJson,
    /// The request offers no tools with a schema.
    NoTools,
}

impl NotJudged {
    /// The name in logs, such as `no_tools`.
    pub fn name(self) -> &'static str {
        match self {
            NotJudged::NotJson => "not_json",
            NotJudged::NoTools => "no_tools",
        }
    }
}

impl fmt::Display for NotJudged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotJudged::NotJson => "the request is not a JSON object",
            NotJudged::NoTools => "the request offers no tools",
        })
    }
}

impl std::error::Error for NotJudged {}

/// What a gateway has to do after a complete reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Send this reply to the client; `None` stands for the reply as it arrived.
    Reply(Option<String>),
    /// Ask the model again, with [`Exchange::body`].
    Reask,
}

/// One client request with all the upstream replies to it.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub(crate) provider: Provider,
    /// How the events of a stream follow each other.
    pub(crate) framing: Framing,
    pub(crate) judge: Judge,
    pub(crate) body: Arc<str>,
    pub(crate) request: RequestFacts,
    /// The number of times that the model was asked again.
    pub(crate) attempt: u32,
    /// True if the reply must not be asked for again: it was stopped for safety, or it calls
    /// something that only the client can answer.
    pub(crate) settled: bool,
    /// The usage of earlier replies.
    pub(crate) usage: Usage,
    /// Makes the ids that this exchange invents differ from those of others.
    seed: OnceLock<IdSeed>,
    pub(crate) whole: WholeReplies,
    findings: Findings,
}

/// What is kept of complete replies.
#[derive(Clone, Debug, Default)]
pub(crate) struct WholeReplies {
    /// The reply that led to the last re-ask, in case that brings none.
    pub(crate) last: Option<String>,
    /// The thinking before the refused calls, where the client's history must have it.
    pub(crate) thinking: Option<String>,
    /// True if the last one was not JSON.
    pub(crate) is_unreadable: bool,
}

/// What was found in the replies.
#[derive(Clone, Debug, Default)]
struct Findings {
    records: Vec<CallRecord>,
    /// The number of repeated calls that were left out.
    dropped: u32,
    /// What was repaired around the calls, such as a missing finish reason.
    repairs: BTreeSet<&'static str>,
    /// The usage of the last reply.
    last_usage: Usage,
    /// What the last reply says about itself; `None` if nobody wants to know.
    facts: Option<ReplyFacts>,
}

/// What the client's request says, apart from its tools.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RequestFacts {
    /// The model that the request names.
    pub model: Option<String>,
    /// True if the request asks for a streamed reply.
    pub streams: bool,
    /// Several choices were asked for, so that none can be asked for again.
    pub(crate) several_choices: bool,
    /// The tools are offered in the legacy form, as `functions`.
    legacy_functions: bool,
    /// The tool choice forbids calls, so that text stays text.
    forbids_calls: bool,
    /// The request's limit on the tokens of a reply; `u64::MAX` for one that cannot be read.
    token_limit: Option<u64>,
    /// The provider stores the reply.
    pub(crate) is_stored: bool,
}

impl RequestFacts {
    /// Reads a request; `None` if it is not a JSON object.
    pub fn of(endpoint: &Endpoint, body: &str) -> Option<Self> {
        let tree = Tree::parse(body).ok()?;
        let is_object = tree.root().kind() == Kind::Object;
        is_object.then(|| Self::read(endpoint, tree.root()))
    }

    fn read(endpoint: &Endpoint, root: Node<'_>) -> Self {
        let form = protocol::form(endpoint.provider);
        let model = root.get("model").and_then(Node::as_str).map(str::to_owned);
        let streams = endpoint.streams;
        Self {
            several_choices: form.has_several_choices(root),
            legacy_functions: root.get("functions").is_some() && root.get("tools").is_none(),
            forbids_calls: form.forbids_calls(root),
            token_limit: form.token_limit(root).map(|limit| {
                let limit = limit.digits().and_then(|digits| digits.parse().ok());
                limit.unwrap_or(u64::MAX)
            }),
            is_stored: form.is_stored(root),
            model: endpoint.model.clone().or(model),
            streams: streams.unwrap_or_else(|| form.streams(root)),
        }
    }
}

impl Exchange {
    /// Reads a request. Its provider says enough about where it is sent if the URL names neither
    /// the model nor the form of the reply.
    ///
    /// # Errors
    /// If the request has no tools by which replies could be judged.
    pub fn new(
        endpoint: impl Into<Endpoint>,
        body: &str,
        cache: &ToolsCache,
        settings: Arc<RelaySettings>,
    ) -> Result<Self, NotJudged> {
        let tree = Tree::parse(body).map_err(|_| NotJudged::NotJson)?;
        let root = tree.root();
        if root.kind() != Kind::Object {
            return Err(NotJudged::NotJson);
        }
        let endpoint = endpoint.into();
        let provider = endpoint.provider;
        let list = protocol::form(provider).tools(root);
        let list = list.filter(|list| list.kind() == Kind::Array);
        let offered = list.and_then(|list| cache.read(provider, list, body));
        let offered = offered.ok_or(NotJudged::NoTools)?;
        Ok(Self {
            provider,
            judge: Judge {
                settings,
                tools: offered.tools,
                has_opaque_tools: offered.has_opaque_tools,
            },
            body: body.into(),
            request: RequestFacts::read(&endpoint, root),
            framing: endpoint.framing,
            attempt: 0,
            settled: false,
            usage: Usage::default(),
            seed: OnceLock::new(),
            whole: WholeReplies::default(),
            findings: Findings::default(),
        })
    }

    /// The request to send upstream now.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The request to send upstream now, shared instead of copied.
    pub fn shared_body(&self) -> Arc<str> {
        Arc::clone(&self.body)
    }

    /// Has replies judged by other settings.
    pub fn set_settings(&mut self, settings: Arc<RelaySettings>) {
        self.judge.settings = settings;
    }

    /// Frees the request, for when it will not be sent again.
    pub fn forget_body(&mut self) {
        self.seed();
        self.body = Arc::default();
    }

    /// Rewrites the tools so that the upstream accepts them. A tool that needs another name has it
    /// in the history, too. Replies are judged by the original tools, and name them so.
    pub fn adapt(&mut self, to: Adapt) {
        if let Some((body, aliases)) = adapt_with_aliases(self.provider, &self.body, to) {
            self.seed();
            self.body = body.into();
            self.judge.tools = self.judge.tools.with_aliases(aliases);
        }
    }

    /// The provider's form of whole messages.
    pub(crate) fn form(&self) -> &'static dyn Form {
        protocol::form(self.provider)
    }

    /// Returns true if a reply of this media type, without parameters and in lower case, is a
    /// stream for [`StreamRelay`](super::StreamRelay).
    pub fn is_stream(&self, media_type: &str) -> bool {
        self.framing.fits(media_type) && (self.framing != Framing::Array || self.request.streams)
    }

    /// The media type of a streamed reply to this request.
    pub fn stream_type(&self) -> &'static str {
        self.framing.media_type()
    }

    /// The model that the request names.
    pub fn model(&self) -> Option<&str> {
        self.request.model.as_deref()
    }

    /// Returns true if the request asks for a streamed reply.
    pub fn streams(&self) -> bool {
        self.request.streams
    }

    /// The number of times that the model was asked again.
    pub fn reasked(&self) -> u32 {
        self.attempt
    }

    /// The calls of all replies.
    pub fn records(&self) -> &[CallRecord] {
        &self.findings.records
    }

    /// Takes out the calls of all replies, for when the exchange is over.
    pub fn take_records(&mut self) -> Vec<CallRecord> {
        std::mem::take(&mut self.findings.records)
    }

    /// Returns true if the last complete reply was not JSON, so that nothing could be judged.
    pub fn is_unread(&self) -> bool {
        self.whole.is_unreadable
    }

    /// The verdicts in one line, for a header: `good=1 mended=0 bad=0 reasked=0`.
    pub fn summary(&self) -> String {
        let mut text = String::with_capacity(80);
        for (name, count) in self.counts() {
            text.push_str(if text.is_empty() { "" } else { " " });
            text.push_str(name);
            text.push('=');
            write!(text, "{count}").expect("writing into a string succeeds");
        }
        text
    }

    /// The verdicts as a JSON object, for the `goodcall` member of a body.
    pub(crate) fn report(&self) -> String {
        let members = self.counts().map(|(name, n)| format!("\"{name}\":{n}"));
        let mut members = members.collect::<Vec<_>>();
        if !self.findings.repairs.is_empty() {
            let names: Vec<_> = self.repairs().map(crate::splice::quoted).collect();
            members.push(format!("\"repairs\":[{}]", names.join(",")));
        }
        format!("{{{}}}", members.join(","))
    }

    /// Adds the report to an object of a reply, if the settings want it.
    pub(crate) fn append_report(&self, owner: Node<'_>, splice: &mut Splice<'_>) {
        if self.judge.settings.report {
            splice.append(owner, &format!("\"goodcall\":{}", self.report()));
        }
    }

    /// The figures of a summary; the last three only if they are not zero.
    fn counts(&self) -> impl Iterator<Item = (&'static str, usize)> {
        let count = |verdict: CallVerdict| {
            let records = self.findings.records.iter();
            let count = records.filter(|record| record.verdict == verdict).count();
            (verdict.name(), count)
        };
        let always = [
            count(CallVerdict::Good),
            count(CallVerdict::Mended),
            count(CallVerdict::Bad),
            ("reasked", self.attempt as usize),
        ];
        let sometimes = [
            count(CallVerdict::Unjudged),
            ("dropped", self.findings.dropped as usize),
            ("repaired", self.findings.repairs.len()),
        ];
        let sometimes = sometimes.into_iter().filter(|(_, count)| *count > 0);
        always.into_iter().chain(sometimes)
    }

    /// Moves the records of these decisions into the exchange's own.
    pub(crate) fn record(&mut self, decisions: &mut [CallDecision]) {
        let free = MOST_RECORDS.saturating_sub(self.findings.records.len());
        let new = decisions.iter_mut().take(free);
        self.findings
            .records
            .extend(new.map(|decision| std::mem::take(&mut decision.record)));
    }

    /// Notes a repair of the reply around its calls.
    pub(crate) fn note_repair(&mut self, name: &'static str) {
        self.findings.repairs.insert(name);
    }

    /// What was repaired around the calls, such as `finish_reason`.
    pub fn repairs(&self) -> impl Iterator<Item = &'static str> {
        self.findings.repairs.iter().copied()
    }

    /// The number of repeated calls that were left out, because the client has them already.
    pub fn dropped(&self) -> u32 {
        self.findings.dropped
    }

    /// Counts a call that was left out because the client has it already.
    pub(crate) fn count_dropped(&mut self) {
        self.findings.dropped += 1;
    }

    /// Notes the usage of the last reply.
    pub(crate) fn set_last_usage(&mut self, usage: Usage) {
        self.findings.last_usage = usage;
    }

    /// Adds the usage of the last reply to that of the earlier ones, since the model is asked again.
    pub(crate) fn count_last_as_earlier(&mut self) {
        let last = std::mem::take(&mut self.findings.last_usage);
        self.usage.add(&last);
    }

    /// Keeps what later replies say about themselves, for [`Exchange::reply_facts`].
    pub fn keep_reply_facts(&mut self) {
        self.findings.facts.get_or_insert_default();
    }

    /// Notes what a reply, or an event of one, says about itself.
    pub(crate) fn note_facts(&mut self, root: Node<'_>) {
        if let Some(facts) = &mut self.findings.facts {
            facts.note(root);
        }
    }

    /// What the last reply says about itself: its id, its model and why it ended. `None` without
    /// [`Exchange::keep_reply_facts`].
    pub fn reply_facts(&self) -> Option<&ReplyFacts> {
        self.findings.facts.as_ref()
    }

    /// The tokens of all replies.
    pub fn tokens(&self) -> TokenCounts {
        let (earlier, last) = (self.usage.tokens(), self.findings.last_usage.tokens());
        TokenCounts {
            input: earlier.input.saturating_add(last.input),
            output: earlier.output.saturating_add(last.output),
        }
    }

    /// The tokens of the replies that were refused and asked for again.
    pub fn refused_tokens(&self) -> TokenCounts {
        self.usage.tokens()
    }

    /// Adds the usage of earlier replies to a node; `own` is what its own reply has reported.
    pub(crate) fn write_usage(&self, usage: Node<'_>, own: &Usage, splice: &mut Splice<'_>) {
        if self.judge.settings.usage == UsageMode::Sum {
            self.usage.write(usage, own, splice);
        }
    }

    /// Where calls written into text are looked for. A legacy reply holds one call at most, so its
    /// text stays text.
    pub(crate) fn text_call_scope(&self) -> Option<TextCallScope> {
        let allowed = !self.request.legacy_functions && !self.request.forbids_calls;
        self.judge.settings.text_calls.filter(|_| allowed)
    }

    /// What the client gets for a call that stays bad. A call of a reply that the provider stores
    /// stays a call: the provider has it, and knows no text in its place.
    pub(crate) fn given_up_as(&self) -> GiveUp {
        if self.request.is_stored {
            GiveUp::AsSent
        } else {
            self.judge.settings.give_up
        }
    }

    /// Returns true if the model may be asked again.
    pub fn may_ask(&self) -> bool {
        let left = self.attempt < self.judge.settings.reasks;
        left && !self.request.several_choices && !self.settled
    }

    /// Returns true if the model may be asked again after a reply that stopped for this reason. The
    /// client's own token limit would stop the next reply as well, unless it may be raised.
    pub(crate) fn may_ask_after(&self, stop: StopReason) -> bool {
        let is_limited = stop == StopReason::CutOff && self.request.token_limit.is_some();
        self.may_ask() && (!is_limited || self.higher_limit().is_some())
    }

    /// The limit that the next reply to a cut-off one has; `None` if it cannot be raised.
    fn higher_limit(&self) -> Option<u64> {
        let most = self.judge.settings.continue_cut_off?;
        let limit = self.request.token_limit?;
        (most > limit).then_some(most)
    }

    fn seed(&self) -> IdSeed {
        *self.seed.get_or_init(|| IdSeed {
            hash: stable_hash(self.body.bytes()),
            is_short: self.provider == Provider::OpenAi
                && wants_short_ids(self.model().unwrap_or_default(), &self.body),
        })
    }

    /// A number that no other exchange has, as 16 digits.
    pub(crate) fn made_up_number(&self, index: usize) -> String {
        let call = format!("{}/{}/{index}", self.seed().hash, self.attempt);
        let number = stable_hash(call.bytes());
        format!("{number:016x}")
    }

    /// Invents an id for a call that has none.
    pub(crate) fn made_up_id(&self, index: usize) -> String {
        let number = self.made_up_number(index);
        if self.seed().is_short {
            return number[..SHORT_ID].to_owned();
        }
        format!("{}{number}", self.form().id_prefix())
    }

    /// Gives every call of a message an id of its own. Each choice is a message. Returns true if a
    /// call had none, or one that another call has.
    pub(crate) fn assign_ids(&self, envelope: &mut Located, root: Node<'_>) -> bool {
        let mut taken = HashSet::new();
        let is_only_call = envelope.calls().len() == 1;
        let choices = root.get("choices").into_iter().flat_map(Node::elements);
        let ends: Vec<_> = choices.map(|choice| choice.span().end).collect();
        let places: Vec<_> = envelope.places().collect();
        let mut assigned = false;
        for (index, place) in places.into_iter().enumerate() {
            let choice = ends.partition_point(|end| *end < place.end);
            let sent = envelope.sent_id(index);
            let own = sent.is_some_and(|id| is_only_call || taken.insert((choice, id.to_owned())));
            if !own {
                assigned |= envelope.takes_id(index);
                envelope.set_id(index, self.made_up_id(index));
            }
        }
        assigned
    }

    /// Makes the next request out of a reply whose calls were refused. Returns false if the request
    /// has no history that the reply could be added to.
    pub(crate) fn ask_again(&mut self, refused: &RefusedReply<'_>, stop: StopReason) -> bool {
        let tools = &self.judge.tools;
        let Some(mut body) = reask::body(self.provider, &self.body, refused, tools) else {
            return false;
        };
        if let Some(limit) = self.higher_limit().filter(|_| stop == StopReason::CutOff) {
            body = with_token_limit(self.form(), &body, limit);
            self.request.token_limit = Some(limit);
        }
        self.seed();
        self.body = body.into();
        self.attempt += 1;
        self.settled = false;
        if let Some(facts) = &mut self.findings.facts {
            facts.begin_next();
        }
        true
    }
}

/// Returns a request with another limit on the tokens of its reply.
fn with_token_limit(form: &dyn Form, body: &str, limit: u64) -> String {
    let mut splice = Splice::new(body);
    let tree = Tree::parse(body).ok();
    if let Some(own) = tree.as_ref().and_then(|tree| form.token_limit(tree.root())) {
        splice.replace(own.span(), limit.to_string());
    }
    splice.apply()
}

/// What the ids that an exchange invents are made of.
#[derive(Clone, Copy, Debug)]
struct IdSeed {
    hash: u64,
    /// True if the upstream takes ids only that are nine letters and digits.
    is_short: bool,
}

/// Returns true if a request goes to a model of Mistral, which refuses other ids: by the model's
/// name, or by the ids in the history.
fn wants_short_ids(model: &str, body: &str) -> bool {
    const FAMILIES: [&str; 6] = [
        "mistral",
        "mixtral",
        "magistral",
        "devstral",
        "codestral",
        "pixtral",
    ];
    let model = model.to_ascii_lowercase();
    let is_short =
        |id: &str| id.len() == SHORT_ID && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    FAMILIES.iter().any(|family| model.contains(family))
        || Tree::parse(body).is_ok_and(|tree| {
            let calls = call_sites(Provider::OpenAi, tree.root());
            let mut ids = calls.iter().filter_map(|call| call.id.as_deref());
            ids.next().is_some_and(is_short)
        })
}
