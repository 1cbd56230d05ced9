//! Requests on their way to a provider: tool schemas adapted, histories read and repaired.
//!
//! Every function takes the request as JSON text and returns the rewritten text, or `None` if the
//! request needs no change. Bytes that need no change are kept.

mod adapt;
mod aliases;
mod history;

pub use adapt::{Adapt, UnknownAdapt, adapt};
pub(crate) use adapt::{GEMINI_REFUSES, adapt_with_aliases};
pub(crate) use aliases::write_aliases;
pub use history::{HistoryCall, HistoryStep, has_results, history, legal_history, with_remark};
