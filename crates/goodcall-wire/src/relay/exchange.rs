//! One request, and the replies to it until one is good.

use std::collections::HashSet;
use std::fmt::{self, Write as _};
use std::sync::{Arc, OnceLock};

use goodcall_core::{Kind, Node, StopReason, Tree};

use super::judge::{CallDecision, CallRecord, CallVerdict, Judge, RelaySettings};
use super::known::ToolsCache;
use super::reask;
use super::usage::Usage;
use crate::call::RawCall;
use crate::envelope::{Located, Provider};
use crate::text::TextCallScope;

/// Calls that are remembered of one exchange.
const MOST_RECORDS: usize = 1024;

/// A request whose replies are not judged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotJudged {
    /// Why, as it stands in logs: `not_json`, `no_tools`.
    pub why: &'static str,
}

impl fmt::Display for NotJudged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.why {
            "not_json" => "the request is no JSON object",
            _ => "the request offers no tools",
        })
    }
}

impl std::error::Error for NotJudged {}

/// What becomes of a whole reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// It goes on: rewritten, or as it was sent.
    Reply(Option<String>),
    /// The model is asked again, with [`Exchange::body`].
    Reask,
}

/// One request and the replies to it.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub(super) provider: Provider,
    pub(super) judge: Judge,
    pub(super) body: Arc<str>,
    pub(super) attempt: u32,
    /// Several replies were asked for at once: none is asked for again.
    pub(super) several: bool,
    /// The tools are offered in the older form, as `functions`.
    old: bool,
    /// The request forbids calls: text stays text.
    silent: bool,
    /// The reply is not asked for again: it was stopped for safety, or it calls what the client
    /// alone can answer.
    pub(super) settled: bool,
    /// What earlier replies took.
    pub(super) usage: Usage,
    /// Makes ids that no other exchange has made up.
    seed: OnceLock<u64>,
    /// The reply that led to the last question, in case there is no other.
    pub(super) last: Option<String>,
    records: Vec<CallRecord>,
    dropped: u32,
    /// The last whole reply was no JSON.
    pub(super) unread: bool,
    model: Option<String>,
    streams: bool,
}

impl Exchange {
    /// Reads a request.
    ///
    /// # Errors
    /// If there is nothing in it by which replies could be judged.
    pub fn new(
        provider: Provider,
        body: &str,
        known: &ToolsCache,
        settings: Arc<RelaySettings>,
    ) -> Result<Self, NotJudged> {
        Self::read(provider, body, known, settings).map_err(|why| NotJudged { why })
    }

