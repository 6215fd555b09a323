//! Configuration shared by all encoders of a data stream.

use std::sync::{Arc, Mutex};

use ichnos_io::WriteOptions;
use ichnos_model::class::{FieldClass, Role, Roles, Uuid};
use ichnos_model::decode::DecodeLimits;
use ichnos_model::digest::TraceDigest;
use ichnos_model::event::Cost;
use ichnos_model::lower::LoweredTrace;
use ichnos_model::{DataStream, Scope, Window};

use super::lowered_source::keeps_packets;
use super::packet_clock::PacketClock;
use super::packet_sizes::PacketSizes;
use super::role_values::RoleValues;
use super::scope_shape::ScopeShape;
use super::source_frame::{AddedFields, SourceFrame};
use super::timestamps::Timestamps;
use super::usage::LimitUsage;
use crate::metadata::Dialect;

/// Configuration shared by all encoders of a data stream.
#[derive(Debug)]
pub(super) struct EncoderConfig {
    pub(super) lowered: Arc<LoweredTrace>,
    pub(super) stream: Arc<DataStream>,
    pub(super) output: OutputPlace,
    /// Parts of packets and event record headers that come from the source.
    pub(super) frame: SourceFrame,
    /// Fields that source packets and event record headers lack.
    pub(super) added: AddedFields,
    /// Roles of packet fields that count anew.
    pub(super) recounted: Roles,
    /// Roles of them that count the losses which the writer receives.
    pub(super) recounted_with_losses: Roles,
    pub(super) rules: WriteRules,
    /// Maximum packet size in bytes, if requested.
    pub(super) packet_size: Option<u64>,
    /// Time range to write.
    pub(super) window: Window,
    pub(super) records: EventRecordShapes,
    /// Packet start and end timestamps.
    pub(super) clock: PacketClock,
    /// Index of the default clock in the output.
    pub(super) default_clock: Option<u16>,
    /// Event record timestamps.
    pub(super) timestamp: Timestamps,
    /// Packet header values.
    pub(super) header: HeaderConfig,
    /// Reader limits, and the trace's use of them.
    pub(super) limits: DecodeLimits,
    pub(super) usage: Arc<LimitUsage>,
    /// Digest of all written data, if it is compared with the output.
    pub(super) digest: Option<Arc<Mutex<TraceDigest>>>,
}

/// Place of a data stream in the output.
#[derive(Debug)]
pub(super) struct OutputPlace {
    /// Data stream number.
    pub(super) number: usize,
    /// Name of its first file.
    pub(super) file: String,
    /// Trace number.
    pub(super) trace: usize,
}

/// Rule for encoding a data stream.
#[derive(Clone, Copy, Debug)]
pub(super) enum WriteRule {
    /// Packets can be copied unchanged.
    CopyPackets,
    /// Packets keep their start, end and, if possible, length: nothing is dropped or changed.
    KeepPackets,
    /// Any part can need more bits than in the source, so that a packet can become too large.
    GrowPackets,
    /// Packets have a size that locates the next packet, so that a packet can be split.
    DelimitPackets,
    /// Event records can be copied, if their class allows it.
    CopyEvents,
    /// Event record headers or common contexts can have zero-size array elements.
    EmptyElements,
    /// Gaps between events can be longer than in the source, and exceed the timestamp range.
    TimeGaps,
    /// Times, counters and texts are made valid.
    Repair,
    /// An unwritable event is an error.
    MustFit,
    /// Each packet is output as soon as it is complete.
    Live,
    /// Packet indexes are also written.
    Index,
}

/// Set of rules for encoding a data stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteRules(u16);

