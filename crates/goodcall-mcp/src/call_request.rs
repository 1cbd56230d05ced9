//! The parts of a call and of its result, as byte ranges.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use goodcall_core::Tree;

use crate::catalogue::HeaderMirror;
use crate::frame::{self, Frame, Outline};
use crate::json_rpc;

/// Characters of a tool's error that the detector of loops looks at.
const ERROR_CHARS: usize = 400;

/// A call's parts.
pub(crate) struct CallRequest<'f> {
    pub(crate) bytes: &'f [u8],
    pub(crate) id: &'f str,
    pub(crate) params: Range<usize>,
    pub(crate) name_span: Range<usize>,
    pub(crate) name: Cow<'f, str>,
    /// `None` if there are no arguments.
    pub(crate) arguments: Option<(Range<usize>, &'f str)>,
    pub(crate) typed: bool,
    /// Is the result a task, and not the tool's?
    pub(crate) task: bool,
}

impl<'f> CallRequest<'f> {
    /// The parts of a call. An error is the answer to one that can be read in two ways, or
    /// nothing for one that is not what the protocol asks for: the server says so itself.
    pub(crate) fn read(bytes: &'f [u8], outline: &Outline) -> Result<Self, Option<Frame>> {
        let id = outline.id.as_ref().and_then(|span| frame::raw(bytes, span));
        let id = id.ok_or(None)?;
        let params = outline.params.clone().ok_or(None)?;
        if outline.twice
            || frame::has_twice(bytes, &params, &["name", "arguments", "_meta", "task"])
        {
            let text = "a key of the request stands there twice";
            return Err(Some(json_rpc::error(id, json_rpc::INVALID_REQUEST, text)));
        }
        let get = |key: &str| frame::member(bytes, &params, key);
        let name_span = get("name").ok_or(None)?;
        let name = frame::text(bytes, &name_span).ok_or(None)?;
        let arguments = match get("arguments") {
            Some(span) => Some((span.clone(), frame::raw(bytes, &span).ok_or(None)?)),
            None => None,
        };
        let version = json_rpc::version(bytes, Some(&params));
        Ok(Self {
            bytes,
            id,
            task: get("task").is_some(),
            typed: json_rpc::is_typed(version.as_deref()),
            params,
            name_span,
            name,
            arguments,
        })
    }

    pub(crate) fn unreadable(bytes: &'f [u8], outline: &Outline) -> Self {
        let id = outline.id.as_ref().and_then(|span| frame::raw(bytes, span));
        Self {
            bytes,
            id: id.unwrap_or("null"),
            params: 0..0,
            name_span: 0..0,
            name: Cow::Borrowed(""),
            arguments: None,
            typed: false,
            task: false,
        }
    }

    /// The answer to a call that is not forwarded. Who asked for a task cannot read a tool's
    /// result in its place.
    pub(crate) fn refusal(&self, text: &str, reason: &str) -> Frame {
        match self.task {
            true => json_rpc::error(self.id, json_rpc::INVALID_PARAMS, text),
            false => json_rpc::refusal(self.id, text, reason, self.typed),
        }
    }
}

/// The mirrored arguments of a mended call.
pub(crate) fn mirrored(
    mirrors: &[HeaderMirror],
    arguments: Option<&Tree<'_>>,
) -> Vec<(String, Option<String>)> {
    let value = |mirror: &HeaderMirror| {
        let mut node = arguments?.root();
        for key in &mirror.path {
            node = node.get(key)?;
        }
        let text = node.as_str().or_else(|| node.digits()).map(str::to_owned);
        text.or_else(|| node.as_bool().map(|truth| truth.to_string()))
    };
    let all = mirrors
        .iter()
        .map(|mirror| (mirror.header.clone(), value(mirror)));
    all.collect()
}

/// The first text of a result's content.
pub(crate) fn first_text(bytes: &[u8], result: &Range<usize>) -> Option<String> {
    let content = frame::member(bytes, result, "content")?;
    let first = frame::elements(bytes, &content)?.into_iter().next()?;
    let text = frame::member(bytes, &first, "text")?;
    frame::text(bytes, &text).map(|text| clip(&text))
}

pub(crate) fn clip(text: &str) -> String {
    text.chars().take(ERROR_CHARS).collect()
}

pub(crate) fn fingerprint(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
