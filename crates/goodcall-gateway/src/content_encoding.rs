//! Replies that come compressed, although they were asked for as they are.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use http::header::{CONTENT_ENCODING, HeaderMap};

/// Compressed bytes that are read at once: they are a thousand times as many at most.
const PART: usize = 1 << 10;

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// As it is.
    Plain,
    Gzip,
    Deflate,
    /// In a way that is not read here.
    Unknown,
}

impl Coding {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mut named = headers.get_all(CONTENT_ENCODING).iter();
        let value = named.next().map_or("", |value| {
            let value = value.to_str().map(str::trim);
            value.unwrap_or("?")
        });
        let is = |name: &str| value.eq_ignore_ascii_case(name);
        match () {
            () if named.next().is_some() => Coding::Unknown,
            () if value.is_empty() || is("identity") => Coding::Plain,
            () if is("gzip") || is("x-gzip") => Coding::Gzip,
            () if is("deflate") => Coding::Deflate,
            () => Coding::Unknown,
        }
    }
}

/// Reads a compressed body bit by bit.
pub(crate) enum Decoder {
    Gzip(MultiGzDecoder<Vec<u8>>),
    Deflate(Inflate),
    /// `deflate` is written with a frame or without one: the first byte tells.
    Either,
}

impl Decoder {
    /// `None` for a body that need not or cannot be decoded.
    pub(crate) fn new(coding: Coding) -> Option<Self> {
        match coding {
            Coding::Gzip => Some(Decoder::Gzip(MultiGzDecoder::new(Vec::new()))),
            Coding::Deflate => Some(Decoder::Either),
            Coding::Plain | Coding::Unknown => None,
        }
    }

    /// Takes some of the bytes off and gives what they say, all of it that is known by now.
    pub(crate) fn part(&mut self, bytes: &mut Bytes) -> io::Result<Vec<u8>> {
        let part = bytes.split_to(bytes.len().min(PART));
        if let (Decoder::Either, Some(first)) = (&self, part.first()) {
            *self = Decoder::Deflate(Inflate {
                state: Decompress::new(first & 0x0f == 8),
                ended: false,
            });
        }
        match self {
            Decoder::Gzip(decoder) => {
                decoder.write_all(&part)?;
                decoder.flush()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Decoder::Deflate(inflate) => inflate.part(&part),
            Decoder::Either => Ok(Vec::new()),
        }
    }

    /// The body is over: an error if it is not whole.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        match self {
            Decoder::Gzip(decoder) => decoder.try_finish(),
            Decoder::Deflate(inflate) if !inflate.ended => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// The `deflate` of HTTP.
pub(crate) struct Inflate {
    state: Decompress,
    ended: bool,
}

impl Inflate {
    fn part(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        let start = self.state.total_in();
        while !self.ended {
            out.reserve(4 * PART);
            let read = usize::try_from(self.state.total_in() - start).unwrap_or(bytes.len());
            let rest = bytes.get(read..).unwrap_or_default();
            let (known, before) = (out.len(), self.state.total_in());
            let status = self
                .state
                .decompress_vec(rest, &mut out, FlushDecompress::Sync)?;
            self.ended = status == Status::StreamEnd;
            if out.len() == known && self.state.total_in() == before {
                break;
            }
        }
        Ok(out)
    }
}

/// A whole body as it was meant; `None` if it cannot be read, or is longer than that.
pub(crate) fn decode(coding: Coding, mut bytes: Bytes, most: usize) -> Option<Bytes> {
    let mut decoder = Decoder::new(coding)?;
    let mut out = Vec::new();
    while !bytes.is_empty() {
        out.append(&mut decoder.part(&mut bytes).ok()?);
        if out.len() > most {
            return None;
        }
    }
    decoder.end().ok()?;
    Some(Bytes::from(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    fn written(coding: &str, text: &[u8]) -> Vec<u8> {
        let level = Compression::default();
        match coding {
            "gzip" => {
                let mut out = GzEncoder::new(Vec::new(), level);
                out.write_all(text).unwrap();
                out.finish().unwrap()
            }
            "zlib" => {
                let mut out = ZlibEncoder::new(Vec::new(), level);
                out.write_all(text).unwrap();
                out.finish().unwrap()
            }
            _ => {
                let mut out = DeflateEncoder::new(Vec::new(), level);
                out.write_all(text).unwrap();
                out.finish().unwrap()
            }
        }
    }

    #[test]
    fn every_form_comes_back() {
        let text = b"a text, a text, a text".repeat(500);
        for (form, coding) in [
            ("gzip", Coding::Gzip),
            ("zlib", Coding::Deflate),
            ("raw", Coding::Deflate),
        ] {
            let bytes = written(form, &text);
            let whole = decode(coding, Bytes::from(bytes.clone()), text.len());
            assert_eq!(whole.as_deref(), Some(text.as_slice()), "{form}");
            let short = decode(coding, Bytes::from(bytes.clone()), text.len() - 1);
            assert_eq!(short, None, "{form}: longer than may be");
            let half = Bytes::copy_from_slice(&bytes[..bytes.len() / 2]);
            assert_eq!(decode(coding, half, 1 << 20), None, "{form}: half");
            let garbage = decode(coding, Bytes::from_static(b"\xffgarbage"), 1 << 20);
            assert_eq!(garbage, None, "{form}: garbage");
        }
    }

    #[test]
    fn the_header_tells_the_form() {
        for (values, wanted) in [
            (vec![], Coding::Plain),
            (vec!["identity"], Coding::Plain),
            (vec!["GZIP"], Coding::Gzip),
            (vec!["x-gzip"], Coding::Gzip),
            (vec!["deflate"], Coding::Deflate),
            (vec!["br"], Coding::Unknown),
            (vec!["gzip, br"], Coding::Unknown),
            (vec!["gzip", "gzip"], Coding::Unknown),
        ] {
            let mut headers = HeaderMap::new();
            for value in &values {
                headers.append(CONTENT_ENCODING, value.parse().unwrap());
            }
            assert_eq!(Coding::of(&headers), wanted, "{values:?}");
        }
    }
}
