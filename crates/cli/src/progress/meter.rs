//! Display of progress.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::console::Console;
use crate::args::Progress;
use crate::output::charset;

/// Time until progress is shown.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time between two changes of a bar.
const REDRAW: Duration = Duration::from_millis(100);
/// Time between two lines.
const PAUSE: Duration = Duration::from_secs(5);

/// Shows progress as a bar that disappears when dropped, or as lines.
pub(crate) struct Meter {
    display: Display,
    /// Time of the next change.
    next: Instant,
}

enum Display {
    Bar(ProgressBar),
    Lines(Console),
}

impl Meter {
    /// Returns `None` to show nothing. `template` describes the bar, and `data_on_terminal` is `true` if data are
    /// printed where it would be.
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

    /// Shows an amount if it is time: the thousandths that are done, if they are known, and a message.
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
                console.answer(&match permille {
                    Some(permille) => format!("{}.{} %, {message}", permille / 10, permille % 10),
                    None => message,
                });
                self.next = now + PAUSE;
            }
        }
    }

    /// Prints something else on the terminal.
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
