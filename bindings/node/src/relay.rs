//! `goodFetch`: a gateway inside the process, without sockets. This is the only file that uses the
//! relay of `goodcall-wire`.

use std::sync::Arc;

use goodcall_wire::relay::{
    CallRecord, Endpoint, Exchange as WireExchange, GiveUp, NextStep, RelaySettings, StreamEnd,
    StreamRelay as WireStream, ToolsCache,
};
use goodcall_wire::request::legal_history;
use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{ErrorCode, Result, coded, contained};
use crate::options;
use crate::verdict::to_json;

/// The options of a relay.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct RelayOptions {
    policy: Option<Value>,
    style: Option<String>,
    reasks: Option<u32>,
    give_up: Option<String>,
    text_calls: Option<Value>,
    stream_arguments: Option<bool>,
}

impl RelayOptions {
    fn settings(self) -> Result<RelaySettings> {
        let mut settings = RelaySettings::default();
        settings.policies = options::policies(self.policy)?;
        settings.style = options::style(self.style.as_deref())?;
        settings.reasks = self.reasks.unwrap_or(settings.reasks);
        settings.stream_arguments = self.stream_arguments.unwrap_or(settings.stream_arguments);
        settings.give_up = match self.give_up.as_deref() {
            None | Some("as_sent") => GiveUp::AsSent,
            Some("text") => GiveUp::Text,
            Some(other) => {
                let message = format!("unknown giveUp `{other}`: expected as_sent or text");
                return Err(coded(ErrorCode::BadOption)(message));
            }
        };
        settings.text_calls = match self.text_calls {
            None | Some(Value::Null | Value::Bool(false)) => None,
            Some(Value::Bool(true)) => Some(options::scope(None)?),
            Some(Value::String(name)) => Some(options::scope(Some(&name))?),
            Some(other) => {
                let message =
                    format!("textCalls: expected true, false, explicit or anywhere, got {other}");
                return Err(coded(ErrorCode::BadOption)(message));
            }
        };
        Ok(settings)
    }
}

/// The settings and the compiled tools that all requests share.
#[napi]
pub struct Relay {
    settings: Arc<RelaySettings>,
    cache: ToolsCache,
}

#[napi]
impl Relay {
    /// Reads the options from JSON text.
    #[napi(constructor)]
    pub fn new(options: String) -> Result<Self> {
        let options: RelayOptions =
            serde_json::from_str(&options).map_err(coded(ErrorCode::BadOption))?;
        Ok(Self {
            settings: Arc::new(options.settings()?),
            cache: ToolsCache::default(),
        })
    }

    /// Reads the URL of a `POST` request: its path with the query, and the names of its headers in
    /// lower case. `None` for one whose replies are not judged.
    #[napi]
    pub fn endpoint(&self, path: String, headers: Vec<String>) -> Option<RequestEndpoint> {
        let (path, query) = path.split_once('?').unwrap_or((&path, ""));
        let has_header = |name: &str| headers.iter().any(|header| header == name);
        Endpoint::read(path, Some(query), &has_header).map(RequestEndpoint)
    }

    /// Returns a request with a history that the provider accepts; `None` if it is so already.
    #[napi]
    pub fn legal_history(&self, to: &RequestEndpoint, body: String) -> Result<Option<String>> {
        contained(|| legal_history(to.0.provider, &body))
    }

    /// Begins an exchange; `None` for a request that has no tools to judge replies by.
    #[napi]
    pub fn open(&self, to: &RequestEndpoint, body: String) -> Result<Option<Exchange>> {
        let settings = Arc::clone(&self.settings);
        let endpoint = to.0.clone();
        let exchange = contained(|| WireExchange::new(endpoint, &body, &self.cache, settings))?;
        Ok(exchange.ok().map(|exchange| Exchange {
            inner: Some(exchange),
        }))
    }
}

/// Where a request is sent.
#[napi]
pub struct RequestEndpoint(Endpoint);

/// One request with all replies to it.
#[napi]
pub struct Exchange {
    /// `None` after a stream took it over.
    inner: Option<WireExchange>,
}

/// What to do after a complete reply.
#[napi(object)]
pub struct ReplyStep {
    /// Whether to ask the model again, with the exchange's body.
    pub reask: bool,
    /// The reply for the client, if it is not the one that arrived.
    pub text: Option<String>,
}

impl From<NextStep> for ReplyStep {
    fn from(step: NextStep) -> Self {
        let (reask, text) = match step {
            NextStep::Reply(text) => (false, text),
            NextStep::Reask => (true, None),
        };
        Self { reask, text }
    }
}

#[napi]
impl Exchange {
    /// The request to send now.
    #[napi]
    pub fn body(&mut self) -> Result<String> {
        Ok(self.inner()?.body().to_owned())
    }

    /// Judges a complete reply.
    #[napi]
    pub fn reply(&mut self, text: String) -> Result<ReplyStep> {
        let exchange = self.inner()?;
        contained(|| exchange.reply(&text)).map(ReplyStep::from)
    }

    /// Judges an error that came instead of a reply, in which the server may quote a call that it
    /// could not read. A text in the answer is to be sent as a success.
    #[napi]
    pub fn failure(&mut self, text: String) -> Result<ReplyStep> {
        let exchange = self.inner()?;
        contained(|| exchange.failure(&text)).map(ReplyStep::from)
    }

