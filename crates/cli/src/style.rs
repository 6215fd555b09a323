//! Appearance of text on a terminal.

use std::io::IsTerminal;

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
/// Makes text from a trace, a path or the command line safe for terminals and log lines: escapes unprintable
/// characters, including line feeds.
pub(crate) use ichnos::export::printable as safe;

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

/// Paints text, or leaves it unchanged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint(bool);

impl Paint {
    pub(crate) const PLAIN: Self = Self(false);

    /// Returns `true` if text is painted.
    pub(crate) fn is_on(self) -> bool {
        self.0
    }

    /// For standard output.
    pub(crate) fn stdout(when: When) -> Self {
        Self(resolve(
            when,
            || anstream::AutoStream::choice(&std::io::stdout()),
            std::io::stdout().is_terminal(),
        ))
    }

    /// For standard error.
    pub(crate) fn stderr(when: When) -> Self {
        Self(resolve(
            when,
            || anstream::AutoStream::choice(&std::io::stderr()),
            std::io::stderr().is_terminal(),
        ))
    }

    fn paint(self, style: Style, text: &str) -> String {
        if self.0 { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    pub(crate) fn title(self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    pub(crate) fn name(self, text: &str) -> String {
        self.paint(AnsiColor::Cyan.on_default(), text)
    }

    pub(crate) fn faint(self, text: &str) -> String {
        self.paint(Style::new().dimmed(), text)
    }

    pub(crate) fn error(self, text: &str) -> String {
        self.paint(AnsiColor::Red.on_default().bold(), text)
    }

    pub(crate) fn warning(self, text: &str) -> String {
        self.paint(AnsiColor::Yellow.on_default().bold(), text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.paint(AnsiColor::Green.on_default(), text)
    }
}

/// Resolves `auto` by NO_COLOR, CLICOLOR, CLICOLOR_FORCE, TERM, and by the output being a terminal.
fn resolve(when: When, auto: impl Fn() -> anstream::ColorChoice, terminal: bool) -> bool {
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto => match auto() {
            anstream::ColorChoice::Never => false,
            anstream::ColorChoice::Auto => terminal,
            anstream::ColorChoice::Always | anstream::ColorChoice::AlwaysAnsi => true,
        },
    }
}

/// Formats a count: "1 packet", "2 packets", "1,234,567 packets".
pub(crate) fn count(number: u64, noun: &str) -> String {
    let plural = match noun {
        noun if number == 1 => noun.to_owned(),
        noun if noun.ends_with("class") => format!("{noun}es"),
        noun => format!("{noun}s"),
    };
    format!("{} {plural}", grouped(number))
}

/// Formats a number with commas between groups of three digits.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a size: "512 bytes", "1.5 MiB".
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return count(bytes, "byte");
    }
    let index = ((63 - bytes.leading_zeros()) / 10) as usize;
    let tenths = (u128::from(bytes) * 10) >> (index * 10);
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[index - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_terminals_obey() {
        assert_eq!(safe("plain é"), "plain é");
        assert_eq!(safe("a\x1b[31m\nb\u{202e}"), "a\\x1b[31m\\nb\\u{202e}");
    }

    #[test]
    fn counts() {
        assert_eq!(count(1, "packet"), "1 packet");
        assert_eq!(count(1_234_567, "event record class"), "1,234,567 event record classes");
        assert_eq!(size(1023), "1,023 bytes");
        assert_eq!(size(1024), "1.0 KiB");
        assert_eq!(size(3 << 19), "1.5 MiB");
        assert_eq!(size(u64::MAX), "15.9 EiB");
    }
}
