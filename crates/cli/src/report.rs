//! What goes to the standard error output.

use std::io::Write as _;

use crate::args::{Global, When};
use crate::exit::Failure;
use crate::style::{Paint, safe};

/// Tells people what happens besides the data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    paint: Paint,
    quiet: bool,
    /// How much more than usual is said.
    pub(crate) verbose: u8,
}

impl Report {
    pub(crate) fn new(global: &Global) -> Self {
        Self { paint: Paint::stderr(global.color), quiet: global.quiet, verbose: global.verbose }
    }

    /// What reports before the command line is known.
    pub(crate) fn early() -> Self {
        Self { paint: Paint::stderr(When::Auto), quiet: false, verbose: 0 }
    }

    /// Why it could not be done.
    pub(crate) fn failure(self, failure: &Failure) {
        self.error(&failure.message);
        for detail in &failure.details {
            line(&format!("  {}", safe(detail)));
        }
        if let Some(help) = &failure.help {
            self.help(help);
        }
        failure.others.iter().for_each(|other| self.failure(other));
    }

    /// A warning, and what to try.
    pub(crate) fn warning_with_help(self, text: &str, help: &str) {
        if !self.quiet {
            self.warning(text);
            self.help(help);
        }
    }

    pub(crate) fn error(self, text: &str) {
        line(&format!("{}: {}", self.paint.error("error"), safe(text)));
    }

    pub(crate) fn help(self, text: &str) {
        line(&format!("{}: {}", self.paint.good("help"), safe(text)));
    }

    pub(crate) fn warning(self, text: &str) {
        if !self.quiet {
            line(&format!("{}: {}", self.paint.warning("warning"), safe(text)));
        }
    }

    /// Something that is right, but not what people may expect.
    pub(crate) fn notice(self, text: &str) {
        if !self.quiet {
            line(&format!("{}: {}", self.paint.title("note"), safe(text)));
        }
    }

    /// Good to know: only if asked for.
    pub(crate) fn note(self, text: &str) {
        if self.verbose > 0 {
            line(&format!("{}: {}", self.paint.title("note"), safe(text)));
        }
    }

    /// An answer to an option, for instance `--stats`.
    pub(crate) fn answer(self, text: &str) {
        line(text);
    }
}

/// Whoever closes the standard error output does not want to know.
fn line(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
