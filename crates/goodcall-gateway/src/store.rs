//! The calls of the page in an SQLite file, where they survive restarts.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, params};

use crate::config::{GatewayConfigError, Retention};
use crate::recent_calls::{MOST_CALLS, RecentCall};

/// Batches of calls that wait to be written; further ones are dropped.
const MOST_WAITING: usize = 4096;
/// Calls that the file keeps.
const MOST_ROWS: u64 = 1_000_000;
/// Calls that are written between two removals of old rows, and the longest time between them.
const TRIM_EVERY: usize = 10_000;
const TRIM_PAUSE: Duration = Duration::from_secs(60);

const SCHEMA: &str = "
    PRAGMA auto_vacuum = INCREMENTAL;
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
    CREATE INDEX IF NOT EXISTS calls_by_time ON calls (time);
";

/// The file, written by a thread of its own.
#[derive(Debug)]
pub(crate) struct Store {
    sender: SyncSender<Vec<Arc<RecentCall>>>,
    retention: Arc<Mutex<Retention>>,
}

impl Store {
    /// Opens or creates the file. Returns it with the last calls in it.
    pub(crate) fn open(
        path: &Path,
        retention: Retention,
    ) -> Result<(Self, Vec<RecentCall>), GatewayConfigError> {
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
        trim(&connection, retention, SystemTime::now()).map_err(at)?;
        let last = last(&connection).map_err(at)?;
        let (sender, receiver) = sync_channel(MOST_WAITING);
        let retention = Arc::new(Mutex::new(retention));
        let own = Arc::clone(&retention);
        std::thread::spawn(move || write(connection, &receiver, &own));
        Ok((Self { sender, retention }, last))
    }

    /// Keeps calls as these settings say from now on.
    pub(crate) fn keep(&self, retention: Retention) {
        *self
            .retention
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = retention;
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

fn write(
    mut connection: Connection,
    calls: &Receiver<Vec<Arc<RecentCall>>>,
    retention: &Mutex<Retention>,
) {
    let (mut since, mut trimmed) = (0, Instant::now());
    loop {
        match calls.recv_timeout(TRIM_PAUSE) {
            Ok(mut batch) => {
                while let Ok(more) = calls.try_recv() {
                    batch.extend(more);
                }
                since += batch.len();
                // A full disk costs the page some calls, and the client nothing.
                let _ = insert(&mut connection, &batch);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if since >= TRIM_EVERY || trimmed.elapsed() >= TRIM_PAUSE {
            (since, trimmed) = (0, Instant::now());
            let retention = *retention.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = trim(&connection, retention, SystemTime::now());
        }
    }
}

/// Removes the calls that are not kept any longer, and gives their space back.
fn trim(connection: &Connection, retention: Retention, now: SystemTime) -> rusqlite::Result<()> {
    let many = "DELETE FROM calls WHERE id <= (SELECT max(id) FROM calls) - ?1";
    let mut removed = connection.execute(many, [MOST_ROWS])?;
    if let Some(age) = retention.age {
        let oldest = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let oldest = oldest.saturating_sub(age).as_secs_f64();
        removed += connection.execute("DELETE FROM calls WHERE time < ?1", [oldest])?;
    }
    if let Some(most) = retention.bytes {
        give_back(connection)?;
        while bytes(connection)? > most {
            let tenth = "DELETE FROM calls WHERE id IN (SELECT id FROM calls ORDER BY id \
                         LIMIT (SELECT count(*) / 10 + 1 FROM calls))";
            if connection.execute(tenth, [])? == 0 {
                break;
            }
            give_back(connection)?;
        }
    }
    if removed > 0 {
        give_back(connection)?;
    }
    Ok(())
}

/// Makes the file as small as its calls allow. One that an earlier version has written is written
/// anew first, since it cannot become smaller otherwise.
fn give_back(connection: &Connection) -> rusqlite::Result<()> {
    let mode: i64 = connection.query_row("PRAGMA auto_vacuum", [], |row| row.get(0))?;
    if mode == 0 {
        connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; VACUUM;")?;
    }
    let mut vacuum = connection.prepare("PRAGMA incremental_vacuum")?;
    let mut pages = vacuum.query([])?;
    // Each step frees one page.
    while pages.next()?.is_some() {}
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

/// The bytes that the file takes.
fn bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()";
    connection
        .query_row(sql, [], |row| row.get::<_, i64>(0))
        .map(i64::unsigned_abs)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn call(seq: u64, time: f64) -> Arc<RecentCall> {
        Arc::new(RecentCall {
            seq,
            time,
            tool: "f".to_owned(),
            verdict: "good".into(),
            reason: None,
            attempt: 0,
            protocol: "openai".into(),
            model: None,
            notes: Vec::new(),
            arguments: Some("x".repeat(1000)),
        })
    }

    /// A store in a file of its own, which is removed with this.
    struct TestStore(std::path::PathBuf, Connection);

    impl TestStore {
        fn new(name: &str, before: &str) -> Self {
            let name = format!("goodcall-{name}-{}.sqlite", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = std::fs::remove_file(&path);
            let connection = Connection::open(&path).unwrap();
            connection.execute_batch(before).unwrap();
            connection.execute_batch(SCHEMA).unwrap();
            Self(path, connection)
        }

        fn fill(&mut self, count: u64) {
            let calls: Vec<_> = (1..=count).map(|seq| call(seq, seq as f64)).collect();
            insert(&mut self.1, &calls).unwrap();
        }

        fn times(&self) -> (u64, f64) {
            let sql = "SELECT count(*), min(time) FROM calls";
            let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get(1)?));
            let (count, first) = self.1.query_row(sql, [], row).unwrap();
            (count.unsigned_abs(), first)
        }
    }

    impl Drop for TestStore {
        fn drop(&mut self) {
            for end in ["", "-wal", "-shm"] {
                let _ = std::fs::remove_file(format!("{}{end}", self.0.display()));
            }
        }
    }

    #[test]
    fn calls_beyond_their_age_are_removed() {
        let mut store = TestStore::new("age", "");
        store.fill(100);
        let now = UNIX_EPOCH + Duration::from_secs(100);
        let age = Some(Duration::from_secs(30));
        trim(&store.1, Retention::default(), now).unwrap();
        assert_eq!(store.times(), (100, 1.0));
        trim(&store.1, Retention { age, bytes: None }, now).unwrap();
        assert_eq!(store.times(), (31, 70.0));
    }

    #[test]
    fn oldest_calls_make_room_until_the_file_is_small_enough() {
        // An earlier version made files that do not shrink.
        for before in [
            "",
            "PRAGMA auto_vacuum = NONE; CREATE TABLE other (id INTEGER);",
        ] {
            let mut store = TestStore::new("size", before);
            store.fill(2000);
            let before = std::fs::metadata(&store.0).unwrap().len();
            let bytes = Some(500_000);
            let now = UNIX_EPOCH + Duration::from_secs(2000);
            trim(&store.1, Retention { age: None, bytes }, now).unwrap();
            let after = std::fs::metadata(&store.0).unwrap().len();
            assert!(after <= 500_000, "{before} became {after}");
            let (count, first) = store.times();
            assert!((100..2000).contains(&count), "{count}");
            assert_eq!(first, (2000 - count + 1) as f64, "the newest are kept");
        }
    }
}
