//! One audit: files are opened in order, and their parts are read by all cores.

mod batches;
mod detect;
mod state;
#[cfg(feature = "parquet")]
mod table;
mod unit;

use std::io::Read;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use crate::aggregate::{Aggregate, ExampleSettings};
use crate::auditor::Auditor;
use crate::input::InputFile;
use crate::judge::CallJudge;
use state::Collector;
pub use state::SavedState;
use unit::Unit;

/// Settings of an audit.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AuditSettings {
    /// What examples show.
    pub examples: ExampleSettings,
    /// Threads that read and judge; 0 for one per core.
    pub threads: usize,
    /// Where the state is saved, so that an audit can go on after a kill.
    pub saved: Option<SavedState>,
}

/// How far an audit is, for whoever shows it.
#[derive(Debug, Default)]
pub struct AuditProgress {
    /// Bytes of files that were read, as they are on the disk.
    pub bytes: AtomicU64,
    /// Calls that were judged.
    pub calls: AtomicU64,
}

/// What an audit has counted.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Audited {
    /// The counts.
    pub aggregate: Aggregate,
    /// Why the state could not be saved, if it could not. The counts are whole all the same.
    pub warning: Option<String>,
}

/// Audits these files.
///
/// A file that cannot be read is named in [`Aggregate::skipped`]; it never stops the others.
///
/// # Errors
/// If a saved state cannot be used.
pub fn audit(
    files: &[InputFile],
    judge: &Arc<CallJudge>,
    settings: AuditSettings,
    progress: &AuditProgress,
) -> Result<Audited, String> {
    let threads = match settings.threads {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        threads => threads,
    };
    let collector = Collector::new(files, settings.saved)?;
    batches::index(files, judge);
    // Few units wait, so that memory does not grow with the input.
    let (sender, receiver) = sync_channel::<Unit<'_>>(threads);
    let receiver = Mutex::new(receiver);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| work(&receiver, judge, settings.examples, &collector, progress));
        }
        for file in files {
            produce(file, &sender, &collector, progress);
        }
        drop(sender);
    });
    let (aggregate, warning) = collector.finish();
    Ok(Audited { aggregate, warning })
}

/// Opens a file, and sends its parts to those who read them.
fn produce<'p>(
    file: &InputFile,
    sender: &SyncSender<Unit<'p>>,
    collector: &Collector,
    progress: &'p AuditProgress,
) {
    if collector.has_file(file) {
        progress.bytes.fetch_add(file.size, Ordering::Relaxed);
        return;
    }
    let mut parts = match detect::open(file, progress) {
        Ok(parts) => parts,
        Err(reason) => return collector.skip(file, 0, &reason),
    };
    collector.begin(file);
    let mut number = 0;
    loop {
        match parts.next_part() {
            Ok(Some(_)) if collector.has_part(file, number) => {}
            Ok(Some(content)) => {
                let unit = Unit {
                    file: file.name.clone(),
                    number,
                    content,
                };
                // Sending fails only if every reader has panicked, which the scope passes on.
                let _ = sender.send(unit);
            }
            Ok(None) => return collector.end(file, number),
            Err(error) => {
                let reason = format!("cannot be read to its end: {error}");
                return collector.skip(file, number, &reason);
            }
        }
        number += 1;
    }
}

/// Reads units until there are no more.
fn work(
    units: &Mutex<Receiver<Unit<'_>>>,
    judge: &Arc<CallJudge>,
    examples: ExampleSettings,
    collector: &Collector,
    progress: &AuditProgress,
) {
    loop {
        let next = units.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(unit) = next else { return };
        let mut auditor = Auditor::new(Arc::clone(judge), examples);
        let (file, number) = (Arc::clone(&unit.file), unit.number);
        unit.read(&mut auditor, progress);
        progress.calls.fetch_add(auditor.calls(), Ordering::Relaxed);
        collector.take(&file, number, auditor.finish());
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
