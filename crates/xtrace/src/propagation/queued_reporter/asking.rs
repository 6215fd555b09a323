//! Decides when to ask collectors for acknowledgements.

use std::time::Duration;

/// Number of consecutive connections that a collector must close at a question before it counts as historical.
const PROOFS: u32 = 3;

/// Minimum time for which a connection must stay open before a question that may close it.
const ADMISSION: Duration = Duration::from_millis(50);

/// Time after which a historical collector is asked again.
const REPEAT: Duration = Duration::from_secs(60);

/// Maximum number of reports to send first through an unacknowledged connection, before checking that the collector
/// keeps it open.
pub(super) const FIRST_REPORTS: u64 = 16;

/// Plan for a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnectionPlan {
    /// Time for which the connection must stay open before anything is sent. Overloaded collectors and proxies close
    /// connections even if they know questions.
    pub(super) admission: Duration,
    /// `true` if the collector is asked.
    pub(super) asks: bool,
}

/// Knowledge about a collector: it answers questions, or closes connections at questions.
///
/// A historical collector does not know questions. A collector counts as historical after [`PROOFS`] consecutive
/// connections that were open for some time and closed at the question, and one connection without a question that
/// stays open for longer. This conclusion can be wrong, for example with a proxy in front of a collector that starts
/// late. So it is asked again on the next connection after a loss, and once a minute.
#[derive(Debug)]
pub(super) struct QuestionPolicy {
    rule: Acknowledgements,
    has_answered: bool,
    /// Number of consecutive connections that were closed at the first question.
    closed: u32,
    /// Longest time between such a question and the end of the connection.
    slowest: Duration,
    /// `true` if the next connection should ask a historical collector again.
    is_due: bool,
}

impl QuestionPolicy {
    pub(super) fn new(rule: Acknowledgements) -> Self {
        Self { rule, has_answered: false, closed: 0, slowest: Duration::ZERO, is_due: false }
    }

    /// Returns `true` if the collector seems to be historical.
    pub(super) fn is_historical(&self) -> bool {
        self.rule == Acknowledgements::IfKnown && !self.has_answered && self.closed >= PROOFS
    }

    /// Returns the plan for the next connection.
    pub(super) fn plan(&self) -> ConnectionPlan {
        let asks = match self.rule {
            Acknowledgements::Never => false,
            Acknowledgements::Required => true,
            Acknowledgements::IfKnown => !self.is_historical() || self.is_due,
        };
        // The time grows with each attempt, and exceeds the time that the collector took to close the others.
        let admission = match self.closed {
            0 => Duration::ZERO,
            closed => (ADMISSION * closed.min(2)).max(self.slowest.saturating_mul(2)),
        };
        ConnectionPlan { admission, asks }
    }

    /// Records an answer from the collector.
    pub(super) fn answered(&mut self) {
        *self = Self { has_answered: true, ..Self::new(self.rule) };
    }

    /// Records that the collector closed a connection this long after its first question.
    pub(super) fn closed_at_question(&mut self, after: Duration) {
        self.closed = self.closed.saturating_add(1);
        self.slowest = self.slowest.max(after);
        self.is_due = false;
    }

    /// Records that a connection was closed before anything was sent, so that questions are not the reason.
    pub(super) fn closed_before_question(&mut self) {
        self.is_due = self.is_historical();
    }

    /// Records the loss of an unacknowledged connection. The peer that accepted it may differ from the historical
    /// collector.
    pub(super) fn lost_unacknowledged(&mut self) {
        self.is_due = self.is_historical();
    }

    /// Records a failure to connect. The collector ended, and its successor may be different.
    pub(super) fn not_connected(&mut self) {
        *self = Self { has_answered: self.has_answered, ..Self::new(self.rule) };
    }

    /// Returns `true` if an unacknowledged connection is so old that the collector should be asked again.
    pub(super) fn is_to_repeat(&self, age: Duration) -> bool {
        self.is_historical() && age >= REPEAT
    }
}

/// Collectors to ask for acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Acknowledgements {
    /// All except collectors that close the connection when asked, such as historical collectors.
    #[default]
    IfKnown,
    /// All. Nothing is sent to collectors that do not acknowledge.
    Required,
    /// None.
    Never,
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_ONCE: Duration = Duration::from_millis(1);

    fn milliseconds(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// A collector that closed three connections at questions, each open for longer than the last.
    fn historical() -> QuestionPolicy {
        let mut asking = QuestionPolicy::new(Acknowledgements::IfKnown);
        for admission in [0, 50, 100] {
            assert_eq!(asking.plan(), ConnectionPlan { admission: milliseconds(admission), asks: true });
            asking.closed_at_question(AT_ONCE);
        }
        asking
    }

    #[test]
    fn historical_collectors_are_not_asked() {
        let asking = historical();
        assert_eq!(asking.plan(), ConnectionPlan { admission: milliseconds(100), asks: false });
        assert!(!asking.is_to_repeat(milliseconds(59_999)) && asking.is_to_repeat(milliseconds(60_000)));
    }

    #[test]
    fn the_connection_after_one_that_was_lost_asks_again() {
        for answers in [true, false] {
            let mut asking = historical();
            asking.lost_unacknowledged();
            assert!(asking.plan().asks);
            // An overloaded collector closes connections before the question, which proves nothing.
            asking.closed_before_question();
            assert!(asking.plan().asks);
            match answers {
                true => asking.answered(),
                false => asking.closed_at_question(AT_ONCE),
            }
            assert_eq!(asking.plan().asks, answers);
            if answers {
                // The answer is final, whatever happens later.
                (0..10).for_each(|_| asking.closed_at_question(AT_ONCE));
                asking.lost_unacknowledged();
                assert!(asking.plan().asks && !asking.is_to_repeat(milliseconds(100_000)));
            }
        }
    }

    /// A server that closes every connection after some time does not become a historical collector.
    #[test]
    fn late_closing_servers_get_more_time() {
        let mut asking = QuestionPolicy::new(Acknowledgements::IfKnown);
        asking.closed_at_question(milliseconds(300));
        assert_eq!(asking.plan(), ConnectionPlan { admission: milliseconds(600), asks: true });
        for _ in 0..10 {
            asking.closed_before_question();
            assert_eq!(asking.plan(), ConnectionPlan { admission: milliseconds(600), asks: true });
        }
        // Even after a slow attempt in between.
        asking.closed_at_question(AT_ONCE);
        asking.closed_at_question(AT_ONCE);
        assert_eq!(asking.plan(), ConnectionPlan { admission: milliseconds(600), asks: false });
        asking.closed_before_question();
        assert!(asking.plan().asks);
    }

    #[test]
    fn a_collector_that_ended_is_forgotten() {
        let mut asking = historical();
        asking.not_connected();
        assert_eq!(asking.plan(), ConnectionPlan { admission: Duration::ZERO, asks: true });
        for (rule, asks) in [(Acknowledgements::Never, false), (Acknowledgements::Required, true)] {
            let mut asking = QuestionPolicy::new(rule);
            assert_eq!(asking.plan(), ConnectionPlan { admission: Duration::ZERO, asks });
            (0..4).for_each(|_| asking.closed_at_question(AT_ONCE));
            assert_eq!(asking.plan().asks, asks);
        }
    }
}
