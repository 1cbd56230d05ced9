//! Keeps compiled schemas by their content.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use serde_json::Value;

use super::{Schema, SchemaError};
use crate::limits::CACHED_SCHEMAS;
use crate::tree::Pointer;

/// A bounded cache of compiled schemas, one entry per content, shared between threads and by its
/// clones. When it is full, the least recently used schema is dropped.
///
/// ```
/// use goodcall_core::SchemaCache;
///
/// let cache = SchemaCache::default();
/// let schema = serde_json::json!({"type": "object"});
/// cache.get(&schema)?;
/// cache.get(&schema)?;
/// assert_eq!(cache.len(), 1);
/// # Ok::<(), goodcall_core::SchemaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SchemaCache(Arc<CacheContent>);

#[derive(Debug)]
struct CacheContent {
    entries: RwLock<HashMap<Arc<str>, CachedSchema>>,
    most: usize,
    clock: AtomicU64,
}

#[derive(Debug)]
struct CachedSchema {
    schema: Schema,
    used: AtomicU64,
}

impl SchemaCache {
    /// A cache of at most `most` schemas (at least one).
    pub fn new(most: usize) -> Self {
        Self(Arc::new(CacheContent {
            entries: RwLock::default(),
            most: most.max(1),
            clock: AtomicU64::new(0),
        }))
    }

    /// The cache that a process shares; it keeps up to 1,024 schemas.
    pub fn shared() -> &'static Self {
        static SHARED: LazyLock<SchemaCache> = LazyLock::new(SchemaCache::default);
        &SHARED
    }

    /// Returns the compiled schema, compiling it if it is not in the cache.
    ///
    /// # Errors
    /// If it does not compile; see [`Schema::compile`]. Errors are not kept.
    pub fn get(&self, schema: &Value) -> Result<Schema, SchemaError> {
        self.get_text(&schema.to_string())
    }

    /// Returns the compiled form of a schema given as JSON text; the text is the key.
    ///
    /// # Errors
    /// If it is not JSON, or does not compile; see [`Schema::compile`].
    pub fn get_text(&self, text: &str) -> Result<Schema, SchemaError> {
        let content = &*self.0;
        let now = content.clock.fetch_add(1, Ordering::Relaxed);
        let entries = content
            .entries
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.get(text) {
            entry.used.store(now, Ordering::Relaxed);
            return Ok(entry.schema.clone());
        }
        drop(entries);
        let value: Value = serde_json::from_str(text).map_err(|error| {
            let reason = format!("not JSON: {error}");
            SchemaError::new(Pointer::root(), reason).caused_by(error)
        })?;
        let schema = Schema::compile(&value)?;
        let mut entries = content
            .entries
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= content.most && !entries.contains_key(text) {
            let oldest = entries
                .iter()
                .min_by_key(|(_, entry)| entry.used.load(Ordering::Relaxed))
                .map(|(key, _)| Arc::clone(key));
            if let Some(oldest) = oldest {
                entries.remove(&oldest);
            }
        }
        let entry = CachedSchema {
            schema: schema.clone(),
            used: AtomicU64::new(now),
        };
        entries.insert(text.into(), entry);
        Ok(schema)
    }

    /// The number of schemas in the cache.
    pub fn len(&self) -> usize {
        let entries = self
            .0
            .entries
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        entries.len()
    }

    /// Returns true if the cache holds no schema.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for SchemaCache {
    fn default() -> Self {
        Self::new(CACHED_SCHEMAS)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn full_cache_drops_the_least_recently_used_schema() {
        let cache = SchemaCache::new(2);
        let schemas = [1, 2, 3].map(|n| json!({"maxProperties": n}));
        cache.get(&schemas[0]).unwrap();
        cache.get(&schemas[1]).unwrap();
        cache.get(&schemas[0]).unwrap();
        cache.get(&schemas[2]).unwrap();
        let kept = cache.0.entries.read().unwrap();
        assert_eq!(kept.len(), 2);
        assert!(!kept.contains_key(schemas[1].to_string().as_str()));
    }
}
