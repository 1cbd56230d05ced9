//! Verdicts on columns of calls, through Arrow's PyCapsule interface.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder, StructBuilder};
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, StructArray};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use goodcall_core::{Explain, StopReason, Verdict};
use goodcall_wire::RawCall;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::{INPUT, contained};
use crate::settings;
use crate::tools::Tools;
use crate::values::Text;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// A column of strings in any of Arrow's forms.
enum Texts<'a> {
    Small(&'a arrow_array::StringArray),
    Large(&'a arrow_array::LargeStringArray),
    View(&'a arrow_array::StringViewArray),
    /// The values, and which of them each row has.
    Dictionary(Box<Texts<'a>>, &'a dyn Array, Vec<usize>),
}

impl<'a> Texts<'a> {
    fn of(column: &'a dyn Array) -> Option<Self> {
        match column.data_type() {
            DataType::Utf8 => Some(Self::Small(column.as_string())),
            DataType::LargeUtf8 => Some(Self::Large(column.as_string())),
            DataType::Utf8View => Some(Self::View(column.as_string_view())),
            DataType::Dictionary(..) => {
                let rows = column.as_any_dictionary_opt()?;
                let values = Box::new(Self::of(rows.values().as_ref())?);
                let keys = if rows.values().is_empty() {
                    vec![0; column.len()]
                } else {
                    rows.normalized_keys()
                };
                Some(Self::Dictionary(values, column, keys))
            }
            _ => None,
        }
    }

    fn get(&self, row: usize) -> Option<&'a str> {
        match self {
            Self::Small(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Large(array) => array.is_valid(row).then(|| array.value(row)),
            Self::View(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Dictionary(values, rows, keys) => {
                let key = rows.is_valid(row).then(|| keys.get(row)).flatten();
                values.get(*key?)
            }
        }
    }
}

/// The columns of verdicts while they are written.
struct Columns {
    verdict: StringBuilder,
    reason: StringBuilder,
    rules: ListBuilder<StringBuilder>,
    issues: ListBuilder<StructBuilder>,
    arguments: StringBuilder,
    text: StringBuilder,
}

/// The fields of an issue.
fn issue_fields() -> Fields {
    let field = |name| Field::new(name, DataType::Utf8, false);
    Fields::from(vec![field("path"), field("code")])
}

impl Columns {
    fn new() -> Self {
        Self {
            verdict: StringBuilder::new(),
            reason: StringBuilder::new(),
            rules: ListBuilder::new(StringBuilder::new()),
            issues: ListBuilder::new(StructBuilder::from_fields(issue_fields(), 0)),
            arguments: StringBuilder::new(),
            text: StringBuilder::new(),
        }
    }

    /// Adds a verdict. `sent` is the text that it judged.
    fn push(&mut self, verdict: &Verdict<'_>, sent: Option<&str>, explain: Explain<'_>) {
        self.verdict.append_value(verdict.name());
        for change in verdict.changes() {
            self.rules.values().append_value(change.rule.name());
        }
        self.rules.append(true);
        for issue in verdict.issues() {
            let row = self.issues.values();
            for (at, value) in [issue.pointer.as_str(), issue.kind.name()]
                .into_iter()
                .enumerate()
            {
                if let Some(field) = row.field_builder::<StringBuilder>(at) {
                    field.append_value(value);
                }
            }
            row.append(true);
        }
        self.issues.append(true);
        match (verdict, sent) {
            (Verdict::Good(_), Some(sent)) => self.arguments.append_value(sent),
            _ => {
                let arguments = verdict.arguments().map(|tree| tree.to_json());
                self.arguments.append_option(arguments);
            }
        }
        let bad = match verdict {
            Verdict::Bad(bad) => Some(bad),
            _ => None,
        };
        self.reason.append_option(bad.map(|bad| bad.reason.name()));
        self.text.append_option(bad.map(|bad| explain.text(bad)));
    }

    fn finish(mut self) -> Result<RecordBatch, String> {
        let columns: [ArrayRef; 6] = [
            Arc::new(self.verdict.finish()),
            Arc::new(self.reason.finish()),
            Arc::new(self.rules.finish()),
            Arc::new(self.issues.finish()),
            Arc::new(self.arguments.finish()),
            Arc::new(self.text.finish()),
        ];
        let made = RecordBatch::try_new(verdict_schema(), columns.to_vec());
        made.map_err(|error| error.to_string())
    }
}

/// The columns of verdicts.
fn verdict_schema() -> SchemaRef {
    let list = |item| DataType::List(Arc::new(Field::new_list_field(item, true)));
    let columns = [
        ("verdict", DataType::Utf8),
        ("reason", DataType::Utf8),
        ("rules", list(DataType::Utf8)),
        ("issues", list(DataType::Struct(issue_fields()))),
        ("arguments", DataType::Utf8),
        ("text", DataType::Utf8),
    ];
    let fields = columns.map(|(name, kind)| Field::new(name, kind, true));
    Arc::new(Schema::new(fields.to_vec()))
}

/// How the rows of batches are judged.
struct Question<'a> {
    tools: &'a Tools,
    /// The column with the arguments.
    raw: &'a str,
    /// The column with the names of tools.
    tool: &'a str,
    /// The tool that all rows call.
    always: Option<&'a str>,
    stop: StopReason,
}

impl Question<'_> {
    /// Judges every row of a batch.
    fn judge(&self, batch: &StructArray) -> Result<RecordBatch, String> {
        let sent = texts(batch, self.raw)?;
        let names = match self.always {
            Some(_) => None,
            None => Some(texts(batch, self.tool)?),
        };
        let mut columns = Columns::new();
        for row in 0..batch.len() {
            let name = match &names {
                Some(names) => names.get(row),
                None => self.always,
            };
            let name = name.unwrap_or_default();
            let text = sent.get(row).unwrap_or_default();
            let explain = Explain::new(self.tools.style).tool(name);
            if let Some(gate) = self.tools.gate(name, self.stop) {
                columns.push(&gate.check(text), Some(text), explain);
            } else {
                let call = RawCall::new(&self.tools.tools, name, text);
                let policy = self.tools.policy_of(&call.name);
                let verdict = call.check(&self.tools.tools, &policy, self.stop);
                columns.push(&verdict, None, explain);
            }
        }
        columns.finish()
    }
}

/// Returns a column of strings.
fn texts<'a>(batch: &'a StructArray, name: &str) -> Result<Texts<'a>, String> {
    let Some(column) = batch.column_by_name(name) else {
        let known = batch.column_names().join(", ");
        return Err(format!(
            "there is no column `{name}`: expected one of {known}"
        ));
    };
    Texts::of(column).ok_or_else(|| {
        let kind = column.data_type();
        format!("the column `{name}` is of type {kind}: expected strings")
    })
}