    /// Whether a reply of this media type is a stream.
    #[napi]
    pub fn is_stream(&mut self, media_type: String) -> Result<bool> {
        Ok(self.inner()?.is_stream(&media_type))
    }

    /// Whether the request asks for a stream.
    #[napi]
    pub fn streams(&mut self) -> Result<bool> {
        Ok(self.inner()?.streams())
    }

    /// The reply to hand out if asking again brings none.
    #[napi]
    pub fn give_up(&mut self) -> Result<Option<String>> {
        Ok(self.inner()?.give_up())
    }

    /// The verdicts as JSON: `{summary, reasked, calls}`.
    #[napi]
    pub fn report(&mut self) -> Result<String> {
        Ok(report(self.inner()?))
    }

    /// Goes on with a streamed reply.
    #[napi]
    pub fn stream(&mut self) -> Result<StreamRelay> {
        let exchange = self.inner.take().ok_or_else(finished)?;
        let relay = WireStream::new(exchange);
        Ok(StreamRelay { relay })
    }
}

impl Exchange {
    fn inner(&mut self) -> Result<&mut WireExchange> {
        self.inner.as_mut().ok_or_else(finished)
    }
}

fn finished() -> napi::Error<ErrorCode> {
    napi::Error::new(ErrorCode::Finished, "the exchange goes on as a stream")
}

/// A streamed reply.
#[napi]
pub struct StreamRelay {
    relay: WireStream,
}

#[napi]
impl StreamRelay {
    /// Takes bytes of the provider's stream, and returns bytes for the client.
    #[napi]
    pub fn push(&mut self, bytes: &[u8]) -> Result<Buffer> {
        let mut out = Vec::new();
        contained(|| self.relay.push(bytes, &mut out))?;
        Ok(out.into())
    }

    /// Ends the provider's stream. `reask` in the answer says whether to ask the model again.
    #[napi]
    pub fn end(&mut self) -> Result<StreamStep> {
        let mut out = Vec::new();
        let reask = contained(|| self.relay.end(&mut out))? == StreamEnd::Reask;
        let bytes = out.into();
        Ok(StreamStep { reask, bytes })
    }

    /// Judges an error that came instead of a stream, in which the server may quote a call that it
    /// could not read; `None` if there is nothing of the kind in it.
    #[napi]
    pub fn failure(&mut self, text: String) -> Result<Option<StreamStep>> {
        let mut out = Vec::new();
        let end = contained(|| self.relay.failure(&text, &mut out))?;
        Ok(end.map(|end| StreamStep {
            reask: end == StreamEnd::Reask,
            bytes: out.into(),
        }))
    }

    /// Whether a reply of this media type is a stream.
    #[napi]
    pub fn is_stream(&self, media_type: String) -> bool {
        self.relay.exchange().is_stream(&media_type)
    }

    /// The media type of the stream.
    #[napi]
    pub fn media_type(&self) -> &'static str {
        self.relay.exchange().stream_type()
    }

    /// The request to send for a re-ask.
    #[napi]
    pub fn body(&self) -> String {
        self.relay.exchange().body().to_owned()
    }

    /// Begins the stream that answers a re-ask.
    #[napi]
    pub fn begin_next(&mut self) {
        self.relay.begin_next();
    }

    /// Returns what is held, because there is no further stream.
    #[napi]
    pub fn give_up(&mut self) -> Buffer {
        let mut out = Vec::new();
        self.relay.give_up(&mut out);
        out.into()
    }

    /// Returns what may be forwarded of a stream that broke off.
    #[napi]
    pub fn abort(&mut self) -> Buffer {
        let mut out = Vec::new();
        self.relay.abort(&mut out);
        out.into()
    }

    /// The verdicts as JSON: `{summary, reasked, calls}`.
    #[napi]
    pub fn report(&self) -> String {
        report(self.relay.exchange())
    }
}

/// What to do after the end of a stream.
#[napi(object)]
pub struct StreamStep {
    /// Whether to ask the model again.
    pub reask: bool,
    /// Bytes for the client.
    pub bytes: Buffer,
}

/// The verdicts of an exchange.
#[derive(Serialize)]
struct ReportLine<'r> {
    summary: String,
    reasked: u32,
    calls: Vec<RecordLine<'r>>,
}

#[derive(Serialize)]
struct RecordLine<'r> {
    attempt: u32,
    tool: &'r str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// The rules of a mended call, the codes of the issues of a bad one, each with its place.
    notes: Vec<[&'r str; 2]>,
}

impl<'r> RecordLine<'r> {
    fn new(record: &'r CallRecord) -> Self {
        let notes = record.notes.iter();
        Self {
            attempt: record.attempt,
            tool: &record.tool,
            kind: record.verdict.name(),
            reason: record.reason,
            notes: notes.map(|note| [note.rule, note.field.as_str()]).collect(),
        }
    }
}

fn report(exchange: &WireExchange) -> String {
    to_json(&ReportLine {
        summary: exchange.summary(),
        reasked: exchange.reasked(),
        calls: exchange.records().iter().map(RecordLine::new).collect(),
    })
}
