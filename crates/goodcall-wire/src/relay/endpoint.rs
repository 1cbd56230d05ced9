//! What the URL of a request says about it.

use crate::envelope::Provider;
use crate::protocol::{self, Framing, RequestUrl};

/// Where a request is sent: the protocol that it speaks, and what else its URL says.
///
/// ```
/// use goodcall_wire::Provider;
/// use goodcall_wire::relay::Endpoint;
///
/// let path = "/v1beta/models/gemini-3-pro:streamGenerateContent";
/// let endpoint = Endpoint::read(path, Some("alt=sse"), &|_| false).unwrap();
/// assert_eq!(endpoint.provider, Provider::Gemini);
/// assert_eq!(endpoint.model.as_deref(), Some("gemini-3-pro"));
/// assert_eq!(Endpoint::read("/v1/models", None, &|_| false), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Endpoint {
    /// The protocol.
    pub provider: Provider,
    /// The model, if the URL names it.
    pub model: Option<String>,
    /// Whether the reply is to be a stream, if the URL says so.
    pub streams: Option<bool>,
    pub(crate) framing: Framing,
}

impl Endpoint {
    /// Reads the URL of a `POST` request, whose headers `has_header` knows by their names in lower
    /// case. Returns `None` for one whose replies are not judged.
    pub fn read(
        path: &str,
        query: Option<&str>,
        has_header: &dyn Fn(&str) -> bool,
    ) -> Option<Self> {
        let url = RequestUrl {
            path: path.trim_end_matches('/'),
            query: query.unwrap_or_default(),
            has_header,
        };
        protocol::forms().find_map(|form| form.endpoint(&url))
    }

    pub(crate) fn new(provider: Provider) -> Self {
        Self {
            provider,
            model: None,
            streams: None,
            framing: protocol::form(provider).framing(),
        }
    }

    /// Sets what the URL says.
    pub(crate) fn of_model(mut self, model: &str, streams: bool) -> Self {
        let model = model.replace("%3A", ":").replace("%3a", ":");
        self.model = Some(model.replace("%2F", "/").replace("%2f", "/"));
        self.streams = Some(streams);
        self
    }
}

impl From<Provider> for Endpoint {
    fn from(provider: Provider) -> Self {
        Self::new(provider)
    }
}
