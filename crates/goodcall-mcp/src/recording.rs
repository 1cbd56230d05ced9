//! Recordings of sessions: what each client asked and what it was answered, and a server that
//! answers from them.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::call_log::{now_ms, private_file};
use crate::frame::{Frame, FrameContent, Message};
use crate::json_rpc;
use crate::json_span::{JsonSpan, splice};

/// Requests of one session that wait to be recorded together with their answers.
const MAX_OPEN: usize = 10_000;

/// One request with its answer: a line of a recording.
#[derive(Serialize, Deserialize)]
struct RecordedExchange<'e> {
    time_ms: u64,
    /// The server's name.
    server: String,
    /// The session, from 1 on in each run of the proxy.
    session: u64,
    #[serde(borrow)]
    request: &'e RawValue,
    #[serde(borrow)]
    answer: &'e RawValue,
}

/// Writes recordings to a file. Clones write to the same one.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    file: Arc<Mutex<File>>,
    sessions: Arc<AtomicU64>,
}

impl Recorder {
    pub(crate) fn to_file(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: Arc::new(Mutex::new(private_file(path)?)),
            sessions: Arc::default(),
        })
    }

    /// Begins to record a session with this server.
    pub(crate) fn session(&self, server: &str) -> SessionRecorder {
        SessionRecorder {
            recorder: self.clone(),
            server: server.to_owned(),
            session: self.sessions.fetch_add(1, Ordering::Relaxed) + 1,
            open: HashMap::new(),
        }
    }
}

/// Records one session.
#[derive(Debug)]
pub(crate) struct SessionRecorder {
    recorder: Recorder,
    server: String,
    session: u64,
    /// When each open request came, and its text.
    open: HashMap<String, (u64, String)>,
}

impl SessionRecorder {
    /// Takes a frame of the client.
    pub(crate) fn client_frame(&mut self, frame: &[u8]) {
        for message in FrameContent::read(frame).messages() {
            let text = std::str::from_utf8(message.bytes()).ok();
            if let (true, Some(id), Some(text)) = (message.is_request(), message.id(), text)
                && self.open.len() < MAX_OPEN
            {
                self.open.insert(id, (now_ms(), text.to_owned()));
            }
        }
    }

    /// Takes a frame that goes to the client.
    ///
    /// # Errors
    /// If the recording cannot be written.
    pub(crate) fn frame_to_client(&mut self, frame: &[u8]) -> io::Result<()> {
        for message in FrameContent::read(frame).messages() {
            let answered = message.id().filter(|_| message.method().is_none());
            let Some((time_ms, request)) = answered.and_then(|id| self.open.remove(&id)) else {
                continue;
            };
            self.write(time_ms, &request, message)?;
        }
        Ok(())
    }

    fn write(&self, time_ms: u64, request: &str, answer: &Message<'_>) -> io::Result<()> {
        let exchange = RecordedExchange {
            time_ms,
            server: self.server.clone(),
            session: self.session,
            // What is not JSON, such as half a character, cannot be recorded.
            request: serde_json::from_str(request)?,
            answer: serde_json::from_slice(answer.bytes())?,
        };
        let mut line = serde_json::to_vec(&exchange)?;
        line.push(b'\n');
        let file = &self.recorder.file;
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line)
    }
}

/// A server that answers from a recording.
#[derive(Debug, Default)]
pub struct RecordedServer {
    /// The recorded requests of each method, with their answers in order.
    methods: HashMap<String, Vec<RecordedAnswers>>,
}

#[derive(Debug)]
struct RecordedAnswers {
    params: Value,
    answers: VecDeque<Frame>,
}

