//! The kinds of remarks: how bad each is, whom it concerns, and since when a provider's rule is known.

use std::fmt;
use std::str::FromStr;

use super::LintParty;

/// How bad a remark is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LintSeverity {
    /// The definition could be clearer.
    Note,
    /// Models will call the tool wrongly, or some requests with it are refused.
    Warning,
    /// Calls break: requests with the tool are refused, or nothing can be checked.
    Error,
}

impl LintSeverity {
    /// All severities, from the worst.
    pub const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Note];

    /// The name in lower case, such as `warning`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for LintSeverity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error for a name that is not a [`LintSeverity`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownSeverity(String);

impl fmt::Display for UnknownSeverity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown severity `{}`: expected note, warning or error",
            self.0
        )
    }
}

impl std::error::Error for UnknownSeverity {}

impl FromStr for LintSeverity {
    type Err = UnknownSeverity;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|one| one.name() == name);
        found.ok_or_else(|| UnknownSeverity(name.to_owned()))
    }
}

/// A rule of a provider: the field of a request that it holds for, and when that was last seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LintClaim {
    /// The field, such as `parameters`.
    pub field: &'static str,
    /// Year and month, such as `2025-11`.
    pub as_of: &'static str,
}

/// A kind of remark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) severity: LintSeverity,
    pub(super) who: LintParty,
    pub(super) claim: Option<LintClaim>,
}

const fn kind(name: &'static str, severity: LintSeverity, who: LintParty) -> Kind {
    Kind {
        name,
        severity,
        who,
        claim: None,
    }
}

impl Kind {
    const fn holds_for(mut self, field: &'static str, as_of: &'static str) -> Self {
        self.claim = Some(LintClaim { field, as_of });
        self
    }
}

use LintParty::{Anthropic, Gemini, Goodcall, McpClient, Model, OpenAi};
use LintSeverity::{Error, Note, Warning};

pub(super) const INVALID_SCHEMA: Kind = kind("invalid-schema", Error, Goodcall);
pub(super) const INVALID_OUTPUT: Kind = kind("invalid-output-schema", Error, Goodcall);
pub(super) const ODD_SCHEMA: Kind = kind("odd-schema", Warning, Goodcall);
pub(super) const OUTPUT_ROOT: Kind =
    kind("output-root", Warning, McpClient).holds_for("outputSchema", "2025-11");
pub(super) const MISREAD_HINTS: Kind = kind("contradictory-hints", Warning, McpClient);
pub(super) const NO_HINTS: Kind = kind("no-hints", Note, McpClient);

pub(super) const TOO_MANY_TOOLS: Kind =
    kind("too-many-tools", Error, OpenAi).holds_for("tools", "2026-11");
pub(super) const NAME: Kind = kind("tool-name", Error, OpenAi).holds_for("name", "2026-11");
pub(super) const ROOT: Kind = kind("root-type", Error, OpenAi).holds_for("parameters", "2026-11");
pub(super) const ROOT_PROPERTIES: Kind =
    kind("root-properties", Warning, OpenAi).holds_for("parameters", "2026-11");
pub(super) const ROOT_UNION: Kind =
    kind("root-union", Error, OpenAi).holds_for("parameters", "2026-11");
pub(super) const NO_ITEMS: Kind =
    kind("array-without-items", Error, OpenAi).holds_for("parameters", "2026-11");
pub(super) const TOO_DEEP: Kind =
    kind("too-deep", Warning, OpenAi).holds_for("strict: true", "2026-11");
pub(super) const KEY: Kind = kind("key", Error, Anthropic).holds_for("input_schema", "2026-11");
/// Since then `parametersJsonSchema` takes what `parameters` refuses.
pub(super) const SUBSET: Kind =
    kind("schema-subset", Warning, Gemini).holds_for("parameters", "2025-11");

pub(super) const MANY_TOOLS: Kind = kind("many-tools", Note, Model);
pub(super) const TOOL_DESCRIPTION: Kind = kind("tool-description", Warning, Model);
pub(super) const SIMILAR_NAMES: Kind = kind("similar-names", Warning, Model);
pub(super) const WRAPPER_KEY: Kind = kind("wrapper-key", Warning, Model);
pub(super) const NEGATED_SWITCH: Kind = kind("negated-switch", Warning, Model);
pub(super) const DESCRIPTION: Kind = kind("description", Note, Model);
pub(super) const OPEN_OBJECT: Kind = kind("open-object", Note, Model);
pub(super) const NESTING: Kind = kind("nesting", Note, Model);
pub(super) const RECURSION: Kind = kind("recursion", Note, Model);
