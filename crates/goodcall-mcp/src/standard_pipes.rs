//! The standard input and output of the proxy itself.
//!
//! tokio leaves both to other threads, because they may be files. That costs two changes of threads for
//! each message, so on Linux a pipe or a socket is read and written here as soon as it is ready.

use tokio::io::{AsyncRead, AsyncWrite};

/// The input of [`standard_pipes`].
pub type StandardInput = Box<dyn AsyncRead + Send + Unpin>;
/// The output of [`standard_pipes`].
pub type StandardOutput = Box<dyn AsyncWrite + Send + Unpin>;

/// The standard input and output of this process, for [`bridge`](crate::bridge()).
///
/// # Panics
/// Outside of a tokio runtime.
pub fn standard_pipes() -> (StandardInput, StandardOutput) {
    #[cfg(target_os = "linux")]
    return (linux::input(), linux::output());
    #[cfg(not(target_os = "linux"))]
    (Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout()))
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{File, Metadata};
    use std::io;
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::fs::{FileTypeExt, MetadataExt};

    use tokio::net::UnixStream;
    use tokio::net::unix::pipe;

    use super::{StandardInput, StandardOutput};

    pub(super) fn input() -> StandardInput {
        // A pipe that is opened again does not wait, and stays as it was for others. Nothing else but
        // a pipe is opened.
        if let Ok(pipe) = pipe::OpenOptions::new().open_receiver("/proc/self/fd/0") {
            return Box::new(pipe);
        }
        match socket(&io::stdin()) {
            Ok(socket) => Box::new(socket),
            Err(_) => Box::new(tokio::io::stdin()),
        }
    }

    pub(super) fn output() -> StandardOutput {
        if let Ok(pipe) = pipe::OpenOptions::new().open_sender("/proc/self/fd/1") {
            return Box::new(pipe);
        }
        match socket(&io::stdout()) {
            Ok(socket) => Box::new(socket),
            Err(_) => Box::new(tokio::io::stdout()),
        }
    }

    /// The socket behind a standard file; Node gives sockets to the processes that it starts. From
    /// now on it does not wait for any that share it, so it must not be standard error as well, which
    /// the server inherits.
    fn socket(file: &impl AsFd) -> io::Result<UnixStream> {
        let (file, metadata) = opened(file)?;
        let (_, errors) = opened(&io::stderr())?;
        let is_shared = (metadata.dev(), metadata.ino()) == (errors.dev(), errors.ino());
        if is_shared || !metadata.file_type().is_socket() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let socket = std::os::unix::net::UnixStream::from(OwnedFd::from(file));
        socket.set_nonblocking(true)?;
        UnixStream::from_std(socket)
    }

    fn opened(file: &impl AsFd) -> io::Result<(File, Metadata)> {
        let file = File::from(file.as_fd().try_clone_to_owned()?);
        let metadata = file.metadata()?;
        Ok((file, metadata))
    }
}
