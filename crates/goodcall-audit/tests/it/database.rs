//! SQLite files: the store of a gateway, and the database of opencode.

use std::sync::Arc;

use goodcall_audit::{CallJudge, each_stored, export_lines, export_parquet};
use goodcall_core::Policies;
use goodcall_wire::Tools;
use rusqlite::Connection;

use crate::cases::{Scratch, audited, shown};

fn counted(statements: &str) -> String {
    let scratch = Scratch::new();
    let path = scratch.path().join("file");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(statements).unwrap();
    drop(connection);
    let judge = Arc::new(CallJudge::new(Policies::default(), Tools::default()));
    let paths = [path.to_string_lossy().into_owned()];
    shown(&audited(&paths, &judge))
}

#[test]
fn rows_of_a_gateway_store_are_read() {
    let statements = r#"
        CREATE TABLE calls (id INTEGER PRIMARY KEY, time REAL NOT NULL, tool TEXT NOT NULL,
            verdict TEXT NOT NULL, entry TEXT NOT NULL);
        INSERT INTO calls (time, tool, verdict, entry) VALUES
            (1, 'read', 'good', '{"seq":1,"time":1763200000.5,"tool":"read","verdict":"good","attempt":0,"protocol":"openai","model":"m"}'),
            (2, 'read', 'bad', '{"seq":2,"time":1763200001.5,"tool":"read","verdict":"bad","reason":"empty","attempt":0,"protocol":"openai","model":"m"}'),
            (3, 'read', 'bad', 'not JSON');
    "#;
    assert_eq!(
        counted(statements),
        "goodcall-gateway: 3 records, 0 without calls, 1 unreadable, 2 calls\n\
         read m openai: calls 2, good 1, bad 1\n\
         \x20 bad empty -: 1 at file:2\n\
         failed 1 of 2 turns (0 + 0 tokens), safe saves 0, eager 0\n\
         unreadable: not JSON: file:3"
    );
}

#[test]
fn store_is_exported_as_lines_and_as_a_table_that_are_read_alike() {
    let scratch = Scratch::new();
    let store = scratch.path().join("store");
    let connection = Connection::open(&store).unwrap();
    let first = r#"{"id":"a-1","time":1763200000.5,"path":"/v1/chat/completions","status":200,"protocol":"openai","model":"m","stream":false,"outcome":"cured","ms":5,"reasked":1,"calls":[{"tool":"read","verdict":"bad","reason":"wrong_shape","attempt":0,"arguments":"{}"},{"tool":"read","verdict":"good","attempt":1,"arguments":"{\"path\":\"a\"}"}]}"#;
    let second = r#"{"id":"a-2","time":1763200001.5,"path":"/v1/models","status":200,"stream":false,"ms":5,"reasked":0}"#;
    let table = "CREATE TABLE requests (seq INTEGER PRIMARY KEY, id TEXT, time REAL, entry TEXT)";
    connection.execute(table, []).unwrap();
    for entry in [first, second] {
        let insert = "INSERT INTO requests (entry) VALUES (?1)";
        connection.execute(insert, [entry]).unwrap();
    }
    drop(connection);
    let read = |take: &mut dyn FnMut(String) -> bool| each_stored(&store, take);
    let mut lines = Vec::new();
    assert_eq!(export_lines(read, &mut lines).unwrap(), 2);
    let text = String::from_utf8(lines).unwrap();
    assert_eq!(text, format!("{first}\n{second}\n"));
    let as_lines = scratch.path().join("calls.jsonl");
    std::fs::write(&as_lines, text).unwrap();

    let path = scratch.path().join("calls.parquet");
    let file = std::fs::File::create(&path).unwrap();
    assert_eq!(export_parquet(read, file).unwrap(), 2);
    let tools = r#"[{"name": "read", "parameters": {"type": "object", "properties": {
        "path": {"type": "string"}}, "required": ["path"]}}]"#;
    let tools = Tools::read(tools).unwrap();
    let judge = Arc::new(CallJudge::new(Policies::default(), tools));
    let counted = |path: &std::path::Path| {
        let text = shown(&audited(&[path.to_string_lossy().into_owned()], &judge));
        text.lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(counted(&store), "read m openai: calls 2, good 1, bad 1");
    assert_eq!(counted(&as_lines), counted(&store));
    assert_eq!(counted(&path), counted(&store));

    let other = scratch.path().join("other");
    let connection = Connection::open(&other).unwrap();
    connection.execute("CREATE TABLE a (b TEXT)", []).unwrap();
    let error = each_stored(&other, &mut |_| true).unwrap_err();
    assert_eq!(error.to_string(), "it is not the store of a gateway");
}

#[test]
fn messages_of_an_opencode_database_are_read() {
    let statements = r#"
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER,
            time_updated INTEGER, data TEXT NOT NULL);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL,
            time_created INTEGER, time_updated INTEGER, data TEXT NOT NULL);
        INSERT INTO message VALUES
            ('msg_1', 'ses_1', 1, 1, '{"role":"user","time":{"created":1763200000000}}'),
            ('msg_2', 'ses_1', 2, 2, '{"role":"assistant","modelID":"m","time":{"created":1763200001000}}');
        INSERT INTO part VALUES
            ('prt_1', 'msg_1', 'ses_1', 1, 1, '{"type":"text","text":"Go."}'),
            ('prt_2', 'msg_2', 'ses_1', 2, 2, '{"type":"tool","callID":"c","tool":"bash","state":{"status":"error","input":{"command":5},"error":"Invalid arguments: command: expected string"}}');
    "#;
    assert_eq!(
        counted(statements),
        "opencode: 2 records, 1 without calls, 0 unreadable, 1 calls\n\
         bash m -: calls 1, without_tools 1, failed_results 1, said_invalid 1, text_lost 1\n\
         \x20 result said_invalid -: 1 at file:2\n\
         failed 1 of 1 turns (0 + 0 tokens), safe saves 0, eager 0"
    );
}

#[test]
fn other_databases_are_named() {
    assert_eq!(
        counted("CREATE TABLE a (b TEXT);"),
        "skipped: an SQLite file with unknown tables: file:0"
    );
}
