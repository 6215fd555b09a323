//! Events around which `cut --around` keeps the time.

use ichnos::Session;
use ichnos::model::{Cursor as _, Message};

use crate::exit::Failure;
use crate::interrupt;
use crate::report::Report;
use crate::selection::Selection;
use crate::time;
use crate::windows::Windows;

/// Condition and margin of `--around`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around<'e> {
    /// Condition that selects the events.
    pub(crate) expression: &'e str,
    /// Nanoseconds before and after them.
    pub(crate) margin: i128,
}

impl<'e> Around<'e> {
    /// Parses the values of the option.
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

    /// Returns the windows around events for which the expression is true, among all events of the selected
    /// data streams and time; `None` if interrupted.
    ///
    /// # Errors
    /// If the expression is invalid, or there are too many windows.
    pub(crate) fn windows(
        self,
        session: &Session,
        mut selection: Selection,
        report: Report,
    ) -> Result<Option<Windows>, Failure> {
        /// Number of messages between two checks for interruption.
        const STRIDE: u32 = 1 << 12;
        let window = selection.prepare(session, report)?;
        let reader = selection.reader(session, window)?;
        let mut cursor = reader.cursor();
        let mut windows = Windows::default();
        let mut step = 0u32;
        while cursor.advance() {
            step = step.wrapping_add(1);
            if step % STRIDE == 0 && interrupt::is_requested() {
                return Ok(None);
            }
            let Some(Message::Event(event)) = cursor.current() else { continue };
            if let Some(time) = event.nanoseconds()
                && selection.wants_event(&event)
            {
                windows.add(time.saturating_sub(self.margin), time.saturating_add(self.margin))?;
            }
        }
        selection.review(report);
        windows.merge();
        Ok(Some(windows))
    }
}
