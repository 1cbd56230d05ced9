//! goodcall for Python: the border between the engine and the interpreter.
//!
//! What Python users read is in `python/goodcall`; this crate turns values into each other, releases
//! the interpreter while the engine works, and turns every failure into a `goodcall.Error`.

mod arrow;
mod audit;
mod change;
mod errors;
mod issue;
mod loops;
mod name_table;
mod relay;
mod settings;
mod stream;
mod tools;
mod values;
mod verdict;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Refuses another interpreter of the same process, since what is made once here belongs to the first one.
/// From Python 3.12 on, Python itself does so.
fn refuse_subinterpreter(py: Python<'_>) -> PyResult<()> {
    // Each interpreter has a module `sys` of its own.
    static FIRST: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let own = py.import("sys")?;
    if FIRST.get_or_init(py, || own.clone().unbind()).is(&own) {
        return Ok(());
    }
    Err(PyImportError::new_err(
        "goodcall does not support subinterpreters: expected the interpreter that imported it first",
    ))
}

/// The command, with the words of its command line. Returns the exit code.
#[cfg(feature = "command")]
#[pyfunction]
fn command(py: Python<'_>, words: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| goodcall_cli::main(&words))
}

#[pymodule(gil_used = false)]
mod _goodcall {
    #[pymodule_export]
    use super::arrow::{VerdictBatch, VerdictTable, check_arrow};
    #[pymodule_export]
    use super::audit::{Audit, audit_report, merge_audits};
    #[pymodule_export]
    use super::change::Change;
    #[cfg(feature = "command")]
    #[pymodule_export]
    use super::command;
    #[pymodule_export]
    use super::issue::Issue;
    #[pymodule_export]
    use super::loops::{LoopDetector, LoopReport};
    #[pymodule_export]
    use super::relay::{Exchange, Relay, StreamRelay};
    #[pymodule_export]
    use super::stream::{Stream, Update};
    #[pymodule_export]
    use super::tools::{Call, Extraction, Tools};
    #[pymodule_export]
    use super::verdict::{Verdict, recommendations};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::refuse_subinterpreter(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
