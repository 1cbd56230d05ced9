//! Verdicts, issues and changes as JSON, in the form of `docs/protocol.md`.

use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

use super::phrase;
use crate::report::{Change, Changes, Issue, IssueKind, Reason, Refusal, Verdict};
use crate::rule::Level;
use crate::tree::Tree;

/// Serializes as `{verdict, reason, arguments, changes, issues}`; `reason` is left out of a call
/// that may run and `arguments` of a bad one.
///
/// ```
/// use goodcall_core::{Schema, check};
///
/// let schema = Schema::compile(&serde_json::json!({"properties": {"n": {"type": "integer"}}}))?;
/// assert_eq!(
///     serde_json::to_string(&check(r#"{"n": "5"}"#, &schema)).unwrap(),
///     r#"{"verdict":"mended","arguments":{"n":5},"changes":[{"rule":"string-to-number","#.to_owned()
///         + r#""level":"safe","path":"/n","before":"5","after":5,"span":[6,9]}],"issues":[]}"#
/// );
/// # Ok::<(), goodcall_core::SchemaError>(())
/// ```
impl Serialize for Verdict<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut out = to.serialize_map(None)?;
        out.serialize_entry("verdict", self.name())?;
        if let Verdict::Bad(bad) = self {
            out.serialize_entry("reason", &bad.reason)?;
        }
        if let Some(arguments) = self.arguments() {
            out.serialize_entry("arguments", arguments)?;
        }
        out.serialize_entry("changes", self.changes())?;
        out.serialize_entry("issues", self.issues())?;
        if let Verdict::Bad(bad) = self
            && bad.more > 0
        {
            out.serialize_entry("more", &bad.more)?;
        }
        out.end()
    }
}

/// Serializes as `{reason, changes, issues}`.
impl Serialize for Refusal {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut out = to.serialize_map(None)?;
        out.serialize_entry("reason", &self.reason)?;
        out.serialize_entry("changes", &self.changes)?;
        out.serialize_entry("issues", &self.issues)?;
        if self.more > 0 {
            out.serialize_entry("more", &self.more)?;
        }
        out.end()
    }
}

/// Serializes as `{rule, level, path, before, after, from, span}`; `from` is left out unless a
/// value was moved.
impl Serialize for Change {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let side = |text| {
            if self.is_text {
                Side::Text(text)
            } else {
                Side::Json(text)
            }
        };
        let more = usize::from(self.from.is_some()) + usize::from(self.count > 1);
        let mut out = to.serialize_struct("Change", 6 + more)?;
        out.serialize_field("rule", &self.rule)?;
        out.serialize_field("level", &self.level)?;
        out.serialize_field("path", self.pointer.as_str())?;
        out.serialize_field("before", &self.before.as_deref().map(side))?;
        out.serialize_field("after", &self.after.as_deref().map(side))?;
        if let Some(from) = &self.from {
            out.serialize_field("from", from.as_str())?;
        }
        out.serialize_field("span", &[self.span.start, self.span.end])?;
        if self.count > 1 {
            out.serialize_field("count", &self.count)?;
        }
        out.end()
    }
}

impl Serialize for Changes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self)
    }
}

/// Serializes as `{path, code, expected, got, allowed, nearest}`; `allowed` and `nearest` are left
/// out if there are none.
impl Serialize for Issue {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let allowed: Vec<_> = self.expected.allowed.iter().map(String::as_str).collect();
        let mut out = to.serialize_map(None)?;
        out.serialize_entry("path", self.pointer.as_str())?;
        out.serialize_entry("code", &self.kind)?;
        out.serialize_entry("expected", &phrase::expected(&self.expected))?;
        let got = self.actual.as_ref().map(ToString::to_string);
        out.serialize_entry("got", &got)?;
        if !allowed.is_empty() {
            let allowed: Vec<_> = allowed.into_iter().map(Side::Json).collect();
            out.serialize_entry("allowed", &allowed)?;
        }
        if let Some(nearest) = &self.nearest {
            out.serialize_entry("nearest", nearest)?;
        }
        out.end()
    }
}

/// One side of a change, or an allowed value.
enum Side<'t> {
    /// A piece of raw text.
    Text(&'t str),
    /// JSON; a text that is not valid JSON is shown as a string.
    Json(&'t str),
}

impl Serialize for Side<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Side::Text(text) => to.serialize_str(text),
            Side::Json(text) => match Tree::parse(text) {
                Ok(tree) => tree.serialize(to),
                Err(_) => to.serialize_str(text),
            },
        }
    }
}

macro_rules! serialize_name {
    ($($kind:ident)*) => {
        $(
            /// Serializes as its name.
            impl Serialize for $kind {
                fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                    to.serialize_str(self.name())
                }
            }
        )*
    };
}

serialize_name!(Reason IssueKind Level);
