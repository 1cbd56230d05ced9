//! Finds the requests of batches before any answer is read, since answers are in other files.

use goodcall_core::Tree;

use super::AuditProgress;
use super::detect::{self, Input};
use super::unit::{FileParts, WholeFile};
use crate::input::{InputFile, LineBlocks, lines};
use crate::judge::CallJudge;
use crate::readers::LogRecord;
use crate::readers::batch::{BATCH, request};
use crate::recorded::RecordPlace;

/// Remembers the requests in files of batches. Nothing is counted: the files are read again.
pub(super) fn index(files: &[InputFile], judge: &CallJudge) {
    let progress = AuditProgress::default();
    // One file alone has requests before their answers, or no answers.
    if files.len() < 2 {
        return;
    }
    for file in files.iter().filter(|file| !file.is_pipe()) {
        // What cannot be opened is named when it is its turn.
        let opened = detect::open(file, &progress);
        if let Ok(FileParts::Whole(format, Some(WholeFile::Lines(input)))) = opened
            && format.name() == BATCH
        {
            remember(input, file, judge);
        }
    }
}

fn remember(input: Input<'_>, file: &InputFile, judge: &CallJudge) {
    let mut blocks = LineBlocks::new(input);
    while let Ok(Some(block)) = blocks.next_block() {
        for (number, line) in lines(&block) {
            let Ok(text) = std::str::from_utf8(line) else {
                continue;
            };
            let Ok(tree) = Tree::parse(text) else {
                continue;
            };
            let place = RecordPlace::new(file.name.clone(), number);
            let record = LogRecord::new(text, tree.root(), place);
            match request(&record) {
                Some((id, request)) => judge.batches().insert(id, request),
                // A file of answers.
                None if number == 1 => return,
                None => {}
            }
        }
    }
}
