//! The threads that serve connections.
//!
//! Each has a runtime of its own. A connection stays on the thread that it was given to, together
//! with the connection to the upstream that answers it: a piece of a stream goes from one to the
//! other without another thread being woken.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::net::TcpStream as Socket;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot, watch};

thread_local! {
    static HERE: Cell<usize> = const { Cell::new(0) };
}

/// The number of the worker that this thread is; 0 on a thread that is none.
pub(crate) fn here() -> usize {
    HERE.get()
}

/// Told when the gateway stops.
pub(crate) type StopReason = watch::Receiver<()>;

/// Threads that serve connections as they are told. They end when this is dropped.
pub(crate) struct Workers<F> {
    serve: F,
    all: Vec<Worker>,
}

struct Worker {
    sockets: mpsc::UnboundedSender<(Socket, StopReason, Open)>,
    open: Arc<AtomicUsize>,
    ended: oneshot::Receiver<()>,
}

/// One of the connections of a worker.
struct Open(Arc<AtomicUsize>);

impl Open {
    fn new(of: &Arc<AtomicUsize>) -> Self {
        of.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(of))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<F, S> Workers<F>
where
    F: Fn(TcpStream, StopReason) -> S + Clone + Send + 'static,
    S: Future<Output = ()> + Send + 'static,
{
    /// So many threads, or as many of them as the system gives.
    pub(crate) fn start(count: usize, serve: F) -> Self {
        let all = (0..count).map_while(|number| Worker::start(number, &serve).ok());
        Self {
            all: all.collect(),
            serve,
        }
    }

    /// Has a connection served, by the worker that has the fewest.
    pub(crate) fn give(&self, socket: TcpStream, stop: StopReason) {
        let idlest = self
            .all
            .iter()
            .min_by_key(|worker| worker.open.load(Ordering::Relaxed));
        match idlest {
            // What cannot be moved to another thread is broken.
            Some(worker) => {
                if let Ok(socket) = socket.into_std() {
                    let open = Open::new(&worker.open);
                    let _ = worker.sockets.send((socket, stop, open));
                }
            }
            // No thread could be had: here, then.
            None => drop(tokio::spawn((self.serve)(socket, stop))),
        }
    }

    /// Ends the threads with whatever they still serve, and waits for it.
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
        F: Fn(TcpStream, StopReason) -> S + Clone + Send + 'static,
        S: Future<Output = ()> + Send + 'static,
    {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (sockets, mut given) = mpsc::unbounded_channel::<(Socket, StopReason, Open)>();
        let (end, ended) = oneshot::channel();
        let serve = serve.clone();
        let work = move || {
            HERE.set(number);
            runtime.block_on(async {
                while let Some((socket, stop, open)) = given.recv().await {
                    if let Ok(socket) = TcpStream::from_std(socket) {
                        let serving = serve(socket, stop);
                        tokio::spawn(async move {
                            serving.await;
                            drop(open);
                        });
                    }
                    // What is open goes on first: its beginning takes the most memory.
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

    /// Says which worker it is, and stays until the other side goes away.
    async fn tell(mut socket: TcpStream, stop: StopReason) {
        let number = u8::try_from(here()).unwrap();
        let _ = socket.write_all(&[number]).await;
        let _ = socket.read_u8().await;
        drop(stop);
    }

    #[tokio::test]
    async fn a_connection_goes_to_the_worker_that_has_the_fewest() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (_stopping, stop) = watch::channel(());
        let workers = Workers::start(3, tell);
        let (mut open, mut seen) = (Vec::new(), Vec::new());
        for _ in 0..6 {
            let (mut near, far) = pair(&listener).await;
            workers.give(far, stop.clone());
            seen.push(near.read_u8().await.unwrap());
            open.push(near);
        }
        seen.sort_unstable();
        assert_eq!(seen, [0, 0, 1, 1, 2, 2]);
        // One that is gone makes room.
        open.remove(4);
        while workers.all[1].open.load(Ordering::Relaxed) == 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let (mut near, far) = pair(&listener).await;
        workers.give(far, stop);
        assert_eq!(near.read_u8().await.unwrap(), 1);
    }

    #[tokio::test]
    async fn the_end_takes_what_is_open_with_it() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (stopping, stop) = watch::channel(());
        let workers = Workers::start(2, tell);
        let (mut near, far) = pair(&listener).await;
        workers.give(far, stop);
        near.read_u8().await.unwrap();
        workers.end().await;
        stopping.closed().await;
        assert_eq!(near.read(&mut [0]).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn without_threads_it_is_served_here() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (_stopping, stop) = watch::channel(());
        let workers = Workers::start(0, tell);
        let (mut near, far) = pair(&listener).await;
        workers.give(far, stop);
        assert_eq!(near.read_u8().await.unwrap(), 0);
        drop(near);
        workers.end().await;
    }
}
