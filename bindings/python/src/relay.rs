//! Replies of providers on their way to a client: the gateway without a gateway.

use std::sync::{Arc, Mutex, PoisonError};

use goodcall_wire::relay::{
    self, CallRecord, Endpoint, GiveUp, NextStep, RelaySettings, StreamEnd, ToolsCache,
};
use goodcall_wire::request::legal_history;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::errors::{INPUT, SETTING, contained};
use crate::settings;
use crate::values::Text;

/// The settings of a transport, and the tools of earlier requests.
#[pyclass(frozen, module = "goodcall")]
pub(crate) struct Relay {
    settings: Arc<RelaySettings>,
    cache: ToolsCache,
    fix_history: bool,
}

#[pymethods]
impl Relay {
    #[new]
    #[pyo3(signature = (*, policy = None, style = None, reasks = 2, give_up = Text("as_sent"), scope = None, fix_history = true))]
    fn new(
        py: Python<'_>,
        policy: Option<&Bound<'_, PyAny>>,
        style: Option<Text<'_>>,
        reasks: u32,
        give_up: Text<'_>,
        scope: Option<Text<'_>>,
        fix_history: bool,
    ) -> PyResult<Self> {
        let mut own = RelaySettings::default();
        own.policies = settings::policies(policy)?;
        own.style = settings::style(py, style)?;
        own.reasks = reasks;
        own.give_up = match give_up.0 {
            "as_sent" => GiveUp::AsSent,
            "text" => GiveUp::Text,
            other => {
                let message = format!("unknown give_up `{other}`: expected as_sent or text");
                return Err(SETTING.new_err(py, message));
            }
        };
        own.text_calls = scope.map(|scope| settings::scope(py, scope)).transpose()?;
        Ok(Self {
            settings: Arc::new(own),
            cache: ToolsCache::default(),
            fix_history,
        })
    }

    /// Reads a request: its path with the query, and the names of its headers in lower case. Returns
    /// `None` for one whose replies are not judged.
    #[pyo3(signature = (method, path, headers, body))]
    fn exchange(
        &self,
        py: Python<'_>,
        method: Text<'_>,
        path: Text<'_>,
        headers: Vec<String>,
        body: &[u8],
    ) -> PyResult<Option<Exchange>> {
        let (path, query) = path.0.split_once('?').unwrap_or((path.0, ""));
        let has_header = |name: &str| headers.iter().any(|header| header == name);
        let endpoint = Endpoint::read(path, Some(query), &has_header);
        let Some(endpoint) = endpoint.filter(|_| method.0 == "POST") else {
            return Ok(None);
        };
        let Ok(body) = std::str::from_utf8(body) else {
            return Ok(None);
        };
        contained(py, || {
            py.detach(|| {
                let legal = self
                    .fix_history
                    .then(|| legal_history(endpoint.provider, body));
                let legal = legal.flatten();
                let body = legal.as_deref().unwrap_or(body);
                let settings = Arc::clone(&self.settings);
                let exchange = relay::Exchange::new(endpoint, body, &self.cache, settings);
                exchange
                    .ok()
                    .map(|exchange| Exchange(Mutex::new(Some(exchange))))
            })
        })
    }
}

/// One request, with the replies to it.
#[pyclass(frozen, module = "goodcall")]
pub(crate) struct Exchange(Mutex<Option<relay::Exchange>>);

impl Exchange {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut relay::Exchange) -> T + Send,
    ) -> PyResult<T> {
        let done = contained(py, || {
            py.detach(|| {
                let mut exchange = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                exchange.as_mut().map(work)
            })
        })?;
        done.ok_or_else(|| INPUT.new_err(py, "the exchange became a stream: use that one"))
    }
}

#[pymethods]
impl Exchange {
    /// The request to send now.
    fn body<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let body = self.with(py, |exchange| exchange.shared_body())?;
        Ok(PyBytes::new(py, body.as_bytes()))
    }

    /// Judges a whole reply. Returns whether to ask again, and the reply to hand on; `None` stands for
    /// the reply as it arrived.
    fn reply<'py>(
        &self,
        py: Python<'py>,
        body: &[u8],
    ) -> PyResult<(bool, Option<Bound<'py, PyBytes>>)> {
        let text = std::str::from_utf8(body).unwrap_or_default();
        let next = self.with(py, |exchange| exchange.reply(text))?;
        Ok(next_step(py, next))
    }

    /// Judges an error that came instead of a reply, in which the server may quote a call that it could
    /// not read. Returns the same as `reply`: what there is to hand on is a success.
    fn failure<'py>(
        &self,
        py: Python<'py>,
        body: &[u8],
    ) -> PyResult<(bool, Option<Bound<'py, PyBytes>>)> {
        let text = std::str::from_utf8(body).unwrap_or_default();
        let next = self.with(py, |exchange| exchange.failure(text))?;
        Ok(next_step(py, next))
    }

    /// Returns true if a reply of this media type is a stream.
    fn is_stream(&self, py: Python<'_>, media_type: Text<'_>) -> PyResult<bool> {
        self.with(py, |exchange| exchange.is_stream(media_type.0))
    }

    /// Returns true if the request asks for a streamed reply.
    fn streams(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |exchange| exchange.streams())
    }

    /// Returns the reply to hand on because a re-ask brought none.
    fn give_up<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let last = self.with(py, |exchange| exchange.give_up())?;
        Ok(last.map(|reply| PyBytes::new(py, reply.as_bytes())))
    }

    /// The verdicts in one line.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |exchange| exchange.summary())
    }

    /// The calls of all replies.
    fn records<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let records = self.with(py, |exchange| exchange.records().to_vec())?;
        record_list(py, &records)
    }

    /// Turns the exchange into one whose reply is streamed.
    fn stream(&self, py: Python<'_>) -> PyResult<StreamRelay> {
        let mut exchange = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let exchange = exchange.take();
        let exchange =
            exchange.ok_or_else(|| INPUT.new_err(py, "the exchange is a stream already"))?;
        Ok(StreamRelay(Mutex::new(relay::StreamRelay::new(exchange))))
    }
}

