//! Calls that arrive in fragments.

use std::sync::{Mutex, PoisonError};

use goodcall_core::{Explain, Policy};
use goodcall_wire::{Assembler, CallUpdate, Provider};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::{INPUT, contained};
use crate::settings;
use crate::tools::{Call, Tools};
use crate::values::{self, Text};

/// Reads the events of one streamed message.
#[pyclass(frozen, module = "goodcall")]
pub(crate) struct Stream {
    tools: Py<Tools>,
    provider: Provider,
    policy: Option<Policy>,
    assembler: Mutex<Assembler>,
}

/// What a fragment changed.
#[pyclass(frozen, get_all, module = "goodcall")]
pub(crate) struct Update {
    /// `text`, `started`, `hopeless` or `call`.
    kind: &'static str,
    text: Option<String>,
    id: Option<String>,
    name: Option<String>,
    call: Option<Py<Call>>,
}

#[pymethods]
impl Update {
    fn __repr__(&self) -> String {
        let parts = [("id", &self.id), ("name", &self.name), ("text", &self.text)];
        let parts = parts
            .iter()
            .filter_map(|(name, part)| Some((name, part.as_deref()?)));
        let parts: String = parts
            .map(|(name, part)| format!(" {name}={part:?}"))
            .collect();
        format!("<Update {}{parts}>", self.kind)
    }
}

impl Update {
    fn of(kind: &'static str) -> Self {
        Self {
            kind,
            text: None,
            id: None,
            name: None,
            call: None,
        }
    }
}

impl Stream {
    /// Runs the assembler without the interpreter's lock, and turns its updates into Python's.
    fn run<E: std::fmt::Display + Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Assembler) -> Result<Vec<CallUpdate>, E> + Send,
    ) -> PyResult<Vec<Update>> {
        let outcome = contained(py, || {
            py.detach(|| {
                let mut assembler = self.assembler.lock();
                let assembler = assembler.as_mut().map_err(PoisonError::get_mut);
                let assembler = match assembler {
                    Ok(assembler) | Err(assembler) => assembler,
                };
                (work(assembler), assembler.stop())
            })
        })?;
        let (updates, stop) = outcome;
        let updates = updates.map_err(|error| INPUT.new_err(py, error))?;
        let tools = self.tools.get();
        let mut out = Vec::with_capacity(updates.len());
        for update in updates {
            out.push(match update {
                CallUpdate::Text(text) => Update {
                    text: Some(text),
                    ..Update::of("text")
                },
                CallUpdate::Started { id, name } => Update {
                    id: Some(id),
                    name: Some(name),
                    ..Update::of("started")
                },
                CallUpdate::Hopeless { id, bad } => Update {
                    id: Some(id),
                    text: Some(Explain::new(tools.style).text(&bad)),
                    ..Update::of("hopeless")
                },
                CallUpdate::Call(call) => {
                    let verdict = tools.judge(py, &call, stop, self.policy.clone())?;
                    let (id, name) = (call.id.clone(), call.name.clone());
                    Update {
                        id,
                        name: Some(name),
                        call: Some(Py::new(py, Call::new(py, call, verdict)?)?),
                        ..Update::of("call")
                    }
                }
                _ => continue,
            });
        }
        Ok(out)
    }
}

#[pymethods]
impl Stream {
    #[new]
    #[pyo3(signature = (tools, provider = Text("openai"), *, scope = None, policy = None))]
    fn new(
        py: Python<'_>,
        tools: Py<Tools>,
        provider: Text<'_>,
        scope: Option<Text<'_>>,
        policy: Option<Text<'_>>,
    ) -> PyResult<Self> {
        let provider = settings::provider(py, provider)?;
        let policy = policy.map(|text| settings::policy(py, text)).transpose()?;
        let mut assembler = Assembler::new(provider, tools.get().tools.clone());
        if let Some(policy) = &policy {
            assembler = assembler.policy(policy.clone());
        }
        if let Some(scope) = scope {
            assembler = assembler.text_calls(settings::scope(py, scope)?);
        }
        Ok(Self {
            tools,
            provider,
            policy,
            assembler: Mutex::new(assembler),
        })
    }

    fn __repr__(&self) -> String {
        let names: Vec<_> = self.tools.get().tools.names().collect();
        format!("<Stream {} of {}>", self.provider.name(), names.join(", "))
    }

    /// Takes one event: its JSON text, or the values that it holds.
    fn push(&self, py: Python<'_>, event: &Bound<'_, PyAny>) -> PyResult<Vec<Update>> {
        let written;
        let text = match event.cast::<PyString>() {
            Ok(text) => text,
            Err(_) => {
                written = values::to_json(event)?;
                &written
            }
        };
        let Text(text) = text.extract()?;
        self.run(py, |assembler| assembler.push(text))
    }

    /// Takes text of the message that is not an event.
    fn push_text(&self, py: Python<'_>, text: Text<'_>) -> PyResult<Vec<Update>> {
        let Text(text) = text;
        self.run(py, |assembler| {
            Ok::<_, std::convert::Infallible>(assembler.push_text(text))
        })
    }

    /// Ends the message, and returns everything that was undecided.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<Update>> {
        self.run(py, |assembler| {
            Ok::<_, std::convert::Infallible>(assembler.finish())
        })
    }
}