/// Takes a record batch over from Python.
pub(crate) fn import_batch(batch: &Bound<'_, PyAny>) -> PyResult<StructArray> {
    let py = batch.py();
    let parts = batch.call_method0("__arrow_c_array__")?;
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = parts.extract()?;
    let schema = schema.pointer_checked(Some(SCHEMA))?.as_ptr();
    let array = array.pointer_checked(Some(ARRAY))?.as_ptr();
    // SAFETY: capsules of these names hold these structs, by the PyCapsule interface of Arrow. Both are
    // moved out, which leaves released ones behind.
    let data = unsafe {
        let schema = FFI_ArrowSchema::from_raw(schema.cast());
        from_ffi(FFI_ArrowArray::from_raw(array.cast()), &schema)
    };
    let data = data.map_err(|error| INPUT.new_err(py, format!("not an Arrow batch: {error}")))?;
    as_batch(arrow_array::make_array(data)).map_err(|error| INPUT.new_err(py, error))
}

/// Takes a stream of record batches over from Python.
fn import_stream(table: &Bound<'_, PyAny>) -> PyResult<ArrayStreamReader> {
    let capsule = table.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(STREAM))?.as_ptr();
    // SAFETY: a capsule of this name holds this struct, by the PyCapsule interface of Arrow. It is moved
    // out, which leaves a released one behind.
    let reader = unsafe { ArrayStreamReader::from_raw(stream.cast()) };
    reader.map_err(|error| INPUT.new_err(table.py(), format!("not an Arrow table: {error}")))
}

