//! The native part of the npm package `goodcall`.
//!
//! It is thin: text goes in and JSON text comes out, since one string crosses the border to
//! JavaScript faster than an object with its members. The files in `lib/` make objects of it; they
//! are what users see.

#[cfg(feature = "command")]
mod command;
mod error;
mod options;
mod outline;
mod registry;
mod relay;
mod stream;
mod tools;
mod verdict;
