//! What goes to the standard output.

use std::io::{self, Write};

/// Prints a whole text.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut output = ichnos::io::create(None)?;
    output.write_all(text.as_bytes())?;
    output.finish()
}
