//! Calls in the texts of open models, measured by the fixtures of canitoolcall.

use serde_json::Value;

use super::program::Programs;
use crate::Failure;

/// Returns a row for each family of models.
pub(super) fn measure(_: &Programs) -> Result<Value, Failure> {
    crate::canitoolcall::table()
}
