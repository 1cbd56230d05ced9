//! Verdicts on columns of calls, through Arrow's PyCapsule interface.

use std::ffi::CStr;

use arrow_array::builder::{ListBuilder, StringBuilder, StructBuilder};
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::{DataType, Field, Fields, Schema};
use goodcall_core::{Explain, Verdict};
use goodcall_wire::RawCall;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

use crate::errors::{INPUT, contained};
use crate::settings;
use crate::tools::Tools;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";

/// A column of strings in any of Arrow's forms.
enum Texts<'a> {
    Small(&'a arrow_array::StringArray),
    Large(&'a arrow_array::LargeStringArray),
    View(&'a arrow_array::StringViewArray),
}

impl<'a> Texts<'a> {
    fn of(column: &'a dyn Array) -> Option<Self> {
        match column.data_type() {
            DataType::Utf8 => Some(Self::Small(column.as_string())),
            DataType::LargeUtf8 => Some(Self::Large(column.as_string())),
            DataType::Utf8View => Some(Self::View(column.as_string_view())),
            _ => None,
        }
    }

    fn get(&self, row: usize) -> Option<&'a str> {
        match self {
            Self::Small(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Large(array) => array.is_valid(row).then(|| array.value(row)),
            Self::View(array) => array.is_valid(row).then(|| array.value(row)),
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

    fn push(&mut self, verdict: &Verdict<'_>, explain: Explain<'_>) {
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
        self.arguments
            .append_option(verdict.arguments().map(|tree| tree.to_json()));
        let bad = match verdict {
            Verdict::Bad(bad) => Some(bad),
            _ => None,
        };
        self.reason.append_option(bad.map(|bad| bad.reason.name()));
        self.text.append_option(bad.map(|bad| explain.text(bad)));
    }

    fn finish(mut self) -> Result<RecordBatch, String> {
        let columns: [(&str, ArrayRef); 6] = [
            ("verdict", Arc::new(self.verdict.finish())),
            ("reason", Arc::new(self.reason.finish())),
            ("rules", Arc::new(self.rules.finish())),
            ("issues", Arc::new(self.issues.finish())),
            ("arguments", Arc::new(self.arguments.finish())),
            ("text", Arc::new(self.text.finish())),
        ];
        let fields: Vec<_> = columns
            .iter()
            .map(|(name, column)| Field::new(*name, column.data_type().clone(), true))
            .collect();
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
            .map_err(|error| error.to_string())
    }
}

/// Which tool a row calls.
enum Called<'a> {
    Column(Texts<'a>),
    Always(&'a str),
}

/// Takes a record batch over from Python.
pub(crate) fn import(batch: &Bound<'_, PyAny>) -> PyResult<StructArray> {
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
    if !matches!(data.data_type(), DataType::Struct(_)) {
        let kind = data.data_type();
        return Err(INPUT.new_err(
            py,
            format!("expected a record batch, got an array of {kind}"),
        ));
    }
    Ok(StructArray::from(data))
}

/// Returns a column of strings.
fn texts<'a>(py: Python<'_>, batch: &'a StructArray, name: &str) -> PyResult<Texts<'a>> {
    let Some(column) = batch.column_by_name(name) else {
        let known = batch.column_names().join(", ");
        let message = format!("there is no column `{name}`: expected one of {known}");
        return Err(INPUT.new_err(py, message));
    };
    Texts::of(column).ok_or_else(|| {
        let kind = column.data_type();
        INPUT.new_err(
            py,
            format!("the column `{name}` is of type {kind}: expected strings"),
        )
    })
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

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema().as_ref());
        let schema = schema.map_err(|error| INPUT.new_err(py, error))?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }
}

/// Judges every row of a batch, without the interpreter's lock.
#[pyfunction]
#[pyo3(signature = (tools, batch, raw, tool, always, stop))]
pub(crate) fn check_batch(
    py: Python<'_>,
    tools: Py<Tools>,
    batch: &Bound<'_, PyAny>,
    raw: &str,
    tool: &str,
    always: Option<&str>,
    stop: Option<&str>,
) -> PyResult<VerdictBatch> {
    let stop = settings::stop(py, stop)?;
    let batch = import(batch)?;
    let sent = texts(py, &batch, raw)?;
    let called = match always {
        Some(name) => Called::Always(name),
        None => Called::Column(texts(py, &batch, tool)?),
    };
    let (tools, rows) = (tools.get(), batch.len());
    let made = contained(py, || {
        py.detach(|| {
            let mut columns = Columns::new();
            for row in 0..rows {
                let name = match &called {
                    Called::Always(name) => name,
                    Called::Column(names) => names.get(row).unwrap_or_default(),
                };
                let text = sent.get(row).unwrap_or_default();
                let explain = Explain::new(tools.style).tool(name);
                match tools.gate(name, stop) {
                    Some(gate) => columns.push(&gate.check(text), explain),
                    None => {
                        let call = RawCall::new(&tools.tools, name, text);
                        let policy = tools.policy_of(&call.name);
                        columns.push(&call.check(&tools.tools, &policy, stop), explain);
                    }
                }
            }
            columns.finish()
        })
    })?;
    made.map(VerdictBatch)
        .map_err(|error| INPUT.new_err(py, error))
}
