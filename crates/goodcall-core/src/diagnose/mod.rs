//! Turns the validator's faults into issues: what the model has to change, and where.
//!
//! [`issues`](issues) writes one issue per fault, [`union`] and [`choose_branch`] pick the branch of
//! a union to explain, [`misplaced_keys`] finds where a member belongs, and [`advice`](advice) tries
//! the edits that the issues ask for before they are given to the model.

mod advice;
mod choose_branch;
mod edits;
mod expectation;
mod issues;
mod misplaced_keys;
mod union;

pub(crate) use advice::{advice, advice_on_text};
