//! Looks at everything and writes nothing.

use std::io;
use std::ops::ControlFlow;

use ichnos_model::decode::first_word;
use ichnos_model::{ClockValue, Field, Message, Real, Scope, Sink, Text, Uuid, Visitor, Wide};

use crate::output::Failures;
use crate::resume::ResumableSink;

/// What [`Null`] counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NullStatistics {
    /// Data streams that began.
    pub streams: u64,
    /// Packets that ended.
    pub packets: u64,
    /// Bytes of those packets.
    pub bytes: u64,
    /// Event records.
    pub events: u64,
    /// Event records that the producer is known to have discarded.
    pub discarded_events: u64,
    /// Packets that are known to be missing.
    pub discarded_packets: u64,
    /// Places that cannot be read.
    pub damages: u64,
    /// Sum of the hashes of all event records and packets: the same for the same ones, in
    /// whatever order they come.
    pub checksum: u64,
}

impl std::ops::AddAssign for NullStatistics {
    fn add_assign(&mut self, other: Self) {
        self.streams += other.streams;
        self.packets += other.packets;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.events += other.events;
        self.discarded_events = self.discarded_events.saturating_add(other.discarded_events);
        self.discarded_packets = self.discarded_packets.saturating_add(other.discarded_packets);
        self.damages += other.damages;
        self.checksum = self.checksum.wrapping_add(other.checksum);
    }
}

/// Visits every field and looks at every clock value, as the fastest of all sinks and to say
/// whether two ways to read give the same.
#[derive(Clone, Debug, Default)]
pub struct Null {
    statistics: NullStatistics,
    failures: Failures,
}

impl Null {
    /// A sink that has not seen anything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What was counted until now.
    #[must_use]
    pub fn statistics(&self) -> NullStatistics {
        self.statistics
    }
}

impl Null {
    #[inline(never)]
    fn other(&mut self, message: &Message<'_>) {
        let all = &mut self.statistics;
        match message {
            Message::PacketEnd(packet) => {
                let mut hash = Hash::new(packet.total_length);
                hash.add_clock(packet.begin.as_ref());
                hash.add_clock(packet.end.as_ref());
                self.failures.note(packet.visit(Scope::PacketContext, &mut hash));
                all.packets += 1;
                all.bytes = all.bytes.saturating_add(packet.total_length.div_ceil(8));
                all.checksum = all.checksum.wrapping_add(hash.finish());
            }
            Message::StreamBegin(_) => all.streams += 1,
            Message::DiscardedEvents(discarded) => {
                all.discarded_events = all.discarded_events.saturating_add(discarded.count.unwrap_or(0));
            }
            Message::DiscardedPackets(discarded) => {
                all.discarded_packets = all.discarded_packets.saturating_add(discarded.count.unwrap_or(0));
            }
            Message::Damage(_) => all.damages += 1,
            _ => {}
        }
    }
}

/// Writes no text that could depend on anything.
impl ResumableSink for Null {
    type State = ();
}

impl Sink for Null {
    #[inline(always)]
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        if let Message::Event(event) = message {
            let mut hash = Hash::new(event.class.id as u64);
            hash.add_clock(event.clock);
            self.failures.note(event.visit_all(&mut hash));
            self.statistics.events += 1;
            self.statistics.checksum = self.statistics.checksum.wrapping_add(hash.finish());
        } else {
            self.other(message);
        }
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.failures.into_result()
    }
}

/// The hash of one event record or packet: each value is mixed in where it stands.
struct Hash(u64);

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hash {
    fn new(seed: u64) -> Self {
        Self(seed ^ 0x51_7c_c1_b7_27_22_0a_95)
    }

    #[inline]
    fn add(&mut self, value: u64) {
        // The product does not wait for the hash before: this many values are mixed in at once.
        self.0 = self.0.rotate_left(23).wrapping_add(value.wrapping_mul(FACTOR));
    }

    #[inline]
    fn add_clock(&mut self, value: Option<&ClockValue>) {
        if let Some(value) = value {
            self.add(value.cycles);
            self.add(value.nanoseconds as u64);
        }
    }

    /// Adds bytes; `raw` begins with them, and may have more.
    #[inline(always)]
    fn add_bytes(&mut self, bytes: &[u8], raw: &[u8]) {
        self.add(bytes.len() as u64);
        if let (Some(first), 1..8) = (raw.first_chunk::<8>(), bytes.len()) {
            return self.add(u64::from_le_bytes(*first) & !(u64::MAX << (bytes.len() * 8)));
        }
        let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) else {
            return self.add(first_word(bytes));
        };
        // The last eight may be among those before: their number says how many.
        self.add(u64::from_le_bytes(*first));
        if bytes.len() > 16 {
            for word in bytes[8..bytes.len() - 1].as_chunks::<8>().0 {
                self.add(u64::from_le_bytes(*word));
            }
        }
        self.add(u64::from_le_bytes(*last));
    }

    /// Spreads the bits, so that sums of hashes do not cancel out.
    fn finish(self) -> u64 {
        let hash = (self.0 ^ self.0 >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        hash ^ hash >> 32
    }
}

