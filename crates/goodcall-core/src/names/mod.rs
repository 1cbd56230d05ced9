//! Compares names: which tool, key or value a model probably meant by the one it wrote.

mod antonyms;
mod envelope_keys;
mod related;
mod similarity;
mod typo;

pub(crate) use antonyms::are_options;
pub(crate) use envelope_keys::{ENVELOPE_NAMES, envelope, holds_other, is_envelope_key};
pub(crate) use related::is_near;
pub(crate) use similarity::{Letters, bare, nearest_name};
pub(crate) use typo::typo_of;
