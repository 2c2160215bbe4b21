//! The `koppel` command.
fn main() {}
