//! Option `--color`.

use std::io::IsTerminal as _;

use clap::ValueEnum;
use ichnos::export::text::Paint;

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
    /// Returns the colors for standard output.
    pub(crate) fn stdout(self) -> Paint {
        let stdout = std::io::stdout();
        self.paint(|| anstream::AutoStream::choice(&stdout), stdout.is_terminal())
    }

    /// Returns the colors for standard error.
    pub(crate) fn stderr(self) -> Paint {
        let stderr = std::io::stderr();
        self.paint(|| anstream::AutoStream::choice(&stderr), stderr.is_terminal())
    }

    /// Resolves `auto` from NO_COLOR, CLICOLOR, CLICOLOR_FORCE, TERM, and whether the output is a terminal.
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