impl RecordedServer {
    /// Reads a recording that `goodcall mcp --record` has written.
    ///
    /// # Errors
    /// If a line is not one of a recording, or there is none.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut server = Self::default();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let exchange: RecordedExchange<'_> = serde_json::from_str(line).map_err(|error| {
                let number = index + 1;
                format!("line {number}: {error}: expected a line that --record has written")
            })?;
            server.add(exchange.request.get(), exchange.answer.get());
        }
        if server.methods.is_empty() {
            return Err("the recording has no requests".to_owned());
        }
        Ok(server)
    }

    fn add(&mut self, request: &str, answer: &str) {
        let content = FrameContent::read(request.as_bytes());
        let Some(message) = content.messages().first() else {
            return;
        };
        let (params, answer) = (compared(message), answer.as_bytes().to_vec());
        let method = message.method().unwrap_or_default().to_owned();
        let recorded = self.methods.entry(method).or_default();
        match recorded.iter_mut().find(|one| one.params == params) {
            Some(known) => known.answers.push_back(answer),
            None => recorded.push(RecordedAnswers {
                params,
                answers: VecDeque::from([answer]),
            }),
        }
    }

    /// Answers a frame of a client; `None` for a notification. Equal requests get the recorded
    /// answers in turn, and then the last one again.
    pub fn answer(&mut self, frame: &[u8]) -> Option<Frame> {
        let content = FrameContent::read(frame);
        let request = content.messages().first()?;
        let id = request.raw_id()?;
        let method = request.method()?;
        if method == "ping" {
            return Some(json_rpc::empty_result(id));
        }
        let params = compared(request);
        let recorded = self.methods.get_mut(method);
        let found = recorded.and_then(|all| all.iter_mut().find(|one| one.params == params));
        let Some(found) = found else {
            let text = format!("this request of `{method}` was not recorded");
            return Some(json_rpc::error(id, json_rpc::INVALID_PARAMS, &text));
        };
        let answer = match found.answers.len() {
            1 => found.answers.front().cloned(),
            _ => found.answers.pop_front(),
        };
        answer.map(|answer| with_id(answer, id))
    }
}

/// The parameters of a request as far as requests are told apart by them: without `_meta`, and
/// without those of a handshake.
fn compared(request: &Message<'_>) -> Value {
    if matches!(request.method(), Some("initialize" | "server/discover")) {
        return Value::Null;
    }
    let params = request.params().map(JsonSpan::bytes);
    let mut params: Value = params
        .and_then(|bytes| serde_json::from_slice(bytes).ok())
        .unwrap_or_default();
    if let Some(object) = params.as_object_mut() {
        object.remove("_meta");
        if object.is_empty() {
            return Value::Null;
        }
    }
    params
}

/// Returns the answer with another id.
fn with_id(answer: Frame, id: &str) -> Frame {
    let range = match FrameContent::read(&answer).single() {
        Some(message) => message.id_span().map(JsonSpan::range),
        None => None,
    };
    match range {
        Some(range) => splice(&answer, vec![(range, id.to_owned())]),
        None => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_answers_come_in_turn_and_the_last_one_again() {
        let folder = std::env::temp_dir().join(format!("goodcall-record-{}", std::process::id()));
        let recorder = Recorder::to_file(&folder).unwrap();
        let mut session = recorder.session("notes");
        session.client_frame(br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"x":1}}"#);
        session.client_frame(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        session
            .frame_to_client(br#"{"jsonrpc":"2.0","id":1,"result":{"v":1}}"#)
            .unwrap();
        for (id, n) in [(2, "1"), (3, "1.0")] {
            let call = format!(
                r#"{{"id":{id},"method":"tools/call","params":{{"name":"a","arguments":{{"n":7}},"_meta":{{"t":{id}}}}}}}"#
            );
            session.client_frame(call.as_bytes());
            let answer = format!(r#"{{"id":{id},"result":{{"exact": {n}}}}}"#);
            session.frame_to_client(answer.as_bytes()).unwrap();
        }
        // An answer to no request, and a notification, are not recorded.
        session
            .frame_to_client(br#"{"id":99,"result":{}}"#)
            .unwrap();
        session
            .frame_to_client(br#"{"method":"notifications/progress"}"#)
            .unwrap();
        let text = std::fs::read_to_string(&folder).unwrap();
        std::fs::remove_file(&folder).unwrap();
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.contains(r#""server":"notes","session":1,"request":{"jsonrpc""#));
        let mut server = RecordedServer::read(&text).unwrap();
        let mut ask = |frame: &str| {
            let answer = server.answer(frame.as_bytes());
            answer.map(|answer| String::from_utf8(answer).unwrap())
        };
        assert_eq!(
            ask(r#"{"id":"i","method":"initialize","params":{"y":2}}"#).unwrap(),
            r#"{"jsonrpc":"2.0","id":"i","result":{"v":1}}"#
        );
        let call = r#"{"id":8,"method":"tools/call","params":{"arguments":{"n":7},"name":"a"}}"#;
        for exact in ["1", "1.0", "1.0"] {
            let expected = format!(r#"{{"id":8,"result":{{"exact": {exact}}}}}"#);
            assert_eq!(ask(call).unwrap(), expected);
        }
        let unknown = ask(&call.replace('7', "5")).unwrap();
        assert!(unknown.contains("this request of `tools/call` was not recorded"));
        assert_eq!(ask(r#"{"method":"notifications/initialized"}"#), None);
        assert!(
            RecordedServer::read("{}")
                .unwrap_err()
                .starts_with("line 1: ")
        );
        assert!(RecordedServer::read("\n").is_err());
    }
}
