//! Files of tables: Parquet, and Arrow as a file or as a stream.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};

use super::ColumnNames;

/// Rows that are read at once.
const BATCH_ROWS: usize = 4096;

/// The first bytes of each kind of file.
const PARQUET: &[u8] = b"PAR1";
const ARROW: &[u8] = b"ARROW1";
const STREAM: &[u8] = &[0xff; 4];

/// Returns true for the first bytes of a table.
pub(crate) fn is_table(head: &[u8]) -> bool {
    [PARQUET, ARROW, STREAM]
        .iter()
        .any(|magic| head.starts_with(magic))
}

/// A file of a table.
#[derive(Clone, Debug)]
pub(crate) struct TableFile {
    path: PathBuf,
    kind: TableKind,
}

#[derive(Clone, Debug)]
enum TableKind {
    Parquet(ArrowReaderMetadata),
    /// Arrow as a file.
    Arrow(SchemaRef),
    /// Arrow as a stream.
    Stream(SchemaRef),
}

/// A part of a table that can be read by itself: a group of rows, or all.
#[derive(Clone, Debug)]
pub(crate) struct TablePart {
    pub(crate) table: Arc<TableFile>,
    /// The group of rows; `None` for all.
    pub(crate) group: Option<usize>,
}

/// The batches of a table.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>;

impl TableFile {
    /// Opens a file that begins with these bytes.
    pub(crate) fn open(path: &Path, head: &[u8]) -> Result<Self, String> {
        let open = || {
            let file = File::open(path)?;
            Ok(if head.starts_with(PARQUET) {
                TableKind::Parquet(parquet(&file)?)
            } else if head.starts_with(ARROW) {
                let reader = arrow_ipc::reader::FileReader::try_new_buffered(file, None)?;
                TableKind::Arrow(reader.schema())
            } else {
                let reader = arrow_ipc::reader::StreamReader::try_new_buffered(file, None)?;
                TableKind::Stream(reader.schema())
            })
        };
        let kind = open().map_err(|error: ArrowError| format!("cannot be read: {error}"))?;
        Ok(Self {
            path: path.to_owned(),
            kind,
        })
    }

    /// The names of the columns.
    pub(crate) fn names(&self) -> Vec<String> {
        let schema = match &self.kind {
            TableKind::Parquet(metadata) => metadata.schema(),
            TableKind::Arrow(schema) | TableKind::Stream(schema) => schema,
        };
        schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    /// The number of groups of rows; `None` if the file is read from its start.
    pub(crate) fn groups(&self) -> Option<usize> {
        match &self.kind {
            TableKind::Parquet(metadata) => Some(metadata.metadata().num_row_groups()),
            _ => None,
        }
    }

    /// The number of rows before a group.
    pub(crate) fn rows_before(&self, group: usize) -> u64 {
        let TableKind::Parquet(metadata) = &self.kind else {
            return 0;
        };
        let groups = metadata.metadata().row_groups().iter().take(group);
        groups
            .map(|group| u64::try_from(group.num_rows()).unwrap_or(0))
            .sum()
    }

    /// The bytes of a group, or of all of them.
    pub(crate) fn bytes(&self, group: Option<usize>) -> u64 {
        let TableKind::Parquet(metadata) = &self.kind else {
            return 0;
        };
        let groups = metadata.metadata().row_groups().iter().enumerate();
        let groups = groups.filter(|(index, _)| group.is_none_or(|only| only == *index));
        groups
            .map(|(_, group)| u64::try_from(group.compressed_size()).unwrap_or(0))
            .sum()
    }

    /// Reads a group of rows, or all. With names, only the columns of calls are read.
    pub(crate) fn batches(
        &self,
        group: Option<usize>,
        names: Option<&ColumnNames>,
    ) -> Result<Batches, ArrowError> {
        let file = File::open(&self.path)?;
        match &self.kind {
            TableKind::Parquet(metadata) => {
                let reader =
                    ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone());
                let mut reader = reader.with_batch_size(BATCH_ROWS);
                if let Some(group) = group {
                    reader = reader.with_row_groups(vec![group]);
                }
                if let Some(names) = names {
                    let roots = metadata.schema().fields().iter().enumerate();
                    let read = roots.filter(|(_, field)| names.is_read(field.name()));
                    let read = read.map(|(index, _)| index);
                    let mask = ProjectionMask::roots(reader.parquet_schema(), read);
                    reader = reader.with_projection(mask);
                }
                Ok(Box::new(reader.build()?))
            }
            TableKind::Arrow(_) => {
                let reader = arrow_ipc::reader::FileReader::try_new_buffered(file, None)?;
                Ok(Box::new(reader))
            }
            TableKind::Stream(_) => {
                let reader = arrow_ipc::reader::StreamReader::try_new_buffered(file, None)?;
                Ok(Box::new(reader))
            }
        }
    }
}

/// Reads the metadata. Columns of strings are read as views, which are not copied.
fn parquet(file: &File) -> Result<ArrowReaderMetadata, ArrowError> {
    let load = |options| ArrowReaderMetadata::load(file, options);
    let metadata = load(ArrowReaderOptions::new())?;
    let mut has_texts = false;
    let views = metadata
        .schema()
        .fields()
        .iter()
        .map(|field| match field.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 => {
                has_texts = true;
                let field = Field::new(field.name(), DataType::Utf8View, field.is_nullable());
                Arc::new(field)
            }
            _ => Arc::clone(field),
        });
    let views = Arc::new(Schema::new(views.collect::<Vec<_>>()));
    if !has_texts {
        return Ok(metadata);
    }
    Ok(load(ArrowReaderOptions::new().with_schema(views))?)
}

/// The rows of a batch as JSON, one per line.
pub(crate) fn json_lines(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut lines = arrow_json::LineDelimitedWriter::new(Vec::new());
    lines.write(batch)?;
    lines.finish()?;
    Ok(lines.into_inner())
}
