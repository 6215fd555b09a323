//! A CTF data stream with its files and packets.

use std::sync::{Arc, OnceLock};

use ichnos_io::Bytes;
use ichnos_model::clock::{ClockArithmetic, ClockClass, ClockValue};
use ichnos_model::decode::DecodeLimits;
use ichnos_model::message::Damage;
use ichnos_model::trace::StreamSummary;
use ichnos_model::{Cursor as _, DataStream, Message, Window};

use crate::ctf_options::CtfOptions;
use crate::event_class::EventRecords;
use crate::loss::{SmallerCounter, discarded_events, discarded_packets};
use crate::packet::PacketDecoder;
use crate::packet_check::PacketCheck;
use crate::packet_entry::PacketEntry;
use crate::quirks::{AppliedQuirks, Quirk};

/// A data stream file.
#[derive(Clone, Debug)]
pub struct StreamFile {
    /// Path in the trace.
    pub name: Arc<str>,
    /// File content.
    pub bytes: Bytes,
}

/// A data stream with its files and packets.
#[derive(Debug)]
pub struct StreamInput {
    /// The data stream.
    pub stream: Arc<DataStream>,
    /// Stream files.
    pub files: Box<[StreamFile]>,
    /// Rules for reading data streams with its class.
    pub(crate) rules: Arc<StreamRules>,
    /// Packets in reading order.
    pub packets: Box<[PacketEntry]>,
    /// Number of packets that are also in another file.
    pub(crate) repeated: u64,
    /// Damage at the ends of its files.
    pub rest: Box<[Damage]>,
    /// Quirks that have changed a result.
    pub(crate) applied_quirks: AppliedQuirks,
    /// `true` if packets can be decoded without earlier packets. Cached, because there may be many packets.
    pub(crate) packets_stand_alone: bool,
    /// Its times, once they are known.
    pub(crate) range: OnceLock<StreamRange>,
}

/// Rules for reading the data streams in a class. They are shared, because there may be many data streams.
#[derive(Debug)]
pub(crate) struct StreamRules {
    /// Facts about event records.
    pub(crate) records: EventRecords,
    /// Tracer bugs to work around.
    pub(crate) quirks: Box<[Quirk]>,
    /// Decoding limits.
    pub(crate) limits: DecodeLimits,
    /// Conversion from cycles to nanoseconds.
    pub(crate) clock_arithmetic: ClockArithmetic,
    /// Largest default clock value whose time fits in 64 bits.
    pub(crate) most_cycles: u64,
    /// Meaning of counters of discarded events that get smaller.
    pub(crate) smaller_counter: SmallerCounter,
}

/// Times of a data stream, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamRange {
    /// First and last known time.
    pub(crate) known: Option<(i128, i128)>,
    /// Begin of the first packet, and end of the last packet, if both are known.
    pub(crate) active: Option<(i128, i128)>,
}

impl StreamRules {
    /// Creates the rules for a data stream class.
    pub(crate) fn new(
        records: EventRecords,
        quirks: &[Quirk],
        limits: DecodeLimits,
        most_cycles: u64,
        options: &CtfOptions,
    ) -> Self {
        let (clock_arithmetic, smaller_counter) = (options.clock_arithmetic, options.smaller_counter());
        Self { records, quirks: quirks.into(), limits, clock_arithmetic, most_cycles, smaller_counter }
    }

    /// Returns the value of a clock.
    pub(crate) fn clock_value(&self, clock: Option<&ClockClass>, cycles: Option<u64>) -> Option<ClockValue> {
        let cycles = cycles?;
        let nanoseconds = clock?.nanoseconds_in(self.clock_arithmetic, cycles);
        Some(ClockValue { nanoseconds, cycles })
    }
}

impl StreamInput {
    /// Returns `true` if a packet has events after its begin time, so that later packets cannot begin at the same time.
    pub(crate) fn moves_clock(self: &Arc<Self>, packet: usize) -> bool {
        let begin = self.packets[packet].begin();
        let mut cursor = self.cursor_of(Window::default(), packet..packet + 1);
        while cursor.advance() {
            if let Some(Message::Event(event)) = cursor.current()
                && event.clock.map(|clock| clock.cycles) != begin
            {
                return true;
            }
        }
        false
    }

