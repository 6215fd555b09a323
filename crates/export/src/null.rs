//! Decodes everything and writes nothing.

use std::io;
use std::ops::ControlFlow;

use ichnos_model::digest::ValueHash;
use ichnos_model::{Message, Scope, Sink};

use crate::null_statistics::NullStatistics;
use crate::resume::ResumableSink;
use crate::text_buffer::Failures;

/// Sink that visits every field and clock value. It is the fastest sink, and also compares two ways of reading.
#[derive(Clone, Debug, Default)]
pub struct Null {
    statistics: NullStatistics,
    failures: Failures,
}

impl Null {
    /// Creates a sink with all counts 0.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[inline(never)]
    fn other(&mut self, message: &Message<'_>) {
        let all = &mut self.statistics;
        match message {
            Message::PacketEnd(packet) => {
                let mut hash = ValueHash::new(packet.total_length);
                hash.add_clock(packet.begin.as_ref());
                hash.add_clock(packet.end.as_ref());
                self.failures.record(packet.visit(Scope::PacketContext, &mut hash));
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

/// The text is empty, so the state is empty.
impl ResumableSink for Null {
    type State = ();

    fn statistics(&self) -> Option<NullStatistics> {
        Some(self.statistics)
    }
}

impl Sink for Null {
    #[inline(always)]
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        if let Message::Event(event) = message {
            let mut hash = ValueHash::new(event.class.id as u64);
            hash.add_clock(event.clock);
            self.failures.record(event.visit_all(&mut hash));
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
        sink.statistics().unwrap()
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
