//! A model behind any OpenAI-compatible URL: local servers, gateways, providers.

mod stream;

use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use goodcall_wire::Provider;
use reqwest::{Response, StatusCode};
use serde_json::Value;

use crate::message::Reply;
use crate::model::{Model, ModelError, Prompt, TextSink};
use crate::{tls, wire};
use stream::ReplyAssembly;

/// The most bytes of one reply.
const MOST_BYTES: usize = 64 << 20;
/// The most characters of a server's error text that are passed on.
const MOST_CHARS: usize = 300;

/// A model behind an OpenAI-compatible URL.
///
/// ```no_run
/// use goodcall::openai::OpenAi;
///
/// let local = OpenAi::new("http://localhost:11434/v1", "qwen3")?;
/// let hosted = OpenAi::new("https://api.openai.com/v1", "gpt-5")?.key("…");
/// # Ok::<(), goodcall::ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct OpenAi {
    client: reqwest::Client,
    url: String,
    model: String,
    key: Option<SecretKey>,
    extra: Vec<(String, Value)>,
}

/// A secret that no debug output shows.
#[derive(Clone)]
struct SecretKey(String);

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

impl OpenAi {
    /// Returns the model of this name at this URL, which ends before `/chat/completions`.
    ///
    /// # Errors
    /// If the HTTP client cannot be created.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Result<Self, ModelError> {
        tls::install();
        let client = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .build()
            .map_err(|error| ModelError::new("cannot create an HTTP client").caused_by(error))?;
        Ok(Self {
            client,
            url: url.into().trim_end_matches('/').to_owned(),
            model: model.into(),
            key: None,
            extra: Vec::new(),
        })
    }

    /// Sets the API key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(SecretKey(key.into()));
        self
    }

    /// Adds a field to every request, such as `temperature`.
    #[must_use]
    pub fn with(mut self, field: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.push((field.into(), value.into()));
        self
    }

    /// Returns the body of a request.
    fn body(&self, prompt: &Prompt<'_>) -> Result<String, ModelError> {
        let messages = wire::messages(Provider::OpenAi, prompt.messages)?;
        let mut fields = vec![
            (
                "model".to_owned(),
                Value::from(self.model.as_str()).to_string(),
            ),
            ("messages".to_owned(), messages),
        ];
        if !prompt.tools.is_empty() {
            let tools = wire::tools(Provider::OpenAi, prompt.tools);
            fields.push(("tools".to_owned(), tools));
        }
        if prompt.on_text.is_some() {
            fields.push(("stream".to_owned(), "true".to_owned()));
            let usage = r#"{"include_usage":true}"#.to_owned();
            fields.push(("stream_options".to_owned(), usage));
        }
        for (name, value) in &self.extra {
            fields.push((name.clone(), value.to_string()));
        }
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| format!("{}:{value}", Value::from(name.as_str())))
            .collect();
        Ok(format!("{{{}}}", fields.join(",")))
    }

    /// Sends a request with this body as it is, and returns the status and the body of the reply,
    /// whatever they are.
    ///
    /// # Errors
    /// If there is no reply, or if it is too long.
    pub async fn exchange(&self, body: String) -> Result<(u16, String), ModelError> {
        let response = self.post(body).await?;
        let status = response.status().as_u16();
        Ok((status, text_of(response).await?))
    }

    async fn post(&self, body: String) -> Result<Response, ModelError> {
        let mut request = self
            .client
            .post(format!("{}/chat/completions", self.url))
            .header("content-type", "application/json")
            .body(body);
        if let Some(SecretKey(key)) = &self.key {
            request = request.bearer_auth(key);
        }
        request.send().await.map_err(|error| {
            // The URL is left out because it may hold a secret.
            ModelError::new(format!("no answer: {}", cause(&error.without_url()))).retryable()
        })
    }

    async fn send(&self, body: String) -> Result<Response, ModelError> {
        let response = self.post(body).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let text = text_of(response).await.unwrap_or_default();
        let text: String = text.chars().take(MOST_CHARS).collect();
        let error = ModelError::new(format!("HTTP {status}: {text}"));
        let passing = status.is_server_error()
            || status == StatusCode::TOO_MANY_REQUESTS
            || status == StatusCode::REQUEST_TIMEOUT;
        Err(if passing { error.retryable() } else { error })
    }
}

#[async_trait]
impl Model for OpenAi {
    fn name(&self) -> &str {
        &self.model
    }

    fn provider(&self) -> &str {
        "openai"
    }

    async fn reply(&self, prompt: Prompt<'_>) -> Result<Reply, ModelError> {
        let response = self.send(self.body(&prompt)?).await?;
        match prompt.on_text {
            Some(on_text) => streamed(response, on_text, &prompt).await,
            None => whole(response, &prompt).await,
        }
    }
}

/// Reads a reply in one piece.
async fn whole(response: Response, prompt: &Prompt<'_>) -> Result<Reply, ModelError> {
    let text = text_of(response).await?;
    Ok(wire::reply(Provider::OpenAi, &text, prompt.tools)?)
}

/// Reads a body as text, up to the limit.
async fn text_of(response: Response) -> Result<String, ModelError> {
    let mut text = Vec::new();
    let mut bytes = response.bytes_stream();
    while let Some(piece) = bytes.next().await {
        text.extend_from_slice(&piece.map_err(broken)?);
        if text.len() > MOST_BYTES {
            return Err(too_long());
        }
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn too_long() -> ModelError {
    ModelError::new(format!("the reply is longer than {MOST_BYTES} bytes"))
}

/// Reads a streamed reply.
async fn streamed(
    response: Response,
    on_text: TextSink<'_>,
    prompt: &Prompt<'_>,
) -> Result<Reply, ModelError> {
    let mut assembly = ReplyAssembly::new(wire::offered(prompt.tools));
    let mut bytes = response.bytes_stream();
    let mut read = 0;
    while let Some(piece) = bytes.next().await {
        let piece = match piece {
            Ok(piece) => piece,
            // The part that has arrived is kept, with its calls marked as cut off.
            Err(_) if assembly.has_begun() => break,
            Err(error) => return Err(broken(error)),
        };
        read += piece.len();
        if read > MOST_BYTES {
            return Err(too_long());
        }
        assembly.push(&piece, on_text)?;
    }
    assembly.finish(on_text)
}

fn broken(error: reqwest::Error) -> ModelError {
    ModelError::new(format!(
        "the reply broke off: {}",
        cause(&error.without_url())
    ))
    .retryable()
}

/// Returns the innermost cause: `Connection refused` says more than `error sending request`.
fn cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
