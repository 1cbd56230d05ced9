//! How to read.

use crate::call::Stop;
use crate::limits::Limits;
use crate::policy::Policy;

/// Options of [`read`](crate::read).
///
/// ```
/// use goodcall_core::{Policy, ReadOptions, read};
///
/// // Which quote ends the string? The schema's keys settle it.
/// let raw = r#"{"text": "say "hi", now", "to": "all"}"#;
/// assert!(read(raw, &ReadOptions::new()).is_err());
/// let reading = read(raw, &ReadOptions::new().keys(["text", "to"])).unwrap();
/// assert_eq!(reading.tree.to_json(), r#"{"text":"say \"hi\", now","to":"all"}"#);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    pub(crate) policy: Policy,
    pub(crate) limits: Limits,
    pub(crate) stop: Stop,
    /// Sorted.
    pub(crate) keys: Vec<String>,
    pub(crate) unwrap: bool,
}

impl ReadOptions {
    /// The default policy and limits; nothing else is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// Which departures from JSON are accepted.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// How large the text may be.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How the model's message ended.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// The property names of the schema, at any depth. They settle where a string with quotes
    /// inside ends.
    #[must_use]
    pub fn keys<K: Into<String>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.keys = keys.into_iter().map(Into::into).collect();
        self.keys.sort_unstable();
        self
    }

    /// Read a string at the root that holds an object or an array as that, also where the text is
    /// valid JSON. Off by default: what is valid is left alone.
    #[must_use]
    pub fn unwrap_strings(mut self, unwrap: bool) -> Self {
        self.unwrap = unwrap;
        self
    }
}
