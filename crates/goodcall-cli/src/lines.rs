//! JSON lines: one line out for each line in, in order, whatever a line holds.

use std::io::{BufRead, BufWriter, Write, stdout};

use crate::{Failure, input};

/// Bytes of one input line.
const MOST_BYTES: usize = 64 << 20;

/// Maps each line. Empty lines are passed over. Output is flushed when no input is waiting.
pub(crate) fn pump(
    file: Option<&str>,
    mut answer: impl FnMut(Result<&str, String>, &mut String),
) -> Result<bool, Failure> {
    let mut reader = input::open(file)?;
    let mut writer = BufWriter::new(stdout().lock());
    let mut line = Vec::new();
    let mut out = String::new();
    loop {
        line.clear();
        let read = read_line(&mut reader, &mut line);
        match read.map_err(|error| format!("{}: {error}", input::name(file)))? {
            Read::End => break,
            Read::TooLong => answer(Err(format!("longer than {MOST_BYTES} bytes")), &mut out),
            Read::Line if line.trim_ascii().is_empty() => continue,
            Read::Line => match std::str::from_utf8(&line) {
                Ok(text) => answer(Ok(text), &mut out),
                Err(error) => answer(Err(format!("not UTF-8: {error}")), &mut out),
            },
        }
        out.push('\n');
        let waiting = reader.buffer().contains(&b'\n');
        let written = writer
            .write_all(out.as_bytes())
            .and_then(|()| match waiting {
                true => Ok(()),
                false => writer.flush(),
            });
        if let Err(error) = written {
            return closed(error);
        }
        out.clear();
    }
    writer.flush().map(|()| true).or_else(closed)
}

/// A reader that went away is no failure of ours.
fn closed(error: std::io::Error) -> Result<bool, Failure> {
    match error.kind() {
        std::io::ErrorKind::BrokenPipe => Ok(true),
        _ => Err(format!("standard output: {error}")),
    }
}

enum Read {
    Line,
    TooLong,
    End,
}

/// Reads up to the next line feed; of a line that is too long, nothing is kept.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<Read> {
    let mut too_long = false;
    let mut any = false;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            break;
        }
        any = true;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(buffer.len(), |end| end + 1);
        if line.len() + taken > MOST_BYTES {
            too_long = true;
            line.clear();
        }
        if !too_long {
            line.extend_from_slice(&buffer[..end.unwrap_or(taken)]);
        }
        reader.consume(taken);
        if end.is_some() {
            break;
        }
    }
    Ok(match (any, too_long) {
        (false, _) => Read::End,
        (true, true) => Read::TooLong,
        (true, false) => Read::Line,
    })
}

/// The id of a line that is no request otherwise, so that its answer can be told from others.
pub(crate) fn id(line: &str) -> Option<&serde_json::value::RawValue> {
    #[derive(serde::Deserialize)]
    struct Named<'l> {
        #[serde(borrow)]
        id: Option<&'l serde_json::value::RawValue>,
    }
    serde_json::from_str::<Named<'_>>(line).ok()?.id
}
