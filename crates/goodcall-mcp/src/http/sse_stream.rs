//! The old SSE transport, for servers that speak no other: everything comes over one stream, whose
//! first event names the address for requests.

use std::collections::HashSet;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use reqwest::Url;
use reqwest::header::HeaderMap;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::response_reader::{EventReader, NextEvent, message_of, read_events};
use super::upstream::describe_error;
use super::url_client::{OpenRequest, RequestFailure, UrlClientLink};
use crate::frame::{FrameContent, Message};
use crate::json_rpc;

/// How long a server may take to name the address for requests.
const ENDPOINT_LIMIT: Duration = Duration::from_secs(10);

/// The stream of a server that speaks the old transport.
#[derive(Default)]
pub(super) struct SseStream {
    /// The address for requests.
    endpoint: Option<Url>,
    /// The requests that are not answered, by their ids as they are written.
    open: HashSet<String>,
    reader: Option<AbortHandle>,
    has_ended: bool,
}

impl UrlClientLink {
    fn sse(&self) -> MutexGuard<'_, SseStream> {
        self.sse.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The address for requests, if the server speaks the old transport.
    pub(super) fn sse_endpoint(&self) -> Option<Url> {
        self.sse().endpoint.clone()
    }

    /// Ends the stream.
    pub(super) fn end_sse(&self) {
        if let Some(reader) = self.sse().reader.take() {
            reader.abort();
        }
    }

    /// Opens the stream. Returns false if the server does not speak the old transport.
    pub(super) async fn open_sse(self: &Arc<Self>) -> bool {
        let opened = timeout(ENDPOINT_LIMIT, async {
            let response = self.open_stream(None).await?;
            let mut reader = read_events(response, self.max_frame);
            while let NextEvent::Event(event) = reader.next().await {
                if event.event.as_deref() == Some("endpoint") {
                    return Some((event.data?, reader));
                }
            }
            None
        });
        let Ok(Some((address, reader))) = opened.await else {
            return false;
        };
        let here = self.upstream.url();
        // Requests carry secret headers, which are for this server only.
        let endpoint = here.join(address.trim()).ok();
        let Some(endpoint) = endpoint.filter(|url| url.origin() == here.origin()) else {
            return false;
        };
        let link = Arc::clone(self);
        let task = tokio::spawn(async move { link.deliver_stream(reader).await });
        let mut sse = self.sse();
        sse.endpoint = Some(endpoint);
        sse.reader = Some(task.abort_handle());
        true
    }

    /// Sends a request whose answer comes over the stream; `None` if there is no stream.
    pub(super) async fn exchange_sse(
        &self,
        request: &OpenRequest,
    ) -> Option<Result<(), RequestFailure>> {
        let endpoint = self.sse_endpoint()?;
        {
            let mut sse = self.sse();
            if sse.has_ended {
                let why = "the server has closed its stream".to_owned();
                return Some(Err(RequestFailure::Other(why)));
            }
            sse.open.insert(request.id.clone());
        }
        let frame = request.frame.clone();
        let sent = self
            .upstream
            .post_to(endpoint, HeaderMap::new(), frame)
            .await;
        let why = match sent {
            Ok(response) if response.status().is_success() => return Some(Ok(())),
            Ok(response) => format!("the server answered with {}", response.status()),
            Err(error) => format!("the server cannot be reached: {}", describe_error(error)),
        };
        // It may have been answered over the stream nevertheless.
        let is_open = self.sse().open.remove(&request.id);
        Some(if is_open {
            Err(RequestFailure::Other(why))
        } else {
            Ok(())
        })
    }

    fn answered(&self, ids: &[&str]) {
        let mut sse = self.sse();
        for id in ids {
            sse.open.remove(*id);
        }
    }

    /// Delivers the messages of the stream, and an error for what is not answered at its end.
    async fn deliver_stream<S>(&self, mut reader: EventReader<S>)
    where
        S: Stream<Item = reqwest::Result<Bytes>> + Unpin,
    {
        while let NextEvent::Event(event) = reader.next().await {
            let Some(data) = message_of(&event) else {
                continue;
            };
            let content = FrameContent::read(data.as_bytes());
            let answers = content.messages().iter();
            let answers = answers.filter(|message| message.method().is_none());
            let ids: Vec<_> = answers.filter_map(Message::raw_id).collect();
            self.answered(&ids);
            self.deliver(data.as_bytes().to_vec()).await;
        }
        let open = {
            let mut sse = self.sse();
            sse.has_ended = true;
            std::mem::take(&mut sse.open)
        };
        for id in open {
            let why = "the server ended the stream before it answered";
            let error = json_rpc::error(&id, json_rpc::CLOSED, why);
            self.deliver(error).await;
        }
    }
}
