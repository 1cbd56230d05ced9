//! Recordings as they are stored: files, folders, patterns and standard input, compressed or not.

mod compression;
#[cfg(feature = "sqlite")]
mod database;
mod files;
mod layout;
mod lines;
mod values;
mod yaml;

pub(crate) use compression::decompressed;
#[cfg(feature = "sqlite")]
pub(crate) use database::{Database, MAGIC as DATABASE_MAGIC};
pub use files::{InputFile, expand};
pub(crate) use layout::{Layout, layout};
pub(crate) use lines::{Block, LineBlocks, lines};
pub(crate) use values::{JsonValues, ValueError};
pub(crate) use yaml::yaml_to_json;

/// Bytes of one line, or of one JSON value.
pub(crate) const MOST_RECORD_BYTES: usize = 64 << 20;
/// Bytes of a file that are looked at to find out what it is.
pub(crate) const HEAD_BYTES: usize = 256 << 10;
