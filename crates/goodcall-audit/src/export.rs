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

/// Writes the calls of a gateway's store, one JSON object per line, oldest first. The audit reads them
/// as it reads the store. Returns their number.
///
/// # Errors
/// If the store cannot be read, or the lines cannot be written.
pub fn export_lines(store: &Path, out: &mut dyn Write) -> Result<u64, ExportError> {
    let mut wrote = Ok(());
    let count = each_call(store, |line| {
        wrote = writeln!(out, "{line}");
        wrote.is_ok()
    })?;
    wrote.and_then(|()| out.flush()).map_err(ExportError::new)?;
    Ok(count)
}

fn each_call(store: &Path, mut take: impl FnMut(String) -> bool) -> Result<u64, ExportError> {
    let database = Database::open(store).map_err(ExportError::new)?;
    let database = database.filter(Database::is_gateway_store);
    let database = database.ok_or_else(|| ExportError::new("it is not the store of a gateway"))?;
    let mut count = 0;
    let read = database.each(|line| {
        count += 1;
        take(line)
    });
    read.map_err(ExportError::new)?;
    Ok(count)
}

/// Writes the calls of a gateway's store as a Parquet file, oldest first, in columns that the audit
/// reads. Returns their number.
///
/// # Errors
/// If the store cannot be read, or the file cannot be written.
#[cfg(feature = "parquet")]
pub fn export_parquet<W: Write + Send>(store: &Path, out: W) -> Result<u64, ExportError> {
    use parquet::arrow::ArrowWriter;
    use parquet::basic::{Compression, ZstdLevel};
    use parquet::file::properties::WriterProperties;

    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let mut writer =
        ArrowWriter::try_new(out, table::schema(), Some(properties)).map_err(ExportError::new)?;
    let mut rows = table::Rows::default();
    let mut wrote = Ok(());
    let count = each_call(store, |line| {
        rows.push(&line);
        if rows.is_full() {
            wrote = writer.write(&std::mem::take(&mut rows).batch());
        }
        wrote.is_ok()
    })?;
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

    /// The columns of texts, each with the key that it has in the store.
    const TEXTS: [(&str, &str); 6] = [
        ("tool_name", "tool"),
        ("arguments", "arguments"),
        ("verdict", "verdict"),
        ("reason", "reason"),
        ("model", "model"),
        ("server", "protocol"),
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
        pub(super) fn push(&mut self, line: &str) {
            let tree = Tree::parse(line).ok();
            let get = |key: &str| tree.as_ref().and_then(|tree| tree.root().get(key));
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
