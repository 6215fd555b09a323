//! Survey of the event times in a repaired data stream, to find the consistent times.
//!
//! Packet header times summarize event times, so they never outvote them. An event that contradicts most of the others
//! does not count.

use ichnos_model::{Event, Message, Scope};

use crate::packet_order::heaviest_in_order;

/// Maximum number of events in a run. Inside a run, all times are compared. Runs are compared with each other.
const RUN: usize = 1 << 16;

/// Maximum number of remembered outliers. Further runs with outliers count as inconsistent.
const MOST_OUTLIERS: usize = 1 << 24;

/// Consecutive events in a packet.
#[derive(Clone, Copy, Debug)]
struct EventRun {
    /// Packet number, starting at 1.
    packet: u64,
    /// Bit in the packet where the first event begins.
    bit: u64,
    /// First time, last time and number of consistent events.
    first: u64,
    last: u64,
    events: u64,
    /// `true` if these times are also consistent with the other runs.
    agrees: bool,
    /// First time of the next consistent run.
    next: u64,
}

/// Event times in a packet that are consistent with all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SurveyedTimes {
    /// First and last event. `None` if the packet lacks events.
    pub(super) range: Option<(u64, u64)>,
    /// First event time in the packets after it.
    pub(super) next: u64,
}

/// Event times in a data stream.
#[derive(Debug, Default)]
pub(super) struct TimeSurvey {
    /// Largest possible time.
    most: u64,
    /// Number of packets so far.
    packet: u64,
    /// Bit and time of each event in the current run.
    open: Vec<(u64, u64)>,
    runs: Vec<EventRun>,
    /// Packet number and bit of each outlier, in order.
    outliers: Vec<(u64, u64)>,
    is_complete: bool,
    /// Index of the current run, and of the next outlier, when packets are written.
    run: usize,
    outlier: usize,
}

impl TimeSurvey {
    /// Creates an empty survey for times up to `most`.
    pub(super) fn new(most: u64) -> Self {
        Self { most, ..Self::default() }
    }

    /// Takes the data stream's next message.
    pub(super) fn add(&mut self, message: &Message<'_>) {
        match message {
            Message::PacketBegin(_) => {
                self.close_run();
                self.packet += 1;
            }
            Message::Event(event) => {
                let Some(clock) = event.clock else { return };
                self.add_event(bit_of(event), clock.cycles);
            }
            _ => {}
        }
    }

    fn add_event(&mut self, bit: u64, time: u64) {
        if self.open.len() == RUN {
            self.close_run();
        }
        self.open.push((bit, time));
    }

    fn close_run(&mut self) {
        let events = std::mem::take(&mut self.open);
        let Some((bit, _)) = events.first() else { return };
        let mut run =
            EventRun { packet: self.packet, bit: *bit, first: 0, last: 0, events: 0, agrees: true, next: 0 };
        let most = self.most;
        let mut agreeing = Vec::new();
        if !events.is_sorted_by_key(|(_, time)| *time) || events.last().is_some_and(|(_, time)| *time > most)
        {
            // Impossible times have weight 0.
            agreeing =
                heaviest_in_order(events.iter().map(|(_, time)| (*time, *time, u64::from(*time <= most))));
        }
        for (index, (bit, time)) in events.iter().enumerate() {
            if *time <= most && agreeing.get(index).is_none_or(|agrees| *agrees) {
                run.first = if run.events == 0 { *time } else { run.first };
                run.last = *time;
                run.events += 1;
            } else if self.outliers.len() < MOST_OUTLIERS {
                self.outliers.push((self.packet, *bit));
            } else {
                run.agrees = false;
            }
        }
        run.agrees &= run.events > 0;
        self.runs.push(run);
        self.open = events;
        self.open.clear();
    }

    /// Ends the survey by comparing runs with each other.
    fn complete(&mut self) {
        if std::mem::replace(&mut self.is_complete, true) {
            return;
        }
        self.close_run();
        let (runs, mut next) = (&mut self.runs, self.most);
        let weight = |run: &EventRun| if run.agrees { run.events } else { 0 };
        let are_in_order = runs.windows(2).all(|two| two[0].last <= two[1].first);
        let agreeing = match are_in_order {
            true => Vec::new(),
            false => heaviest_in_order(runs.iter().map(|run| (run.first, run.last, weight(run)))),
        };
        for (index, run) in runs.iter_mut().enumerate().rev() {
            run.agrees &= agreeing.get(index).is_none_or(|agrees| *agrees);
            run.next = next;
            next = if run.agrees { run.first } else { next };
        }
        self.packet = 0;
    }

