//! Requests that come compressed, and replies that do although they were asked for uncompressed.

use std::io::{self, Read, Write};

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use http::header::{CONTENT_ENCODING, HeaderMap};

/// Compressed bytes that are decoded at once; they become a thousand times as many at most.
const PART: usize = 1 << 10;

/// The encoding of a body, from its `Content-Encoding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentEncoding {
    Plain,
    Gzip,
    Deflate,
    /// Decoded only as a whole.
    Zstd,
    /// Decoded only as a whole.
    Brotli,
    /// An encoding that is not supported here, or several of them.
    Unknown,
}

impl ContentEncoding {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(CONTENT_ENCODING).iter();
        let Some(value) = values.next() else {
            return ContentEncoding::Plain;
        };
        if values.next().is_some() {
            return ContentEncoding::Unknown;
        }
        let name = value.to_str().unwrap_or("?").trim().to_ascii_lowercase();
        match name.as_str() {
            "" | "identity" => ContentEncoding::Plain,
            "gzip" | "x-gzip" => ContentEncoding::Gzip,
            "deflate" => ContentEncoding::Deflate,
            "zstd" => ContentEncoding::Zstd,
            "br" => ContentEncoding::Brotli,
            _ => ContentEncoding::Unknown,
        }
    }

    /// Returns true if a stream in this encoding can be read as it arrives.
    pub(crate) fn can_stream(self) -> bool {
        use ContentEncoding::{Brotli, Unknown, Zstd};
        !matches!(self, Zstd | Brotli | Unknown)
    }
}

/// Decodes a compressed body as it arrives.
pub(crate) enum Decoder {
    Gzip(MultiGzDecoder<Vec<u8>>),
    Deflate(Inflate),
    /// `deflate` comes with a zlib header or without one; the first byte decides.
    UndecidedDeflate,
}

impl Decoder {
    /// Returns `None` for a body that need not or cannot be decoded.
    pub(crate) fn new(encoding: ContentEncoding) -> Option<Self> {
        match encoding {
            ContentEncoding::Gzip => Some(Decoder::Gzip(MultiGzDecoder::new(Vec::new()))),
            ContentEncoding::Deflate => Some(Decoder::UndecidedDeflate),
            _ => None,
        }
    }

    /// Takes some of the bytes, and returns everything that can be decoded so far.
    pub(crate) fn part(&mut self, bytes: &mut Bytes) -> io::Result<Vec<u8>> {
        let part = bytes.split_to(bytes.len().min(PART));
        if let (Decoder::UndecidedDeflate, Some(first)) = (&self, part.first()) {
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
            Decoder::UndecidedDeflate => Ok(Vec::new()),
        }
    }

    /// Ends the body.
    ///
    /// # Errors
    /// If it is not whole.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        match self {
            Decoder::Gzip(decoder) => decoder.try_finish(),
            Decoder::Deflate(inflate) if !inflate.ended => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// The `deflate` encoding of HTTP.
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
            let before = (out.len(), self.state.total_in());
            let status = self
                .state
                .decompress_vec(rest, &mut out, FlushDecompress::Sync)?;
            self.ended = status == Status::StreamEnd;
            if (out.len(), self.state.total_in()) == before {
                break;
            }
        }
        Ok(out)
    }
}

/// Decodes a whole body. Returns `None` if it is damaged, or longer than `most` bytes.
pub(crate) fn decode(encoding: ContentEncoding, mut bytes: Bytes, most: usize) -> Option<Bytes> {
    match encoding {
        ContentEncoding::Zstd => return decode_zstd(&bytes, most),
        ContentEncoding::Brotli => {
            let mut decoder = brotli_decompressor::Decompressor::new(bytes.as_ref(), 4 * PART);
            return read_at_most(&mut decoder, most);
        }
        _ => {}
    }
    let mut decoder = Decoder::new(encoding)?;
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

fn decode_zstd(bytes: &[u8], most: usize) -> Option<Bytes> {
    let mut out = Vec::new();
    let mut rest = bytes;
    // A body may be several frames.
    while !rest.is_empty() {
        let frame = ruzstd::decoding::StreamingDecoder::new(&mut rest).ok()?;
        let free = (most - out.len()) as u64;
        frame.take(free + 1).read_to_end(&mut out).ok()?;
        if out.len() > most {
            return None;
        }
    }
    Some(Bytes::from(out))
}

/// Reads to the end; `None` if that is damaged, or longer than `most` bytes.
fn read_at_most(reader: &mut impl Read, most: usize) -> Option<Bytes> {
    let mut out = Vec::new();
    reader.take(most as u64 + 1).read_to_end(&mut out).ok()?;
    (out.len() <= most).then(|| Bytes::from(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    fn encoded(form: &str, text: &[u8]) -> Vec<u8> {
        let level = Compression::default();
        match form {
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
            "zstd" => {
                ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
            }
            _ => {
                let mut out = DeflateEncoder::new(Vec::new(), level);
                out.write_all(text).unwrap();
                out.finish().unwrap()
            }
        }
    }

    #[test]
    fn gzip_zlib_raw_deflate_and_zstd_are_decoded() {
        let text = b"a text, a text, a text".repeat(500);
        for (form, encoding) in [
            ("gzip", ContentEncoding::Gzip),
            ("zlib", ContentEncoding::Deflate),
            ("raw", ContentEncoding::Deflate),
            ("zstd", ContentEncoding::Zstd),
        ] {
            let bytes = encoded(form, &text);
            let whole = decode(encoding, Bytes::from(bytes.clone()), text.len());
            assert_eq!(whole.as_deref(), Some(text.as_slice()), "{form}");
            let short = decode(encoding, Bytes::from(bytes.clone()), text.len() - 1);
            assert_eq!(short, None, "{form}: too long");
            let half = Bytes::copy_from_slice(&bytes[..bytes.len() / 2]);
            assert_eq!(decode(encoding, half, 1 << 20), None, "{form}: half");
            let garbage = decode(encoding, Bytes::from_static(b"\xffgarbage"), 1 << 20);
            assert_eq!(garbage, None, "{form}: garbage");
        }
    }

    #[test]
    fn content_encoding_is_read_from_the_header() {
        for (values, expected) in [
            (vec![], ContentEncoding::Plain),
            (vec!["identity"], ContentEncoding::Plain),
            (vec!["GZIP"], ContentEncoding::Gzip),
            (vec!["x-gzip"], ContentEncoding::Gzip),
            (vec!["deflate"], ContentEncoding::Deflate),
            (vec!["zstd"], ContentEncoding::Zstd),
            (vec!["br"], ContentEncoding::Brotli),
            (vec!["gzip, br"], ContentEncoding::Unknown),
            (vec!["gzip", "gzip"], ContentEncoding::Unknown),
        ] {
            let mut headers = HeaderMap::new();
            for value in &values {
                headers.append(CONTENT_ENCODING, value.parse().unwrap());
            }
            assert_eq!(ContentEncoding::of(&headers), expected, "{values:?}");
        }
    }
}
