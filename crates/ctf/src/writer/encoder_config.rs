//! Configuration that all encoders of a data stream share.

use std::sync::{Arc, Mutex};

use ichnos_model::decode::DecodeLimits;
use ichnos_model::lower::LoweredTrace;
use ichnos_model::{DataStream, FieldClass, TraceDigest, Uuid, Window};

use super::packet_clock::PacketClock;
use super::role_values::RoleValues;
use super::scope_shape::ScopeShape;
use super::source_frame::AddedFields;
use super::timestamps::Timestamps;
use super::usage::Usage;

/// Configuration that all encoders of a data stream share.
#[derive(Debug)]
pub(super) struct EncoderConfig {
    pub(super) lowered: Arc<LoweredTrace>,
    pub(super) stream: Arc<DataStream>,
    /// Number of the data stream in the output.
    pub(super) number: usize,
    /// Name of its first file.
    pub(super) file: String,
    /// Number of its trace in the output.
    pub(super) source: usize,
    /// `true` if the source is read from CTF.
    pub(super) is_ctf: bool,
    /// `true` if packets are made of those of the source; otherwise it has none.
    pub(super) mirrors: bool,
    /// Fields that the source's packets and event record headers lack.
    pub(super) added: AddedFields,
    /// Begin and end timestamps of packets.
    pub(super) clock: PacketClock,
    /// `true` if packets can be copied unchanged.
    pub(super) copies_packets: bool,
    /// `true` if events can be copied, if their class allows it.
    pub(super) copies_events: bool,
    /// `true` if something can take more bits than in the source, so that a packet can get too large.
    pub(super) grows: bool,
    /// `true` if the time between events can exceed that in the source, and the bits of timestamps.
    pub(super) has_gaps: bool,
    /// `true` if packets keep begin, end and, if possible, length: nothing is dropped or changed.
    pub(super) keeps_packets: bool,
    /// Maximum size of a packet in bytes, if requested.
    pub(super) packet_size: Option<u64>,
    /// `true` if packets have a size that locates the next one, so that one of them can become several.
    pub(super) is_delimited: bool,
    /// `true` if indexes of packets are written, too.
    pub(super) has_index: bool,
    /// `true` if times, counters and texts are made valid.
    pub(super) repairs: bool,
    /// Time range of the packets.
    pub(super) window: Window,
    /// Index of the default clock in the output.
    pub(super) default_clock: Option<u16>,
    /// Timestamps of event records.
    pub(super) timestamp: Timestamps,
    /// Bits of the ids of event record classes in event record headers, if the source has none.
    pub(super) class_id_bits: u64,
    /// `true` if each packet is output as soon as it is complete.
    pub(super) is_live: bool,
    /// Digest of all written data, if it is compared with the output.
    pub(super) digest: Option<Arc<Mutex<TraceDigest>>>,
    /// `true` if an event that cannot be written is an error.
    pub(super) must_fit: bool,
    /// Limits of readers, and their use by the data of the trace.
    pub(super) limits: DecodeLimits,
    pub(super) usage: Arc<Usage>,
    /// `true` if event record headers or common contexts can have array elements without bits.
    pub(super) has_empty_elements: bool,
    /// Values of packet headers.
    pub(super) header: HeaderConfig,
    /// Shapes of event record headers and of common contexts.
    pub(super) header_shape: Option<ScopeShape>,
    pub(super) common_shape: Option<ScopeShape>,
}

impl EncoderConfig {
    /// Returns `true` if packets can be encoded without those before: no packet is inserted, which would
    /// change later sequence numbers, none begins at the end of the one before, and no counter is added.
    pub(super) fn is_divisible(&self) -> bool {
        let inserts = self.packet_size.is_some() || self.grows || self.has_gaps && self.timestamp.bits < 64;
        let counts = self.added.discarded || self.added.number;
        !self.repairs && self.mirrors && !self.clock.adds_begin && !inserts && !counts
    }

    /// Returns `true` if the open packet can end, and another one with the same context can begin at a clock value.
    pub(super) fn can_split(&self, before: u64, begin: Option<u64>) -> bool {
        self.is_delimited && begin.is_none_or(|begin| self.clock.can_begin(begin, before, self.timestamp))
    }

    /// Returns `true` if packet contexts have fields after those of the source.
    pub(super) fn adds_to_context(&self) -> bool {
        let AddedFields { total_size, content_size, discarded, number, .. } = self.added;
        self.clock.adds_begin || total_size || content_size || discarded || number
    }

    /// Returns the lowered class of packet contexts.
    pub(super) fn lowered_context(&self) -> Option<&FieldClass> {
        let classes = &self.lowered.trace().class.data_streams;
        classes.get(self.stream.class_index)?.packet_context.as_deref()
    }
}

/// Values in the packet headers of a data stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeaderConfig {
    /// `true` if they are those of [`frame::packet_header`]; otherwise they have the class of the source.
    pub(super) is_common: bool,
    /// Values that replace those in headers of the source.
    pub(super) replaced: RoleValues,
    /// Id of the data stream class.
    pub(super) class_id: u64,
    /// Id of the data stream, or of the first of its lanes.
    pub(super) stream_id: u64,
    /// UUID of the trace.
    pub(super) uuid: Option<Uuid>,
}
