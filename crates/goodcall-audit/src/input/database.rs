//! SQLite files that hold recordings: the store of a goodcall gateway, and the database of opencode.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// The first bytes of an SQLite file.
pub(crate) const MAGIC: &[u8] = b"SQLite format 3\0";

/// A database whose tables are known.
pub(crate) struct Database {
    connection: Connection,
    kind: Kind,
}

enum Kind {
    /// One row per request, which is JSON; one per call in a file of an earlier version. Has the query
    /// for all of them.
    Gateway(&'static str),
    /// `message` and `part`, whose `data` is JSON.
    Opencode,
}

impl Database {
    /// Opens a database for reading. Returns `None` if its tables are not known.
    pub(crate) fn open(path: &Path) -> rusqlite::Result<Option<Self>> {
        let connection = open(path)?;
        let has = |table: &str, column: &str| {
            let query = format!("SELECT {column} FROM {table} LIMIT 1");
            connection.prepare(&query).is_ok()
        };
        let kind = if has("requests", "seq, entry") {
            Kind::Gateway("SELECT entry FROM requests ORDER BY seq")
        } else if has("calls", "id, entry") {
            Kind::Gateway("SELECT entry FROM calls ORDER BY id")
        } else if has("message", "session_id, data") && has("part", "message_id, data") {
            Kind::Opencode
        } else {
            return Ok(None);
        };
        Ok(Some(Self { connection, kind }))
    }

    /// Returns true for the store of a gateway.
    pub(crate) fn is_gateway_store(&self) -> bool {
        matches!(self.kind, Kind::Gateway(_))
    }

    /// Calls `take` with the JSON text of each record, until it returns false.
    pub(crate) fn each(&self, mut take: impl FnMut(String) -> bool) -> rusqlite::Result<()> {
        match self.kind {
            Kind::Gateway(query) => {
                let mut rows = self.connection.prepare(query)?;
                let mut rows = rows.query([])?;
                while let Some(row) = rows.next()? {
                    if !take(row.get(0)?) {
                        break;
                    }
                }
            }
            Kind::Opencode => self.messages(take)?,
        }
        Ok(())
    }

    /// The messages of opencode with their parts, in the form of `opencode export`.
    fn messages(&self, mut take: impl FnMut(String) -> bool) -> rusqlite::Result<()> {
        let messages = "SELECT id, session_id, data FROM message ORDER BY session_id, id";
        let mut messages = self.connection.prepare(messages)?;
        let parts = "SELECT data FROM part WHERE message_id = ?1 ORDER BY id";
        let mut parts = self.connection.prepare(parts)?;
        let mut rows = messages.query([])?;
        while let Some(row) = rows.next()? {
            let (id, session, data): (String, String, String) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            let found = parts.query_map([&id], |part| part.get::<_, String>(0))?;
            let found: Vec<String> = found.collect::<rusqlite::Result<_>>()?;
            let session = serde_json::Value::String(session);
            let record = format!(
                r#"{{"info":{data},"sessionID":{session},"parts":[{}]}}"#,
                found.join(",")
            );
            if !take(record) {
                break;
            }
        }
        Ok(())
    }
}

/// Opens a file for reading, also one whose folder cannot be written.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    // A log of changes beside the file needs a writable folder; without one only the file is read.
    if connection
        .prepare("SELECT 1 FROM sqlite_master")
        .and_then(|mut all| all.exists([]))
        .is_ok()
    {
        return Ok(connection);
    }
    let name = path
        .to_string_lossy()
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23");
    let uri = format!("file:{name}?immutable=1");
    Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)
}
