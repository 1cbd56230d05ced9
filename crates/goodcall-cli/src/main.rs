//! The `goodcall` command.

fn main() {}
