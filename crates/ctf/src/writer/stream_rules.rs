//! What all encoders of a data stream have in common.

use std::sync::Arc;

use ichnos_model::lower::LoweredTrace;
use ichnos_model::{DataStream, FieldClass, FieldKind, Role, Uuid, Window};

use super::class_encoding::ScopeShape;
use super::field_encoder::RoleValues;
use super::packet_clock::PacketClock;

/// What all encoders of a data stream have in common.
#[derive(Debug)]
pub(super) struct StreamRules {
    pub(super) lowered: Arc<LoweredTrace>,
    pub(super) stream: Arc<DataStream>,
    /// Number of the data stream in the output.
    pub(super) number: usize,
    /// Name of its first file.
    pub(super) file: String,
    /// Number of its trace in the output.
    pub(super) source: usize,
    /// Whether packets are made of those of the source; otherwise it has none.
    pub(super) mirrors: bool,
    /// How packets say when they begin.
    pub(super) clock: PacketClock,
    /// Whether packets can be copied as they are.
    pub(super) copies_packets: bool,
    /// Whether events can be copied, if their class allows it.
    pub(super) copies_events: bool,
    /// Whether something can take more bits than in the source, so that a packet can get too large.
    pub(super) grows: bool,
    /// Whether there can be more time between events than in the source, so that what they say of it is not enough.
    pub(super) has_gaps: bool,
    /// Most bytes of a packet, if that is wanted.
    pub(super) packet_size: Option<u64>,
    /// Whether packets say their total length, so that one of them can become several.
    pub(super) has_total: bool,
    /// Whether packets say that or the length of their content: otherwise there can be only one in a file.
    pub(super) has_size: bool,
    /// Whether indexes of packets are written, too.
    pub(super) has_index: bool,
    /// Whether times, counters and texts are made valid.
    pub(super) repairs: bool,
    /// In which packets are to begin and end.
    pub(super) window: Window,
    /// Index of the default clock in the output.
    pub(super) default_clock: Option<u16>,
    /// How event record headers say their time.
    pub(super) timestamp: Timestamps,
    /// Whether a packet is given out as soon as it is complete.
    pub(super) is_live: bool,
    /// Whether an event that cannot be written is an error.
    pub(super) must_fit: bool,
    /// What packet headers say.
    pub(super) header: HeaderRules,
    /// Those of event record headers and of common contexts.
    pub(super) header_shape: Option<ScopeShape>,
    pub(super) common_shape: Option<ScopeShape>,
}

impl StreamRules {
    /// Whether packets can be encoded without those before: no packet is inserted, which would change the sequence
    /// numbers behind it, and none begins when the one before ends.
    pub(super) fn is_divisible(&self) -> bool {
        let inserts = self.packet_size.is_some() || self.grows || self.has_gaps && self.timestamp.bits < 64;
        !self.repairs && self.mirrors && !self.clock.adds_begin && !inserts
    }

    /// Whether the open packet can end, and another one with the same context begin at a value of the default clock.
    pub(super) fn can_split(&self, before: u64, begin: Option<u64>) -> bool {
        self.has_total && begin.is_none_or(|begin| self.clock.can_begin(begin, before, self.timestamp))
    }

    /// The lowered class of packet contexts.
    pub(super) fn lowered_context(&self) -> Option<&FieldClass> {
        let classes = &self.lowered.trace().class.data_streams;
        classes.get(self.stream.class_index)?.packet_context.as_deref()
    }
}

/// What packet headers of a data stream say.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeaderRules {
    /// Whether they are those of [`frame::packet_header`]; otherwise they have the class of the source.
    pub(super) is_common: bool,
    /// What fields of a header that is kept say in place of what they said.
    pub(super) replaced: RoleValues,
    /// Id of the data stream class.
    pub(super) class_id: u64,
    /// Id of the data stream, or of the first of its lanes.
    pub(super) stream_id: u64,
    /// The UUID of the trace.
    pub(super) uuid: Option<Uuid>,
}

/// How event records say their time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timestamps {
    /// Bits of the shortest field of a fixed length that does; 64 if none is shorter.
    pub(super) bits: u64,
    /// Whether there are fields of a variable length that do: they take what all of the time needs.
    pub(super) are_variable: bool,
}

impl Timestamps {
    /// Whether event records say all of the time.
    pub(super) fn are_whole(self) -> bool {
        self.bits >= 64 && !self.are_variable
    }

    /// Those of a data stream class.
    pub(super) fn of(header: Option<&FieldClass>) -> Self {
        fn collect(class: &FieldClass, found: &mut Timestamps) {
            match &class.kind {
                FieldKind::Integer { bits, .. } if class.roles.has(Role::Timestamp) => {
                    found.bits = found.bits.min(bits.length);
                }
                FieldKind::VariableLength { .. } => found.are_variable |= class.roles.has(Role::Timestamp),
                FieldKind::Structure { members, .. } => {
                    members.iter().for_each(|member| collect(&member.class, found));
                }
                FieldKind::Variant { options, .. } => {
                    options.iter().for_each(|option| collect(&option.class, found));
                }
                FieldKind::Optional { field, .. } => collect(field, found),
                _ => {}
            }
        }
        let mut found = Self { bits: 64, are_variable: false };
        header.into_iter().for_each(|class| collect(class, &mut found));
        found
    }
}
