//! Line at the bottom of the terminal, below everything that is printed.

use std::io::Write as _;
use std::sync::Mutex;

use ichnos::model::locks::IgnorePoison as _;

use super::charset;

static LINE: Mutex<StatusLine> =
    Mutex::new(StatusLine { text: String::new(), is_shown: false, is_within_line: false, replaceable: 0 });

/// State of the line.
struct StatusLine {
    /// Empty to show nothing.
    text: String,
    is_shown: bool,
    /// `true` if standard output may end within a line.
    is_within_line: bool,
    /// Number of lines on standard output, a terminal, that the next text replaces.
    replaceable: usize,
}

impl StatusLine {
    fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            write("\r\x1b[K");
        }
    }

    /// Removes the replaceable lines, which must be at the end of the output.
    fn clear_replaceable(&mut self) {
        let lines = std::mem::take(&mut self.replaceable);
        if lines > 0 {
            let mut output = std::io::stdout().lock();
            // If the terminal is closed, nobody sees the lines.
            let _ = write!(output, "\x1b[{lines}A\r\x1b[J").and_then(|()| output.flush());
        }
    }

    fn draw(&mut self) {
        if !self.text.is_empty() && !self.is_within_line {
            write(&format!("\r{}\x1b[K", self.text));
            self.is_shown = true;
        }
    }
}

/// Shows a line, until the next [`hide`]. Standard error must be a terminal.
pub(crate) fn show(text: &str) {
    let columns = terminal_size::terminal_size_of(std::io::stderr()).map(|(width, _)| usize::from(width.0));
    // A line that fills the terminal would be continued on the next one.
    let most = columns.filter(|columns| *columns > 0).map_or(79, |columns| columns - 1);
    let mut line = LINE.lock().ignore_poison();
    line.text = charset::shown(text).chars().take(most).collect();
    line.draw();
}

/// Hides the line.
pub(crate) fn hide() {
    let mut line = LINE.lock().ignore_poison();
    line.text.clear();
    line.clear();
}

/// Notes that the last printed lines, on a terminal, are [replaced](clear_replaceable) later.
pub(crate) fn set_replaceable(lines: usize) {
    LINE.lock().ignore_poison().replaceable = lines;
}

/// Removes the replaceable lines from the terminal.
pub(crate) fn clear_replaceable() {
    let mut line = LINE.lock().ignore_poison();
    line.clear();
    line.clear_replaceable();
    line.draw();
}

/// Prints whole lines on standard error.
pub(crate) fn print_around(print: impl FnOnce()) {
    let mut line = LINE.lock().ignore_poison();
    line.clear();
    line.clear_replaceable();
    print();
    line.draw();
}

/// Prints on standard output. Returns the result of `print`. `ends_line` is `true` if everything is printed and ends with
/// a line.
pub(super) fn print_output<T>(ends_line: bool, print: impl FnOnce() -> T) -> T {
    let mut line = LINE.lock().ignore_poison();
    line.clear();
    let printed = print();
    line.is_within_line = !ends_line;
    line.draw();
    printed
}

fn write(text: &str) {
    // If standard error is closed, nobody sees the line.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
