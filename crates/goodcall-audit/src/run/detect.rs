//! Opens a file, and finds out what it is.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};

use goodcall_core::Tree;

use super::unit::{FileParts, WholeFile};
use super::{AuditProgress, CountedInput};
use crate::input::{
    HEAD_BYTES, InputFile, JsonValues, Layout, LineBlocks, MOST_RECORD_BYTES, decompressed, layout,
    yaml_to_json,
};
use crate::readers::{LogFormat, RecordOrder, format_of};

/// Records that are looked at to find the format of a file.
const MOST_SAMPLES: usize = 64;

pub(super) const UNKNOWN: &str = "not a recording in a known format";

/// An input that a thread can take over.
pub(super) type Input<'p> = Box<dyn Read + Send + 'p>;

/// Opens a file.
///
/// # Errors
/// If the file cannot be read, or is of no known format.
pub(super) fn open<'p>(
    file: &InputFile,
    progress: &'p AuditProgress,
) -> Result<FileParts<'p>, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let input: Input<'p> = match &file.path {
        // A link may lead anywhere, also to a folder above itself.
        Some(path) if path.is_symlink() && path.is_dir() => {
            return Err(
                "a link to a folder is not followed: expected the folder itself".to_owned(),
            );
        }
        Some(path) => Box::new(File::open(path).map_err(unreadable)?),
        None => Box::new(std::io::stdin()),
    };
    let mut input = BufReader::with_capacity(1 << 16, CountedInput { input, progress });
    let start = input.fill_buf().map_err(unreadable)?;
    if let Some(opened) = binary(file, start) {
        return opened;
    }
    let mut input = decompressed(input).map_err(unreadable)?;
    let mut head = Vec::new();
    let read = (&mut input).take(HEAD_BYTES as u64).read_to_end(&mut head);
    let is_all = read.map_err(unreadable)? < HEAD_BYTES;
    match layout(&head, is_all) {
        Layout::Lines => lines(head, is_all, input),
        Layout::Values => values(Box::new(Cursor::new(head).chain(input))),
        Layout::Events => events(Box::new(Cursor::new(head).chain(input))),
        Layout::Yaml => yaml(Box::new(Cursor::new(head).chain(input))),
        Layout::Unknown => Err(UNKNOWN.to_owned()),
    }
}

/// Opens a file that is not text, if it is one that is known by its first bytes.
#[cfg_attr(
    not(any(feature = "sqlite", feature = "parquet")),
    allow(unused_variables, reason = "without these features every file is text")
)]
fn binary<'p>(file: &InputFile, start: &[u8]) -> Option<Result<FileParts<'p>, String>> {
    #[cfg(feature = "sqlite")]
    if start.starts_with(crate::input::DATABASE_MAGIC) {
        let path = file.path.as_deref().filter(|_| !file.is_pipe());
        let path = path.ok_or("an SQLite file cannot be read from a pipe".to_owned());
        return Some(path.and_then(database));
    }
    #[cfg(feature = "parquet")]
    if crate::columns::is_table(start) {
        let path = file.path.as_deref().filter(|_| !file.is_pipe());
        let path = path.ok_or("a table cannot be read from a pipe".to_owned());
        let table = path.and_then(|path| crate::columns::TableFile::open(path, start));
        return Some(
            table
                .and_then(super::table::TableParts::open)
                .map(FileParts::Table),
        );
    }
    None
}

/// Opens an SQLite file.
#[cfg(feature = "sqlite")]
fn database<'p>(path: &std::path::Path) -> Result<FileParts<'p>, String> {
    let unreadable = |error: rusqlite::Error| format!("cannot be read: {error}");
    let database = crate::input::Database::open(path).map_err(unreadable)?;
    let database = database.ok_or("an SQLite file with unknown tables")?;
    let mut format = Err("an SQLite file without records".to_owned());
    let mut looked_at = 0;
    let read = database.each(|record| {
        format = find(std::iter::once(record.as_bytes())).map(|(format, _)| format);
        looked_at += 1;
        format.is_err() && looked_at < MOST_SAMPLES
    });
    read.map_err(unreadable)?;
    Ok(FileParts::whole(
        format?,
        WholeFile::Database(path.to_owned()),
    ))
}

