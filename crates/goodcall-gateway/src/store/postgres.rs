//! Requests in a PostgreSQL database, where the pages of all gateways show them.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use goodcall_server::{RecentRequest, StoreTarget};
use tokio_postgres::{Client, Error};

use super::postgres_url::Address;
use super::queue::{Batch, QueueReceiver, QueueSender, QueueState, queue};
use super::{MOST_ROWS, Shared, TRIM_EVERY, TRIM_PAUSE, entry};
use crate::config::{GatewayConfigError, Retention};
use crate::log::Log;
use crate::upstream::with_sources;

/// How the tables came to be, one step after the other. Steps are only ever added.
const MIGRATIONS: [&str; 1] = ["
    CREATE TABLE goodcall_requests (
        seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        time DOUBLE PRECISION NOT NULL,
        bytes INTEGER NOT NULL,
        entry JSON NOT NULL
    );
    CREATE INDEX goodcall_requests_by_time ON goodcall_requests (time);
"];

/// Gateways insert one after the other, so that numbers become visible in their order: a page that has
/// read up to one will not miss a smaller one.
const WRITE_LOCK: &str = "SELECT pg_advisory_xact_lock(7021431808126976)";
/// One gateway at a time prepares the tables, or removes old requests.
const TABLE_LOCK: &str = "SELECT pg_advisory_xact_lock(7021431808126977)";
const TRIM_LOCK: &str = "SELECT pg_try_advisory_xact_lock(7021431808126978)";

/// A request that is there already is left alone: it was written before the connection broke.
const INSERT: &str = "
    INSERT INTO goodcall_requests (id, time, bytes, entry)
        SELECT id, time, octet_length(entry), entry::json
        FROM unnest($1::text[], $2::float8[], $3::text[]) WITH ORDINALITY AS new (id, time, entry, place)
        ORDER BY place
    ON CONFLICT (id) DO NOTHING
";

/// Removes what does not fit into a number of bytes, oldest first.
const TRIM_BYTES: &str = "
    DELETE FROM goodcall_requests WHERE seq <= (SELECT max(seq) FROM
        (SELECT seq, sum(bytes) OVER (ORDER BY seq DESC) AS total FROM goodcall_requests) AS sums
        WHERE total > $1)
";

/// How long a statement of the gateway's own may take; the server counts as away then.
const WRITE_TIME: Duration = Duration::from_secs(30);
/// How long a page waits for its requests.
const READ_TIME: Duration = Duration::from_secs(5);
/// How long a start waits for the server. One that is away does not stop the gateway.
const START_TIME: Duration = Duration::from_secs(8);
/// The first and the longest pause before the server is tried again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(10));

/// Reads the requests of all gateways.
#[derive(Clone, Default)]
pub(crate) struct Reader(Arc<Mutex<Option<Arc<Client>>>>);

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

impl Reader {
    fn set(&self, client: Option<Arc<Client>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = client;
    }

    fn client(&self) -> Option<Arc<Client>> {
        let client = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        client.clone()
    }

    pub(super) async fn since(&self, after: u64, most: usize) -> Shared {
        let Some(client) = self.client() else {
            return Shared::Away;
        };
        let select = "SELECT seq, entry::text FROM goodcall_requests WHERE seq > $1 \
                      ORDER BY seq DESC LIMIT $2";
        let (from, limit) = (i64::try_from(after).unwrap_or(i64::MAX), most as i64);
        let rows = async { client.query(select, &[&from, &limit]).await };
        let Ok(rows) = within(READ_TIME, rows).await else {
            return Shared::Away;
        };
        let last = rows
            .first()
            .map_or(after, |row| row.get::<_, i64>(0).unsigned_abs());
        Shared::Requests(last, rows.iter().rev().map(|row| row.get(1)).collect())
    }
}

/// Why a statement or a connection failed.
#[derive(Debug)]
enum Fault {
    Server(Error),
    TimedOut,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Server(error) => f.write_str(&with_sources(error)),
            Fault::TimedOut => f.write_str("the server does not answer"),
        }
    }
}

impl std::error::Error for Fault {}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::Server(error)
    }
}

impl Fault {
    /// Returns true if waiting will not help: the URL is wrong, or something is forbidden.
    fn is_lasting(&self) -> bool {
        let Fault::Server(error) = self else {
            return false;
        };
        if let Some(state) = error.code() {
            // A wrong password, database, or right.
            return ["28", "3D", "42"].contains(&state.code().get(..2).unwrap_or_default());
        }
        error.to_string().starts_with("error performing TLS")
            || std::error::Error::source(error).is_some_and(|source| {
                let source = source.downcast_ref::<std::io::Error>();
                let inner = source.and_then(|error| error.get_ref());
                inner.is_some_and(|inner| inner.is::<rustls::Error>())
            })
    }

