//! Allocations per call, by mode: `cargo bench -p goodcall-core --bench allocations [-- FILE]`.
//!
//! This is a program of its own, because a counting allocator would disturb the measured times.

#[allow(dead_code, reason = "shared with the benchmark on time")]
mod support;

use std::error::Error;

use support::MODES;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args()
        .skip(1)
        .find(|arg| !arg.starts_with("--"))
        .or_else(|| std::env::var("GOODCALL_CALLS").ok());
    let text = support::text(file.as_deref())?;
    let tools = support::tools(&text)?;
    let all = support::calls(&text, &tools)?;
    for mode in &MODES {
        mode.pass(&all);
        let info = allocation_counter::measure(|| {
            std::hint::black_box(mode.pass(&all));
        });
        let count = mode.count(&all);
        let calls = if mode.valid { "valid" } else { "invalid" };
        let each = |total: u64| total as f64 / count as f64;
        println!(
            "{calls:8}{:44}{:8.1} allocations{:8.0} bytes a call",
            mode.what,
            each(info.count_total),
            each(info.bytes_total)
        );
    }
    Ok(())
}
