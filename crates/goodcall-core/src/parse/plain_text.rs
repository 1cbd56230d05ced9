//! Finds the end of the plain text of a string, sixteen bytes at a time.

use wide::{i8x16, u8x16};

use crate::schema::BYTE_MASKS;

/// A run of plain string text.
pub(super) struct PlainRun {
    /// The place of the byte that ends it.
    pub(super) end: u32,
    /// A number below 64 that two equal runs share.
    pub(super) hash: u32,
}

impl PlainRun {
    /// Finds the run that starts at `at`.
    #[inline]
    pub(super) fn new(bytes: &[u8], at: u32) -> Self {
        if let Some(chunk) = chunk_at(bytes, at) {
            let stops = stops(chunk);
            if stops != 0 {
                return Self::of_size(at, stops.trailing_zeros(), chunk);
            }
        }
        Self::long_or_last(bytes, at)
    }

    #[inline(never)]
    fn long_or_last(bytes: &[u8], at: u32) -> Self {
        let end = plain_end_from(bytes, at);
        let mut chunk = [0; 16];
        let text = &bytes[at as usize..end as usize];
        for (to, from) in chunk.iter_mut().zip(text) {
            *to = *from;
        }
        Self::of_size(at, end - at, &chunk)
    }

    /// The run from `at` on that has these first bytes. Bytes after its end do not matter.
    #[inline]
    fn of_size(at: u32, size: u32, chunk: &[u8; 16]) -> Self {
        let chunk = u128::from_le_bytes(*chunk);
        let mut text = chunk as u64 & BYTE_MASKS[size.min(8) as usize];
        if size > 8 {
            let following = (chunk >> 64) as u64 & BYTE_MASKS[(size - 8).min(8) as usize];
            text = text.wrapping_add(following.rotate_left(21));
        }
        Self {
            end: at + size,
            hash: (text.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as u32,
        }
    }
}

/// The first byte from `at` on that ends a run of plain string text: a quote, a backslash, a
/// control character, or the end.
pub(crate) fn plain_end(bytes: &[u8], at: usize) -> usize {
    plain_end_from(bytes, at as u32) as usize
}

/// Like [`plain_end`], with places of 32 bits: adding to them cannot overflow a `usize`, so that a
/// bound is checked with one comparison.
#[inline]
pub(super) fn plain_end_from(bytes: &[u8], at: u32) -> u32 {
    // Most runs end within sixteen bytes; these are worth a copy of the code in each place.
    let stops = match chunk_at(bytes, at) {
        Some(chunk) => stops(chunk),
        None => last_stops(bytes, at),
    };
    if stops == 0 {
        return long_plain_end(bytes, at + 16);
    }
    at + stops.trailing_zeros()
}

/// Like [`plain_end`], for long runs.
#[inline(never)]
fn long_plain_end(bytes: &[u8], mut at: u32) -> u32 {
    while let Some(chunk) = chunk_at(bytes, at) {
        let stops = stops(chunk);
        if stops != 0 {
            return at + stops.trailing_zeros();
        }
        at += 16;
    }
    at + last_stops(bytes, at).trailing_zeros()
}

/// The bytes from `at` on, if there are so many.
#[inline(always)]
pub(super) fn chunk_at<const N: usize>(bytes: &[u8], at: u32) -> Option<&[u8; N]> {
    bytes.get(at as usize..at as usize + N)?.first_chunk()
}

/// Like [`stops`], for fewer than sixteen bytes that are left from `at` on. The end is a stop.
#[inline(never)]
fn last_stops(bytes: &[u8], at: u32) -> u32 {
    let rest = bytes.get(at as usize..).unwrap_or_default();
    let found = match bytes.last_chunk() {
        Some(chunk) => stops(chunk) >> (16 - rest.len()),
        None => {
            let mut chunk = [0; 16];
            for (to, from) in chunk.iter_mut().zip(rest) {
                *to = *from;
            }
            stops(&chunk)
        }
    };
    found | 1 << rest.len()
}

/// The bytes among these that end plain text, one bit each.
#[inline]
fn stops(chunk: &[u8; 16]) -> u32 {
    let text = u8x16::new(*chunk);
    // With its second bit flipped, a quote is the only byte below 0x21 that is not a control
    // character.
    let flipped = text ^ u8x16::splat(0x02);
    let control_or_quote = flipped.cmp_eq(flipped.min(u8x16::splat(0x20)));
    let backslash = text.cmp_eq(u8x16::splat(b'\\'));
    let stops = (control_or_quote | backslash).to_array();
    i8x16::new(stops.map(|byte| byte as i8)).move_mask() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_run_ends_at_first_quote_backslash_or_control() {
        for stop in ["\"", "\\", "\n", "\u{1f}", ""] {
            for lead in 0..20 {
                let text = format!(
                    "{}{stop}\"more",
                    "é".repeat(lead / 2) + &"a".repeat(lead % 2)
                );
                let expected = text.find(['"', '\\', '\n', '\u{1f}']).unwrap();
                assert_eq!(plain_end(text.as_bytes(), 0), expected, "{text:?}");
            }
        }
        for size in 0..40 {
            let text = "é".repeat(size);
            assert_eq!(plain_end(text.as_bytes(), 0), text.len());
        }
        assert_eq!(plain_end(b"", 0), 0);
        assert_eq!(plain_end("ÿ\u{7f}~".as_bytes(), 0), 4);
    }
}