impl Visitor for Hash {
    #[inline]
    fn unsigned(&mut self, _: Field<'_>, value: u64) {
        self.add(value);
    }

    #[inline]
    fn signed(&mut self, _: Field<'_>, value: i64) {
        self.add(value as u64);
    }

    fn wide(&mut self, _: Field<'_>, value: Wide<'_>) {
        value.words.iter().for_each(|word| self.add(*word));
    }

    fn boolean(&mut self, _: Field<'_>, value: bool, _: u64) {
        self.add(u64::from(value));
    }

    fn bit_array(&mut self, _: Field<'_>, bits: u64) {
        self.add(bits);
    }

    fn bit_map(&mut self, _: Field<'_>, bits: u64) {
        self.add(bits);
    }

    #[inline]
    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        match value {
            Real::Half(bits) => self.add(u64::from(bits)),
            Real::Single(value) => self.add(u64::from(value.to_bits())),
            Real::Double(value) => self.add(value.to_bits()),
            Real::Wide(wide) => self.wide(field, wide),
        }
    }

    // There are two callers, which would make it a call.
    #[inline(always)]
    fn text(&mut self, _: Field<'_>, value: Text<'_>) {
        self.add_bytes(value.bytes, value.raw);
    }

    fn blob(&mut self, _: Field<'_>, bytes: &[u8]) {
        self.add_bytes(bytes, bytes);
    }

    fn guid(&mut self, _: Field<'_>, value: Uuid) {
        let (high, low) = value.as_u64_pair();
        self.add(high);
        self.add(low);
    }

    fn begin_array(&mut self, _: Field<'_>, length: u64) {
        self.add(length);
    }

    fn begin_optional(&mut self, _: Field<'_>, present: bool, _: i128) {
        self.add(u64::from(present));
    }

    fn begin_variant(&mut self, _: Field<'_>, option: usize, _: i128) {
        self.add(option as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fixture, structure, u8_class};

    fn checksum(payloads: &[&[u8]]) -> NullStatistics {
        let fixture = Fixture::new(structure(vec![("a", u8_class()), ("b", u8_class())]));
        let mut sink = Null::new();
        fixture.begin(&mut sink);
        fixture.packet(&mut sink, 0, false);
        for payload in payloads {
            fixture.event(&mut sink, 0, payload);
        }
        sink.statistics()
    }

    #[test]
    fn bytes_count_however_they_lie() {
        let hash = |bytes: &[u8], raw: &[u8]| {
            let mut hash = Hash::new(0);
            hash.add_bytes(bytes, raw);
            hash.finish()
        };
        let all: Vec<u8> = (1..=40).collect();
        for length in 0..=30 {
            let bytes = &all[..length];
            assert_eq!(hash(bytes, bytes), hash(bytes, &all), "{length}");
            for other in 0..length {
                let mut changed = bytes.to_vec();
                changed[other] ^= 0x80;
                assert_ne!(hash(bytes, bytes), hash(&changed, &changed), "{length} {other}");
            }
        }
    }

    #[test]
    fn the_order_of_events_does_not_matter_but_that_of_fields() {
        let all = checksum(&[&[1, 2], &[3, 4]]);
        assert_eq!((all.streams, all.packets, all.bytes, all.events), (1, 1, 16, 2));
        assert_eq!(all.checksum, checksum(&[&[3, 4], &[1, 2]]).checksum);
        assert_ne!(all.checksum, checksum(&[&[2, 1], &[3, 4]]).checksum);
        assert_ne!(all.checksum, checksum(&[&[1, 2], &[1, 2], &[3, 4]]).checksum);
    }
}
