//! Places of keywords in a schema document.

use std::fmt;

use jsonschema::paths::Location;

/// The place of a keyword in the schema document, shared with the validator: cheap to copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeywordPlace(Location);

impl KeywordPlace {
    /// A keyword of the document's root.
    pub(crate) fn at_root(name: &str) -> Self {
        Self(Location::new().join(name))
    }

    /// The place as a JSON Pointer.
    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The keyword itself; for one that is the name of a member or an index, that.
    pub(super) fn name(&self) -> &str {
        self.as_str().rsplit('/').next().unwrap_or_default()
    }

    /// The place of another keyword of the same subschema.
    pub(super) fn with_name(&self, name: &str) -> Self {
        let count = self.0.segments().count().saturating_sub(1);
        let around: Location = self.0.segments().take(count).collect();
        Self(around.join(name))
    }
}

impl From<Location> for KeywordPlace {
    fn from(location: Location) -> Self {
        Self(location)
    }
}

impl fmt::Display for KeywordPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
