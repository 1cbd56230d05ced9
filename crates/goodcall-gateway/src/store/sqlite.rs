//! Requests in an SQLite file, where they survive restarts.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use goodcall_server::{MOST_REQUESTS, RecentRequest};
use rusqlite::{Connection, params};

use super::queue::{QueueReceiver, QueueSender, queue};
use super::{MOST_ROWS, TRIM_EVERY, TRIM_PAUSE};
use crate::config::{GatewayConfigError, Retention};

const SCHEMA: &str = "
    PRAGMA auto_vacuum = INCREMENTAL;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS requests (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        time REAL NOT NULL,
        entry TEXT NOT NULL
    );
    CREATE INDEX IF NOT EXISTS requests_by_time ON requests (time);
";

/// Takes over the calls of a file that an earlier version has written, each as a request.
const FROM_CALLS: &str = "
    INSERT INTO requests (id, time, entry)
        SELECT 'call-' || id, time, json_object('id', 'call-' || id, 'time', time, 'path', '',
            'status', 200, 'ms', 0, 'reasked', 0, 'model', entry ->> 'model', 'protocol', entry ->> 'protocol',
            'calls', json_array(json(entry)))
        FROM calls WHERE json_valid(entry) ORDER BY id;
    DROP TABLE calls;
";

/// Opens or creates the file, and has it written by a thread of its own. Returns the last requests in
/// it, too.
pub(super) fn open(
    path: &Path,
    retention: Retention,
) -> Result<(QueueSender, Vec<RecentRequest>), GatewayConfigError> {
    let at = |error: rusqlite::Error| {
        let subject = format!("{}: the store cannot be used", path.display());
        GatewayConfigError::caused(subject, error)
    };
    create_private(path).map_err(|error| {
        let subject = format!(
            "{}: the store cannot be created; its folder must exist and be writable",
            path.display()
        );
        GatewayConfigError::caused(subject, error)
    })?;
    let mut connection = Connection::open(path).map_err(at)?;
    connection.busy_timeout(BUSY_TIME).map_err(at)?;
    prepare(&mut connection).map_err(at)?;
    trim(&connection, retention, SystemTime::now()).map_err(at)?;
    let last = last(&connection).map_err(at)?;
    let (sender, receiver) = queue(retention);
    std::thread::spawn(move || super::block_on(write(connection, receiver)));
    Ok((sender, last))
}

/// How long a write waits for another program that uses the file.
const BUSY_TIME: Duration = Duration::from_secs(5);

