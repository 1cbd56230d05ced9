//! The progress of an audit, on a terminal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use goodcall_audit::AuditProgress;
use indicatif::{HumanCount, ProgressBar, ProgressStyle};

/// How long an audit runs before its progress is shown: most are shorter.
const PATIENCE: Duration = Duration::from_millis(400);
/// How often the bar is drawn.
const TICK: Duration = Duration::from_millis(100);

/// Does the work, and shows how far it is. Nothing is shown where standard error is not a terminal.
pub(super) fn shown<T>(size: u64, progress: &AuditProgress, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let shower = scope.spawn(|| show(size, progress, &done));
        let result = work();
        done.store(true, Ordering::Relaxed);
        shower.thread().unpark();
        result
    })
}

fn show(size: u64, progress: &AuditProgress, done: &AtomicBool) {
    std::thread::park_timeout(PATIENCE);
    if done.load(Ordering::Relaxed) {
        return;
    }
    let template = "{bar:30} {binary_bytes}/{binary_total_bytes}  {binary_bytes_per_sec}  \
                    {msg}  {eta} left";
    let style = ProgressStyle::with_template(template);
    let bar = ProgressBar::new(size).with_style(style.expect("the template is constant"));
    while !done.load(Ordering::Relaxed) {
        bar.set_position(progress.bytes.load(Ordering::Relaxed));
        let calls = HumanCount(progress.calls.load(Ordering::Relaxed));
        bar.set_message(format!("{calls} calls"));
        std::thread::park_timeout(TICK);
    }
    bar.finish_and_clear();
}
