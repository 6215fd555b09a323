//! Standard output, and the exit code if nobody reads it.

use std::io::{self, IsTerminal as _, Write as _};

use ichnos::export::{TerminalText, for_terminal};

use crate::command::Failure;
use crate::native_text::{bytes_of, readable};
use crate::paint::Paint;

/// Exit code of a program that writes into a pipe which nobody reads any more, as a shell shows it.
const BROKEN_PIPE: u8 = 141;

/// Prints a text. Returns the exit code.
///
/// # Errors
/// If the text cannot be written.
pub(crate) fn print(text: &str, paint: Paint) -> Result<u8, Failure> {
    let mut output = io::stdout().lock();
    let text = printable(text, output.is_terminal(), paint.is_on());
    let bytes =
        if output.is_terminal() { readable(&text).into_owned().into_bytes().into() } else { bytes_of(&text) };
    exit_code(output.write_all(&bytes).and_then(|()| output.flush()))
}

/// Returns the exit code for the result of writing to any output.
///
/// # Errors
/// If the output could not be written.
pub(crate) fn exit_code(written: io::Result<()>) -> Result<u8, Failure> {
    match written {
        Ok(()) => Ok(0),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(BROKEN_PIPE),
        Err(error) => Err(Failure::from_cause(format!("Cannot write the output: {error}"))),
    }
}

/// Prints a warning on standard error.
pub(crate) fn print_warning(text: &str) {
    // Nobody may read warnings.
    let _ = writeln!(io::stderr(), "WARNING: {}", ichnos::export::printable(&readable(text)));
}

/// Returns a text without control characters for a terminal, except colors.
pub(crate) fn printable(text: &str, is_terminal: bool, colors: bool) -> std::borrow::Cow<'_, str> {
    match is_terminal {
        true => for_terminal(text, TerminalText::Lines { colors }),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_not_a_failure() {
        let code = |kind: io::ErrorKind| exit_code(Err(kind.into()));
        assert_eq!(exit_code(Ok(())), Ok(0));
        assert_eq!(code(io::ErrorKind::BrokenPipe), Ok(141));
        assert!(code(io::ErrorKind::StorageFull).is_err());
    }
}
