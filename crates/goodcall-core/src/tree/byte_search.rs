//! Searching for a byte in blocks, each of which is looked at without a branch for every byte.

const BLOCK: usize = 16;

fn has(block: &[u8], test: &impl Fn(u8) -> bool) -> bool {
    block.iter().fold(false, |found, byte| found | test(*byte))
}

/// The place of the first byte that passes the test.
#[inline]
pub(crate) fn first_byte(bytes: &[u8], test: impl Fn(u8) -> bool) -> Option<usize> {
    let mut at = 0;
    while let Some(block) = bytes.get(at..at + BLOCK)
        && !has(block, &test)
    {
        at += BLOCK;
    }
    let found = bytes[at..].iter().position(|byte| test(*byte));
    found.map(|found| at + found)
}

/// The place of the last byte that passes the test.
#[inline]
pub(crate) fn last_byte(bytes: &[u8], test: impl Fn(u8) -> bool) -> Option<usize> {
    let mut end = bytes.len();
    while let Some(start) = end.checked_sub(BLOCK)
        && !has(&bytes[start..end], &test)
    {
        end = start;
    }
    bytes[..end].iter().rposition(|byte| test(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_byte_at_every_place_of_texts_of_every_length() {
        for length in 0..70 {
            let mut bytes = vec![b'a'; length];
            assert_eq!(first_byte(&bytes, |byte| byte == b'x'), None);
            assert_eq!(last_byte(&bytes, |byte| byte == b'x'), None);
            for at in 0..length {
                bytes[at] = b'x';
                assert_eq!(first_byte(&bytes, |byte| byte == b'x'), Some(at));
                assert_eq!(last_byte(&bytes, |byte| byte == b'x'), Some(at));
                bytes[at] = b'a';
            }
        }
        assert_eq!(first_byte(b"x.x", |byte| byte == b'x'), Some(0));
        assert_eq!(last_byte(b"x.x", |byte| byte == b'x'), Some(2));
    }
}
