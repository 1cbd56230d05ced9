//! Decides which server a message of the session goes to, and what goes back.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::merge::{self, ListEntry, ListKind};
use super::places::{Place, Places, RoutedMember};
use crate::catalogue::{MAX_PAGES, next_cursor};
use crate::frame::{Frame, FrameContent, Message, canonical};
use crate::json_rpc;
use crate::json_span::{JsonSpan, quoted, splice};
use crate::options::ProxyOptions;

/// What the router wants done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum GroupOutput {
    /// Send the frame to the session.
    Client(Frame),
    /// Send the frame to a server.
    Member(usize, Frame),
    /// Log a warning.
    Warning(String),
}

pub(super) struct GroupRouter {
    members: Vec<RoutedMember>,
    /// Requests that a server has not answered, by the id that it knows.
    open: HashMap<u64, OpenRequest>,
    /// Requests that several servers answer.
    gathers: HashMap<u64, Gather>,
    /// Requests of servers that the client has not answered, by the id that it knows.
    questions: HashMap<String, Question>,
    /// The servers of what was listed.
    places: Places,
    last_id: u64,
    out: Vec<GroupOutput>,
}

/// A request that a server has not answered.
struct OpenRequest {
    member: usize,
    /// The id that the client knows, as it is written.
    client_id: String,
    /// The request that this one is a part of.
    gather: Option<u64>,
}

/// A request that several servers answer.
struct Gather {
    client_id: String,
    task: GatherTask,
    /// Servers that have not answered.
    waiting: usize,
    pages: usize,
}

enum GatherTask {
    Initialize(Vec<(usize, Value)>),
    List(ListKind, Vec<(usize, ListEntry)>),
    SetLevel,
}

/// A request of a server.
struct Question {
    member: usize,
    /// The id that the server knows, as it is written.
    own_id: String,
    /// The progress token in it.
    token: Option<String>,
}

impl GroupRouter {
    pub(super) fn new(options: Vec<Arc<ProxyOptions>>) -> Self {
        let members = options.into_iter().map(|options| RoutedMember {
            options,
            capabilities: Value::Null,
            has_ended: false,
        });
        Self {
            members: members.collect(),
            open: HashMap::new(),
            gathers: HashMap::new(),
            questions: HashMap::new(),
            places: Places::default(),
            last_id: 0,
            out: Vec::new(),
        }
    }

    pub(super) fn take_output(&mut self) -> Vec<GroupOutput> {
        std::mem::take(&mut self.out)
    }

    pub(super) fn warn(&mut self, member: usize, text: &str) {
        let name = &self.members[member].options.server;
        self.out
            .push(GroupOutput::Warning(format!("{name}: {text}")));
    }

    /// Takes a frame of the session.
    pub(super) fn client_frame(&mut self, frame: &[u8]) {
        for message in FrameContent::read(frame).messages() {
            match (message.method(), message.raw_id()) {
                (Some(method), Some(id)) => self.request(method, id, message),
                (Some(method), None) => self.notification(method, message),
                (None, Some(id)) => self.answer_question(&canonical(id), message),
                (None, None) => {}
            }
        }
    }

