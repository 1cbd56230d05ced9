//! Runs the case files of `cases/audit`: recordings, and what is counted in them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use goodcall_audit::{
    Aggregate, AuditProgress, AuditSettings, CallJudge, NamedPlaces, audit, expand,
};
use goodcall_core::{Policies, Policy};
use goodcall_wire::Tools;

use crate::support::{Case, run_folder};

/// The counts of calls, in the order in which cases show them.
const COUNTS: [&str; 12] = [
    "calls",
    "good",
    "mended",
    "bad",
    "without_tools",
    "not_recorded",
    "broken",
    "safe_mended",
    "eager_mended",
    "failed_results",
    "said_invalid",
    "text_lost",
];

#[test]
fn audit_cases_pass() {
    run_folder("audit", &["tools", "policy", "file", "second"], |case| {
        let counted = shown(&counted(case));
        BTreeMap::from([("counted".to_owned(), counted)])
    });
}

/// A folder that is removed at the end of its test.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("goodcall-audit-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Audits the files of a case.
fn counted(case: &Case) -> Aggregate {
    let scratch = Scratch::new();
    let mut paths = Vec::new();
    for name in ["file", "second"] {
        if let Some(text) = case.get(name) {
            let path = scratch.path().join(name);
            std::fs::write(&path, format!("{text}\n")).unwrap();
            paths.push(path.to_string_lossy().into_owned());
        }
    }
    let policy: Policy = case.get("policy").unwrap_or("safe").parse().unwrap();
    let tools = case.get("tools").map(|text| Tools::read(text).unwrap());
    let judge = Arc::new(CallJudge::new(
        Policies::new(policy),
        tools.unwrap_or_default(),
    ));
    audited(&paths, &judge)
}

/// Audits files, under their names without the folder.
pub(crate) fn audited(paths: &[String], judge: &Arc<CallJudge>) -> Aggregate {
    let mut files = expand(paths).unwrap();
    for file in &mut files {
        let name = Path::new(&*file.name).file_name().unwrap();
        file.name = name.to_string_lossy().into();
    }
    let mut settings = AuditSettings::default();
    settings.threads = 2;
    let audited = audit(&files, judge, settings, &AuditProgress::default());
    audited.unwrap().aggregate
}

/// The counts as text.
pub(crate) fn shown(aggregate: &Aggregate) -> String {
    let mut out = String::new();
    for (format, counts) in &aggregate.sources {
        let without = counts.records - counts.with_calls - counts.unreadable;
        let _ = writeln!(
            out,
            "{format}: {} records, {without} without calls, {} unreadable, {} calls",
            counts.records, counts.unreadable, counts.calls
        );
    }
    show_groups(aggregate, &mut out);
    for ((signal, tools), stats) in &aggregate.loops {
        let places = places(&stats.places);
        let _ = writeln!(
            out,
            "loop {signal} of {tools}: {} times at {places}",
            stats.longest
        );
    }
    let turns = &aggregate.turns;
    if turns.failed.turns > 0 {
        let _ = writeln!(
            out,
            "failed {} of {} turns ({} + {} tokens), safe saves {}, eager {}",
            turns.failed.turns,
            turns.all.turns,
            turns.failed.input_tokens,
            turns.failed.output_tokens,
            turns.safe_saved.turns,
            turns.eager_saved.turns
        );
    }
    for (what, list) in [
        ("unreadable", &aggregate.unreadable),
        ("skipped", &aggregate.skipped),
        ("unusable tools", &aggregate.unusable_tools),
    ] {
        for (reason, found) in list {
            let _ = writeln!(out, "{what}: {reason}: {}", places(found));
        }
    }
    out.trim_end().to_owned()
}

fn show_groups(aggregate: &Aggregate, out: &mut String) {
    let mut groups: Vec<_> = aggregate.groups().collect();
    groups.sort_by_key(|(key, _)| *key);
    for (key, group) in groups {
        let counts = serde_json::to_value(group.counts).unwrap();
        let names = COUNTS.iter().filter(|name| counts[name] != 0);
        let counts: Vec<_> = names
            .map(|name| format!("{name} {}", counts[name]))
            .collect();
        let names: Vec<&str> = [&key.tool, &key.model, &key.server]
            .into_iter()
            .map(|name| if name.is_empty() { "-" } else { name })
            .collect();
        let _ = writeln!(out, "{}: {}", names.join(" "), counts.join(", "));
        let mut failures: Vec<_> = group.failures().collect();
        failures.sort_by_key(|(class, _)| *class);
        for (class, stats) in failures {
            let places: Vec<_> = stats
                .examples
                .iter()
                .map(|one| one.place.to_string())
                .collect();
            let field = if class.field.is_empty() {
                "-"
            } else {
                &class.field
            };
            let (outcome, code) = (class.outcome.name(), &class.code);
            let _ = writeln!(
                out,
                "  {outcome} {code} {field}: {} at {}",
                stats.calls,
                places.join(" ")
            );
        }
    }
}

fn places(places: &NamedPlaces) -> String {
    let places: Vec<_> = places.first.iter().map(ToString::to_string).collect();
    places.join(" ")
}
