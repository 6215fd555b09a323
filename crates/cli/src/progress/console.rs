//! Reports on standard error, and the appearance of text on the terminal.

use std::io::{IsTerminal as _, Write as _};

use ichnos::export::text::Paint;
use ichnos::export::{TerminalText, for_terminal};

use crate::args::{Global, Progress, TextOptions, TextSettings, When};
use crate::exit::Failure;
use crate::output::{charset, safe, status_line};

/// Console that prints reports, according to the general options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Console {
    color: When,
    /// Colors for standard error.
    colors: Paint,
    is_quiet: bool,
    is_terminal: bool,
    progress: Progress,
    /// `true` to also print notes.
    pub(crate) verbose: bool,
}

impl Console {
    /// Creates a console from the general options.
    pub(crate) fn new(global: &Global) -> Self {
        let progress = match global.progress {
            Progress::Plain if global.quiet => Progress::Never,
            progress => progress,
        };
        Self { is_quiet: global.quiet, verbose: global.verbose, ..Self::with(global.color, progress) }
    }

    /// Creates a console for errors in the command line itself.
    pub(crate) fn early() -> Self {
        Self::with(When::Auto, Progress::Never)
    }

    fn with(color: When, progress: Progress) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Self { color, colors: color.stderr(), is_quiet: false, is_terminal, progress, verbose: false }
    }

    /// Returns a console without warnings, notices and notes.
    pub(crate) fn silenced(self) -> Self {
        Self { is_quiet: true, verbose: false, ..self }
    }

    /// Returns the colors for standard output.
    pub(crate) fn paint(self) -> Paint {
        self.color.stdout()
    }

    /// Returns the settings for a text in a file.
    pub(crate) fn text_settings(self, options: TextOptions, clock_gmt: bool) -> TextSettings {
        TextSettings {
            options,
            stacks: false,
            resource_in_context: false,
            clock_gmt,
            columns: None,
            has_colors: false,
            has_colored_warnings: self.colors.is_on(),
            to_terminal: false,
            is_quiet: self.is_quiet,
            is_verbose: self.verbose,
        }
    }

    /// Returns the progress option.
    pub(crate) fn progress(self) -> Progress {
        self.progress
    }

    /// Prints an error with its details and help.
    pub(crate) fn failure(self, failure: &Failure) {
        self.error(&failure.message);
        self.advice(failure);
        failure.others.iter().for_each(|other| self.failure(other));
    }

    /// Prints a failure as a warning, with its details and help.
    pub(crate) fn warn_failure(self, failure: &Failure) {
        if self.is_quiet {
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
        if !self.is_quiet {
            self.warning(text);
            self.help(help);
        }
    }

    pub(crate) fn error(self, text: &str) {
        self.line(&format!("{}: {}", self.colors.error("error"), safe(text)));
    }

    pub(crate) fn help(self, text: &str) {
        self.line(&format!("{}: {}", self.colors.good("help"), safe(text)));
    }

    pub(crate) fn warning(self, text: &str) {
        if !self.is_quiet {
            self.line(&format!("{}: {}", self.colors.warning("warning"), safe(text)));
        }
    }

    /// Prints a notice about valid but unexpected input or output.
    pub(crate) fn notice(self, text: &str) {
        if !self.is_quiet {
            self.line(&format!("{}: {}", self.colors.title("note"), safe(text)));
        }
    }

    /// Prints a note, only with `--verbose`.
    pub(crate) fn note(self, text: &str) {
        if self.verbose {
            self.line(&format!("{}: {}", self.colors.title("note"), safe(text)));
        }
    }

    /// Prints a line that an option asks for, for example `--stats`.
    pub(crate) fn print(self, text: &str) {
        self.line(text);
    }

    fn line(self, text: &str) {
        let text = &*charset::shown(text);
        let mut line = if self.is_terminal {
            for_terminal(text, TerminalText::Lines { colors: self.colors.is_on() }).into_owned()
        } else {
            text.to_owned()
        };
        // Written in one call, so that other output does not split the line.
        line.push('\n');
        // If standard error is closed, the error cannot be reported.
        status_line::print_around(|| drop(std::io::stderr().lock().write_all(line.as_bytes())));
    }
}
