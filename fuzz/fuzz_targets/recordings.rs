//! Any bytes as a recording: a report or a named reason, and the same counts as those of its records
//! one by one.
//!
//! Input: the bytes of a file.

#![no_main]

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use goodcall_audit::{
    Aggregate, AuditProgress, AuditReport, AuditSettings, Auditor, CallJudge, ExampleSettings,
    FORMATS, InputFile, LogRecord, RecordOrder, RecordPlace, audit, expand, format_of,
};
use goodcall_core::{Policies, Policy, Tree};
use goodcall_wire::Tools;
use libfuzzer_sys::fuzz_target;

/// Tools for the calls of recordings that have none.
const TOOLS: &str = r#"[
  {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}
]"#;
/// The file that is read, which every input replaces.
static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
    std::env::temp_dir().join(format!("goodcall-recording-{}", std::process::id()))
});
static FILES: LazyLock<Vec<InputFile>> =
    LazyLock::new(|| expand(&[PATH.to_string_lossy().into_owned()]).expect("the file was written"));
/// Lines behind this one do not decide what a file is.
const FIRST_LINES: usize = 64;

fuzz_target!(|bytes: &[u8]| {
    std::fs::write(&*PATH, bytes).expect("the folder for scratch files can be written");
    let mut settings = AuditSettings::default();
    settings.threads = 1;
    let audited = audit(&FILES, &judge(), settings, &AuditProgress::default());
    let counted = audited.expect("no state is saved").aggregate;
    match (counted.sources.len(), counted.skipped.values().next()) {
        (0, Some(_)) => return,
        (1, _) => {}
        other => panic!("neither read nor skipped: {other:?}"),
    }
    let totals = counted.totals();
    for (format, source) in &counted.sources {
        assert_eq!(source.calls, totals.calls, "{format}");
        assert!(
            source.with_calls + source.unreadable <= source.records,
            "{format}"
        );
    }
    assert_eq!(
        totals.calls,
        totals.judged() + totals.without_tools + totals.not_recorded
    );
    let report = AuditReport::new(&counted, "safe");
    Tree::parse(&report.to_json()).expect("a report is JSON");
    let _ = (report.summary(), report.to_csv(), report.to_html());
    if let Some(one_by_one) = one_by_one(bytes) {
        assert_eq!(one_by_one.totals(), totals);
    }
});

fn judge() -> Arc<CallJudge> {
    let tools = Tools::read(TOOLS).expect("these are tools");
    Arc::new(CallJudge::new(Policies::new(Policy::safe()), tools))
}

/// Reads each line by itself, where the lines are JSON and stand alone.
fn one_by_one(bytes: &[u8]) -> Option<Aggregate> {
    let text = std::str::from_utf8(bytes).ok()?;
    let lines: Vec<&str> = text.split('\n').collect();
    let mut first = lines
        .iter()
        .take(FIRST_LINES)
        .filter_map(|line| Tree::parse(line).ok());
    let name = first.find_map(|tree| {
        let format = format_of(tree.root())?;
        let alone = format.order(tree.root()) == RecordOrder::Independent;
        alone.then(|| format.name())
    })?;
    let format = FORMATS.into_iter().find(|format| format.name() == name)?;
    let mut all = Aggregate::default();
    for line in lines.iter().filter(|line| !line.trim().is_empty()) {
        if !line.starts_with('{') {
            return None;
        }
        let tree = Tree::parse(line).ok()?;
        let place = RecordPlace::new("lines".into(), 1);
        let record = LogRecord::new(line, tree.root(), place);
        let mut auditor = Auditor::new(judge(), ExampleSettings::default());
        let mut reader = format.reader();
        let _ = reader.read(&record, &mut auditor);
        reader.finish(&mut auditor);
        all.merge(auditor.finish());
    }
    Some(all)
}
