//! Terminal text: SGR color codes and escaping.

use crate::printable::{Escaping, escape_from};

/// Color codes of the text sinks. All are empty without colors.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Palette {
    /// `true` if unprintable characters in trace texts are escaped.
    pub(crate) printable_only: bool,
    pub(crate) reset: &'static str,
    pub(crate) bold: &'static str,
    pub(crate) green: &'static str,
    pub(crate) yellow: &'static str,
    pub(crate) blue: &'static str,
    pub(crate) magenta: &'static str,
    pub(crate) cyan: &'static str,
    pub(crate) bright_red: &'static str,
    pub(crate) bright_green: &'static str,
    pub(crate) bright_yellow: &'static str,
    pub(crate) bright_blue: &'static str,
    pub(crate) bright_magenta: &'static str,
    pub(crate) bright_cyan: &'static str,
}

impl Palette {
    pub(crate) fn new(color: bool, bright_means_bold: bool) -> Self {
        if !color {
            return Self::default();
        }
        let bright = |bold, bright| if bright_means_bold { bold } else { bright };
        Self {
            reset: "\x1b[0m",
            bold: "\x1b[1m",
            green: "\x1b[32m",
            yellow: "\x1b[33m",
            blue: "\x1b[34m",
            magenta: "\x1b[35m",
            cyan: "\x1b[36m",
            bright_red: bright("\x1b[1m\x1b[31m", "\x1b[91m"),
            bright_green: bright("\x1b[1m\x1b[32m", "\x1b[92m"),
            bright_yellow: bright("\x1b[1m\x1b[33m", "\x1b[93m"),
            bright_blue: bright("\x1b[1m\x1b[34m", "\x1b[94m"),
            bright_magenta: bright("\x1b[1m\x1b[35m", "\x1b[95m"),
            bright_cyan: bright("\x1b[1m\x1b[36m", "\x1b[96m"),
            printable_only: false,
        }
    }

    /// Returns the same codes, with escaping of unprintable characters if `printable_only`.
    pub(crate) fn printable_only(self, printable_only: bool) -> Self {
        Self { printable_only, ..self }
    }

    /// Returns the escaping of log lines, which must stay single lines.
    #[inline]
    pub(crate) fn log_escaping(&self) -> Escaping {
        if self.printable_only { Escaping::Unprintable } else { Escaping::Controls }
    }

    /// Appends a trace text.
    #[inline]
    pub(crate) fn push(&self, out: &mut Vec<u8>, text: &str) {
        let begin = out.len();
        out.extend_from_slice(text.as_bytes());
        self.escape_from(out, begin);
    }

    /// Escapes the text appended from `begin` on, if `printable_only`.
    #[inline]
    pub(crate) fn escape_from(&self, out: &mut Vec<u8>, begin: usize) {
        if self.printable_only {
            escape_from(out, begin, Escaping::Unprintable);
        }
    }
}