fn next_step(py: Python<'_>, next: NextStep) -> (bool, Option<Bound<'_, PyBytes>>) {
    match next {
        NextStep::Reask => (true, None),
        NextStep::Reply(reply) => (false, reply.map(|reply| PyBytes::new(py, reply.as_bytes()))),
    }
}

fn record_list<'py>(py: Python<'py>, records: &[CallRecord]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for record in records {
        let dict = PyDict::new(py);
        dict.set_item("attempt", record.attempt)?;
        dict.set_item("tool", &record.tool)?;
        dict.set_item("verdict", record.verdict.name())?;
        dict.set_item("reason", record.reason)?;
        let rules: Vec<_> = record.notes.iter().map(|note| note.rule).collect();
        dict.set_item("rules", rules)?;
        list.append(dict)?;
    }
    Ok(list)
}

/// The streamed replies to one request, joined into one stream for the client.
#[pyclass(frozen, module = "goodcall")]
pub(crate) struct StreamRelay(Mutex<relay::StreamRelay>);

impl StreamRelay {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut relay::StreamRelay) -> T + Send,
    ) -> PyResult<T> {
        contained(py, || {
            py.detach(|| work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
        })
    }

    /// Runs a step that appends bytes for the client.
    fn bytes<'py, T: Send>(
        &self,
        py: Python<'py>,
        step: impl FnOnce(&mut relay::StreamRelay, &mut Vec<u8>) -> T + Send,
    ) -> PyResult<(T, Bound<'py, PyBytes>)> {
        let (outcome, out) = self.with(py, |relay| {
            let mut out = Vec::new();
            let outcome = step(relay, &mut out);
            (outcome, out)
        })?;
        Ok((outcome, PyBytes::new(py, &out)))
    }
}

#[pymethods]
impl StreamRelay {
    /// Takes bytes of the reply, and returns bytes for the client.
    fn push<'py>(&self, py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        Ok(self.bytes(py, |relay, out| relay.push(bytes, out))?.1)
    }

    /// Ends the reply. Returns whether to ask again, and bytes for the client.
    fn end<'py>(&self, py: Python<'py>) -> PyResult<(bool, Bound<'py, PyBytes>)> {
        let (end, bytes) = self.bytes(py, relay::StreamRelay::end)?;
        Ok((end == StreamEnd::Reask, bytes))
    }

    /// Judges an error that came instead of a stream, in which the server may quote a call that it could
    /// not read. Returns the same as `end`, or `None` if there is nothing of the kind in it.
    fn failure<'py>(
        &self,
        py: Python<'py>,
        body: &[u8],
    ) -> PyResult<Option<(bool, Bound<'py, PyBytes>)>> {
        let text = std::str::from_utf8(body).unwrap_or_default();
        let (end, bytes) = self.bytes(py, |relay, out| relay.failure(text, out))?;
        Ok(end.map(|end| (end == StreamEnd::Reask, bytes)))
    }

    /// Returns true if a reply of this media type is a stream.
    fn is_stream(&self, py: Python<'_>, media_type: Text<'_>) -> PyResult<bool> {
        self.with(py, |relay| relay.exchange().is_stream(media_type.0))
    }

    /// The media type of the stream.
    fn media_type(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.with(py, |relay| relay.exchange().stream_type())
    }

    /// Begins the stream that answers a re-ask.
    fn begin_next(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, relay::StreamRelay::begin_next)
    }

    /// Hands on what is held, because there is no further stream.
    fn give_up<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(self.bytes(py, relay::StreamRelay::give_up)?.1)
    }

    /// Ends a stream that broke off.
    fn abort<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(self.bytes(py, relay::StreamRelay::abort)?.1)
    }

    /// The request to send now.
    fn body<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let body = self.with(py, |relay| relay.exchange().shared_body())?;
        Ok(PyBytes::new(py, body.as_bytes()))
    }

    /// The calls of all replies.
    fn records<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let records = self.with(py, |relay| relay.exchange().records().to_vec())?;
        record_list(py, &records)
    }
}