fn as_batch(array: ArrayRef) -> Result<StructArray, String> {
    match array.as_struct_opt() {
        Some(batch) => Ok(batch.clone()),
        None => {
            let kind = array.data_type();
            Err(format!("expected a record batch, got an array of {kind}"))
        }
    }
}

fn schema_capsule(py: Python<'_>) -> PyResult<Bound<'_, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(verdict_schema().as_ref());
    let schema = schema.map_err(|error| INPUT.new_err(py, error))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// A batch of verdicts, for anything that reads Arrow's PyCapsule interface.
#[pyclass(frozen, module = "goodcall")]
pub(crate) struct VerdictBatch(RecordBatch);

#[pymethods]
impl VerdictBatch {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // A consumer may ask for another schema, but a producer need not heed that.
        drop(requested_schema);
        let data = StructArray::from(self.0.clone()).into_data();
        let (array, schema) = to_ffi(&data).map_err(|error| INPUT.new_err(py, error))?;
        Ok((
            PyCapsule::new_with_value(py, schema, SCHEMA)?,
            PyCapsule::new_with_value(py, array, ARRAY)?,
        ))
    }

    #[staticmethod]
    fn __arrow_c_schema__(py: Python<'_>) -> PyResult<Bound<'_, PyCapsule>> {
        schema_capsule(py)
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<VerdictBatch of {} rows>", self.__len__())
    }
}

/// The verdicts on a table, in as many batches as that has.
#[pyclass(frozen, module = "goodcall")]
pub(crate) struct VerdictTable(Vec<RecordBatch>);

#[pymethods]
impl VerdictTable {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = self.0.clone().into_iter().map(Ok::<_, ArrowError>);
        let reader = RecordBatchIterator::new(batches, verdict_schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
    }

    #[staticmethod]
    fn __arrow_c_schema__(py: Python<'_>) -> PyResult<Bound<'_, PyCapsule>> {
        schema_capsule(py)
    }

    fn __len__(&self) -> usize {
        self.0.iter().map(RecordBatch::num_rows).sum()
    }

    fn __repr__(&self) -> String {
        format!("<VerdictTable of {} rows>", self.__len__())
    }
}

/// Judges every row of a batch or a table, without the interpreter's lock.
#[pyfunction]
#[pyo3(signature = (tools, data, raw, tool, always, stop))]
pub(crate) fn check_arrow<'py>(
    py: Python<'py>,
    tools: Py<Tools>,
    data: &Bound<'py, PyAny>,
    raw: Text<'_>,
    tool: Text<'_>,
    always: Option<Text<'_>>,
    stop: Option<Text<'_>>,
) -> PyResult<Bound<'py, PyAny>> {
    let question = Question {
        tools: tools.get(),
        raw: raw.0,
        tool: tool.0,
        always: always.map(|name| name.0),
        stop: settings::stop(py, stop)?,
    };
    let failed = |error| INPUT.new_err(py, error);
    if data.hasattr("__arrow_c_array__")? {
        let batch = import_batch(data)?;
        let made = contained(py, || py.detach(|| question.judge(&batch)))?;
        return VerdictBatch(made.map_err(failed)?).into_bound_py_any(py);
    }
    if !data.hasattr("__arrow_c_stream__")? {
        let kind = data.get_type().name()?;
        return Err(failed(format!(
            "a `{kind}` is not Arrow data: expected a record batch or a table with the PyCapsule interface"
        )));
    }
    let stream = import_stream(data)?;
    let made: Result<Vec<_>, String> = contained(py, || {
        // The producer may need the lock for its next batch.
        py.detach(|| {
            let batches = stream.map(|array| as_batch(array.map_err(|error| error.to_string())?));
            batches.map(|batch| question.judge(&batch?)).collect()
        })
    })?;
    VerdictTable(made.map_err(failed)?).into_bound_py_any(py)
}
