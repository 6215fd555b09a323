//! How the event records of a class are encoded or copied.

use std::io;
use std::sync::Arc;

use ichnos_model::lower::{EventLosses, Fit, LoweredEvent};
use ichnos_model::{ByteOrder, Event, FieldClass, FieldKind, Scope};

use super::bit_writer::BitWriter;
use super::field_encoder::{EncodeError, FieldEncoder, RoleValues};
use super::stream_rules::StreamRules;

/// How events of a class are encoded.
#[derive(Debug)]
pub(super) struct ClassEncoding {
    pub(super) lowered: Arc<LoweredEvent>,
    id: u64,
    /// The largest alignment of anything in its records, if these can be copied.
    copy: Option<u64>,
    pub(super) losses: EventLosses,
}

impl ClassEncoding {
    /// How events of the class of `event` are encoded; `copies`: whether their bytes can be copied, if they stay as
    /// they are.
    pub(super) fn new(lowered: Arc<LoweredEvent>, event: &Event<'_>, copies: bool) -> io::Result<Self> {
        let id = u64::try_from(lowered.class().id)
            .map_err(|_| io::Error::other("the id of an event record class has more than 64 bits"))?;
        let copy = (copies && lowered.fit() <= Fit::SameBits).then(|| {
            let stream = event.stream.class();
            let classes = [
                stream.event_record_header.as_ref(),
                stream.common_context.as_ref(),
                event.class.specific_context.as_ref(),
                event.class.payload.as_ref(),
            ];
            classes.into_iter().flatten().map(|class| most_alignment(class, 0)).fold(8, u64::max)
        });
        Ok(Self { lowered, id, copy, losses: EventLosses::default() })
    }

    /// Copies the bytes of an event record, if they mean the same there.
    #[inline]
    pub(super) fn copy_event(&self, out: &mut BitWriter, event: &Event<'_>) -> bool {
        let Some(most) = self.copy else { return false };
        let scopes = &event.scopes;
        let Some(header) = scopes.begins.get(Scope::EventRecordHeader as usize) else { return false };
        if scopes.values.is_some() || scopes.end == 0 {
            return false;
        }
        // Between the record before and this one there are only bits of alignment, which are the same if both begin at
        // the same place between two of the largest alignments.
        let begin = header.bit;
        if (begin ^ out.at()) & (most - 1) != 0 || begin % 8 != 0 || scopes.end % 8 != 0 {
            return false;
        }
        let (Ok(begin), Ok(end)) = (usize::try_from(begin / 8), usize::try_from(scopes.end / 8)) else {
            return false;
        };
        let Some(bytes) = scopes.bits.bytes().get(begin..end) else { return false };
        out.bytes(bytes);
        true
    }

    /// Encodes an event record; gives how many of its texts are not what they were.
    pub(super) fn encode_event(
        &mut self,
        out: &mut BitWriter,
        lengths: &mut Vec<Option<i128>>,
        rules: &StreamRules,
        event: &Event<'_>,
        cycles: Option<u64>,
    ) -> Result<ChangedTexts, String> {
        let Self { lowered, losses, id, .. } = self;
        let problem =
            |visited: Result<(), ichnos_model::decode::DecodeError>, error: Option<EncodeError>| match (
                visited, error,
            ) {
                (_, Some(error)) => Err(error.to_string()),
                (Err(error), None) => Err(error.to_string()),
                (Ok(()), None) => Ok(()),
            };
        let mut changed = ChangedTexts::default();
        if rules.mirrors {
            // What it says of the time is right: it is checked before that no bits of it are missing.
            let roles = RoleValues { timestamp: cycles, ..RoleValues::default() };
            let mut encoder = FieldEncoder::new(out, roles, None, lengths);
            let visited = rules.lowered.visit(lowered, event, Scope::EventRecordHeader, &mut encoder, losses);
            problem(visited, encoder.error.take())?;
        } else {
            out.align(8);
            out.put(*id, 64, ByteOrder::LittleEndian);
            if let Some(cycles) = cycles {
                out.put(cycles, 64, ByteOrder::LittleEndian);
            }
        }
        for scope in [Scope::CommonContext, Scope::SpecificContext, Scope::Payload] {
            let mut encoder = FieldEncoder::new(out, RoleValues::default(), None, lengths);
            encoder.replaces_invalid = rules.repairs;
            let visited = rules.lowered.visit(lowered, event, scope, &mut encoder, losses);
            changed.cut += encoder.cut;
            changed.replaced += encoder.replaced;
            problem(visited, encoder.error.take())?;
        }
        Ok(changed)
    }
}

/// How many texts of an event record are not what they were.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChangedTexts {
    pub(super) cut: u64,
    pub(super) replaced: u64,
}

/// The largest alignment of anything in a class.
fn most_alignment(class: &FieldClass, depth: u32) -> u64 {
    if depth > 64 {
        return 1 << 20;
    }
    let own = class.alignment();
    let of = |class: &FieldClass| most_alignment(class, depth + 1);
    match &class.kind {
        FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => {
            members.iter().map(|member| of(&member.class)).fold(own, u64::max)
        }
        FieldKind::Array { element, .. } => own.max(of(element)),
        FieldKind::Optional { field, .. } => own.max(of(field)),
        FieldKind::Variant { options, .. } => {
            options.iter().map(|option| of(&option.class)).fold(own, u64::max)
        }
        _ => own,
    }
}
