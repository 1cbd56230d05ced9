//! The threads that serve connections.
//!
//! Each has a runtime of its own. A connection stays on its thread, together with the connection to
//! the upstream that answers it, so a piece of a stream is passed on without waking another thread.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::net::TcpStream as Socket;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot, watch};

thread_local! {
    static WORKER: Cell<usize> = const { Cell::new(0) };
}

/// Returns the number of the worker that this thread is, or 0 on any other thread.
pub(crate) fn current_worker() -> usize {
    WORKER.get()
}

/// Changes when the gateway stops; dropping it says that its connection has ended.
pub(crate) type StopSignal = watch::Receiver<()>;

/// Threads that serve connections. They end when this is dropped.
pub(crate) struct Workers<F> {
    serve: F,
    all: Vec<Worker>,
}

struct Worker {
    sockets: mpsc::UnboundedSender<(Socket, StopSignal, OpenConnection)>,
    open: Arc<AtomicUsize>,
    ended: oneshot::Receiver<()>,
}

/// A connection that is counted as open at its worker.
struct OpenConnection(Arc<AtomicUsize>);

impl OpenConnection {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<F, S> Workers<F>
where
    F: Fn(TcpStream, StopSignal) -> S + Clone + Send + 'static,
    S: Future<Output = ()> + Send + 'static,
{
    /// Starts `count` threads, or as many of them as the system allows.
    pub(crate) fn start(count: usize, serve: F) -> Self {
        let all = (0..count).map_while(|number| Worker::start(number, &serve).ok());
        Self {
            all: all.collect(),
            serve,
        }
    }

    /// Gives a connection to the worker that has the fewest.
    pub(crate) fn give(&self, socket: TcpStream, stop: StopSignal) {
        let idlest = self
            .all
            .iter()
            .min_by_key(|worker| worker.open.load(Ordering::Relaxed));
        match idlest {
            // A socket that cannot be moved to another thread is broken.
            Some(worker) => {
                if let Ok(socket) = socket.into_std() {
                    let open = OpenConnection::new(&worker.open);
                    let _ = worker.sockets.send((socket, stop, open));
                }
            }
            // No thread could be started: serve on this one.
            None => drop(tokio::spawn((self.serve)(socket, stop))),
        }
    }

    /// Ends the threads with whatever they still serve, and waits for that.
    pub(crate) async fn end(self) {
        for worker in self.all {
            drop(worker.sockets);
            let _ = worker.ended.await;
        }
    }
}

impl Worker {
    fn start<F, S>(number: usize, serve: &F) -> io::Result<Self>
    where
        F: Fn(TcpStream, StopSignal) -> S + Clone + Send + 'static,
        S: Future<Output = ()> + Send + 'static,
    {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (sockets, mut given) =
            mpsc::unbounded_channel::<(Socket, StopSignal, OpenConnection)>();
        let (end, ended) = oneshot::channel();
        let serve = serve.clone();
        let work = move || {
            WORKER.set(number);
            runtime.block_on(async {
                while let Some((socket, stop, open)) = given.recv().await {
                    if let Ok(socket) = TcpStream::from_std(socket) {
                        let serving = serve(socket, stop);
                        tokio::spawn(async move {
                            serving.await;
                            drop(open);
                        });
                    }
                    // Let this connection make progress before the next one is taken: a connection
                    // uses the most memory while it starts.
                    tokio::task::yield_now().await;
                }
            });
            runtime.shutdown_background();
            let _ = end.send(());
        };
        let thread = std::thread::Builder::new().name(format!("goodcall-{number}"));
        thread.spawn(work)?;
        Ok(Self {
            sockets,
            open: Arc::default(),
            ended,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Both ends of a connection.
    async fn pair(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let address = listener.local_addr().unwrap();
        let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
        (near.unwrap(), far.unwrap().0)
    }

    /// Sends the number of its worker, and stays until the other side closes.
    async fn send_number(mut socket: TcpStream, stop: StopSignal) {
        let number = u8::try_from(current_worker()).unwrap();
        let _ = socket.write_all(&[number]).await;
        let _ = socket.read_u8().await;
        drop(stop);
    }

    #[tokio::test]
    async fn connection_goes_to_the_worker_with_the_fewest() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (_stopping, stop) = watch::channel(());
        let workers = Workers::start(3, send_number);
        let (mut open, mut seen) = (Vec::new(), Vec::new());
        for _ in 0..6 {
            let (mut near, far) = pair(&listener).await;
            workers.give(far, stop.clone());
            seen.push(near.read_u8().await.unwrap());
            open.push(near);
        }
        seen.sort_unstable();
        assert_eq!(seen, [0, 0, 1, 1, 2, 2]);
        // A closed connection is no longer counted.
        open.remove(4);
        while workers.all[1].open.load(Ordering::Relaxed) == 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let (mut near, far) = pair(&listener).await;
        workers.give(far, stop);
        assert_eq!(near.read_u8().await.unwrap(), 1);
    }

    #[tokio::test]
    async fn end_closes_open_connections() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (stopping, stop) = watch::channel(());
        let workers = Workers::start(2, send_number);
        let (mut near, far) = pair(&listener).await;
        workers.give(far, stop);
        near.read_u8().await.unwrap();
        workers.end().await;
        stopping.closed().await;
        assert_eq!(near.read(&mut [0]).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn without_threads_the_caller_serves() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (_stopping, stop) = watch::channel(());
        let workers = Workers::start(0, send_number);
        let (mut near, far) = pair(&listener).await;
        workers.give(far, stop);
        assert_eq!(near.read_u8().await.unwrap(), 0);
        drop(near);
        workers.end().await;
    }
}
