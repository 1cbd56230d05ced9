//! Checks the size of files: measured data does not belong into the repository.

use super::{File, Finding};

/// The most bytes of a file; nothing that is written by hand comes near it.
const MOST_BYTES: usize = 128 << 10;

pub(super) fn check(file: &File) -> Option<Finding> {
    let size = file.text.len();
    let what = format!("has {size} bytes, {MOST_BYTES} are the most: keep data elsewhere");
    (size > MOST_BYTES).then(|| Finding::new(&file.path, 0, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_files_are_found() {
        let file = |size| File {
            path: "in.jsonl".to_owned(),
            text: "x".repeat(size),
        };
        assert_eq!(check(&file(MOST_BYTES)), None);
        assert!(check(&file(MOST_BYTES + 1)).is_some());
    }
}
