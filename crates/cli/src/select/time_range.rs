//! Selected time range.

use ichnos::Session;
use ichnos::model::Window;
use ichnos::query::window_between;

use crate::args::time::TimePoint;
use crate::exit::Failure;
use crate::select::TimeBounds;

/// Start and end of the selection, as written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeRange {
    pub(crate) begin: Option<TimePoint>,
    pub(crate) end: Option<TimePoint>,
    /// `true` to read dates and times of day in GMT instead of local time.
    pub(crate) gmt: bool,
}

impl TimeRange {
    /// Returns `true` if the range has a start or an end.
    pub(crate) fn is_some(&self) -> bool {
        self.begin.is_some() || self.end.is_some()
    }

    /// Returns `true` if the range depends on the end of the trace.
    pub(crate) fn needs_end(&self) -> bool {
        [self.begin, self.end].iter().any(|point| matches!(point, Some(TimePoint::BeforeEnd(_))))
    }

    /// Converts the range to a time window in the opened traces.
    ///
    /// # Errors
    /// If a time is invalid, or the start is after the end.
    pub(crate) fn window(&self, session: &Session) -> Result<Window, Failure> {
        if !self.is_some() {
            return Ok(Window::default());
        }
        let bounds = TimeBounds::default();
        let resolve = |point: Option<TimePoint>, name: &str| {
            point
                .map(|point| bounds.resolve(point, session, self.gmt))
                .transpose()
                .map_err(|error| Failure::new(format!("the time of {name} cannot be used: {error}")))
        };
        let (begin, end) = (resolve(self.begin, "--begin")?, resolve(self.end, "--end")?);
        window_between(begin, end).map_err(Failure::new)
    }
}
