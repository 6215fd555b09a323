//! Appearance of text on a terminal.

use std::io::IsTerminal;
use std::sync::OnceLock;

/// Escapes unprintable characters, including line feeds. Text from a trace, a path or the command line must be escaped
/// for terminals and log lines.
pub(crate) use ichnos::export::printable as safe;
use ichnos::export::text::{LineWidth, locale_is_ascii};

/// Returns the terminal width, from COLUMNS or the terminal itself. Without a terminal, the width is unlimited.
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
