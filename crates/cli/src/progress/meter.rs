//! Progress display.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::console::Console;
use crate::args::Progress;
use crate::output::charset;

/// Time until the first progress is shown.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time between two updates of a bar.
const REDRAW: Duration = Duration::from_millis(100);
/// Time between two lines.
const PAUSE: Duration = Duration::from_secs(5);

/// Progress display, as lines or as a bar that disappears when dropped.
pub(crate) struct Meter {
    display: Display,
    /// Time of the next update.
    next: Instant,
}

enum Display {
    Bar(ProgressBar),
    Lines(Console),
}

impl Meter {
    /// Creates a display, or returns `None` to show nothing. `template` describes the bar. `data_on_terminal` is `true`
    /// if the terminal also shows data.
    pub(crate) fn new(template: &str, data_on_terminal: bool, console: Console) -> Option<Self> {
        let display = match console.progress() {
            Progress::Never => return None,
            Progress::Auto if !std::io::stderr().is_terminal() || data_on_terminal => return None,
            Progress::Auto => {
                let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::hidden());
                if let Ok(style) = ProgressStyle::with_template(template) {
                    bar.set_style(charset::progress_style(style));
                }
                Display::Bar(bar)
            }
            Progress::Plain => Display::Lines(console),
        };
        Some(Self { display, next: Instant::now() + PATIENCE })
    }

    /// Shows the progress if an update is due. `amount` returns the finished thousandths, if known, and a message.
    pub(crate) fn show(&mut self, amount: impl FnOnce() -> (Option<u64>, String)) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        let (permille, message) = amount();
        match &self.display {
            Display::Bar(bar) => {
                if bar.is_hidden() {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                }
                match permille {
                    Some(permille) => bar.set_position(permille),
                    None => bar.tick(),
                }
                bar.set_message(message);
                self.next = now + REDRAW;
            }
            Display::Lines(console) => {
                console.print(&match permille {
                    Some(permille) => format!("{}.{} %, {message}", permille / 10, permille % 10),
                    None => message,
                });
                self.next = now + PAUSE;
            }
        }
    }

    /// Hides the bar while `print` prints on the terminal.
    pub(crate) fn suspend(&self, print: impl FnOnce()) {
        match &self.display {
            Display::Bar(bar) if !bar.is_hidden() => bar.suspend(print),
            _ => print(),
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
    }
}
