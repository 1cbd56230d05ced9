//! Tools, and a verdict on every call.
