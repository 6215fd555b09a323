//! Statistics that are printed again and again on a terminal, while live input is read.

use std::io::{self, IsTerminal as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ichnos::model::locks::IgnorePoison as _;
use ichnos::{PassNote, PassObserver, PassSummary, ReaderPass, StatsOutput, StatsResult};

use crate::args::Progress;
use crate::output;
use crate::progress::{Console, Follower};

/// Time between two updates.
const REDRAW: Duration = Duration::from_secs(1);

/// Number of lines at the bottom of the terminal for other purposes.
const RESERVED: usize = 2;

/// Observer that prints the statistics so far.
pub(super) struct StatsRefresh<'r> {
    follower: &'r Follower,
    output: &'r StatsOutput,
    render: &'r (dyn Fn(&StatsResult) -> String + Sync),
    console: Console,
    screen: Mutex<Screen>,
}

/// What the terminal shows.
struct Screen {
    /// Time of the next update.
    next: Instant,
    /// Number of printed lines.
    lines: usize,
}

impl<'r> StatsRefresh<'r> {
    /// Creates an observer that passes everything on to a follower. Returns `None` if nothing should be shown.
    pub(super) fn new(
        follower: &'r Follower,
        output: &'r StatsOutput,
        render: &'r (dyn Fn(&StatsResult) -> String + Sync),
        console: Console,
    ) -> Option<Self> {
        let is_shown = std::io::stdout().is_terminal() && matches!(console.progress(), Progress::Auto);
        let screen = Mutex::new(Screen { next: Instant::now() + REDRAW, lines: 0 });
        is_shown.then_some(Self { follower, output, render, console, screen })
    }

    /// Runs a pass into the output, and clears the terminal for the final text.
    pub(super) fn write(&self, pass: ReaderPass<'_>) -> io::Result<PassSummary> {
        let summary = pass.observer(self).write(self.output)?;
        self.screen.lock().ignore_poison().clear()?;
        Ok(summary)
    }
}

impl Screen {
    /// Removes what was printed.
    fn clear(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.lines) {
            0 => Ok(()),
            lines => output::print_as_it_is(&format!("\x1b[{lines}A\r\x1b[J")),
        }
    }
}

impl PassObserver for StatsRefresh<'_> {
    fn progress(&self, nanoseconds: Option<i128>, events: u64) {
        self.follower.progress(nanoseconds, events);
        let mut screen = self.screen.lock().ignore_poison();
        if Instant::now() < screen.next {
            return;
        }
        screen.next = Instant::now() + REDRAW;
        let text = self.output.with_result(|result| (self.render)(result));
        let rows =
            terminal_size::terminal_size_of(std::io::stdout()).map_or(24, |(_, rows)| usize::from(rows.0));
        let most = rows.saturating_sub(RESERVED).max(1);
        let shown: String = text.lines().take(most).flat_map(|line| [line, "\n"]).collect();
        // Without a terminal, the end of the run reports it.
        if screen.clear().is_ok() && output::print(&shown, self.console.paint()).is_ok() {
            screen.lines = shown.lines().count();
        }
    }

    fn note(&self, note: PassNote) {
        self.follower.note(note);
    }
}