/// The format of the first record that has one.
pub(super) fn find<'r>(
    records: impl Iterator<Item = &'r [u8]>,
) -> Result<(&'static dyn LogFormat, RecordOrder), String> {
    for record in records.take(MOST_SAMPLES) {
        let Ok(tree) = Tree::parse_bytes(record) else {
            continue;
        };
        if let Some(format) = format_of(tree.root()) {
            return Ok((format, format.order(tree.root())));
        }
    }
    Err(UNKNOWN.to_owned())
}

fn lines<'p>(head: Vec<u8>, is_all: bool, mut input: Input<'p>) -> Result<FileParts<'p>, String> {
    let mut head = head;
    if !is_all && memchr::memchr(b'\n', &head).is_none() {
        // The first line alone is longer than what was looked at.
        let mut rest = LongLine::default();
        rest.read(&mut input)
            .map_err(|error| format!("cannot be read: {error}"))?;
        head.extend_from_slice(&rest.bytes);
    }
    let start = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
    let (format, order) = find(start.split(|byte| *byte == b'\n'))?;
    let input: Input<'p> = Box::new(Cursor::new(head).chain(input));
    Ok(match order {
        RecordOrder::Independent => FileParts::Blocks(format, LineBlocks::new(input)),
        RecordOrder::InOrder => FileParts::whole(format, WholeFile::Lines(input)),
    })
}

/// The rest of a line.
#[derive(Default)]
struct LongLine {
    bytes: Vec<u8>,
}

impl LongLine {
    fn read(&mut self, input: &mut Input<'_>) -> std::io::Result<()> {
        while self.bytes.len() < MOST_RECORD_BYTES {
            let start = self.bytes.len();
            let read = input.take(HEAD_BYTES as u64).read_to_end(&mut self.bytes)?;
            if read < HEAD_BYTES || memchr::memchr(b'\n', &self.bytes[start..]).is_some() {
                break;
            }
        }
        Ok(())
    }
}

fn values<'p>(input: Input<'p>) -> Result<FileParts<'p>, String> {
    let mut values = JsonValues::new(input);
    let mut first = Vec::new();
    let mut bytes = 0;
    // Values are kept until one of them shows the format.
    while first.len() < MOST_SAMPLES && bytes < MOST_RECORD_BYTES {
        let Ok(Some(value)) = values.next_value() else {
            break;
        };
        bytes += value.len();
        first.push(value);
        let last = first.last().map(Vec::as_slice);
        if let Ok((format, _)) = find(last.into_iter()) {
            let whole = WholeFile::Values { first, values };
            return Ok(FileParts::whole(format, whole));
        }
    }
    Err(UNKNOWN.to_owned())
}

/// A stream of events is one record: a JSON string of them.
fn events<'p>(input: Input<'p>) -> Result<FileParts<'p>, String> {
    let text = read_text(input)?;
    one_record(serde_json::Value::String(text).to_string())
}

/// A YAML document is one record.
fn yaml<'p>(input: Input<'p>) -> Result<FileParts<'p>, String> {
    one_record(yaml_to_json(&read_text(input)?)?)
}

/// Reads a whole file.
fn read_text(input: Input<'_>) -> Result<String, String> {
    let mut text = String::new();
    let mut input = input.take(MOST_RECORD_BYTES as u64 + 1);
    let read = input.read_to_string(&mut text);
    let read = read.map_err(|error| format!("cannot be read: {error}"))?;
    if read > MOST_RECORD_BYTES {
        return Err("longer than 64 MiB".to_owned());
    }
    Ok(text)
}

fn one_record<'p>(record: String) -> Result<FileParts<'p>, String> {
    let (format, _) = find(std::iter::once(record.as_bytes()))?;
    let records = WholeFile::Records(vec![record.into_bytes()]);
    Ok(FileParts::whole(format, records))
}