impl WriteRules {
    /// Returns the rules for a data stream whose lowered class is written in a dialect.
    pub(super) fn for_stream(
        frame: SourceFrame,
        (clock, timestamp): (PacketClock, Timestamps),
        options: &WriteOptions,
        dialect: Dialect,
        stream: &DataStream,
        lowered: &LoweredTrace,
    ) -> Self {
        let is_mirrored_ctf = frame.is_ctf && frame.mirrors;
        let keeps_layout = lowered.keeps_packets(stream.class_index);
        let is_unchanged = !options.leaves_out && options.packet_size.is_none() && !options.repair;
        let are_delimited = |class, dialect: &str| PacketSizes::for_class(class).delimit(dialect);
        let copies_packets = is_mirrored_ctf
            && is_unchanged
            && keeps_layout
            && are_delimited(stream.class(), &stream.trace.class.dialect);
        let written = lowered.trace().class.data_streams.get(stream.class_index);
        let delimits = written.is_some_and(|class| are_delimited(class, dialect.title()));
        let has_gaps = !frame.is_ctf
            || options.leaves_out
            || options.repair
            || clock.adds_begin
            || options.window != Window::default();
        let keeps_events = is_mirrored_ctf && !options.repair && lowered.keeps_events(stream.class_index);
        let mut roots = written
            .into_iter()
            .flat_map(|class| class.event_record_header.iter().chain(&class.common_context));
        Self(0)
            .with(WriteRule::CopyPackets, copies_packets)
            .with(WriteRule::KeepPackets, keeps_packets(options))
            .with(WriteRule::GrowPackets, !frame.is_ctf || !keeps_layout)
            .with(WriteRule::DelimitPackets, delimits)
            .with(WriteRule::CopyEvents, keeps_events && !(has_gaps && timestamp.are_variable))
            .with(WriteRule::EmptyElements, roots.any(Cost::has_empty_elements))
            .with(WriteRule::TimeGaps, has_gaps)
            .with(WriteRule::Repair, options.repair)
            .with(WriteRule::MustFit, options.must_fit)
            .with(WriteRule::Index, options.index)
    }

    /// Adds a rule if it applies.
    pub(super) fn with(self, rule: WriteRule, applies: bool) -> Self {
        Self(self.0 | (u16::from(applies) << rule as u16))
    }

    fn has(self, rule: WriteRule) -> bool {
        self.0 & (1 << rule as u16) != 0
    }
}

/// Layout of a data stream's event records.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventRecordShapes {
    /// Size in bits of class ids in event record headers, if the source lacks them.
    pub(super) class_id_bits: u64,
    /// Event record header and common context shapes.
    pub(super) header: Option<ScopeShape>,
    pub(super) common_context: Option<ScopeShape>,
}

impl EncoderConfig {
    /// Returns `true` if a rule applies.
    #[inline]
    pub(super) fn has(&self, rule: WriteRule) -> bool {
        self.rules.has(rule)
    }

    /// Returns `true` if times, counters and texts are made valid.
    #[inline]
    pub(super) fn repairs(&self) -> bool {
        self.has(WriteRule::Repair)
    }

    /// Returns `true` if packets can be encoded without earlier packets. For this, packets must not be inserted,
    /// because this would change later sequence numbers, must not start at the previous packet's end, and must not get
    /// added counters.
    pub(super) fn is_divisible(&self) -> bool {
        let inserts = self.packet_size.is_some()
            || self.has(WriteRule::GrowPackets)
            || self.has(WriteRule::TimeGaps) && self.timestamp.bits < 64;
        let counts =
            self.added.has(Role::DiscardedEventCounter) || self.added.has(Role::PacketSequenceNumber);
        !self.repairs() && self.frame.mirrors && !self.clock.adds_begin && !inserts && !counts
    }

    /// Returns `true` if the open packet can end, and a packet with the same context can start at a clock value.
    pub(super) fn can_split(&self, before: u64, begin: Option<u64>) -> bool {
        self.has(WriteRule::DelimitPackets)
            && begin.is_none_or(|begin| self.clock.can_begin(begin, before, self.timestamp))
    }

    /// Returns `true` if packet contexts have fields after the source's fields.
    pub(super) fn adds_to_context(&self) -> bool {
        self.clock.adds_begin || self.added.in_scope(Scope::PacketContext).next().is_some()
    }

    /// Returns the lowered packet context class.
    pub(super) fn lowered_context(&self) -> Option<&FieldClass> {
        let classes = &self.lowered.trace().class.data_streams;
        classes.get(self.stream.class_index)?.packet_context.as_deref()
    }
}

/// Packet header values in a data stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeaderConfig {
    /// `true` for headers made by [`frame::packet_header`]. Otherwise, headers have the source's class.
    pub(super) is_common: bool,
    /// Values that replace source values.
    pub(super) replaced: RoleValues,
    /// Data stream class id.
    pub(super) class_id: u64,
    /// Data stream id, or the id of its first lane.
    pub(super) stream_id: u64,
    /// Trace UUID.
    pub(super) uuid: Option<Uuid>,
}
