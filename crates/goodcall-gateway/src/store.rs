//! The calls of the page in an SQLite file, where they survive restarts.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rusqlite::{Connection, params};

use crate::config::GatewayConfigError;
use crate::recent_calls::{MOST_CALLS, RecentCall};

/// Batches of calls that wait to be written; further ones are dropped.
const MOST_WAITING: usize = 4096;
/// Calls that the file keeps.
const MOST_ROWS: u64 = 1_000_000;
/// Calls that are written between two removals of old rows.
const TRIM_EVERY: usize = 10_000;

const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS calls (
        id INTEGER PRIMARY KEY,
        time REAL NOT NULL,
        tool TEXT NOT NULL,
        verdict TEXT NOT NULL,
        entry TEXT NOT NULL
    );
    CREATE INDEX IF NOT EXISTS calls_by_tool ON calls (tool, time);
";

/// The file, written by a thread of its own.
#[derive(Debug)]
pub(crate) struct Store {
    sender: SyncSender<Vec<Arc<RecentCall>>>,
}

impl Store {
    /// Opens or creates the file. Returns it with the last calls in it.
    pub(crate) fn open(path: &Path) -> Result<(Self, Vec<RecentCall>), GatewayConfigError> {
        let at = |error: rusqlite::Error| {
            let subject = format!("{}: the store cannot be used", path.display());
            GatewayConfigError::caused(subject, error)
        };
        create_private(path).map_err(|error| {
            let subject = format!("{}: the store cannot be created", path.display());
            GatewayConfigError::caused(subject, error)
        })?;
        let connection = Connection::open(path).map_err(at)?;
        connection.execute_batch(SCHEMA).map_err(at)?;
        let last = last(&connection).map_err(at)?;
        let (sender, receiver) = sync_channel(MOST_WAITING);
        std::thread::spawn(move || write(connection, &receiver));
        Ok((Self { sender }, last))
    }

    /// Has calls written. Those that a slow disk cannot keep up with are dropped.
    pub(crate) fn add(&self, calls: Vec<Arc<RecentCall>>) {
        if !calls.is_empty() {
            let _ = self.sender.try_send(calls);
        }
    }
}

/// Creates the file so that only its owner can read it, since calls may be private. SQLite gives its
/// other files the same mode. A file that is there already keeps its mode.
fn create_private(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

fn last(connection: &Connection) -> rusqlite::Result<Vec<RecentCall>> {
    let mut select = connection.prepare("SELECT entry FROM calls ORDER BY id DESC LIMIT ?1")?;
    let rows = select.query_map([MOST_CALLS], |row| row.get::<_, String>(0))?;
    let mut calls = Vec::new();
    for row in rows {
        calls.extend(serde_json::from_str::<RecentCall>(&row?).ok());
    }
    calls.reverse();
    Ok(calls)
}

fn write(mut connection: Connection, calls: &Receiver<Vec<Arc<RecentCall>>>) {
    let mut since = 0;
    while let Ok(mut batch) = calls.recv() {
        while let Ok(more) = calls.try_recv() {
            batch.extend(more);
        }
        since += batch.len();
        // A full disk costs the page some calls, and the client nothing.
        let _ = insert(&mut connection, &batch);
        if since >= TRIM_EVERY {
            since = 0;
            let trim = "DELETE FROM calls WHERE id <= (SELECT max(id) FROM calls) - ?1";
            let _ = connection.execute(trim, [MOST_ROWS]);
        }
    }
}

fn insert(connection: &mut Connection, batch: &[Arc<RecentCall>]) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    {
        let insert = "INSERT INTO calls (time, tool, verdict, entry) VALUES (?1, ?2, ?3, ?4)";
        let mut insert = transaction.prepare_cached(insert)?;
        for call in batch {
            let text = serde_json::to_string(call.as_ref()).expect("a call is always JSON");
            insert.execute(params![call.time, call.tool, call.verdict, text])?;
        }
    }
    transaction.commit()
}
