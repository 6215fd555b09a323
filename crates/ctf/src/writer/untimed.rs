//! Times for events with a missing or impossible time, in a data stream with a clock.

use ichnos_model::class::{BitField, ByteOrder};

use super::bit_writer::BitWriter;
use super::packets::OpenPacket;

/// Layout of event record header timestamps, see [`frame`](super::frame).
const TIMESTAMP: BitField = BitField::new(64, ByteOrder::LittleEndian, 8);

/// Times for events without a time. In a data stream with a clock, every event header has a time.
///
/// Each event gets the previous event's time. Events before the first time get that time, as long as their packet is
/// open.
#[derive(Debug, Default)]
pub(super) struct UntimedEvents {
    /// Time of the last event with a time.
    last: Option<u64>,
    /// Events before the first time: their timestamp's bit in the open packet, and their class index.
    leading: Vec<(u64, usize)>,
    /// Event counts by class index and [`TimeSource`].
    counts: Vec<[u64; TimeSource::ALL.len()]>,
}

/// Source of a time that replaces a missing or impossible time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeSource {
    /// Time of the previous event.
    Before,
    /// First later time in the packet.
    Next,
    /// Zero: all events lack a time.
    Zero,
    /// Clock value closest to its time.
    Nearest,
}

impl TimeSource {
    const ALL: [Self; 4] = [Self::Before, Self::Next, Self::Zero, Self::Nearest];

    const fn loss(self) -> &'static str {
        match self {
            Self::Before => "no timestamp: used the previous event's",
            Self::Next => "no timestamp: used the next event's",
            Self::Zero => "no timestamp: clock value 0",
            Self::Nearest => "time that the clock cannot represent: used the nearest time",
        }
    }
}

impl UntimedEvents {
    /// Returns the time of an event without a time. `now` is the default clock value, if packets have it. `begin` is
    /// the packet's minimum possible value.
    pub(super) fn time(&self, now: Option<u64>, begin: u64) -> (u64, TimeSource) {
        match now.or(self.last) {
            Some(time) => (time, TimeSource::Before),
            None => (begin, TimeSource::Next),
        }
    }

    /// Records the time of a written event.
    #[inline]
    pub(super) fn record_timed(&mut self, cycles: u64) {
        self.last = Some(cycles);
    }

    /// Records the time source of a written event, and its timestamp's bit in the open packet if it can be changed.
    pub(super) fn record(&mut self, source: TimeSource, class: usize, bit: Option<u64>) {
        match (source, bit) {
            (TimeSource::Next, Some(bit)) => self.leading.push((bit, class)),
            (TimeSource::Next, None) => self.count(class, TimeSource::Zero),
            _ => self.count(class, source),
        }
    }

    /// Returns `true` if events in the open packet wait for the first time.
    #[inline]
    pub(super) fn has_leading(&self) -> bool {
        !self.leading.is_empty()
    }

    /// Swaps the times with another output of the same data stream. The event counts stay.
    #[inline]
    pub(super) fn swap_times(&mut self, other: &mut Self) {
        std::mem::swap(&mut self.last, &mut other.last);
        std::mem::swap(&mut self.leading, &mut other.leading);
    }

    /// Writes the first time into the events before it, and into their packet.
    #[cold]
    pub(super) fn set_leading(&mut self, out: &mut BitWriter, open: &mut OpenPacket, cycles: u64) {
        for (bit, class) in std::mem::take(&mut self.leading) {
            out.patch(bit, cycles, TIMESTAMP);
            self.count(class, TimeSource::Next);
        }
        open.begin_at(out, cycles);
    }

    /// Keeps events unchanged that wait for the first time, because their packet is closed.
    pub(super) fn give_up(&mut self) {
        for (_, class) in std::mem::take(&mut self.leading) {
            self.count(class, TimeSource::Zero);
        }
    }

    fn count(&mut self, class: usize, source: TimeSource) {
        if self.counts.len() <= class {
            self.counts.resize(class + 1, [0; TimeSource::ALL.len()]);
        }
        self.counts[class][source as usize] += 1;
    }

    /// Returns the losses of a class's events: descriptions and event counts.
    pub(super) fn losses(&self, class: usize) -> impl Iterator<Item = (&'static str, u64)> {
        // Classes without untimed events lack counts.
        let counts = self.counts.get(class).copied().unwrap_or_default();
        let losses = TimeSource::ALL.into_iter().map(move |source| (source.loss(), counts[source as usize]));
        losses.filter(|(_, count)| *count > 0)
    }
}
