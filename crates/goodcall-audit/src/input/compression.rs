//! Files as gzip and zstd, recognized by their first bytes.

use std::io::{self, BufRead, Read};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Returns what the bytes stand for, decompressed where they are compressed.
pub(crate) fn decompressed<'r>(
    mut input: impl BufRead + Send + 'r,
) -> io::Result<Box<dyn Read + Send + 'r>> {
    let head = input.fill_buf()?;
    if head.starts_with(&GZIP) {
        return Ok(Box::new(flate2::bufread::MultiGzDecoder::new(input)));
    }
    if head.starts_with(&ZSTD) {
        return Ok(Box::new(ZstdFrames {
            state: ZstdState::Between(input),
        }));
    }
    Ok(Box::new(input))
}

/// The frames of a zstd file, one after the other.
struct ZstdFrames<R: BufRead> {
    state: ZstdState<R>,
}

/// Boxed because a decoder is large.
enum ZstdState<R: BufRead> {
    /// No frame is open.
    Between(R),
    Inside(Box<ruzstd::decoding::StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>),
    Ended,
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(&mut self.state, ZstdState::Ended) {
                ZstdState::Ended => return Ok(0),
                ZstdState::Between(mut input) => {
                    if input.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    let frame =
                        ruzstd::decoding::StreamingDecoder::new(input).map_err(io::Error::other)?;
                    self.state = ZstdState::Inside(Box::new(frame));
                }
                ZstdState::Inside(mut frame) => {
                    let count = frame.read(out)?;
                    if count > 0 || out.is_empty() {
                        self.state = ZstdState::Inside(frame);
                        return Ok(count);
                    }
                    self.state = ZstdState::Between(frame.into_inner());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(bytes: &[u8]) -> String {
        let mut text = String::new();
        decompressed(bytes)
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        text
    }

    #[test]
    fn compressed_files_are_recognized_by_their_content() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"one\n").unwrap();
        let gzip = gzip.finish().unwrap();
        assert_eq!(read(&gzip), "one\n");
        // Logs that are appended to have several members or frames.
        assert_eq!(read(&[gzip.clone(), gzip].concat()), "one\none\n");
        let zstd = ruzstd::encoding::compress_to_vec(
            &b"two\n"[..],
            ruzstd::encoding::CompressionLevel::Fastest,
        );
        assert_eq!(read(&[zstd.clone(), zstd].concat()), "two\ntwo\n");
        assert_eq!(read(b"plain\n"), "plain\n");
        assert_eq!(read(b""), "");
    }
}
