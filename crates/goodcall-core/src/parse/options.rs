//! Options of reading.

use super::lenient;
use crate::limits::Limits;
use crate::policy::Policy;
use crate::schema::Schema;
use crate::stop::StopReason;

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
    pub(crate) stop: StopReason,
    /// Sorted.
    pub(crate) keys: Vec<String>,
    pub(crate) schema: Option<Schema>,
    pub(crate) unwrap: bool,
}

impl ReadOptions {
    /// Returns the default policy and limits, without a schema.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets which departures from JSON are accepted.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets how large and how deep the text may be.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets how the model's message ended. It decides whether missing brackets may be closed.
    #[must_use]
    pub fn stop(mut self, stop: StopReason) -> Self {
        self.stop = stop;
        self
    }

    /// Sets the property names of the schema, at any depth. They settle where a string with quotes
    /// inside it ends.
    #[must_use]
    pub fn keys<K: Into<String>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.keys = keys.into_iter().map(Into::into).collect();
        self.keys.sort_unstable();
        self
    }

    /// Takes the property names from a schema, and from its root type whether a string at the root
    /// is to be unwrapped.
    #[must_use]
    pub fn schema(mut self, schema: &Schema) -> Self {
        self.unwrap = !schema.admits_root_string();
        self.schema = Some(schema.clone());
        self
    }

    /// The known keys, sorted.
    pub(crate) fn known_keys(&self) -> &[String] {
        match &self.schema {
            Some(schema) if self.keys.is_empty() => schema.property_names(),
            _ => &self.keys,
        }
    }

    /// What the lenient parser needs to know; the keys are the known ones.
    pub(super) fn for_lenient<'s>(&'s self, keys: &'s [String]) -> lenient::Settings<'s> {
        lenient::Settings {
            limits: &self.limits,
            keys,
            stop: self.stop,
        }
    }

    /// Reads a string at the root that holds an object or an array as that object or array, even
    /// if the text is valid JSON. By default valid JSON is left alone.
    #[must_use]
    pub fn unwrap_strings(mut self) -> Self {
        self.unwrap = true;
        self
    }
}