    /// Begins the next written packet, and returns its times.
    pub(super) fn begin_packet(&mut self) -> SurveyedTimes {
        self.complete();
        self.packet += 1;
        let packet = self.packet;
        let rest = self.runs.get(self.run..).unwrap_or_default();
        self.run += rest.partition_point(|run| run.packet < packet);
        let rest = self.runs.get(self.run..).unwrap_or_default();
        let (own, later) = rest.split_at(rest.partition_point(|run| run.packet == packet));
        let mut agreeing = own.iter().filter(|run| run.agrees);
        let first = agreeing.next();
        let range = first.map(|first| (first.first, agreeing.next_back().unwrap_or(first).last));
        let next = later.first().map_or(self.most, |run| if run.agrees { run.first } else { run.next });
        SurveyedTimes { range, next }
    }

    /// Returns the latest credible event time, if it is not earlier than the previous event.
    pub(super) fn latest(&mut self, event: &Event<'_>) -> u64 {
        self.latest_at(bit_of(event))
    }

    fn latest_at(&mut self, bit: u64) -> u64 {
        let packet = self.packet;
        while self.runs.get(self.run + 1).is_some_and(|next| next.packet == packet && next.bit <= bit) {
            self.run += 1;
        }
        let Some(run) = self.runs.get(self.run).filter(|run| run.packet == packet) else { return self.most };
        if !run.agrees {
            return run.next;
        }
        let rest = self.outliers.get(self.outlier..).unwrap_or_default();
        self.outlier += rest.partition_point(|outlier| *outlier < (packet, bit));
        if self.outliers.get(self.outlier) == Some(&(packet, bit)) { 0 } else { self.most }
    }
}

/// Returns the bit in its packet where an event begins.
fn bit_of(event: &Event<'_>) -> u64 {
    event.scopes.begins().get(Scope::EventRecordHeader as usize).map_or(0, |begin| begin.bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Surveys packets with these event times. Each event's bit is its index in the packet.
    fn survey(packets: &[&[u64]]) -> TimeSurvey {
        let mut survey = TimeSurvey::new(1000);
        for times in packets {
            survey.close_run();
            survey.packet += 1;
            (0..).zip(*times).for_each(|(bit, time)| survey.add_event(bit, *time));
        }
        survey
    }

    /// Event times in a packet, its range, and the next packet's first time.
    type RepairedPacket = (Vec<u64>, Option<(u64, u64)>, u64);

    /// Returns each packet's repaired times, and its range.
    fn repaired(packets: &[&[u64]]) -> Vec<RepairedPacket> {
        let (mut survey, mut now) = (survey(packets), 0);
        let mut repair = |times: &[u64]| {
            let SurveyedTimes { range, next } = survey.begin_packet();
            let times = (0..).zip(times).map(|(bit, time)| {
                let is_possible = (now..=survey.latest_at(bit)).contains(time);
                now = if is_possible { *time } else { now };
                now
            });
            (times.collect(), range, next)
        };
        packets.iter().map(|times| repair(times)).collect()
    }

    #[test]
    fn times_in_order_stay() {
        let times: [&[u64]; 3] = [&[1, 2, 2], &[], &[5, 9]];
        let expected =
            [(vec![1, 2, 2], Some((1, 2)), 5), (vec![], None, 5), (vec![5, 9], Some((5, 9)), 1000)];
        assert_eq!(repaired(&times), expected);
    }

    #[test]
    fn one_event_outvotes_no_others() {
        assert_eq!(repaired(&[&[1, 2, 50, 3, 4]]), [(vec![1, 2, 2, 3, 4], Some((1, 4)), 1000)]);
        assert_eq!(repaired(&[&[10, 2, 11, 2000]]), [(vec![0, 2, 11, 11], Some((2, 11)), 1000)]);
    }

    #[test]
    fn packets_outvote_smaller_ones() {
        let times: [&[u64]; 3] = [&[1, 2, 3], &[90, 91], &[4, 5, 6]];
        let expected =
            [(vec![1, 2, 3], Some((1, 3)), 4), (vec![3, 3], None, 4), (vec![4, 5, 6], Some((4, 6)), 1000)];
        assert_eq!(repaired(&times), expected);
        // Times that fit between the others stay.
        assert_eq!(repaired(&[&[1, 2, 3], &[4, 91], &[4, 5, 6]])[1].0, [4, 4]);
    }

    #[test]
    fn nothing_agrees_with_impossible_times() {
        assert_eq!(repaired(&[&[2000, 3000]]), [(vec![0, 0], None, 1000)]);
    }
}
