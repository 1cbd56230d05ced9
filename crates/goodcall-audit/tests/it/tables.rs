//! Parquet and Arrow: calls in named columns, and rows that are records of another format.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int64Array, LargeStringArray, RecordBatch,
    StringArray, TimestampMillisecondArray,
};
use goodcall_audit::{Aggregate, Auditor, CallJudge, ColumnNames, ExampleSettings};
use goodcall_core::Policies;
use goodcall_wire::Tools;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::cases::{Scratch, audited, shown};

const TOOLS: &str = r#"[{"name": "read", "parameters": {"type": "object", "properties": {
    "path": {"type": "string"}, "lines": {"type": "integer"}}, "required": ["path"]}}]"#;

fn counted(path: &Path) -> String {
    let judge = Arc::new(CallJudge::new(
        Policies::default(),
        Tools::read(TOOLS).unwrap(),
    ));
    shown(&audited(&[path.to_string_lossy().into_owned()], &judge))
}

fn write_parquet(path: &Path, batch: &RecordBatch, rows: usize) {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(rows))
        .build();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

/// Five calls, the last without arguments.
fn calls() -> RecordBatch {
    let arguments = [
        Some(r#"{"path": "a"}"#),
        Some(r#"{"path": "a", "lines": "5"}"#),
        Some(r#"{"lines": 5}"#),
        Some(r#"{"path": "a"#),
        None,
    ];
    let names: DictionaryArray<Int32Type> = ["read", "read", "read", "raed", "read"]
        .into_iter()
        .collect();
    let columns: [(&str, ArrayRef); 7] = [
        ("tool_name", Arc::new(names)),
        (
            "arguments",
            Arc::new(LargeStringArray::from(arguments.to_vec())),
        ),
        (
            "model",
            Arc::new(StringArray::from(vec![
                Some("m"),
                Some("m"),
                Some("n"),
                None,
                None,
            ])),
        ),
        (
            "timestamp",
            Arc::new(TimestampMillisecondArray::from(vec![1_763_200_000_000; 5])),
        ),
        (
            "output_tokens",
            Arc::new(Int64Array::from(vec![1, 2, 3, 4, 5])),
        ),
        (
            "result",
            Arc::new(StringArray::from(vec![
                Some("ok"),
                Some("ok"),
                Some("invalid arguments"),
                None,
                None,
            ])),
        ),
        (
            "is_error",
            Arc::new(BooleanArray::from(vec![false, false, true, false, false])),
        ),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

const COUNTED: &str = "columns: 5 records, 0 without calls, 0 unreadable, 5 calls
raed - -: calls 1, bad 1
  bad unknown_tool -: 1 at file:4
read - -: calls 1, not_recorded 1
read m -: calls 2, good 1, mended 1, safe_mended 1, eager_mended 1
  mended string-to-number /lines: 1 at file:2
read n -: calls 1, bad 1, failed_results 1, said_invalid 1
  bad missing /path: 1 at file:3
  result said_invalid -: 1 at file:3
failed 3 of 5 turns (0 + 9 tokens), safe saves 1, eager 1";

#[test]
fn calls_are_read_from_named_columns_of_parquet() {
    let scratch = Scratch::new();
    let path = scratch.path().join("file");
    // In groups of two rows, which are read by several threads.
    for rows in [2, 1000] {
        write_parquet(&path, &calls(), rows);
        assert_eq!(counted(&path), COUNTED, "{rows} rows per group");
    }
}

#[test]
fn calls_are_read_from_arrow_files_and_streams() {
    let scratch = Scratch::new();
    let path = scratch.path().join("file");
    let batch = calls();
    let file = File::create(&path).unwrap();
    let mut writer = arrow_ipc::writer::FileWriter::try_new(file, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    assert_eq!(counted(&path), COUNTED);
    let file = File::create(&path).unwrap();
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(file, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    assert_eq!(counted(&path), COUNTED);
}

#[test]
fn counts_of_parts_add_up_to_those_of_the_whole_in_any_order() {
    let rows = 2_000;
    let texts = |list: Vec<String>| -> ArrayRef { Arc::new(StringArray::from(list)) };
    let sent = |row: usize| match row % 7 {
        0 => format!(r#"{{"path": "{row}"}}"#),
        1 => format!(r#"{{"path": {row}}}"#),
        2 => format!(r#"{{"lines": {row}}}"#),
        3 => r#"{"path": "a"#.to_owned(),
        4 => r#"{"path": ["a", "b"]}"#.to_owned(),
        5 => String::new(),
        _ => format!(r#"{{"path": "a", "lines": "{}"}}"#, row % 50),
    };
    let columns = [
        (
            "tool_name",
            texts(
                (0..rows)
                    .map(|row| ["read", "raed"][usize::from(row % 11 == 0)].to_owned())
                    .collect(),
            ),
        ),
        ("arguments", texts((0..rows).map(sent).collect())),
        (
            "model",
            texts((0..rows).map(|row| format!("m{}", row % 3)).collect()),
        ),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let judge = Arc::new(CallJudge::new(
        Policies::default(),
        Tools::read(TOOLS).unwrap(),
    ));
    let count = |from: usize, size: usize| {
        let mut auditor = Auditor::new(Arc::clone(&judge), ExampleSettings::default());
        let part = batch.slice(from, size);
        auditor
            .batch(
                &part,
                &ColumnNames::default(),
                &"file".into(),
                from as u64 + 1,
            )
            .unwrap();
        auditor.finish()
    };
    let whole = count(0, rows);
    assert_eq!(whole.totals().calls, rows as u64);
    for size in [1, 97, 700] {
        let mut parts: Vec<_> = (0..rows)
            .step_by(size)
            .map(|from| count(from, size.min(rows - from)))
            .collect();
        for _ in 0..2 {
            let mut sum = Aggregate::default();
            parts.iter().for_each(|part| sum.merge(part.clone()));
            // Through its saved form, as a cluster passes it on.
            let saved = serde_json::to_vec(&sum).unwrap();
            let sum: Aggregate = serde_json::from_slice(&saved).unwrap();
            assert_eq!(sum, whole, "parts of {size} rows");
            parts.reverse();
            let third = parts.len() / 3;
            parts.rotate_left(third);
        }
    }
}

#[test]
fn conversations_in_columns_show_their_loops() {
    let scratch = Scratch::new();
    let path = scratch.path().join("file");
    let texts = |list: &[&str]| -> ArrayRef { Arc::new(StringArray::from(list.to_vec())) };
    let columns = [
        ("tool_name", texts(&["read"; 6])),
        ("arguments", texts(&[r#"{"path": "a"}"#; 6])),
        ("conversation_id", texts(&["x", "y", "x", "x", "y", "z"])),
        ("result", texts(&["same", "1", "same", "same", "2", "3"])),
    ];
    write_parquet(&path, &RecordBatch::try_from_iter(columns).unwrap(), 2);
    assert_eq!(
        counted(&path),
        "columns: 6 records, 0 without calls, 0 unreadable, 6 calls\n\
         read - -: calls 6, good 6\n\
         loop same_call of read: 3 times at file:4"
    );
}

#[test]
fn rows_of_other_formats_are_read_as_their_records() {
    let scratch = Scratch::new();
    let path = scratch.path().join("file");
    let texts = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
    // A run of LangSmith's bulk export.
    let columns = [
        ("id", texts("r1")),
        ("trace_id", texts("t1")),
        ("run_type", texts("llm")),
        ("inputs", texts(r#"{"messages": []}"#)),
        (
            "outputs",
            texts(
                r#"{"generations": [[{"message": {"kwargs": {"tool_calls": [{"name": "f", "args": {"a": 1}, "id": "c"}]}}}]]}"#,
            ),
        ),
        (
            "extra",
            texts(
                r#"{"invocation_params": {"model": "m", "tools": [{"name": "f", "input_schema": {"type": "object", "required": ["b"]}}]}}"#,
            ),
        ),
    ];
    write_parquet(&path, &RecordBatch::try_from_iter(columns).unwrap(), 10);
    assert_eq!(
        counted(&path),
        "langsmith: 1 records, 0 without calls, 0 unreadable, 1 calls\n\
         f m -: calls 1, bad 1, text_lost 1\n\
         \x20 bad missing /b: 1 at file:1\n\
         failed 1 of 1 turns (0 + 0 tokens), safe saves 0, eager 0"
    );
}

#[test]
fn tables_that_cannot_be_read_are_named() {
    let scratch = Scratch::new();
    let path = scratch.path().join("file");
    let texts = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
    let batch = RecordBatch::try_from_iter([("a", texts("x")), ("b", texts("y"))]).unwrap();
    write_parquet(&path, &batch, 10);
    assert_eq!(
        counted(&path),
        "skipped: not a recording in a known format: its columns are a, b: file:0"
    );
    std::fs::write(&path, b"PAR1 and nothing more").unwrap();
    let named = counted(&path);
    assert!(named.starts_with("skipped: cannot be read: "), "{named}");
}
