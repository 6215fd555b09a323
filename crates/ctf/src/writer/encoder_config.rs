//! Configuration shared by all encoders of a data stream.

use std::sync::{Arc, Mutex};

use ichnos_io::WriteOptions;
use ichnos_model::decode::DecodeLimits;
use ichnos_model::lower::LoweredTrace;
use ichnos_model::{DataStream, FieldClass, Role, Scope, TraceDigest, Uuid, Window};

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
    pub(super) packets: PacketRules,
    pub(super) records: RecordRules,
    /// Packet start and end timestamps.
    pub(super) clock: PacketClock,
    /// Index of the default clock in the output.
    pub(super) default_clock: Option<u16>,
    /// Event record timestamps.
    pub(super) timestamp: Timestamps,
    /// `true` if gaps between events can be longer than in the source, and exceed the timestamp range.
    pub(super) has_gaps: bool,
    /// `true` if times, counters and texts are made valid.
    pub(super) repairs: bool,
    /// `true` if an unwritable event is an error.
    pub(super) must_fit: bool,
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
    /// `true` if each packet is output as soon as it is complete.
    pub(super) is_live: bool,
    /// `true` if packet indexes are also written.
    pub(super) has_index: bool,
}

/// Rules for a data stream's packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketRules {
    /// `true` if packets can be copied unchanged.
    pub(super) copies: bool,
    /// `true` if packets keep their start, end and, if possible, length: nothing is dropped or changed.
    pub(super) keeps: bool,
    /// `true` if any part can need more bits than in the source, so that a packet can become too large.
    pub(super) grow: bool,
    /// `true` if packets have a size that locates the next packet, so that a packet can be split.
    pub(super) are_delimited: bool,
    /// Maximum packet size in bytes, if requested.
    pub(super) size: Option<u64>,
    /// Time range to write.
    pub(super) window: Window,
}

impl PacketRules {
    /// Returns the rules for packets in a data stream whose lowered class is written in a dialect.
    pub(super) fn new(
        frame: SourceFrame,
        options: &WriteOptions,
        dialect: Dialect,
        stream: &DataStream,
        lowered: &LoweredTrace,
    ) -> Self {
        let keeps_layout = lowered.keeps_packets(stream.class_index);
        let is_unchanged = !options.leaves_out && options.packet_size.is_none() && !options.repair;
        let are_delimited = |class, dialect: &str| PacketSizes::for_class(class).delimit(dialect);
        let written = lowered.trace().class.data_streams.get(stream.class_index);
        Self {
            copies: frame.is_ctf
                && frame.mirrors
                && is_unchanged
                && keeps_layout
                && are_delimited(stream.class(), &stream.trace.class.dialect),
            keeps: keeps_packets(options),
            grow: !frame.is_ctf || !keeps_layout,
            are_delimited: written.is_some_and(|class| are_delimited(class, dialect.title())),
            size: options.packet_size,
            window: options.window,
        }
    }
}

/// Rules for a data stream's event records.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordRules {
    /// `true` if event records can be copied, if their class allows it.
    pub(super) copies: bool,
    /// Size in bits of class ids in event record headers, if the source lacks them.
    pub(super) class_id_bits: u64,
    /// `true` if event record headers or common contexts can have zero-size array elements.
    pub(super) has_empty_elements: bool,
    /// Event record header and common context shapes.
    pub(super) header_shape: Option<ScopeShape>,
    pub(super) common_shape: Option<ScopeShape>,
}

impl EncoderConfig {
    /// Returns `true` if packets can be encoded without earlier packets. For this, packets must not be inserted,
    /// because this would change later sequence numbers, must not start at the previous packet's end, and must not get
    /// added counters.
    pub(super) fn is_divisible(&self) -> bool {
        let PacketRules { size, grow, .. } = self.packets;
        let inserts = size.is_some() || grow || self.has_gaps && self.timestamp.bits < 64;
        let counts =
            self.added.has(Role::DiscardedEventCounter) || self.added.has(Role::PacketSequenceNumber);
        !self.repairs && self.frame.mirrors && !self.clock.adds_begin && !inserts && !counts
    }

    /// Returns `true` if the open packet can end, and a packet with the same context can start at a clock value.
    pub(super) fn can_split(&self, before: u64, begin: Option<u64>) -> bool {
        self.packets.are_delimited
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
