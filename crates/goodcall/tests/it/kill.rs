//! Kills a host between "recorded" and "executed" and between "executed" and "answered", and checks
//! that no call is lost and none is made twice.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use goodcall::{CallOutcome, FileStore, Message, Run};

/// The example `resume`, which cargo builds together with the tests.
fn host() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let name = format!("resume{}", std::env::consts::EXE_SUFFIX);
    let path = tests
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("examples")
        .join(name);
    assert!(path.exists(), "{}: build the examples", path.display());
    path
}

/// Runs the host and kills it at the first fatal line, which is returned; `None` if it finished.
fn run_until(folder: &Path, fatal: impl Fn(&str) -> bool) -> Option<String> {
    let mut child = Command::new(host())
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut leave = child.stdin.take().unwrap();
    let out = child.stdout.take().unwrap();
    for line in BufReader::new(out).lines() {
        let line = line.unwrap();
        if fatal(&line) {
            child.kill().unwrap();
            child.wait().unwrap();
            return Some(line);
        }
        let _ = leave.write_all(b"\n");
    }
    assert!(child.wait().unwrap().success());
    None
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("goodcall-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn outcomes(run: &Run) -> Vec<&CallOutcome> {
    let tools = run.messages().iter().filter_map(|message| match message {
        Message::Tools { outcomes, .. } => Some(outcomes),
        _ => None,
    });
    tools.flatten().collect()
}

/// Counts how often each call took effect.
fn ledger(folder: &Path) -> BTreeMap<String, usize> {
    let mut times = BTreeMap::new();
    let ledger = fs::read_to_string(folder.join("ledger")).unwrap();
    for line in ledger.lines() {
        *times.entry(line.to_owned()).or_default() += 1;
    }
    times
}

#[test]
fn killed_host_loses_and_repeats_no_call() {
    let folder = folder("kill");
    // The first call, the last one, some in a row and some after a long stretch without a kill.
    for call in [0, 1, 2, 3, 20, 21, 60, 98, 99] {
        // The reply is recorded, nothing is executed.
        let recorded = format!("replied {}", call + 1);
        assert_eq!(
            run_until(&folder, |line| line == recorded),
            Some(recorded.clone())
        );
        // The call is executed, the model has not seen it.
        let executed = format!("executed pay_{call}");
        assert_eq!(
            run_until(&folder, |line| line == executed),
            Some(executed.clone())
        );
    }
    assert_eq!(run_until(&folder, |_| false), None);
    let times = ledger(&folder);
    assert_eq!(times.len(), 100, "no call is lost");
    assert!(
        times.values().all(|times| *times == 1),
        "no call is doubled"
    );
    let run = FileStore::new(folder.join("run.json"))
        .load()
        .unwrap()
        .unwrap();
    let answered = outcomes(&run);
    assert_eq!(answered.len(), 100);
    assert!(answered.iter().all(|outcome| outcome.is_ok()));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn call_killed_while_running_is_not_repeated_and_the_model_hears_of_it() {
    let folder = folder("running");
    for call in [0, 7, 42] {
        let paid = format!("paid pay_{call}");
        assert_eq!(run_until(&folder, |line| line == paid), Some(paid.clone()));
    }
    assert_eq!(run_until(&folder, |_| false), None);
    let times = ledger(&folder);
    assert_eq!(times.len(), 100);
    assert!(
        times.values().all(|times| *times == 1),
        "no call is doubled"
    );
    let run = FileStore::new(folder.join("run.json"))
        .load()
        .unwrap()
        .unwrap();
    let unsure: Vec<_> = outcomes(&run)
        .into_iter()
        .filter(|outcome| !outcome.is_ok())
        .map(|outcome| (outcome.call_id.clone(), outcome.text()))
        .collect();
    let ids: Vec<_> = unsure.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["pay_0", "pay_7", "pay_42"]);
    assert!(unsure[0].1.contains("may have taken effect, or not"));
    fs::remove_dir_all(&folder).unwrap();
}
