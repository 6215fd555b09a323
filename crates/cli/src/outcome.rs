//! Results of printing.

use std::ops::AddAssign;
use std::time::Duration;

use ichnos::export::NullStatistics;

use crate::report::Report;
use crate::style::{count, grouped};

/// Numbers of printed messages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) events: u64,
    pub(crate) discarded_events: u64,
    pub(crate) discarded_packets: u64,
    pub(crate) damages: u64,
}

impl Tally {
    pub(crate) fn answer(&self, elapsed: Duration, report: Report) {
        let seconds = elapsed.as_secs_f64();
        // No rate for times too short to measure.
        let rate = if seconds >= 0.1 {
            format!(" ({} per second)", grouped((self.events as f64 / seconds) as u64))
        } else {
            String::new()
        };
        report.answer(&format!("{} in {seconds:.3} s{rate}", count(self.events, "event")));
        report.answer(&format!(
            "{} and {} discarded by the tracer, {}",
            count(self.discarded_events, "event"),
            count(self.discarded_packets, "packet"),
            count(self.damages, "damaged place")
        ));
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.discarded_events = self.discarded_events.saturating_add(other.discarded_events);
        self.discarded_packets = self.discarded_packets.saturating_add(other.discarded_packets);
        self.damages += other.damages;
    }
}

/// Reason for the end of a pass.
#[derive(Debug)]
pub(crate) enum Ended {
    /// No more messages, or the limit was reached.
    Over,
    /// The user pressed Ctrl-C.
    Interrupted,
    /// Damage that is not tolerated, with its description.
    Refused(String),
}

/// Reports in addition to the printed output.
#[derive(Debug)]
pub(crate) enum Note {
    /// A warning of a sink, ready to print.
    Warning(Vec<u8>),
    /// Damage in the input.
    Damage(String),
    /// A loss that is not printed otherwise.
    Loss(String),
}

/// Result of a pass.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) ended: Ended,
    pub(crate) tally: Tally,
    pub(crate) checked: Option<NullStatistics>,
    /// Number of values that could not be decoded.
    pub(crate) undecoded: u64,
}
