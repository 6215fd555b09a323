//! Output to standard error.

use std::io::{IsTerminal as _, Write as _};

use ichnos::export::text::Paint;
use ichnos::export::{TerminalText, for_terminal};

use crate::args::When;
use crate::exit::Failure;
use crate::output::{charset, safe};

/// Prints reports other than data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    paint: Paint,
    quiet: bool,
    is_terminal: bool,
    /// `true` to print notes, too.
    pub(crate) verbose: bool,
}

impl Report {
    /// `quiet` to print no warnings and notices; `verbose` to print notes.
    pub(crate) fn new(color: When, quiet: bool, verbose: bool) -> Self {
        Self { paint: color.stderr(), quiet, is_terminal: std::io::stderr().is_terminal(), verbose }
    }

    /// Returns the report without warnings, notices and notes.
    pub(crate) fn silenced(self) -> Self {
        Self { quiet: true, verbose: false, ..self }
    }

    /// Returns the report to use before the command line is known.
    pub(crate) fn early() -> Self {
        Self::new(When::Auto, false, false)
    }

    /// Prints an error, with help.
    pub(crate) fn failure(self, failure: &Failure) {
        self.error(&failure.message);
        self.advice(failure);
        failure.others.iter().for_each(|other| self.failure(other));
    }

    /// Prints a warning that something probably has another effect than intended.
    pub(crate) fn doubt(self, failure: &Failure) {
        if self.quiet {
            return;
        }
        self.warning(&failure.message);
        self.advice(failure);
    }

    fn advice(self, failure: &Failure) {
        for detail in &failure.details {
            self.line(&format!("  {}", safe(detail)));
        }
        if let Some(help) = &failure.help {
            self.help(help);
        }
    }

    /// Prints a warning with help.
    pub(crate) fn warning_with_help(self, text: &str, help: &str) {
        if !self.quiet {
            self.warning(text);
            self.help(help);
        }
    }

    pub(crate) fn error(self, text: &str) {
        self.line(&format!("{}: {}", self.paint.error("error"), safe(text)));
    }

    pub(crate) fn help(self, text: &str) {
        self.line(&format!("{}: {}", self.paint.good("help"), safe(text)));
    }

    pub(crate) fn warning(self, text: &str) {
        if !self.quiet {
            self.line(&format!("{}: {}", self.paint.warning("warning"), safe(text)));
        }
    }

    /// Prints a notice about something valid, but unexpected.
    pub(crate) fn notice(self, text: &str) {
        if !self.quiet {
            self.line(&format!("{}: {}", self.paint.title("note"), safe(text)));
        }
    }

    /// Prints a note, only with `--verbose`.
    pub(crate) fn note(self, text: &str) {
        if self.verbose {
            self.line(&format!("{}: {}", self.paint.title("note"), safe(text)));
        }
    }

    /// Prints the answer to an option, for instance `--stats`.
    pub(crate) fn answer(self, text: &str) {
        self.line(text);
    }

    fn line(self, text: &str) {
        let text = &*charset::shown(text);
        let mut line = if self.is_terminal {
            for_terminal(text, TerminalText::Lines { colors: self.paint.is_on() }).into_owned()
        } else {
            text.to_owned()
        };
        // Written at once, so that other output does not split the line.
        line.push('\n');
        // If standard error is closed, the error cannot be reported.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}
