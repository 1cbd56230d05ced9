//! Pushes a text in pieces: the result equals that of reading the whole text.
//!
//! The first byte of the input is the length of the pieces; the text follows.

#![no_main]

use goodcall_core::{Policy, ReadOptions, StreamParser, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((size, bytes)) = bytes.split_first() else {
        return;
    };
    let options = ReadOptions::new().policy(Policy::eager());
    let mut stream = StreamParser::new(options.clone());
    for piece in bytes.chunks(usize::from(*size % 32) + 1) {
        stream.push(piece);
        if let Some(partial) = stream.partial() {
            let _ = partial.to_json();
        }
    }
    let pieces = stream.finish();
    match std::str::from_utf8(bytes) {
        Err(_) => assert!(pieces.is_err()),
        Ok(text) => match (pieces, read(text, &options)) {
            (Ok(pieces), Ok(whole)) => {
                assert_eq!(pieces.tree.to_json(), whole.tree.to_json());
                assert_eq!(pieces.changes, whole.changes);
                assert_eq!(pieces.cut, whole.cut);
            }
            (Err(pieces), Err(whole)) => assert_eq!(pieces.reason, whole.reason),
            _ => panic!("pieces and whole differ"),
        },
    }
});
