//! How printing went.

use std::ops::AddAssign;
use std::time::Duration;

use ichnos::export::NullStatistics;

use crate::report::Report;
use crate::style::{count, grouped};

/// What was printed.
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
        // What takes no time says nothing about how fast it is.
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

/// Why a pass has ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// There are no more messages, or as many as were wanted.
    Over,
    /// The user pressed Ctrl-C.
    Interrupted,
    /// Something is damaged, which is not to be tolerated: what it is.
    Refused(String),
}

/// What is reported beside what is printed.
#[derive(Debug)]
pub(crate) enum Note {
    /// A warning of a sink, as it is to be printed.
    Warning(Vec<u8>),
    /// Something is damaged.
    Damage(String),
    /// Something was lost that is not printed otherwise.
    Loss(String),
}

/// How a pass went.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) ended: Ended,
    pub(crate) tally: Tally,
    pub(crate) checked: Option<NullStatistics>,
    /// How often something could not be decoded.
    pub(crate) undecoded: u64,
}
