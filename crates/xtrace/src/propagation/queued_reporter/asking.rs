//! The decision to ask collectors for acknowledgements.

use std::time::Duration;

/// Number of connections in a row that a collector must close at a question to be taken for one that does not know
/// questions.
const PROOFS: u32 = 3;

/// Shortest time for which a connection must stay open before a question that may close it.
const ADMISSION: Duration = Duration::from_millis(50);

/// Time after which a collector that did not know questions is asked again.
const REPEAT: Duration = Duration::from_secs(60);

/// The most reports that are sent first through a connection without acknowledgement, before it is checked that the
/// collector keeps that open.
pub(super) const FIRST_REPORTS: u64 = 16;

/// Use of a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Time for which the connection must stay open before anything is sent: collectors and proxies without room for it
    /// close it, and know questions all the same.
    pub(super) admission: Duration,
    /// Set if the collector is asked.
    pub(super) asks: bool,
}

/// Knowledge of the collector: it answers, or closes connections at questions.
///
/// It is taken for a historical one, which does not know questions, after [`PROOFS`] connections in a row that were open
/// for some time and closed at the question, and one that stays open without a question for longer. As that may be wrong
/// (a proxy before a collector that starts late), it is asked again by the next connection after one that was lost, and
/// once a minute.
#[derive(Debug)]
pub(super) struct Asking {
    rule: Acknowledgements,
    has_answered: bool,
    /// Number of connections in a row that were closed at the first question.
    closed: u32,
    /// Longest time between such a question and the end of the connection.
    slowest: Duration,
    /// Set if the next connection asks a collector again that seems not to know questions.
    is_due: bool,
}

impl Asking {
    pub(super) fn new(rule: Acknowledgements) -> Self {
        Self { rule, has_answered: false, closed: 0, slowest: Duration::ZERO, is_due: false }
    }

    /// Returns `true` if the collector seems not to know questions.
    pub(super) fn is_historical(&self) -> bool {
        self.rule == Acknowledgements::IfKnown && !self.has_answered && self.closed >= PROOFS
    }

    /// Use of the next connection.
    pub(super) fn plan(&self) -> Plan {
        let asks = match self.rule {
            Acknowledgements::Never => false,
            Acknowledgements::Required => true,
            Acknowledgements::IfKnown => !self.is_historical() || self.is_due,
        };
        // Longer each time, and longer than it took the collector to close the others.
        let admission = match self.closed {
            0 => Duration::ZERO,
            closed => (ADMISSION * closed.min(2)).max(self.slowest.saturating_mul(2)),
        };
        Plan { admission, asks }
    }

    /// The collector has answered.
    pub(super) fn answered(&mut self) {
        *self = Self { has_answered: true, ..Self::new(self.rule) };
    }

    /// The collector closed a connection this long after its first question.
    pub(super) fn closed_at_question(&mut self, after: Duration) {
        self.closed = self.closed.saturating_add(1);
        self.slowest = self.slowest.max(after);
        self.is_due = false;
    }

    /// A connection was closed before anything was sent: questions are not the reason.
    pub(super) fn closed_before_question(&mut self) {
        self.is_due = self.is_historical();
    }

    /// A connection without acknowledgement was lost: what accepted it may not be what does not know questions.
    pub(super) fn lost_unacknowledged(&mut self) {
        self.is_due = self.is_historical();
    }

    /// No connection was made: the collector ended, and the next one may be another.
    pub(super) fn not_connected(&mut self) {
        *self = Self { has_answered: self.has_answered, ..Self::new(self.rule) };
    }

    /// Returns `true` if a connection without acknowledgement is so old that the collector is to be asked again.
    pub(super) fn is_to_repeat(&self, age: Duration) -> bool {
        self.is_historical() && age >= REPEAT
    }
}

/// Collectors to ask for acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Acknowledgements {
    /// All except those that close the connection when asked, such as historical ones.
    #[default]
    IfKnown,
    /// All; nothing is sent to collectors that do not acknowledge.
    Required,
    /// No collector.
    Never,
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_ONCE: Duration = Duration::from_millis(1);

    fn milliseconds(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// Closed at three questions, each after having been open for longer.
    fn historical() -> Asking {
        let mut asking = Asking::new(Acknowledgements::IfKnown);
        for admission in [0, 50, 100] {
            assert_eq!(asking.plan(), Plan { admission: milliseconds(admission), asks: true });
            asking.closed_at_question(AT_ONCE);
        }
        asking
    }

    #[test]
    fn historical_collectors_are_not_asked() {
        let asking = historical();
        assert_eq!(asking.plan(), Plan { admission: milliseconds(100), asks: false });
        assert!(!asking.is_to_repeat(milliseconds(59_999)) && asking.is_to_repeat(milliseconds(60_000)));
    }

    #[test]
    fn the_connection_after_one_that_was_lost_asks_again() {
        for answers in [true, false] {
            let mut asking = historical();
            asking.lost_unacknowledged();
            assert!(asking.plan().asks);
            // A full one closes connections before the question, which proves nothing.
            asking.closed_before_question();
            assert!(asking.plan().asks);
            match answers {
                true => asking.answered(),
                false => asking.closed_at_question(AT_ONCE),
            }
            assert_eq!(asking.plan().asks, answers);
            if answers {
                // From now on, whatever happens.
                (0..10).for_each(|_| asking.closed_at_question(AT_ONCE));
                asking.lost_unacknowledged();
                assert!(asking.plan().asks && !asking.is_to_repeat(milliseconds(100_000)));
            }
        }
    }

    /// A server that closes any connection after some time does not become a historical collector.
    #[test]
    fn those_that_close_late_are_given_more_time() {
        let mut asking = Asking::new(Acknowledgements::IfKnown);
        asking.closed_at_question(milliseconds(300));
        assert_eq!(asking.plan(), Plan { admission: milliseconds(600), asks: true });
        for _ in 0..10 {
            asking.closed_before_question();
            assert_eq!(asking.plan(), Plan { admission: milliseconds(600), asks: true });
        }
        // Even if it was slower now and then.
        asking.closed_at_question(AT_ONCE);
        asking.closed_at_question(AT_ONCE);
        assert_eq!(asking.plan(), Plan { admission: milliseconds(600), asks: false });
        asking.closed_before_question();
        assert!(asking.plan().asks);
    }

    #[test]
    fn a_collector_that_ended_is_forgotten() {
        let mut asking = historical();
        asking.not_connected();
        assert_eq!(asking.plan(), Plan { admission: Duration::ZERO, asks: true });
        for (rule, asks) in [(Acknowledgements::Never, false), (Acknowledgements::Required, true)] {
            let mut asking = Asking::new(rule);
            assert_eq!(asking.plan(), Plan { admission: Duration::ZERO, asks });
            (0..4).for_each(|_| asking.closed_at_question(AT_ONCE));
            assert_eq!(asking.plan().asks, asks);
        }
    }
}
