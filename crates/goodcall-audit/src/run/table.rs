//! Tables: named columns of calls, or rows that are records of another format.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::AuditProgress;
use super::detect::{UNKNOWN, find};
use super::unit::Reading;
use crate::auditor::Auditor;
use crate::columns::{COLUMNS, ColumnNames, TableFile, TablePart, json_lines};
use crate::readers::{LogFormat, RecordOrder};

/// What the rows of a table are.
#[derive(Clone)]
enum TableRows {
    /// Calls, by the names of the columns.
    Calls(ColumnNames),
    /// Records of a format, with a column per member.
    Records(&'static dyn LogFormat),
}

/// The parts of a table, in order.
pub(super) struct TableParts {
    table: Arc<TableFile>,
    rows: TableRows,
    /// The group that comes next, and how many there are; `None` if the table is one part.
    groups: Option<(usize, usize)>,
    is_done: bool,
}

/// A part of a table, to be read by one thread.
pub(super) struct TableUnit {
    part: TablePart,
    rows: TableRows,
}

impl TableParts {
    /// Finds out what the rows of a table are.
    pub(super) fn open(table: TableFile) -> Result<Self, String> {
        let names = table.names();
        let columns = ColumnNames::default();
        let (rows, in_order) = if columns.fit(names.iter().map(String::as_str)) {
            let in_order = columns.are_in_order(names.iter().map(String::as_str));
            (TableRows::Calls(columns), in_order)
        } else {
            let (format, order) = format_of_rows(&table)?;
            (TableRows::Records(format), order == RecordOrder::InOrder)
        };
        Ok(Self {
            groups: table.groups().filter(|_| !in_order).map(|count| (0, count)),
            table: Arc::new(table),
            rows,
            is_done: false,
        })
    }
}

/// The format of the first rows.
fn format_of_rows(table: &TableFile) -> Result<(&'static dyn LogFormat, RecordOrder), String> {
    let unreadable = |error: arrow_schema::ArrowError| format!("cannot be read: {error}");
    let mut batches = table.batches(None, None).map_err(unreadable)?;
    let Some(batch) = batches.next() else {
        return Err("a table without rows".to_owned());
    };
    let batch = batch.map_err(unreadable)?;
    let first = batch.slice(0, batch.num_rows().min(64));
    let lines = json_lines(&first).map_err(unreadable)?;
    find(lines.split(|byte| *byte == b'\n')).map_err(|_| {
        let names = table.names().join(", ");
        format!("{UNKNOWN}: its columns are {names}")
    })
}

impl Iterator for TableParts {
    type Item = TableUnit;

    fn next(&mut self) -> Option<TableUnit> {
        let group = match &mut self.groups {
            None => {
                if std::mem::replace(&mut self.is_done, true) {
                    return None;
                }
                None
            }
            Some((next, count)) => {
                let group = *next;
                if group >= *count {
                    return None;
                }
                *next += 1;
                Some(group)
            }
        };
        let table = Arc::clone(&self.table);
        Some(TableUnit {
            part: TablePart { table, group },
            rows: self.rows.clone(),
        })
    }
}

impl TableUnit {
    pub(super) fn read(
        self,
        file: &Arc<str>,
        is_first: bool,
        auditor: &mut Auditor,
        progress: &AuditProgress,
    ) {
        let TablePart { table, group } = &self.part;
        let bytes = table.bytes(*group);
        let first = group.map_or(0, |group| table.rows_before(group)) + 1;
        match &self.rows {
            TableRows::Calls(names) => {
                if is_first {
                    auditor.file(COLUMNS);
                }
                self.calls(names, file, first, auditor);
            }
            TableRows::Records(format) => {
                let mut reading = Reading::new(Arc::clone(file), *format, auditor);
                if is_first {
                    reading.auditor.file(format.name());
                }
                self.records(first, &mut reading);
                reading.end();
            }
        }
        progress.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn calls(&self, names: &ColumnNames, file: &Arc<str>, first: u64, auditor: &mut Auditor) {
        let TablePart { table, group } = &self.part;
        let mut row = first;
        let mut read = || {
            let batches = table
                .batches(*group, Some(names))
                .map_err(|error| error.to_string())?;
            for batch in batches {
                let batch = batch.map_err(|error| error.to_string())?;
                auditor.batch(&batch, names, file, row)?;
                row += batch.num_rows() as u64;
            }
            Ok::<(), String>(())
        };
        if let Err(error) = read() {
            let place = crate::recorded::RecordPlace::new(Arc::clone(file), row);
            auditor.unreadable(COLUMNS, &format!("the table breaks off: {error}"), place);
        }
    }

    fn records(&self, first: u64, reading: &mut Reading<'_>) {
        let TablePart { table, group } = &self.part;
        let mut row = first;
        let mut read = || {
            for batch in table.batches(*group, None)? {
                let batch = batch?;
                let lines = json_lines(&batch)?;
                let lines = lines
                    .split(|byte| *byte == b'\n')
                    .filter(|line| !line.is_empty());
                for line in lines {
                    reading.record(row, line);
                    row += 1;
                }
            }
            Ok::<(), arrow_schema::ArrowError>(())
        };
        if let Err(error) = read() {
            reading.unreadable(row, &format!("the table breaks off: {error}"));
        }
    }
}
