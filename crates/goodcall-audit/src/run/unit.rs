//! A part of a file that one thread reads.

use std::io;
use std::sync::Arc;

use super::AuditProgress;
use super::detect::Input;
#[cfg(feature = "parquet")]
use super::table::{TableParts, TableUnit};
use crate::auditor::Auditor;
use crate::input::{Block, JsonValues, LineBlocks, ValueError, lines};
use crate::readers::{LogFormat, RecordReader};
use crate::recorded::RecordPlace;

/// A part of a file, to be read by one thread.
pub(super) struct Unit<'p> {
    pub(super) file: Arc<str>,
    /// The number of the part, from 0 on.
    pub(super) number: u32,
    pub(super) content: UnitContent<'p>,
}

/// The records of a unit.
pub(super) enum UnitContent<'p> {
    /// Lines that stand alone.
    Block(&'static dyn LogFormat, Block),
    /// A whole file.
    Whole(&'static dyn LogFormat, WholeFile<'p>),
    /// Rows of a table.
    #[cfg(feature = "parquet")]
    Table(TableUnit),
}

/// A file that one thread reads from its start.
pub(super) enum WholeFile<'p> {
    Lines(Input<'p>),
    /// Values, some of which were read in order to find the format.
    Values {
        first: Vec<Vec<u8>>,
        values: JsonValues<Input<'p>>,
    },
    /// Records that were made of the file.
    Records(Vec<Vec<u8>>),
    /// An SQLite file.
    #[cfg(feature = "sqlite")]
    Database(std::path::PathBuf),
}

/// The parts of a file, in order.
pub(super) enum FileParts<'p> {
    Blocks(&'static dyn LogFormat, LineBlocks<Input<'p>>),
    /// The file is `None` after it was taken.
    Whole(&'static dyn LogFormat, Option<WholeFile<'p>>),
    #[cfg(feature = "parquet")]
    Table(TableParts),
}

impl<'p> FileParts<'p> {
    pub(super) fn whole(format: &'static dyn LogFormat, file: WholeFile<'p>) -> Self {
        Self::Whole(format, Some(file))
    }

    pub(super) fn next_part(&mut self) -> io::Result<Option<UnitContent<'p>>> {
        match self {
            FileParts::Blocks(format, blocks) => {
                let block = blocks.next_block()?;
                Ok(block.map(|block| UnitContent::Block(*format, block)))
            }
            FileParts::Whole(format, whole) => {
                let whole = whole.take();
                Ok(whole.map(|whole| UnitContent::Whole(*format, whole)))
            }
            #[cfg(feature = "parquet")]
            FileParts::Table(table) => Ok(table.next().map(UnitContent::Table)),
        }
    }
}

const TOO_LONG: &str = "longer than 64 MiB";

impl Unit<'_> {
    /// Reads all records.
    pub(super) fn read(self, auditor: &mut Auditor, progress: &AuditProgress) {
        let is_first = self.number == 0;
        let (format, content) = match self.content {
            #[cfg(feature = "parquet")]
            UnitContent::Table(table) => {
                return table.read(&self.file, is_first, auditor, progress);
            }
            UnitContent::Block(format, block) => (format, Err(block)),
            UnitContent::Whole(format, whole) => (format, Ok(whole)),
        };
        let _ = progress;
        let mut reading = Reading::new(self.file, format, auditor);
        if is_first {
            reading.auditor.file(format.name());
        }
        match content {
            Err(block) => reading.block(&block),
            Ok(WholeFile::Lines(input)) => reading.lines(input),
            Ok(WholeFile::Values { first, values }) => reading.values(first, values),
            Ok(WholeFile::Records(records)) => {
                for (number, record) in (1..).zip(records) {
                    reading.record(number, &record);
                }
            }
            #[cfg(feature = "sqlite")]
            Ok(WholeFile::Database(path)) => reading.database(&path),
        }
        reading.end();
    }
}

/// The reading of one unit.
pub(super) struct Reading<'r> {
    file: Arc<str>,
    format: &'static dyn LogFormat,
    reader: Box<dyn RecordReader>,
    pub(super) auditor: &'r mut Auditor,
}

impl<'r> Reading<'r> {
    pub(super) fn new(
        file: Arc<str>,
        format: &'static dyn LogFormat,
        auditor: &'r mut Auditor,
    ) -> Self {
        Self {
            file,
            format,
            reader: format.reader(),
            auditor,
        }
    }

    pub(super) fn end(mut self) {
        self.auditor.end(self.format.name(), self.reader.as_mut());
    }

    fn place(&self, number: u64) -> RecordPlace {
        RecordPlace::new(Arc::clone(&self.file), number)
    }

    pub(super) fn record(&mut self, number: u64, bytes: &[u8]) {
        let place = self.place(number);
        let name = self.format.name();
        self.auditor
            .record(name, self.reader.as_mut(), bytes, place);
    }

    pub(super) fn unreadable(&mut self, number: u64, reason: &str) {
        let place = self.place(number);
        self.auditor.unreadable(self.format.name(), reason, place);
    }

    fn block(&mut self, block: &Block) {
        if block.is_too_long {
            return self.unreadable(block.first, TOO_LONG);
        }
        for (number, line) in lines(block) {
            self.record(number, line);
        }
    }

    fn lines(&mut self, input: Input<'_>) {
        let mut blocks = LineBlocks::new(input);
        let mut next = 1;
        loop {
            match blocks.next_block() {
                Ok(Some(block)) => {
                    next = block.first + 1;
                    self.block(&block);
                }
                Ok(None) => return,
                Err(error) => {
                    return self.unreadable(next, &format!("the file breaks off: {error}"));
                }
            }
        }
    }

    #[cfg(feature = "sqlite")]
    fn database(&mut self, path: &std::path::Path) {
        let mut number = 0;
        let opened = crate::input::Database::open(path);
        let read = opened.and_then(|database| match database {
            Some(database) => database.each(|record| {
                number += 1;
                self.record(number, record.as_bytes());
                true
            }),
            None => Ok(()),
        });
        if let Err(error) = read {
            self.unreadable(number + 1, &format!("the file breaks off: {error}"));
        }
    }

    fn values(&mut self, first: Vec<Vec<u8>>, mut values: JsonValues<Input<'_>>) {
        let mut number = 0;
        for value in first {
            number += 1;
            self.record(number, &value);
        }
        loop {
            number += 1;
            match values.next_value() {
                Ok(Some(value)) => self.record(number, &value),
                Ok(None) => return,
                Err(ValueError::TooLong) => return self.unreadable(number, TOO_LONG),
                Err(ValueError::Broken) => {
                    return self
                        .unreadable(number, "JSON that is cut off, or not JSON from here on");
                }
                Err(ValueError::Io(error)) => {
                    return self.unreadable(number, &format!("the file breaks off: {error}"));
                }
            }
        }
    }
}
