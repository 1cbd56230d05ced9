//! JSON lines: one line out for each line in, in order, even for lines that are broken.

use std::io::{BufRead, BufWriter, Write, stdout};

use crate::{CliError, input};

/// Bytes of one input line.
const MOST_BYTES: usize = 64 << 20;

/// Answers each line of the input. Empty lines are skipped. Output is flushed when no input is
/// waiting.
pub(crate) fn pump(
    file: Option<&str>,
    mut answer: impl FnMut(Result<&str, String>, &mut String),
) -> Result<bool, CliError> {
    let mut reader = input::open(file)?;
    let mut writer = BufWriter::new(stdout().lock());
    let mut line = Vec::new();
    let mut out = String::new();
    loop {
        line.clear();
        let read = read_line(&mut reader, &mut line);
        match read.map_err(|error| format!("{}: {error}", input::name(file)))? {
            LineRead::End => break,
            LineRead::TooLong => answer(Err(format!("longer than {MOST_BYTES} bytes")), &mut out),
            LineRead::Line if line.trim_ascii().is_empty() => continue,
            LineRead::Line => match std::str::from_utf8(&line) {
                Ok(text) => answer(Ok(text), &mut out),
                Err(error) => answer(Err(format!("not UTF-8: {error}")), &mut out),
            },
        }
        out.push('\n');
        let waiting = reader.buffer().contains(&b'\n');
        let mut written = writer.write_all(out.as_bytes());
        if !waiting {
            written = written.and_then(|()| writer.flush());
        }
        if let Err(error) = written {
            return output_closed(error);
        }
        out.clear();
    }
    writer.flush().map(|()| true).or_else(output_closed)
}

/// Ends well if the reader of our output went away.
fn output_closed(error: std::io::Error) -> Result<bool, CliError> {
    match error.kind() {
        std::io::ErrorKind::BrokenPipe => Ok(true),
        _ => Err(format!("standard output: {error}")),
    }
}

enum LineRead {
    Line,
    TooLong,
    End,
}

/// Reads up to the next line feed. Nothing is kept of a line that is too long.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<LineRead> {
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
        (false, _) => LineRead::End,
        (true, true) => LineRead::TooLong,
        (true, false) => LineRead::Line,
    })
}

/// Returns the id of a line that is not a valid request otherwise, for its answer.
pub(crate) fn id_of(line: &str) -> Option<&serde_json::value::RawValue> {
    #[derive(serde::Deserialize)]
    struct WithId<'l> {
        #[serde(borrow)]
        id: Option<&'l serde_json::value::RawValue>,
    }
    serde_json::from_str::<WithId<'_>>(line).ok()?.id
}