    fn read(
        provider: Provider,
        body: &str,
        known: &ToolsCache,
        settings: Arc<RelaySettings>,
    ) -> Result<Self, &'static str> {
        let tree = Tree::parse(body).map_err(|_| "not_json")?;
        let root = tree.root();
        if root.kind() != Kind::Object {
            return Err("not_json");
        }
        let list = root.get("tools").or_else(|| root.get("functions"));
        let list = list.filter(|list| list.kind() == Kind::Array);
        let offer = list.and_then(|list| known.read(provider, list, body));
        let offer = offer.ok_or("no_tools")?;
        let text = |key| root.get(key).and_then(Node::as_str).map(str::to_owned);
        let several = root.get("n").and_then(Node::digits);
        Ok(Self {
            provider,
            judge: Judge {
                settings,
                tools: offer.tools,
                opaque: offer.opaque,
            },
            attempt: 0,
            several: several.is_some_and(|digits| digits != "1"),
            old: root.get("tools").is_none(),
            silent: forbids_calls(root),
            settled: false,
            usage: Usage::default(),
            seed: OnceLock::new(),
            last: None,
            records: Vec::new(),
            dropped: 0,
            unread: false,
            model: text("model"),
            streams: root.get("stream").and_then(Node::as_bool) == Some(true),
            body: body.into(),
        })
    }

    /// The request as it must be sent now.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The same, to be kept without a copy.
    pub fn shared_body(&self) -> Arc<str> {
        Arc::clone(&self.body)
    }

    /// Lets go of the request, which will not be sent again.
    pub fn forget_body(&mut self) {
        self.seed();
        self.body = Arc::default();
    }

    /// Writes the tools so that this upstream takes them; where one needs another name, the history
    /// has it, too. Replies are judged by the tools as they were, and name them so.
    pub fn adapt(&mut self, to: crate::request::Adapt) {
        if let Some((body, names)) =
            crate::request::adapt_with_aliases(self.provider, &self.body, to)
        {
            self.seed();
            self.body = body.into();
            self.judge.tools = self.judge.tools.with_aliases(names);
        }
    }

    /// The model that is asked.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Is the reply to be streamed?
    pub fn streams(&self) -> bool {
        self.streams
    }

    /// How often the model was asked again.
    pub fn reasked(&self) -> u32 {
        self.attempt
    }

    /// What was found in all replies.
    pub fn records(&self) -> &[CallRecord] {
        &self.records
    }

    /// The same, taken out when all is over.
    pub fn take_records(&mut self) -> Vec<CallRecord> {
        std::mem::take(&mut self.records)
    }

    /// Was the last whole reply no JSON, so that nothing could be judged?
    pub fn is_unread(&self) -> bool {
        self.unread
    }

    /// All of it in one line, for a header: `good=1 mended=0 bad=0 reasked=0`.
    pub fn summary(&self) -> String {
        let count = |ruled| {
            let of = self.records.iter().filter(|judged| judged.ruled == ruled);
            of.count()
        };
        // Room for all of it; writing into a string does not fail.
        let mut text = String::with_capacity(80);
        let _ = write!(text, "good={}", count(CallVerdict::Good));
        let _ = write!(text, " mended={}", count(CallVerdict::Mended));
        let _ = write!(text, " bad={}", count(CallVerdict::Bad));
        let _ = write!(text, " reasked={}", self.attempt);
        if count(CallVerdict::Unjudged) > 0 {
            let _ = write!(text, " unjudged={}", count(CallVerdict::Unjudged));
        }
        if self.dropped > 0 {
            let _ = write!(text, " dropped={}", self.dropped);
        }
        text
    }

    /// The summary as the `goodcall` field of a body.
    pub(super) fn report(&self) -> String {
        let parts = self.summary();
        let parts = parts.split(' ').filter_map(|part| part.split_once('='));
        let parts: Vec<_> = parts.map(|(key, n)| format!("\"{key}\":{n}")).collect();
        format!("{{{}}}", parts.join(","))
    }

    /// Takes what is to be remembered of these rulings.
    pub(super) fn remember(&mut self, rulings: &mut [CallDecision]) {
        let room = MOST_RECORDS.saturating_sub(self.records.len());
        let new = rulings.iter_mut().take(room);
        self.records
            .extend(new.map(|ruling| std::mem::take(&mut ruling.judged)));
    }

    /// A call that went on before was sent once more, and is left out.
    pub(super) fn drop_one(&mut self) {
        self.dropped += 1;
    }

    /// Which calls in text become calls. The older form has room for one call beside no text, so
    /// text stays text there.
    pub(super) fn looks_in_text(&self) -> Option<TextCallScope> {
        let place = self.judge.settings.text_calls;
        place.filter(|_| !self.old && !self.silent)
    }

    /// May the model be asked again?
    pub fn may_ask(&self) -> bool {
        self.attempt < self.judge.settings.reasks && !self.several && !self.settled
    }

    /// What tells this exchange from others: few need it.
    fn seed(&self) -> u64 {
        *self.seed.get_or_init(|| hash(&self.body))
    }

    /// An id for a call that has none.
    pub(super) fn made_up_id(&self, index: usize) -> String {
        let prefix = match self.provider {
            Provider::Anthropic => "toolu",
            _ => "call",
        };
        let number = hash(&format!("{}/{}/{index}", self.seed(), self.attempt));
        format!("{prefix}_{number:016x}")
    }

    /// Rules on a call of a stream. An id that another call has taken is given up, but for a call
    /// that is `streamed`: the client has its id already.
    pub(super) fn rule(
        &self,
        call: RawCall,
        number: usize,
        streamed: bool,
        taken: &mut HashSet<String>,
        stop: StopReason,
    ) -> CallDecision {
        let own = call.id.clone();
        let own = own.filter(|id| taken.insert(id.clone()) || streamed);
        let id = own.unwrap_or_else(|| self.made_up_id(number));
        let mut ruling = self.judge.rule(call.with_id(id), self.attempt, stop);
        if streamed {
            ruling.went_on();
        }
        ruling
    }

    /// Gives every call of a message an id of its own; choices are messages of their own.
    pub(super) fn name_calls(&self, envelope: &mut Located, root: Node<'_>) {
        let mut taken = HashSet::new();
        let alone = envelope.calls().len() == 1;
        let choices = root.get("choices").into_iter().flat_map(Node::elements);
        let ends: Vec<_> = choices.map(|choice| choice.span().end).collect();
        let places: Vec<_> = envelope.places().collect();
        for (index, place) in places.into_iter().enumerate() {
            let choice = ends.partition_point(|end| *end < place.end);
            let sent = envelope.sent_id(index);
            let own = sent.is_some_and(|id| alone || taken.insert((choice, id.to_owned())));
            if !own {
                envelope.set_id(index, self.made_up_id(index));
            }
        }
    }

    /// Makes the next request out of a reply whose calls were refused. `legal` is the reply with
    /// every call in a form that may stand in a history.
    pub(super) fn ask_again(
        &mut self,
        legal: &str,
        rulings: &[CallDecision],
        passed: usize,
    ) -> bool {
        let Some(body) = reask::body(
            self.provider,
            &self.body,
            legal,
            rulings,
            passed,
            &self.judge.tools,
        ) else {
            return false;
        };
        self.seed();
        self.body = body.into();
        self.attempt += 1;
        self.settled = false;
        true
    }
}

/// `"tool_choice": "none"`, or `{"type": "none"}`.
fn forbids_calls(root: Node<'_>) -> bool {
    let choice = root.get("tool_choice");
    let choice = choice.map(|choice| choice.get("type").unwrap_or(choice));
    choice.and_then(Node::as_str) == Some("none")
}

/// FNV-1a: the same in every process.
pub(crate) fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}
