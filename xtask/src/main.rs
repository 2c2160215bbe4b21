//! Project tasks: `cargo xtask test`, `bench`, `proof`.
fn main() {}
