//! Option `--around`: selects time windows around events.

use std::io;
use std::ops::ControlFlow;

use ichnos::export::text::count;
use ichnos::model::{Message, Sink};
use ichnos::{Pass, PassEnd, Session};

use crate::args::time;
use crate::exit::Failure;
use crate::progress::{Console, interrupt};
use crate::select::{Selection, Windows, filters};

/// Condition and margin of `--around`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AroundOption<'e> {
    /// Condition for the events.
    pub(crate) expression: &'e str,
    /// Nanoseconds before and after each event.
    pub(crate) margin: i128,
}

impl<'e> AroundOption<'e> {
    /// Parses the option's values.
    pub(crate) fn new(values: Option<&'e [String]>) -> Result<Option<Self>, Failure> {
        let Some(values) = values else { return Ok(None) };
        let [expression, margin] = values else {
            return Err(Failure::new("--around is given more than once")
                .help("conditions are joined by `or`: `--around 'EXPRESSION or EXPRESSION' 1s`"));
        };
        match time::offset_from(&format!("+{margin}")) {
            Ok(nanoseconds) if nanoseconds >= 0 => Ok(Some(Self { expression, margin: nanoseconds })),
            _ => Err(Failure::new(format!("--around: `{margin}` is not a duration"))
                .help("durations are written `1s`, `250ms` or `1min30s`: `--around 'EXPRESSION' 1s`")),
        }
    }

    /// Returns a selection with the same data streams and times, but only the events for which the expression is true.
    ///
    /// # Errors
    /// If the expression is invalid.
    pub(crate) fn anchors(self, selection: &Selection) -> Result<Selection, Failure> {
        let mut anchors = selection.clone();
        anchors.select_events(None);
        anchors.filter_option = "--around";
        anchors.filter = Some(filters::parse(self.expression, anchors.filter_option)?);
        Ok(anchors)
    }

    /// Reads a selection, and returns the windows around its events.
    ///
    /// # Errors
    /// If the expression is invalid, there are too many windows, or a signal interrupts.
    pub(crate) fn windows(
        self,
        session: &Session,
        mut selection: Selection,
        console: Console,
    ) -> Result<Windows, Failure> {
        let window = selection.prepare(session, console)?;
        let reader = selection.reader(session, window)?;
        let mut collector =
            WindowCollector { margin: self.margin, windows: Windows::default(), failed: Ok(()) };
        let pass = Pass::new(selection.selected.clone()).stop(interrupt::flag());
        let summary = reader.pass().with(pass).run(&mut collector)?;
        let WindowCollector { mut windows, failed, .. } = collector;
        failed?;
        if matches!(summary.end, PassEnd::Interrupted) {
            return Err(interrupt::end());
        }
        selection.review(console);
        windows.merge();
        console.note(&format!("--around: {}", count(windows.count() as u64, "window")));
        Ok(windows)
    }
}

/// Sink that collects the windows around events.
struct WindowCollector {
    margin: i128,
    windows: Windows,
    /// Error if there are too many windows.
    failed: Result<(), Failure>,
}

impl Sink for WindowCollector {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        if let Message::Event(event) = message
            && let Some(time) = event.nanoseconds()
        {
            self.failed =
                self.windows.add(time.saturating_sub(self.margin), time.saturating_add(self.margin));
        }
        Ok(if self.failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    }
}