    /// Returns true if a value cannot be stored.
    fn is_about_data(&self) -> bool {
        let Fault::Server(error) = self else {
            return false;
        };
        let state = error.code().map(|state| state.code());
        state.is_some_and(|state| state.starts_with("22") || state.starts_with("23"))
    }
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Fault> {
    match tokio::time::timeout(limit, work).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(Fault::TimedOut),
    }
}

/// Connects to a database and prepares its tables, in a thread of its own, which then writes what comes
/// through the queue.
pub(super) fn open(
    url: &str,
    target: &StoreTarget,
    retention: Retention,
    log: Arc<Log>,
) -> Result<(QueueSender, Reader), GatewayConfigError> {
    let address = Address::read(url)?;
    let (sender, receiver) = queue(retention);
    let reader = Reader::default();
    let (started, start) = std::sync::mpsc::sync_channel(1);
    let writer = Writer {
        address,
        reader: reader.clone(),
        log,
    };
    std::thread::spawn(move || {
        super::block_on(writer.run(receiver, |first| {
            let _ = started.try_send(first);
        }));
    });
    match start.recv_timeout(START_TIME) {
        Ok(Err(fault)) if fault.is_lasting() => Err(GatewayConfigError::caused(
            format!("{target}: the store cannot be used"),
            fault,
        )),
        _ => Ok((sender, reader)),
    }
}

/// Writes requests, and connects again when the server was away.
struct Writer {
    address: Address,
    reader: Reader,
    log: Arc<Log>,
}

