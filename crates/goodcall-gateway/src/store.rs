//! What was judged, kept in an SQLite file that survives restarts.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rusqlite::{Connection, params};

use crate::config::GatewayConfigError;
use crate::recent_calls::{Entry, MOST_CALLS};

/// Calls that wait to be written; more are not kept.
const MOST_WAITING: usize = 4096;
/// Calls that the file keeps.
const MOST_ROWS: u64 = 1_000_000;
/// Calls between two looks at that.
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
    sender: SyncSender<Vec<Entry>>,
}

impl Store {
    /// Opens or makes the file; the last calls in it.
    pub(crate) fn open(path: &Path) -> Result<(Self, Vec<Entry>), GatewayConfigError> {
        let at = |error: rusqlite::Error| {
            let subject = format!("{}: the store cannot be used", path.display());
            GatewayConfigError::caused(subject, error)
        };
        let connection = Connection::open(path).map_err(at)?;
        connection.execute_batch(SCHEMA).map_err(at)?;
        let last = last(&connection).map_err(at)?;
        let (sender, receiver) = sync_channel(MOST_WAITING);
        std::thread::spawn(move || write(connection, &receiver));
        Ok((Self { sender }, last))
    }

    pub(crate) fn add(&self, entries: Vec<Entry>) {
        if !entries.is_empty() {
            // A disk that is too slow must not stop the traffic.
            let _ = self.sender.try_send(entries);
        }
    }
}

fn last(connection: &Connection) -> rusqlite::Result<Vec<Entry>> {
    let mut select = connection.prepare("SELECT entry FROM calls ORDER BY id DESC LIMIT ?1")?;
    let most = i64::try_from(MOST_CALLS).unwrap_or(i64::MAX);
    let rows = select.query_map([most], |row| row.get::<_, String>(0))?;
    let mut entries = Vec::new();
    for row in rows {
        entries.extend(serde_json::from_str::<Entry>(&row?).ok());
    }
    entries.reverse();
    Ok(entries)
}

fn write(mut connection: Connection, entries: &Receiver<Vec<Entry>>) {
    let mut since = 0;
    while let Ok(mut batch) = entries.recv() {
        while let Ok(more) = entries.try_recv() {
            batch.extend(more);
        }
        since += batch.len();
        // A disk that is full loses calls of the page, not of the client.
        let _ = insert(&mut connection, &batch);
        if since >= TRIM_EVERY {
            since = 0;
            let trim = "DELETE FROM calls WHERE id <= (SELECT max(id) FROM calls) - ?1";
            let _ = connection.execute(trim, [MOST_ROWS]);
        }
    }
}

fn insert(connection: &mut Connection, batch: &[Entry]) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    {
        let insert = "INSERT INTO calls (time, tool, verdict, entry) VALUES (?1, ?2, ?3, ?4)";
        let mut insert = transaction.prepare_cached(insert)?;
        for entry in batch {
            let text = serde_json::to_string(entry).unwrap_or_default();
            insert.execute(params![entry.time, entry.tool, entry.verdict, text])?;
        }
    }
    transaction.commit()
}