    /// Returns the decoder for packet headers and contexts.
    pub(crate) fn decoder(&self) -> PacketDecoder<'_> {
        let trace = &self.stream.trace;
        PacketDecoder { class: &trace.class, plans: &trace.plans, limits: self.rules.limits }
    }

    /// Returns the default clock value.
    pub(crate) fn clock_value(&self, cycles: Option<u64>) -> Option<ClockValue> {
        self.rules.clock_value(self.stream.clock(), cycles)
    }

    /// Begin of a packet in nanoseconds.
    pub(crate) fn begin_of(&self, packet: usize) -> Option<i128> {
        Some(self.clock_value(self.packets.get(packet)?.begin())?.nanoseconds)
    }

    /// Default clock value before which a packet cannot begin.
    pub(crate) fn end_before(&self, packet: usize) -> u64 {
        let before = packet.checked_sub(1).and_then(|before| self.packets.get(before));
        before.and_then(|before| before.end().max(before.begin())).unwrap_or(0)
    }

    /// Returns the first packet that can contain events at `begin` or later.
    pub(crate) fn first_packet(&self, begin: i128) -> usize {
        let is_before =
            |cycles| self.clock_value(cycles).is_some_and(|value: ClockValue| value.nanoseconds < begin);
        // Packets are sorted by begin time, and event times never go back. So all packets before the last packet that
        // begins too early also end too early, unless their recorded end is later.
        let last = self.packets.partition_point(|packet| is_before(packet.begin())).saturating_sub(1);
        let ends_before = |packet: &PacketEntry| packet.end().is_none() || is_before(packet.end());
        self.packets[..last].iter().position(|packet| !ends_before(packet)).unwrap_or(last)
    }

    /// Size of the file that contains a packet.
    pub(crate) fn file_size(&self, packet: &PacketEntry) -> u64 {
        self.files.get(packet.file as usize).map_or(0, |file| file.bytes.len() as u64)
    }

    /// Returns a summary of its packets.
    #[must_use]
    pub fn summary(&self) -> StreamSummary {
        let StreamRange { known: time_range, active: active_range } = self.range();
        let mut summary = StreamSummary {
            stream: Arc::clone(&self.stream),
            files: self.files.iter().map(|file| file.name.to_string()).collect(),
            packets: self.packets.len() as u64,
            repeated_packets: self.repeated,
            bytes: 0,
            padding: 0,
            time_range,
            active_range,
            discarded_events: 0,
            discarded_before: false,
            discarded_packets: 0,
            damage: Vec::new(),
        };
        for (i, packet) in self.packets.iter().enumerate() {
            let before = self.packet_before(i);
            summary.bytes += packet.available(self.file_size(packet));
            if let (Some(total), Some(content)) = (packet.total(), packet.content()) {
                summary.padding = summary.padding.saturating_add(total.saturating_sub(content) / 8);
            }
            summary.damage.extend(packet.damage_before().iter().cloned());
            if let Some(file) = self.files.get(packet.file as usize) {
                let may_lack_end = self.rules.quirks.contains(&Quirk::LttngCrashPacketEnd);
                let stream = &self.stream;
                let check = PacketCheck { stream, entry: packet, before, info: None, may_lack_end };
                summary.damage.extend(check.flaws().map(|kind| Damage {
                    file: file.name.to_string(),
                    stream: None,
                    bit: packet.offset * 8,
                    kind,
                    skipped: 0,
                }));
                summary.damage.extend(packet.cut_off(&file.name, file.bytes.len() as u64));
            }
            match discarded_events(before, packet, self.rules.smaller_counter) {
                Some(Some(count)) => {
                    summary.discarded_events = summary.discarded_events.saturating_add(count);
                }
                Some(None) => summary.discarded_before = true,
                None => {}
            }
            let packets = discarded_packets(before, packet).unwrap_or(0);
            summary.discarded_packets = summary.discarded_packets.saturating_add(packets);
        }
        summary.damage.extend(self.rest.iter().cloned());
        summary
    }
}
