//! Tasks of this repository: `cargo xtask NAME`.

fn main() {}
