//! Statistics that are printed again and again on a terminal, while live input is read.

use std::io::{self, IsTerminal as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ichnos::model::locks::IgnorePoison as _;
use ichnos::{PassNote, PassObserver, PassSummary, ReaderPass, StatsOutput, StatsResult};

use crate::args::Progress;
use crate::output::{self, status_line};
use crate::progress::{Console, Follower};

/// Time between two updates.
const REDRAW: Duration = Duration::from_secs(1);

/// Number of lines at the bottom of the terminal for other purposes.
const RESERVED: usize = 2;

/// Makes the terminal cut long lines, or continue them on the next line.
const NO_WRAP: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";

/// Observer that prints the statistics so far.
pub(super) struct StatsRefresh<'r> {
    follower: &'r Follower,
    output: &'r StatsOutput,
    render: &'r (dyn Fn(&StatsResult) -> String + Sync),
    console: Console,
    /// Time of the next update.
    next: Mutex<Instant>,
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
        let next = Mutex::new(Instant::now() + REDRAW);
        is_shown.then_some(Self { follower, output, render, console, next })
    }

    /// Runs a pass into the output, and clears the terminal for the final text.
    pub(super) fn write(&self, pass: ReaderPass<'_>) -> io::Result<PassSummary> {
        let summary = pass.observer(self).write(self.output)?;
        status_line::clear_replaceable();
        Ok(summary)
    }

    /// Prints a text in place of the previous text. The terminal cuts long lines, so that each line takes one row.
    fn replace(&self, text: &str) -> io::Result<()> {
        status_line::clear_replaceable();
        output::print_as_it_is(NO_WRAP)?;
        let printed = output::print(text, self.console.paint());
        output::print_as_it_is(WRAP)?;
        printed?;
        status_line::set_replaceable(text.lines().count());
        Ok(())
    }
}

impl PassObserver for StatsRefresh<'_> {
    fn progress(&self, nanoseconds: Option<i128>, events: u64) {
        self.follower.progress(nanoseconds, events);
        let mut next = self.next.lock().ignore_poison();
        if Instant::now() < *next {
            return;
        }
        *next = Instant::now() + REDRAW;
        let text = self.output.with_result(|result| (self.render)(result));
        let rows =
            terminal_size::terminal_size_of(std::io::stdout()).map_or(24, |(_, rows)| usize::from(rows.0));
        let most = rows.saturating_sub(RESERVED).max(1);
        let shown: String = text.lines().take(most).flat_map(|line| [line, "\n"]).collect();
        // Without a terminal, the end of the run reports it.
        let _ = self.replace(&shown);
    }

    fn note(&self, note: PassNote) {
        self.follower.note(note);
    }
}
