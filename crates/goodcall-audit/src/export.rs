//! Writes the store of a gateway as a file that other programs read: lines of JSON, or Parquet.

use std::fmt;
use std::io::Write;
use std::path::Path;

use crate::input::Database;

/// A store that cannot be exported. Its text says why.
#[derive(Debug)]
pub struct ExportError(String);

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ExportError {}

impl ExportError {
    fn new(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// Calls `take` with the JSON text of each request that a gateway's SQLite file has, oldest first, until
/// it returns false. A file of an earlier version has calls.
///
/// # Errors
/// If the file cannot be read, or is not the store of a gateway.
pub fn each_stored(store: &Path, take: &mut dyn FnMut(String) -> bool) -> Result<(), ExportError> {
    let database = Database::open(store).map_err(ExportError::new)?;
    let database = database.filter(Database::is_gateway_store);
    let database = database.ok_or_else(|| ExportError::new("it is not the store of a gateway"))?;
    database.each(take).map_err(ExportError::new)
}

/// Writes the requests that `read` hands out, such as [`each_stored`] for a file, one JSON object per
/// line. The audit reads them as it reads the store. Returns their number.
///
/// # Errors
/// If the store cannot be read, or the lines cannot be written.
pub fn export_lines<E: fmt::Display>(
    read: impl FnOnce(&mut dyn FnMut(String) -> bool) -> Result<(), E>,
    out: &mut dyn Write,
) -> Result<u64, ExportError> {
    let (mut count, mut wrote) = (0, Ok(()));
    read(&mut |line| {
        count += 1;
        wrote = writeln!(out, "{line}");
        wrote.is_ok()
    })
    .map_err(ExportError::new)?;
    wrote.and_then(|()| out.flush()).map_err(ExportError::new)?;
    Ok(count)
}

/// Writes the calls of the requests that `read` hands out as a Parquet file, in columns that the audit
/// reads. Returns their number.
///
/// # Errors
/// If the store cannot be read, or the file cannot be written.
#[cfg(feature = "parquet")]
pub fn export_parquet<E: fmt::Display, W: Write + Send>(
    read: impl FnOnce(&mut dyn FnMut(String) -> bool) -> Result<(), E>,
    out: W,
) -> Result<u64, ExportError> {
    use parquet::arrow::ArrowWriter;
    use parquet::basic::{Compression, ZstdLevel};
    use parquet::file::properties::WriterProperties;

    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let mut writer =
        ArrowWriter::try_new(out, table::schema(), Some(properties)).map_err(ExportError::new)?;
    let mut rows = table::Rows::default();
    let (mut count, mut wrote) = (0, Ok(()));
    read(&mut |line| {
        count += rows.push(&line);
        if rows.is_full() {
            wrote = writer.write(&std::mem::take(&mut rows).batch());
        }
        wrote.is_ok()
    })
    .map_err(ExportError::new)?;
    wrote
        .and_then(|()| writer.write(&rows.batch()))
        .and_then(|()| writer.close())
        .map_err(ExportError::new)?;
    Ok(count)
}

#[cfg(feature = "parquet")]
mod table {
    use std::sync::Arc;

    use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder};
    use arrow_array::{ArrayRef, RecordBatch};
    use arrow_schema::{DataType, Field, Schema, SchemaRef};
    use goodcall_core::{Node, Tree};

    /// The columns of texts, each with the key that it has in the store: of a call, or else of its
    /// request.
    const TEXTS: [(&str, &str); 9] = [
        ("tool_name", "tool"),
        ("arguments", "arguments"),
        ("verdict", "verdict"),
        ("reason", "reason"),
        ("model", "model"),
        ("server", "protocol"),
        ("route", "route"),
        ("client", "client"),
        ("outcome", "outcome"),
    ];

    /// Rows of one batch.
    const MOST_ROWS: usize = 64 << 10;

    pub(super) fn schema() -> SchemaRef {
        let mut fields = vec![
            Field::new("time", DataType::Float64, true),
            Field::new("attempt", DataType::Int64, true),
        ];
        let texts = TEXTS.iter();
        fields.extend(texts.map(|(name, _)| Field::new(*name, DataType::Utf8, true)));
        Arc::new(Schema::new(fields))
    }

    #[derive(Default)]
    pub(super) struct Rows {
        count: usize,
        time: Float64Builder,
        attempt: Int64Builder,
        texts: [StringBuilder; TEXTS.len()],
    }

    impl Rows {
        /// Adds the calls of a request, and returns their number. What cannot be read has none.
        pub(super) fn push(&mut self, line: &str) -> u64 {
            let Ok(tree) = Tree::parse(line) else {
                return 0;
            };
            let request = tree.root();
            if request.get("verdict").is_some() {
                // A call of an earlier version.
                self.push_call(request, request);
                return 1;
            }
            let calls = request.get("calls").into_iter().flat_map(Node::elements);
            let mut count = 0;
            for call in calls {
                self.push_call(request, call);
                count += 1;
            }
            count
        }

        fn push_call(&mut self, request: Node<'_>, call: Node<'_>) {
            let get = |key: &str| call.get(key).or_else(|| request.get(key));
            let number = |key: &str| get(key).and_then(Node::digits);
            self.time
                .append_option(number("time").and_then(|digits| digits.parse().ok()));
            self.attempt
                .append_option(number("attempt").and_then(|digits| digits.parse().ok()));
            for (column, (_, key)) in self.texts.iter_mut().zip(TEXTS) {
                column.append_option(get(key).and_then(Node::as_str));
            }
            self.count += 1;
        }

        pub(super) fn is_full(&self) -> bool {
            self.count >= MOST_ROWS
        }

        pub(super) fn batch(mut self) -> RecordBatch {
            let mut columns: Vec<ArrayRef> = vec![
                Arc::new(self.time.finish()),
                Arc::new(self.attempt.finish()),
            ];
            let texts = self.texts.iter_mut();
            columns.extend(texts.map(|column| Arc::new(column.finish()) as ArrayRef));
            RecordBatch::try_new(schema(), columns).expect("every column has all rows")
        }
    }
}
