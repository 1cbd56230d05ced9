//! Audits of columns of calls: counts that add up over batches, partitions and machines.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use goodcall_audit::{Aggregate, AuditReport, Auditor, CallJudge, ColumnNames, ExampleSettings};
use goodcall_core::Policies;
use goodcall_wire::Tools as WireTools;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrow::import_batch;
use crate::errors::{INPUT, contained};
use crate::tools::Tools;
use crate::values::Text;

/// Counts the calls of record batches.
#[pyclass(frozen, module = "goodcall")]
pub(crate) struct Audit {
    counting: Mutex<Counting>,
    names: ColumnNames,
    source: Arc<str>,
}

/// What was counted so far.
struct Counting {
    auditor: Auditor,
    rows: u64,
}

#[pymethods]
impl Audit {
    #[new]
    #[pyo3(signature = (tools, raw = None, tool = None, conversation = None, source = "batch", show_arguments = false))]
    fn new(
        tools: Option<&Tools>,
        raw: Option<String>,
        tool: Option<String>,
        conversation: Option<String>,
        source: &str,
        show_arguments: bool,
    ) -> Self {
        let mut examples = ExampleSettings::default();
        examples.show_arguments = show_arguments;
        let judge = match tools {
            Some(tools) => {
                examples.style = tools.style;
                CallJudge::new(tools.policies().clone(), tools.tools.clone())
            }
            // The rows have their own definitions.
            None => CallJudge::new(Policies::default(), WireTools::default()),
        };
        let mut names = ColumnNames::default();
        names.arguments = raw;
        names.tool = tool;
        names.conversation = conversation;
        let auditor = Auditor::new(Arc::new(judge), examples);
        Self {
            counting: Mutex::new(Counting { auditor, rows: 0 }),
            names,
            source: source.into(),
        }
    }

    /// Judges and counts the calls of a batch, without the interpreter's lock.
    fn add(&self, py: Python<'_>, batch: &Bound<'_, PyAny>) -> PyResult<()> {
        let batch = RecordBatch::from(import_batch(batch)?);
        let counted = contained(py, || {
            py.detach(|| {
                let mut counting = self.counting.lock().unwrap_or_else(PoisonError::into_inner);
                let first = counting.rows + 1;
                counting.rows += batch.num_rows() as u64;
                let auditor = &mut counting.auditor;
                auditor.batch(&batch, &self.names, &self.source, first)
            })
        })?;
        counted.map_err(|error| INPUT.new_err(py, error))
    }

    /// What was counted, for `merge` and `audit_report`.
    fn state<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let counting = self.counting.lock().unwrap_or_else(PoisonError::into_inner);
        let state = serde_json::to_vec(counting.auditor.counted());
        PyBytes::new(
            py,
            &state.expect("counts have string keys and no failing value"),
        )
    }
}

/// Adds up what several audits have counted.
#[pyfunction]
pub(crate) fn merge_audits<'py>(
    py: Python<'py>,
    states: Vec<Vec<u8>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let merge = || {
        let mut sum = Aggregate::default();
        for state in &states {
            sum.merge(read(state)?);
        }
        serde_json::to_vec(&sum).map_err(|error| error.to_string())
    };
    let merged = contained(py, || py.detach(merge))?;
    let merged = merged.map_err(|error| INPUT.new_err(py, error))?;
    Ok(PyBytes::new(py, &merged))
}

/// The report on what an audit has counted, as `json` or as `html`, or as a `summary` for a terminal.
#[pyfunction]
pub(crate) fn audit_report(
    py: Python<'_>,
    state: Vec<u8>,
    policy: Text<'_>,
    form: Text<'_>,
) -> PyResult<String> {
    let report = || {
        let report = AuditReport::new(&read(&state)?, policy.0);
        match form.0 {
            "json" => Ok(report.to_json()),
            "html" => Ok(report.to_html()),
            "csv" => Ok(report.to_csv()),
            "summary" => Ok(report.summary()),
            other => Err(format!(
                "unknown form `{other}`: expected json, html, csv or summary"
            )),
        }
    };
    let report = contained(py, || py.detach(report))?;
    report.map_err(|error| INPUT.new_err(py, error))
}

fn read(state: &[u8]) -> Result<Aggregate, String> {
    serde_json::from_slice(state).map_err(|error| format!("not the state of an audit: {error}"))
}
