//! The `placefield` command.
fn main() {}
