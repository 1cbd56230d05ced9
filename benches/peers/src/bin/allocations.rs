//! Allocations a call, by mode. A program of its own, because a counting allocator disturbs
//! every other figure.

use std::error::Error;
use std::hint::black_box;

use goodcall_peers::calls::{self, MODES};

fn main() -> Result<(), Box<dyn Error>> {
    let tools = calls::tools()?;
    let count = calls::count(&tools) as f64;
    for mode in &MODES {
        mode.pass(&tools);
        let info = allocation_counter::measure(|| {
            black_box(mode.pass(&tools));
        });
        println!("{}\t{}", mode.name, info.count_total as f64 / count);
    }
    Ok(())
}
