//! One audit: files are opened in order, and their parts are read by all cores.

mod batches;
mod detect;
mod unit;

use std::io::Read;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

use crate::aggregate::{Aggregate, ExampleSettings};
use crate::auditor::Auditor;
use crate::input::InputFile;
use crate::judge::CallJudge;
use unit::{Part, Unit};

/// Settings of an audit.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct AuditSettings {
    /// What examples show.
    pub examples: ExampleSettings,
    /// Threads that read and judge; 0 for one per core.
    pub threads: usize,
}

/// How far an audit is, for whoever shows it.
#[derive(Debug, Default)]
pub struct AuditProgress {
    /// Bytes of files that were read, as they are on the disk.
    pub bytes: AtomicU64,
    /// Calls that were judged.
    pub calls: AtomicU64,
}

/// Audits these files.
///
/// A file that cannot be read is named in [`Aggregate::skipped`]; it never stops the others.
pub fn audit(
    files: &[InputFile],
    judge: &CallJudge,
    settings: AuditSettings,
    progress: &AuditProgress,
) -> Aggregate {
    let threads = match settings.threads {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        threads => threads,
    };
    batches::index(files, judge);
    let collected = Mutex::new(Aggregate::default());
    // Few units wait, so that memory does not grow with the input.
    let (sender, receiver) = sync_channel::<Unit<'_>>(threads);
    let receiver = Mutex::new(receiver);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| work(&receiver, judge, settings.examples, &collected, progress));
        }
        for file in files {
            produce(file, &sender, &collected, progress);
        }
        drop(sender);
    });
    collected
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
}

/// Opens a file, and sends its parts to those who read them.
fn produce<'p>(
    file: &InputFile,
    sender: &SyncSender<Unit<'p>>,
    collected: &Mutex<Aggregate>,
    progress: &'p AuditProgress,
) {
    let skip = |reason: &str| {
        let mut collected = collected.lock().unwrap_or_else(PoisonError::into_inner);
        collected.skip(file.name.clone(), reason);
    };
    let opened = match detect::open(file, progress) {
        Ok(opened) => opened,
        Err(reason) => return skip(&reason),
    };
    let mut parts = opened.parts;
    let mut is_first = true;
    loop {
        match parts.next_part() {
            Ok(Some(content)) => {
                let is_first = std::mem::take(&mut is_first);
                let unit = Unit {
                    file: file.name.clone(),
                    format: opened.format,
                    part: Part { content, is_first },
                };
                // Sending fails only if every reader has panicked, which the scope passes on.
                let _ = sender.send(unit);
            }
            Ok(None) => return,
            Err(error) => return skip(&format!("cannot be read to its end: {error}")),
        }
    }
}

/// Reads units until there are no more.
fn work(
    units: &Mutex<Receiver<Unit<'_>>>,
    judge: &CallJudge,
    examples: ExampleSettings,
    collected: &Mutex<Aggregate>,
    progress: &AuditProgress,
) {
    loop {
        let next = units.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(unit) = next else { return };
        let mut auditor = Auditor::new(judge, examples);
        unit.read(&mut auditor, progress);
        let counted = auditor.finish();
        let mut collected = collected.lock().unwrap_or_else(PoisonError::into_inner);
        collected.merge(counted);
    }
}

/// Counts the bytes that are read.
struct CountedInput<'p, R> {
    input: R,
    progress: &'p AuditProgress,
}

impl<R: Read> Read for CountedInput<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = self.input.read(out)?;
        self.progress
            .bytes
            .fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
