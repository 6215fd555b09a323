//! The `ichnos` command.
fn main() {}