    fn request(&mut self, method: &str, id: &str, message: &Message<'_>) {
        let version = message.protocol_version();
        if let Some(version) = version.filter(|one| json_rpc::has_result_type(Some(one))) {
            return self.answer(json_rpc::handshake_needed(id, &version));
        }
        let text = |key: &str| message.param(key).and_then(JsonSpan::to_text);
        match method {
            "initialize" => {
                let task = GatherTask::Initialize(Vec::new());
                self.ask_members(id, task, message, |_| true);
            }
            "logging/setLevel" => {
                let has_log = |one: &RoutedMember| one.has("logging");
                self.ask_members(id, GatherTask::SetLevel, message, has_log);
            }
            "ping" => self.answer(json_rpc::empty_result(id)),
            "tools/call" => {
                let name = text("name").unwrap_or_default();
                let place = self.places.tool(&self.members, &name);
                self.ask_place(id, message, message.param("name"), place, || {
                    (json_rpc::INVALID_PARAMS, format!("Unknown tool: {name}"))
                });
            }
            "prompts/get" => {
                let name = text("name").unwrap_or_default();
                let place = self.places.prompt(&self.members, &name);
                self.ask_place(id, message, message.param("name"), place, || {
                    (json_rpc::INVALID_PARAMS, format!("Unknown prompt: {name}"))
                });
            }
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
                let uri = text("uri").unwrap_or_default();
                let place = self.places.resource(&self.members, &uri);
                self.ask_place(id, message, None, place, || {
                    (
                        json_rpc::NO_RESOURCE,
                        format!("no server has the resource {uri}"),
                    )
                });
            }
            "completion/complete" => self.complete(id, message),
            _ => match ListKind::of_method(method) {
                Some(kind) => self.list(id, kind, message),
                None => {
                    let text = format!(
                        "several servers are behind goodcall, and none of them gets `{method}`"
                    );
                    self.answer(json_rpc::error(id, json_rpc::METHOD_NOT_FOUND, &text));
                }
            },
        }
    }

    /// Asks the server of the prompt or the template whose argument is to be completed.
    fn complete(&mut self, id: &str, message: &Message<'_>) {
        let reference = message.param("ref");
        let part = |key: &str| reference.and_then(|reference| reference.get(key));
        let (place, span) = match (part("name"), part("uri")) {
            (Some(name), _) => {
                let text = name.to_text().unwrap_or_default();
                (self.places.prompt(&self.members, &text), Some(name))
            }
            (None, Some(uri)) => {
                let text = uri.to_text().unwrap_or_default();
                (self.places.resource(&self.members, &text), None)
            }
            (None, None) => (None, None),
        };
        self.ask_place(id, message, span, place, || {
            let text = "no server has what is to be completed";
            (json_rpc::INVALID_PARAMS, text.to_owned())
        });
    }

    fn list(&mut self, id: &str, kind: ListKind, message: &Message<'_>) {
        if message.cursor().is_some() {
            let text = "unknown cursor: the list has one page";
            return self.answer(json_rpc::error(id, json_rpc::INVALID_PARAMS, text));
        }
        let task = GatherTask::List(kind, Vec::new());
        self.ask_members(id, task, message, |one| one.has(kind.capability()));
    }

    /// Sends a request to all servers that are wanted, and answers when all have answered.
    fn ask_members(
        &mut self,
        id: &str,
        task: GatherTask,
        message: &Message<'_>,
        wanted: impl Fn(&RoutedMember) -> bool,
    ) {
        let members = self.members.iter().enumerate();
        let members = members.filter(|(_, one)| !one.has_ended && wanted(one));
        let members: Vec<_> = members.map(|(member, _)| member).collect();
        self.last_id += 1;
        let gather = self.last_id;
        self.gathers.insert(
            gather,
            Gather {
                client_id: id.to_owned(),
                task,
                waiting: members.len(),
                pages: 0,
            },
        );
        for member in &members {
            let own = self.open_request(*member, id, Some(gather));
            let frame = with_id(message, &own);
            self.out.push(GroupOutput::Member(*member, frame));
        }
        if members.is_empty() {
            self.finish_gather(gather);
        }
    }

    /// Sends a request to the server of a place, with its own name for what `named` names.
    fn ask_place(
        &mut self,
        id: &str,
        message: &Message<'_>,
        named: Option<JsonSpan<'_>>,
        place: Option<Place>,
        unknown: impl FnOnce() -> (i64, String),
    ) {
        let place = place.filter(|place| !self.members[place.member].has_ended);
        let Some(Place { member, own }) = place else {
            let (code, text) = unknown();
            return self.answer(json_rpc::error(id, code, &text));
        };
        let own_id = self.open_request(member, id, None);
        let id_range = message.id_span().map(JsonSpan::range);
        let mut edits: Vec<_> = id_range.map(|range| (range, own_id)).into_iter().collect();
        edits.extend(named.map(|named| (named.range(), quoted(&own))));
        let frame = splice(message.bytes(), edits);
        self.out.push(GroupOutput::Member(member, frame));
    }

    fn open_request(&mut self, member: usize, client_id: &str, gather: Option<u64>) -> String {
        self.last_id += 1;
        let request = OpenRequest {
            member,
            client_id: client_id.to_owned(),
            gather,
        };
        self.open.insert(self.last_id, request);
        self.last_id.to_string()
    }

    fn notification(&mut self, method: &str, message: &Message<'_>) {
        let param = |key: &str| message.param(key).and_then(JsonSpan::raw).map(canonical);
        match method {
            "notifications/cancelled" => {
                let Some(id) = param("requestId") else { return };
                let open = self.open.iter();
                let cancelled = open.filter(|(_, one)| canonical(&one.client_id) == id);
                for (own, request) in cancelled {
                    let range = message.param("requestId").map(JsonSpan::range);
                    let edit = range.map(|range| (range, own.to_string()));
                    let frame = splice(message.bytes(), edit.into_iter().collect());
                    self.out.push(GroupOutput::Member(request.member, frame));
                }
            }
            "notifications/progress" => {
                let token = param("progressToken");
                let mut questions = self.questions.values();
                let asked = questions.find(|one| one.token.is_some() && one.token == token);
                if let Some(question) = asked {
                    let frame = message.bytes().to_vec();
                    self.out.push(GroupOutput::Member(question.member, frame));
                }
            }
            _ => {
                for (member, one) in self.members.iter().enumerate() {
                    if !one.has_ended {
                        let frame = message.bytes().to_vec();
                        self.out.push(GroupOutput::Member(member, frame));
                    }
                }
            }
        }
    }

    /// Passes the client's answer to the server that has asked.
    fn answer_question(&mut self, id: &str, message: &Message<'_>) {
        if let Some(question) = self.questions.remove(id) {
            let frame = with_id(message, &question.own_id);
            self.out.push(GroupOutput::Member(question.member, frame));
        }
    }

    /// Takes a frame of a server.
    pub(super) fn member_frame(&mut self, member: usize, frame: &[u8]) {
        let content = FrameContent::read(frame);
        if content == FrameContent::Junk {
            let length = frame.len();
            self.warn(
                member,
                &format!("dropped a line of {length} bytes that is not a message"),
            );
        }
        for message in content.messages() {
            match (message.method(), message.raw_id()) {
                (None, Some(id)) => self.response(member, id, message),
                (Some(_), Some(id)) => self.question(member, id, message),
                (Some("notifications/cancelled"), None) => self.withdraw(member, message),
                (Some(_), None) => self.answer(message.bytes().to_vec()),
                (None, None) => {}
            }
        }
    }

    /// Passes a request of a server to the client, under an id that no other server uses.
    fn question(&mut self, member: usize, id: &str, message: &Message<'_>) {
        self.last_id += 1;
        let shown = format!("\"goodcall:{}\"", self.last_id);
        let token = message.progress_token().and_then(JsonSpan::raw);
        let question = Question {
            member,
            own_id: id.to_owned(),
            token: token.map(canonical),
        };
        self.answer(with_id(message, &shown));
        self.questions.insert(shown, question);
    }

    /// Passes the notice that a server does not want an answer any more.
    fn withdraw(&mut self, member: usize, message: &Message<'_>) {
        let Some(id) = message.param("requestId") else {
            return;
        };
        let own = id.raw().map(canonical);
        let is_it = |one: &Question| one.member == member && Some(canonical(&one.own_id)) == own;
        let shown = self.questions.iter().find(|(_, one)| is_it(one));
        if let Some(shown) = shown.map(|(shown, _)| shown.clone()) {
            self.questions.remove(&shown);
            self.answer(splice(message.bytes(), vec![(id.range(), shown)]));
        }
    }

    fn response(&mut self, member: usize, id: &str, message: &Message<'_>) {
        let id = id.parse::<u64>().ok();
        let is_its = |request: &OpenRequest| request.member == member;
        let Some(id) = id.filter(|id| self.open.get(id).is_some_and(is_its)) else {
            return;
        };
        let Some(request) = self.open.remove(&id) else {
            return;
        };
        match request.gather {
            Some(gather) => self.gathered(gather, member, message),
            None => self.answer(with_id(message, &request.client_id)),
        }
    }

    /// Takes one server's part of an answer.
    fn gathered(&mut self, id: u64, member: usize, message: &Message<'_>) {
        let Some(mut gather) = self.gathers.remove(&id) else {
            return;
        };
        let Some(result) = message.result() else {
            let error = message.error().and_then(|error| error.get("message"));
            let error = error.and_then(JsonSpan::to_text).unwrap_or_default();
            self.gathers.insert(id, gather);
            return self.part_failed(id, member, &error);
        };
        let mut next = None;
        match &mut gather.task {
            GatherTask::Initialize(answers) => {
                let answer: Value = match serde_json::from_slice(result.bytes()) {
                    Ok(answer) => answer,
                    Err(error) => {
                        self.gathers.insert(id, gather);
                        return self.part_failed(id, member, &format!("unreadable: {error}"));
                    }
                };
                self.members[member].capabilities = answer["capabilities"].clone();
                answers.push((member, answer));
            }
            GatherTask::List(kind, entries) => {
                let options = &self.members[member].options;
                let server = (self.members.len() > 1).then_some(options.server.as_str());
                let page = merge::entries(result, *kind, &options.view, server);
                entries.extend(page.into_iter().map(|entry| (member, entry)));
                gather.pages += 1;
                let is_bounded = gather.pages < MAX_PAGES * self.members.len();
                next = next_cursor(result).filter(|_| is_bounded);
                if let Some(cursor) = &next {
                    let own = self.open_request(member, &gather.client_id, Some(id));
                    let request = json_rpc::page(kind.method(), &own, Some(cursor), None);
                    self.out.push(GroupOutput::Member(member, request));
                }
            }
            GatherTask::SetLevel => {}
        }
        if next.is_none() {
            gather.waiting -= 1;
        }
        let is_complete = gather.waiting == 0;
        self.gathers.insert(id, gather);
        if is_complete {
            self.finish_gather(id);
        }
    }

    /// Goes on without a server that has refused its part, or has ended.
    fn part_failed(&mut self, id: u64, member: usize, why: &str) {
        let Some(gather) = self.gathers.get_mut(&id) else {
            return;
        };
        gather.waiting -= 1;
        let is_complete = gather.waiting == 0;
        let text = match &gather.task {
            GatherTask::Initialize(_) => format!("left out, it cannot be opened: {why}"),
            GatherTask::List(kind, _) => format!("does not answer {}: {why}", kind.method()),
            GatherTask::SetLevel => format!("does not set the level of its log: {why}"),
        };
        self.warn(member, &text);
        if is_complete {
            self.finish_gather(id);
        }
    }

    /// Answers a request that all servers have answered.
    fn finish_gather(&mut self, id: u64) {
        let Some(gather) = self.gathers.remove(&id) else {
            return;
        };
        let client_id = &gather.client_id;
        let answer = match gather.task {
            GatherTask::Initialize(answers) if answers.is_empty() => {
                let text = "none of the servers can be opened";
                json_rpc::error(client_id, json_rpc::CLOSED, text)
            }
            GatherTask::Initialize(mut answers) => {
                answers.sort_by_key(|(member, _)| *member);
                let named = answers
                    .into_iter()
                    .map(|(member, answer)| (self.members[member].options.server.as_str(), answer));
                merge::initialize_answer(client_id, &named.collect::<Vec<_>>())
            }
            GatherTask::List(kind, entries) => self.list_answer(client_id, kind, entries),
            GatherTask::SetLevel => json_rpc::empty_result(client_id),
        };
        self.answer(answer);
    }

    fn list_answer(
        &mut self,
        client_id: &str,
        kind: ListKind,
        mut entries: Vec<(usize, ListEntry)>,
    ) -> Frame {
        entries.sort_by_key(|(member, _)| *member);
        let mut places = Vec::new();
        let mut dropped = Vec::new();
        let frame = merge::list_answer(
            client_id,
            kind,
            entries,
            |member, entry| {
                let own = entry.own.clone();
                places.push((entry.shown.clone(), Place { member, own }));
            },
            |member, entry| dropped.push((member, entry.shown.clone())),
        );
        self.places.replace(kind, places);
        for (member, name) in dropped {
            let text = format!("`{name}` is left out, another server has it: give one a prefix");
            self.warn(member, &text);
        }
        frame
    }

    /// Answers what a server that has ended has not answered, and withdraws its requests.
    pub(super) fn member_ended(&mut self, member: usize, why: &str) {
        self.members[member].has_ended = true;
        let name = self.members[member].options.server.clone();
        let open = self.open.extract_if(|_, one| one.member == member);
        for request in open.map(|(_, request)| request).collect::<Vec<_>>() {
            match request.gather {
                Some(gather) => self.part_failed(gather, member, why),
                None => {
                    let text = format!("{name}: {why} before it answered");
                    let error = json_rpc::error(&request.client_id, json_rpc::CLOSED, &text);
                    self.answer(error);
                }
            }
        }
        let asked = self.questions.extract_if(|_, one| one.member == member);
        for (shown, _) in asked.collect::<Vec<_>>() {
            self.answer(json_rpc::cancelled(&shown, "the server ended"));
        }
        if self.members.iter().any(|one| !one.has_ended) {
            for key in ["tools", "prompts", "resources"] {
                if self.members[member].has(key) {
                    self.answer(json_rpc::list_changed(key));
                }
            }
        }
    }

    fn answer(&mut self, frame: Frame) {
        self.out.push(GroupOutput::Client(frame));
    }
}

/// Returns the message with another id.
fn with_id(message: &Message<'_>, id: &str) -> Frame {
    let range = message.id_span().map(JsonSpan::range);
    let edit = range.map(|range| (range, id.to_owned()));
    splice(message.bytes(), edit.into_iter().collect())
}