/// Creates the file so that only its owner can read it, since calls may be private. SQLite gives its
/// other files the same mode. A file that is there already keeps its mode.
fn create_private(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

fn prepare(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.execute_batch(SCHEMA)?;
    let transaction = connection.transaction()?;
    if transaction.table_exists(None, "calls")? {
        transaction.execute_batch(FROM_CALLS)?;
    }
    transaction.commit()
}

fn last(connection: &Connection) -> rusqlite::Result<Vec<RecentRequest>> {
    let mut select = connection.prepare("SELECT entry FROM requests ORDER BY seq DESC LIMIT ?1")?;
    let rows = select.query_map([MOST_REQUESTS], |row| row.get::<_, String>(0))?;
    let mut requests = Vec::new();
    for row in rows {
        requests.extend(serde_json::from_str::<RecentRequest>(&row?).ok());
    }
    requests.reverse();
    Ok(requests)
}

async fn write(mut connection: Connection, mut queue: QueueReceiver) {
    let (mut since, mut trimmed) = (0, Instant::now());
    while let Some(batch) = queue.next(TRIM_PAUSE).await {
        let count = batch.requests.len();
        since += count;
        // A full disk costs the page some requests, and the client nothing.
        let is_written = insert(&mut connection, &batch.requests).is_ok();
        queue.done(batch, if is_written { 0 } else { count });
        if since >= TRIM_EVERY || trimmed.elapsed() >= TRIM_PAUSE {
            (since, trimmed) = (0, Instant::now());
            let _ = trim(&connection, queue.state.retention(), SystemTime::now());
        }
    }
}

/// Removes the requests that are not kept any longer, and gives their space back.
fn trim(connection: &Connection, retention: Retention, now: SystemTime) -> rusqlite::Result<()> {
    let many = "DELETE FROM requests WHERE seq <= (SELECT max(seq) FROM requests) - ?1";
    let mut removed = connection.execute(many, [MOST_ROWS])?;
    if let Some(age) = retention.age {
        let oldest = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let oldest = oldest.saturating_sub(age).as_secs_f64();
        removed += connection.execute("DELETE FROM requests WHERE time < ?1", [oldest])?;
    }
    if let Some(most) = retention.bytes {
        give_back(connection)?;
        while bytes(connection)? > most {
            let tenth = "DELETE FROM requests WHERE seq IN (SELECT seq FROM requests ORDER BY seq \
                         LIMIT (SELECT count(*) / 10 + 1 FROM requests))";
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

/// Makes the file as small as its requests allow. One that an earlier version has written is written
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

fn insert(connection: &mut Connection, batch: &[Arc<RecentRequest>]) -> rusqlite::Result<()> {
    if batch.is_empty() {
        return Ok(());
    }
    let transaction = connection.transaction()?;
    {
        let insert = "INSERT OR IGNORE INTO requests (id, time, entry) VALUES (?1, ?2, ?3)";
        let mut insert = transaction.prepare_cached(insert)?;
        for request in batch {
            insert.execute(params![request.id, request.time, super::entry(request)])?;
        }
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodcall_server::RecentCall;

    fn request(number: u64) -> Arc<RecentRequest> {
        Arc::new(RecentRequest {
            id: format!("a-{number}"),
            time: number as f64,
            calls: vec![RecentCall {
                tool: "f".to_owned(),
                arguments: Some("x".repeat(1000)),
                ..RecentCall::default()
            }],
            ..RecentRequest::default()
        })
    }

    /// A store in a file of its own, which is removed with this.
    struct TestStore(std::path::PathBuf, Connection);

    impl TestStore {
        fn new(name: &str, before: &str) -> Self {
            let name = format!("goodcall-{name}-{}.sqlite", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = std::fs::remove_file(&path);
            let mut connection = Connection::open(&path).unwrap();
            connection.execute_batch(before).unwrap();
            prepare(&mut connection).unwrap();
            Self(path, connection)
        }

        fn fill(&mut self, count: u64) {
            let requests: Vec<_> = (1..=count).map(request).collect();
            insert(&mut self.1, &requests).unwrap();
        }

        fn times(&self) -> (u64, f64) {
            let sql = "SELECT count(*), min(time) FROM requests";
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
    fn requests_beyond_their_age_are_removed() {
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
    fn request_is_stored_once() {
        let mut store = TestStore::new("once", "");
        store.fill(3);
        store.fill(5);
        assert_eq!(store.times(), (5, 1.0));
    }

    #[test]
    fn calls_of_an_earlier_version_become_requests() {
        let before = r#"
            CREATE TABLE calls (id INTEGER PRIMARY KEY, time REAL NOT NULL, tool TEXT NOT NULL,
                verdict TEXT NOT NULL, entry TEXT NOT NULL);
            INSERT INTO calls (time, tool, verdict, entry) VALUES (7.5, 'f', 'mended',
                '{"seq":1,"time":7.5,"tool":"f","verdict":"mended","attempt":0,"protocol":"openai",
                  "model":"m","notes":[{"rule":"string-to-number","field":"a"}]}'),
                (8.5, 'f', 'good', 'not JSON');
        "#;
        let mut store = TestStore::new("earlier", before);
        let requests = last(&store.1).unwrap();
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0].time, 7.5);
        assert_eq!(requests[0].asked.model.as_deref(), Some("m"));
        assert_eq!(requests[0].calls[0].notes[0].field, "a");
        prepare(&mut store.1).unwrap();
        assert_eq!(last(&store.1).unwrap(), requests);
    }

    #[test]
    fn oldest_requests_make_room_until_the_file_is_small_enough() {
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
