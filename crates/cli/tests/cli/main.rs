//! The command as a user runs it.
fn main() {}
