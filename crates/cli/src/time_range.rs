//! The range of time that is wanted.

use ichnos::Session;
use ichnos::model::Window;

use crate::exit::Failure;
use crate::input;
use crate::time::{TimePoint, show_seconds};

/// From when until when events are wanted, as it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeRange {
    pub(crate) begin: Option<TimePoint>,
    pub(crate) end: Option<TimePoint>,
    /// Whether dates and times of day are of GMT instead of the local time zone.
    pub(crate) gmt: bool,
}

impl TimeRange {
    /// Whether it is not all of the time.
    pub(crate) fn is_some(&self) -> bool {
        self.begin.is_some() || self.end.is_some()
    }

    /// Whether it depends on when the trace ends.
    pub(crate) fn needs_end(&self) -> bool {
        [self.begin, self.end].iter().any(|point| matches!(point, Some(TimePoint::BeforeEnd(_))))
    }

    /// The window of the timeline of what was opened.
    ///
    /// # Errors
    /// If a time cannot be used, or the first one is after the last one.
    pub(crate) fn window(&self, session: &Session) -> Result<Window, Failure> {
        if !self.is_some() {
            return Ok(Window::default());
        }
        let needs_start = [self.begin, self.end]
            .iter()
            .any(|point| matches!(point, Some(TimePoint::FromStart(_) | TimePoint::OfDay(_))));
        // What arrives can only be read once.
        let is_known = needs_start && !session.is_live();
        let start = if is_known { input::start(session) } else { None };
        let end = if self.needs_end() && !session.is_live() { input::end(session) } else { None };
        let resolve = |point: Option<TimePoint>, name: &str| {
            point
                .map(|point| point.resolve(self.gmt, start, end))
                .transpose()
                .map_err(|error| Failure::new(format!("the time of {name} cannot be used: {error}")))
        };
        let (begin, end) = (resolve(self.begin, "--begin")?, resolve(self.end, "--end")?);
        if let (Some(begin), Some(end)) = (begin, end)
            && begin > end
        {
            return Err(Failure::new(format!(
                "the begin time ({}) is after the end time ({})",
                show_seconds(begin),
                show_seconds(end)
            )));
        }
        Ok(Window { begin, end })
    }
}