impl Writer {
    /// Runs until the queue ends and is empty. `start` is told how the first connection went.
    async fn run(self, mut queue: QueueReceiver, start: impl FnOnce(Result<(), Fault>)) {
        let (mut start, mut pause, mut pending) = (Some(start), PAUSES.0, None);
        loop {
            let fault = match self.connect().await {
                Ok((mut client, reading)) => {
                    pause = PAUSES.0;
                    self.note_back(&queue.state);
                    self.reader.set(Some(Arc::new(reading)));
                    if let Some(start) = start.take() {
                        start(Ok(()));
                    }
                    match write(&mut client, &mut queue, &mut pending).await {
                        Ok(()) => return,
                        Err(fault) => fault,
                    }
                }
                Err(fault) => fault,
            };
            self.reader.set(None);
            self.note_away(&queue.state, &fault);
            if let Some(start) = start.take() {
                let is_lasting = fault.is_lasting();
                start(Err(fault));
                if is_lasting {
                    return;
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Opens two connections, so that no page reads within what is being written.
    async fn connect(&self) -> Result<(Client, Client), Fault> {
        let mut client = connect(&self.address).await?;
        within(WRITE_TIME, migrate(&mut client)).await?;
        Ok((client, connect(&self.address).await?))
    }

    fn note_away(&self, state: &QueueState, fault: &Fault) {
        if !state.is_away.swap(true, Ordering::Relaxed) {
            self.log.store_event("away", Some(&fault.to_string()));
        }
    }

    fn note_back(&self, state: &QueueState) {
        if state.is_away.swap(false, Ordering::Relaxed) {
            self.log.store_event("back", None);
        }
    }
}

async fn connect(address: &Address) -> Result<Client, Fault> {
    let opening = address.config.connect(address.tls.clone());
    let (client, connection) = within(START_TIME, opening).await?;
    // Its errors are those of the statements that fail with it.
    tokio::spawn(connection);
    Ok(client)
}

/// Makes the tables, or changes those of an earlier version.
async fn migrate(client: &mut Client) -> Result<(), Error> {
    let version = "SELECT max(version) FROM goodcall_migrations";
    let known = MIGRATIONS.len() as i32;
    // Gateways whose user may not create tables can use those that are there.
    if let Ok(row) = client.query_one(version, &[]).await
        && row.get::<_, Option<i32>>(0).unwrap_or_default() >= known
    {
        return Ok(());
    }
    let transaction = client.transaction().await?;
    transaction.batch_execute(TABLE_LOCK).await?;
    let create = "CREATE TABLE IF NOT EXISTS goodcall_migrations (version INTEGER PRIMARY KEY)";
    transaction.batch_execute(create).await?;
    let row = transaction.query_one(version, &[]).await?;
    let done = row.get::<_, Option<i32>>(0).unwrap_or_default();
    for (version, step) in (1..).zip(MIGRATIONS) {
        if version > done {
            transaction.batch_execute(step).await?;
            let note = "INSERT INTO goodcall_migrations (version) VALUES ($1)";
            transaction.execute(note, &[&version]).await?;
        }
    }
    transaction.commit().await
}

/// Writes what comes until the connection fails, or nothing more will come. A batch that could not be
/// written stays in `pending`.
async fn write(
    client: &mut Client,
    queue: &mut QueueReceiver,
    pending: &mut Option<Batch>,
) -> Result<(), Fault> {
    let (mut since, mut trimmed) = (0, None::<Instant>);
    loop {
        if let Some(batch) = pending.as_ref() {
            since += batch.requests.len();
            let dropped = insert_all(client, &batch.requests).await?;
            if let Some(batch) = pending.take() {
                queue.done(batch, dropped);
            }
        }
        if since >= TRIM_EVERY || trimmed.is_none_or(|time| time.elapsed() >= TRIM_PAUSE) {
            (since, trimmed) = (0, Some(Instant::now()));
            let retention = queue.state.retention();
            within(WRITE_TIME, trim(client, retention, SystemTime::now())).await?;
        }
        *pending = queue.next(TRIM_PAUSE).await;
        if pending.is_none() {
            return Ok(());
        }
    }
}

/// Writes a batch. Returns the number of requests that the database refuses, which are left out.
async fn insert_all(client: &mut Client, batch: &[Arc<RecentRequest>]) -> Result<usize, Fault> {
    match within(WRITE_TIME, insert(client, batch)).await {
        Err(fault) if fault.is_about_data() => {}
        done => return done.map(|()| 0),
    }
    let mut refused = 0;
    for request in batch {
        match within(WRITE_TIME, insert(client, std::slice::from_ref(request))).await {
            Err(fault) if fault.is_about_data() => refused += 1,
            done => done?,
        }
    }
    Ok(refused)
}

async fn insert(client: &mut Client, batch: &[Arc<RecentRequest>]) -> Result<(), Error> {
    if batch.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = batch.iter().map(|request| request.id.as_str()).collect();
    let times: Vec<f64> = batch.iter().map(|request| request.time).collect();
    let entries: Vec<String> = batch.iter().map(|request| entry(request)).collect();
    let transaction = client.transaction().await?;
    transaction.batch_execute(WRITE_LOCK).await?;
    transaction
        .execute(INSERT, &[&ids, &times, &entries])
        .await?;
    transaction.commit().await
}

/// Removes the requests that are not kept any longer, unless another gateway is doing it.
async fn trim(client: &mut Client, retention: Retention, now: SystemTime) -> Result<(), Error> {
    let transaction = client.transaction().await?;
    let is_free: bool = transaction.query_one(TRIM_LOCK, &[]).await?.get(0);
    if !is_free {
        return transaction.rollback().await;
    }
    let many = "DELETE FROM goodcall_requests WHERE seq <= \
                (SELECT max(seq) FROM goodcall_requests) - $1";
    transaction.execute(many, &[&(MOST_ROWS as i64)]).await?;
    if let Some(age) = retention.age {
        let oldest = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let oldest = oldest.saturating_sub(age).as_secs_f64();
        let old = "DELETE FROM goodcall_requests WHERE time < $1";
        transaction.execute(old, &[&oldest]).await?;
    }
    if let Some(most) = retention.bytes {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        transaction.execute(TRIM_BYTES, &[&most]).await?;
    }
    transaction.commit().await
}

/// Calls `take` with the JSON text of each request that a PostgreSQL store has, oldest first, until it
/// returns false.
///
/// # Errors
/// If the URL or the database cannot be used.
pub fn each_stored(
    url: &str,
    take: &mut dyn FnMut(String) -> bool,
) -> Result<(), GatewayConfigError> {
    let address = Address::read(url)?;
    let mut result = Ok(());
    super::block_on(async {
        result = read_all(&address, take).await;
    });
    let subject = StoreTarget::Postgres(url.to_owned());
    result.map_err(|fault| GatewayConfigError::caused(subject, fault))
}

/// Requests that are read at once.
const PAGE_ROWS: i64 = 10_000;

async fn read_all(address: &Address, take: &mut dyn FnMut(String) -> bool) -> Result<(), Fault> {
    let client = connect(address).await?;
    let select =
        "SELECT seq, entry::text FROM goodcall_requests WHERE seq > $1 ORDER BY seq LIMIT $2";
    let mut after = i64::MIN;
    loop {
        let rows = within(WRITE_TIME, client.query(select, &[&after, &PAGE_ROWS])).await?;
        for row in &rows {
            after = row.get(0);
            if !take(row.get(1)) {
                return Ok(());
            }
        }
        if (rows.len() as i64) < PAGE_ROWS {
            return Ok(());
        }
    }
}
