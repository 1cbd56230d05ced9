//! Every limit that a host sets, and every bound that keeps the core's work linear (law 7).
//!
//! Arguments and schemas are untrusted, so nothing grows without a bound. A call that exceeds a
//! limit gets a verdict that names it; it is never cut silently. Constants that only choose the
//! faster of two ways, or the length of a text, are beside their use.

/// Limits on one call. Start from [`Limits::default`] and change what you need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of raw arguments (default 16 MiB; never more than [`Limits::MOST_BYTES`]).
    pub max_bytes: usize,
    /// Nesting of arrays and objects (default 128; never more than [`Limits::MOST_DEPTH`]).
    pub max_depth: usize,
    /// Issues collected for one call; further ones are counted, not kept (default 256). With 0, what
    /// the schema finds wrong is neither listed nor counted: a refusal tells its reason alone, and is
    /// cheaper.
    pub max_issues: usize,
    /// Changes that may be made to one call before it is refused (default 1,000,000).
    pub max_changes: usize,
}

impl Limits {
    /// Positions are 32 bits wide.
    pub const MOST_BYTES: usize = 1 << 30;
    /// Conversions recurse once per level; this many levels fit the smallest usual thread stack.
    pub const MOST_DEPTH: usize = 256;

    /// Sets the bytes of raw arguments.
    #[must_use]
    pub fn max_bytes(mut self, most: usize) -> Self {
        self.max_bytes = most;
        self
    }

    /// Sets the nesting of arrays and objects.
    #[must_use]
    pub fn max_depth(mut self, most: usize) -> Self {
        self.max_depth = most;
        self
    }

    /// Sets how many issues are collected for one call. With 0 a refusal tells its reason alone.
    #[must_use]
    pub fn max_issues(mut self, most: usize) -> Self {
        self.max_issues = most;
        self
    }

    /// Sets how many changes may be made to one call.
    #[must_use]
    pub fn max_changes(mut self, most: usize) -> Self {
        self.max_changes = most;
        self
    }

    /// The byte limit in force.
    pub(crate) fn bytes(&self) -> usize {
        self.max_bytes.min(Self::MOST_BYTES)
    }

    /// The depth limit in force.
    pub(crate) fn depth(&self) -> usize {
        self.max_depth.min(Self::MOST_DEPTH)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_bytes: 16 << 20,
            max_depth: 128,
            max_issues: 256,
            max_changes: 1_000_000,
        }
    }
}

/// Bytes of one schema document.
pub(crate) const SCHEMA_BYTES: usize = 4 << 20;
/// Nesting of one schema document.
pub(crate) const SCHEMA_DEPTH: usize = 128;
/// Schemas that one value may meet in one place, references followed.
pub(crate) const SCHEMA_PATHS: u64 = 1 << 14;
/// Schemas that may lead from one to the next for one value.
pub(crate) const SCHEMA_STEPS: usize = 128;
/// Steps of one validation that lists errors: a base, and a share for each node of the value.
pub(crate) const WORK_LEAST: i64 = 1 << 16;
pub(crate) const WORK_EACH: i64 = 1 << 8;
/// A validation that lists no errors may take this many times as many steps, which are cheap.
pub(crate) const WORK_VERDICT: i64 = 1 << 6;
/// The same for the fast path, which gives up sooner.
pub(crate) const WORK_FAST_PATH: i64 = 1;
/// Checks of a schema's fast path, and validators that it may have for keywords it does not know; a
/// schema with more has no fast path.
pub(crate) const FAST_CHECKS: usize = 1 << 12;
pub(crate) const FAST_VALIDATORS: usize = 1 << 6;
/// How many of these validators may hold references, for which they copy all definitions.
pub(crate) const FAST_REFERRING_VALIDATORS: usize = 4;
/// Schemas inside schemas that a fast path is compiled from, references followed.
pub(crate) const FAST_DEPTH: usize = 24;
/// Checks of one value that may lead from one to the next in a fast path.
pub(crate) const FAST_CHAIN: usize = 8;
/// Memory of one compiled `pattern`.
pub(crate) const PATTERN_BYTES: usize = 1 << 20;
/// Steps back of one match of a `pattern` with look-around, and bytes of text that it is tried on.
pub(crate) const PATTERN_STEPS: usize = 2_000;
pub(crate) const PATTERN_TEXT: usize = 1 << 12;
/// References and branches that a search in a schema follows one after another.
pub(crate) const VIEW_HOPS: usize = 16;
/// Schemas that one search in a schema looks at.
pub(crate) const VIEW_SCHEMAS: usize = 1024;
/// Keys that are named when an object is described.
pub(crate) const DESCRIBED_KEYS: usize = 8;
/// Forms of a union, and values of a key, that are named when they are described.
pub(crate) const DESCRIBED_FORMS: usize = 4;
/// Characters of a schema's own words and examples that are told.
pub(crate) const DESCRIBED_CHARS: usize = 60;
/// Names that are listed as allowed, and that one name is compared with.
pub(crate) const LISTED_NAMES: usize = 1024;
/// Descriptions of places that one schema keeps.
pub(crate) const KEPT_EXPECTED: usize = 4096;
/// Compiled schemas kept by one cache, unless said otherwise.
pub(crate) const CACHED_SCHEMAS: usize = 1024;
/// Times that arguments may have been encoded as a string.
pub(crate) const ENCODINGS: usize = 8;

/// Times that the edits which a model is told are made on a copy, to see what is wrong then.
pub(crate) const ADVICE_ROUNDS: usize = 3;
/// Times that one call is validated while it is mended. Each is linear in the call.
pub(crate) const MEND_VALIDATIONS: usize = 64;
/// Rounds of mending, each of which mends all places that it can.
pub(crate) const MEND_ROUNDS: usize = 32;
/// Readings that are tried for one place; with more it is left alone.
pub(crate) const MEND_READINGS: usize = 8;
/// Trials inside trials.
pub(crate) const MEND_DEPTH: usize = 3;
/// Levels up and down at which a member that stands in the wrong place is looked for.
pub(crate) const PLACE_LEVELS: usize = 4;
/// Members of an object, or properties of a schema, that are compared with each other.
pub(crate) const MEND_WIDTH: usize = 256;

/// Bytes of a name that is compared letter by letter with others, which is quadratic.
pub(crate) const COMPARED_BYTES: usize = 64;
/// Levels of a value that are searched for a member before its default is used.
pub(crate) const SEARCHED_LEVELS: usize = 4;
/// Digits that a number with an exponent is written out to: `1e999999999` is a short text.
pub(crate) const WRITTEN_DIGITS: usize = 64;
/// Issues for which another place is searched: each search walks the value.
pub(crate) const PLACED_ISSUES: usize = 32;
/// Places that are named for one member: among more there is nothing to choose.
pub(crate) const NAMED_PLACES: usize = 4;
/// Bytes of a number that are scanned in order to explain it.
pub(crate) const NUMBER_BYTES: usize = 64;
/// Bytes of a key that a look ahead accepts: it may be repeated at every quote.
pub(crate) const KEY_BYTES: usize = 200;
