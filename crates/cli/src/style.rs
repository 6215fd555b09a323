//! Appearance of text on a terminal.

use std::io::IsTerminal;
use std::sync::OnceLock;

use clap::ValueEnum;
/// Makes text from a trace, a path or the command line safe for terminals and log lines: escapes unprintable
/// characters, including line feeds.
pub(crate) use ichnos::export::printable as safe;
use ichnos::export::text::{LineWidth, Paint, locale_is_ascii};

/// Use of colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal, unless the variable NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl When {
    /// Colors for standard output.
    pub(crate) fn stdout(self) -> Paint {
        let stdout = std::io::stdout();
        self.paint(|| anstream::AutoStream::choice(&stdout), stdout.is_terminal())
    }

    /// Colors for standard error.
    pub(crate) fn stderr(self) -> Paint {
        let stderr = std::io::stderr();
        self.paint(|| anstream::AutoStream::choice(&stderr), stderr.is_terminal())
    }

    /// Resolves `auto` by NO_COLOR, CLICOLOR, CLICOLOR_FORCE, TERM, and by the output being a terminal.
    fn paint(self, auto: impl Fn() -> anstream::ColorChoice, is_terminal: bool) -> Paint {
        Paint::new(match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => match auto() {
                anstream::ColorChoice::Never => false,
                anstream::ColorChoice::Auto => is_terminal,
                anstream::ColorChoice::Always | anstream::ColorChoice::AlwaysAnsi => true,
            },
        })
    }
}

/// Returns the width of the terminal, from COLUMNS or the terminal itself; unlimited if standard output is no terminal.
pub(crate) fn line_width() -> LineWidth {
    static WIDTH: OnceLock<Option<usize>> = OnceLock::new();
    let columns = WIDTH.get_or_init(|| {
        if !std::io::stdout().is_terminal() {
            return None;
        }
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let asked =
            || terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
        columns.or_else(asked).filter(|width| *width > 0)
    });
    LineWidth { columns: *columns, is_ascii: locale_is_ascii() }
}
