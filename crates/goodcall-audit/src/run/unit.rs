//! A part of a file that one thread reads.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::AuditProgress;
use super::detect::Input;
use crate::auditor::Auditor;
use crate::input::{Block, JsonValues, LineBlocks, ValueError, lines};
use crate::readers::{LogFormat, RecordReader};
use crate::recorded::RecordPlace;

/// A part of a file, to be read by one thread.
pub(super) struct Unit<'p> {
    pub(super) file: Arc<str>,
    pub(super) format: &'static dyn LogFormat,
    pub(super) part: Part<'p>,
}

/// The content of a unit.
pub(super) struct Part<'p> {
    pub(super) content: UnitContent<'p>,
    /// True for the first part of a file.
    pub(super) is_first: bool,
}

/// The records of a unit.
pub(super) enum UnitContent<'p> {
    /// Lines that stand alone.
    Block(Block),
    /// A whole file.
    Whole(WholeFile<'p>),
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
    Blocks(LineBlocks<Input<'p>>),
    /// `None` once it was taken.
    Whole(Option<WholeFile<'p>>),
}

impl<'p> FileParts<'p> {
    pub(super) fn next_part(&mut self) -> io::Result<Option<UnitContent<'p>>> {
        match self {
            FileParts::Blocks(blocks) => Ok(blocks.next_block()?.map(UnitContent::Block)),
            FileParts::Whole(whole) => Ok(whole.take().map(UnitContent::Whole)),
        }
    }
}

const TOO_LONG: &str = "longer than 64 MiB";

impl Unit<'_> {
    /// Reads all records.
    pub(super) fn read(self, auditor: &mut Auditor<'_>, progress: &AuditProgress) {
        let mut reading = Reading {
            file: self.file,
            format: self.format,
            reader: self.format.reader(),
            auditor,
        };
        if self.part.is_first {
            reading.auditor.file(self.format.name());
        }
        match self.part.content {
            UnitContent::Block(block) => reading.block(&block),
            UnitContent::Whole(WholeFile::Lines(input)) => reading.lines(input),
            UnitContent::Whole(WholeFile::Values { first, values }) => {
                reading.values(first, values);
            }
            UnitContent::Whole(WholeFile::Records(records)) => {
                for (number, record) in (1..).zip(records) {
                    reading.record(number, &record);
                }
            }
            #[cfg(feature = "sqlite")]
            UnitContent::Whole(WholeFile::Database(path)) => reading.database(&path),
        }
        reading.auditor.end(reading.format, reading.reader.as_mut());
        let calls = reading.auditor.calls();
        progress.calls.fetch_add(calls, Ordering::Relaxed);
    }
}

/// The reading of one unit.
struct Reading<'r, 'j> {
    file: Arc<str>,
    format: &'static dyn LogFormat,
    reader: Box<dyn RecordReader>,
    auditor: &'r mut Auditor<'j>,
}

impl Reading<'_, '_> {
    fn place(&self, number: u64) -> RecordPlace {
        RecordPlace::new(Arc::clone(&self.file), number)
    }

    fn record(&mut self, number: u64, bytes: &[u8]) {
        let place = self.place(number);
        self.auditor
            .record(self.format, self.reader.as_mut(), bytes, place);
    }

    fn unreadable(&mut self, number: u64, reason: &str) {
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
