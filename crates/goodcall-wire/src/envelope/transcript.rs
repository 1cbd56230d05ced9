//! A conversation in no provider's form, which can be written in any.

use super::convert::{ConvertError, write_request};
use super::{Answer, Provider};
use crate::call::RawCall;

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TranscriptMessage {
    /// `system`, `user` or `assistant`, or another role that the provider knows.
    pub role: String,
    /// The parts, in order.
    pub parts: Vec<TranscriptPart>,
    /// Members that are added to a chat message as they are, such as `"reasoning_content":"…"`.
    /// Other forms have no place for them.
    pub members: Vec<String>,
}

impl TranscriptMessage {
    /// Returns a message without parts.
    pub fn new(role: impl Into<String>) -> Self {
        Self {
            role: role.into(),
            parts: Vec::new(),
            members: Vec::new(),
        }
    }
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TranscriptPart {
    /// Text.
    Text(String),
    /// An image of the user.
    Image(TranscriptImage),
    /// A call of the model.
    Call(RawCall),
    /// The result of a call, with the call that it answers.
    Result(RawCall, Answer),
    /// A block or an item in the form of the target, which is written as it is: reasoning that the
    /// provider demands back. Chat messages have no place for it.
    Own(String),
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TranscriptImage {
    /// An image that the provider fetches.
    Url(String),
    /// An image in the message itself.
    #[non_exhaustive]
    Data {
        /// Such as `image/png`.
        media_type: String,
        /// The bytes in base64.
        base64: String,
    },
}

impl TranscriptImage {
    /// Returns an image of this media type with its bytes in base64.
    pub fn data(media_type: impl Into<String>, base64: impl Into<String>) -> Self {
        TranscriptImage::Data {
            media_type: media_type.into(),
            base64: base64.into(),
        }
    }

    /// The image as a URL, with its bytes inside if they are here.
    pub(super) fn to_url(&self) -> String {
        match self {
            TranscriptImage::Url(url) => url.clone(),
            TranscriptImage::Data { media_type, base64 } => {
                format!("data:{media_type};base64,{base64}")
            }
        }
    }

    /// The media type and the bytes, which some forms require.
    pub(super) fn bytes(&self, to: Provider) -> Result<(&str, &str), ConvertError> {
        match self {
            TranscriptImage::Data { media_type, base64 } => Ok((media_type, base64)),
            TranscriptImage::Url(_) => Err(ConvertError(format!(
                "the form of {} has no image by URL: fetch it and send its bytes",
                to.name()
            ))),
        }
    }
}

/// Writes a conversation in a provider's form: a list of messages, or an object with the system prompt
/// and the messages where the provider keeps the prompt outside of the list. Arguments keep their
/// digits, and an error is flagged where the form has a flag.
///
/// ```
/// use goodcall_wire::{Provider, TranscriptMessage, TranscriptPart, transcript};
///
/// let mut message = TranscriptMessage::new("user");
/// message.parts.push(TranscriptPart::Text("Hello".to_owned()));
/// assert_eq!(
///     transcript(Provider::Gemini, vec![message])?,
///     r#"[{"role":"user","parts":[{"text":"Hello"}]}]"#
/// );
/// # Ok::<(), goodcall_wire::ConvertError>(())
/// ```
///
/// # Errors
/// If the form has no place for a part: an image by URL or in a reply, arguments that are not a JSON
/// object, any conversation for MCP.
pub fn transcript(to: Provider, messages: Vec<TranscriptMessage>) -> Result<String, ConvertError> {
    if to == Provider::Mcp {
        return Err(ConvertError::no_conversation());
    }
    write_request(to, messages, None)
}
