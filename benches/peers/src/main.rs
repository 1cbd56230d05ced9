//! What `cargo xtask peers` runs: one mode, one text or the traps at a time.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use goodcall_peers::calls::{self, LISTS};
use goodcall_peers::menders::MENDERS;
use goodcall_peers::{texts, traps};

const USAGE: &str = "usage: --modes LIST | --once MODE PASSES | --time MODE | --traps | --texts DIR | \
                     --menders | --mend MENDER FILE | --mend-value MENDER FILE | \
                     --mend-once MENDER FILE PASSES";
/// Time for one measurement.
const ENOUGH: Duration = Duration::from_millis(300);

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["--modes", list] => {
            let tools = calls::tools()?;
            let modes = LISTS.iter().find(|(name, _)| *name == list);
            let (_, modes) = modes.ok_or_else(|| format!("no list of modes `{list}`"))?;
            for mode in *modes {
                let (right, count) = (mode.pass(&tools), mode.count(&tools));
                println!("{}\t{}\t{right}\t{count}", mode.name, mode.what);
            }
        }
        ["--once", mode, passes] => {
            let mode = named(mode)?;
            let tools = calls::tools()?;
            for _ in 0..passes.parse::<usize>()? {
                black_box(mode.pass(&tools));
            }
            println!("{}", mode.count(&tools));
        }
        ["--time", mode] => {
            let mode = named(mode)?;
            let tools = calls::tools()?;
            let best = best(|| {
                black_box(mode.pass(&tools));
            });
            println!("{}", best.as_secs_f64() * 1e9 / mode.count(&tools) as f64);
        }
        ["--traps"] => println!("{}", traps::all()?),
        ["--texts", folder] => {
            for (index, text) in texts::all().iter().enumerate() {
                std::fs::write(format!("{folder}/{index}.txt"), &text.text)?;
                if let Some(right) = &text.right {
                    std::fs::write(format!("{folder}/{index}.txt.right"), right)?;
                }
                println!("{index}.txt\t{}\t{}", text.name, text.text.len());
            }
        }
        ["--menders"] => MENDERS
            .iter()
            .for_each(|mender| println!("{}", mender.name)),
        ["--mend", mender, file] => {
            let (mender, text) = (mender_named(mender)?, std::fs::read_to_string(file)?);
            let mut read = false;
            let best = best(|| read = black_box(mender(black_box(&text))).is_some());
            println!("{}\t{read}", best.as_secs_f64() * 1e9);
        }
        ["--mend-value", mender, file] => {
            let (mender, text) = (mender_named(mender)?, std::fs::read_to_string(file)?);
            println!("{}", mender(&text).unwrap_or_default());
        }
        ["--mend-once", mender, file, passes] => {
            let (mender, text) = (mender_named(mender)?, std::fs::read_to_string(file)?);
            for _ in 0..passes.parse::<usize>()? {
                black_box(mender(black_box(&text)));
            }
            println!("1");
        }
        _ => return Err(USAGE.into()),
    }
    Ok(())
}

fn named(name: &str) -> Result<&'static calls::Mode, String> {
    let mut modes = LISTS.iter().flat_map(|(_, modes)| *modes);
    let mode = modes.find(|mode| mode.name == name);
    mode.ok_or_else(|| format!("no mode `{name}`"))
}

fn mender_named(name: &str) -> Result<fn(&str) -> Option<serde_json::Value>, String> {
    if name == "serde_json" {
        return Ok(|text| serde_json::from_str(text).ok());
    }
    let mender = MENDERS.iter().find(|mender| mender.name == name);
    mender
        .map(|m| m.read)
        .ok_or_else(|| format!("no mender `{name}`"))
}

/// The best of as many runs as fit; a slow one is run once.
fn best(mut run: impl FnMut()) -> Duration {
    let began = Instant::now();
    let mut best = Duration::MAX;
    while best == Duration::MAX || began.elapsed() < ENOUGH {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed());
    }
    best
}
