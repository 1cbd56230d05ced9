//! Compares names: which tool, key or value a model probably meant by the one it wrote.

mod antonyms;
mod edit_distance;
mod envelope_keys;
mod letters;
mod similarity;

pub(crate) use antonyms::are_antonyms;
pub(crate) use envelope_keys::{ENVELOPE_NAMES, envelope, holds_other, is_envelope_key};
pub(crate) use letters::{Letters, Words, bare, same_bare, same_name, spelling_bits};
pub(crate) use similarity::{could_mean, near_names, nearest_name, nearest_names, typo_of};
