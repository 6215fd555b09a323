//! Encoding and copying of event records, by class.

use std::ops::Range;
use std::sync::Arc;

use ichnos_model::class::{ByteOrder, Role};
use ichnos_model::event::{Cost, Scopes};
use ichnos_model::field::{Field, StringEncoding, Text};
use ichnos_model::lower::{EventLosses, LoweredEvent, ScopeConversion};
use ichnos_model::{Event, Scope, Visitor};

use super::bit_writer::BitWriter;
use super::context_cache::ContextCache;
use super::empty_elements::{CountingEncoder, EmptyElements};
use super::encoder_config::{EncoderConfig, WriteRule};
use super::field_encoder::FieldEncoder;
use super::role_values::RoleValues;
use super::scope_shape::ScopeShape;

/// Encoding of events with the same class.
#[derive(Debug)]
pub(super) struct ClassEncoding {
    pub(super) lowered: Arc<LoweredEvent>,
    id: u128,
    /// Maximum alignment within its records, if they can be copied.
    copy: Option<u64>,
    /// Encodings of its header, its contexts and its payload.
    scopes: [EventScopeEncoding; 4],
    /// `true` if it can have zero-size array elements. In this case, its records are encoded, which counts elements.
    has_empty_elements: bool,
    pub(super) losses: EventLosses,
}

/// Encoding of an event record scope.
#[derive(Clone, Copy, Debug)]
struct EventScopeEncoding {
    scope: Scope,
    /// Maximum alignment within the scope, if its bytes can be copied.
    copy: Option<u64>,
    /// `true` if it contains texts that must be valid.
    checks_texts: bool,
    /// `true` if its bits are unchanged, because its own class has the same layout as the lowered class.
    keeps_bits: bool,
}

impl EventScopeEncoding {
    fn new(lowered: &LoweredEvent, scope: Scope, shape: Option<ScopeShape>, config: &EncoderConfig) -> Self {
        // Classes from other formats can have fields that CTF lacks, and inexact scope ends.
        let keeps_bits = config.frame.is_ctf
            && config.frame.mirrors
            && config
                .lowered
                .conversion(lowered, scope)
                .is_some_and(|conversion| conversion <= ScopeConversion::SameBits);
        let copy = shape.filter(|_| keeps_bits).map(|shape| shape.most_alignment);
        let checks_texts = config.repairs() && shape.is_some_and(|shape| shape.has_texts);
        Self { scope, copy, checks_texts, keeps_bits }
    }

    /// Copies the scope's bytes, if they keep their meaning in the output.
    #[inline]
    fn copy(&self, out: &mut BitWriter, event: &Event<'_>) -> bool {
        let (Some(most), scopes) = (self.copy, &event.scopes) else { return false };
        let index = self.scope as usize;
        let Some(begin) = scopes.begins().get(index) else { return false };
        // The record ends after the last scope.
        let end = scopes.begins().get(index + 1).map_or(scopes.end, |next| next.bit);
        (1..=end).contains(&begin.bit)
            && !scopes.values.is_some_and(|values| values.has(self.scope))
            && (!self.checks_texts || are_texts_valid(event, self.scope))
            && copy_bits(out, scopes, begin.bit..end, most)
    }
}

/// Returns `true` if all UTF-8 texts in a scope are valid.
fn are_texts_valid(event: &Event<'_>, scope: Scope) -> bool {
    struct Utf8Check(bool);
    impl Visitor for Utf8Check {
        fn text(&mut self, _: Field<'_>, value: Text<'_>) {
            self.0 &= value.encoding != StringEncoding::Utf8 || std::str::from_utf8(value.raw).is_ok();
        }
    }
    let mut texts = Utf8Check(true);
    event.visit(scope, &mut texts).is_ok() && texts.0
}

/// Copies whole bytes from a packet, if the alignment within them stays the same.
#[inline]
fn copy_bits(out: &mut BitWriter, scopes: &Scopes<'_>, bits: Range<u64>, most_alignment: u64) -> bool {
    let are_whole = [bits.start, bits.end, out.at()].iter().all(|bit| bit % 8 == 0);
    if !are_whole || (bits.start ^ out.at()) & (most_alignment - 1) != 0 {
        return false;
    }
    let bytes = usize::try_from(bits.start / 8).ok().zip(usize::try_from(bits.end / 8).ok());
    let bytes = bytes.and_then(|(begin, end)| scopes.bits.bytes().get(begin..end));
    if let Some(bytes) = bytes {
        out.bytes(bytes);
    }
    bytes.is_some()
}

impl ClassEncoding {
    /// Creates the encoding for the class of `event`.
    pub(super) fn new(lowered: Arc<LoweredEvent>, event: &Event<'_>, config: &EncoderConfig) -> Self {
        let id = lowered.class().id;
        let shapes = [
            (Scope::EventRecordHeader, config.records.header),
            (Scope::CommonContext, config.records.common_context),
            (Scope::SpecificContext, event.plans().specific_context.as_ref().map(ScopeShape::for_plan)),
            (Scope::Payload, event.plans().payload.as_ref().map(ScopeShape::for_plan)),
        ];
        let has_empty_elements = config.has(WriteRule::EmptyElements) || {
            let class = lowered.class();
            let roots = class.specific_context.iter().chain(&class.payload);
            roots.into_iter().any(Cost::has_empty_elements)
        };
        let copies_events = config.has(WriteRule::CopyEvents) && !has_empty_elements;
        let copy = (copies_events && lowered.conversion() <= ScopeConversion::SameBits).then(|| {
            let all = shapes.iter().filter_map(|(_, shape)| *shape);
            all.map(|shape| shape.most_alignment).fold(8, u64::max)
        });
        let scopes = shapes.map(|(scope, shape)| EventScopeEncoding::new(&lowered, scope, shape, config));
        Self { lowered, id, copy, scopes, has_empty_elements, losses: EventLosses::default() }
    }

    /// Copies an event record's bytes, if they keep their meaning in the output.
    #[inline]
    pub(super) fn copy_event(&self, out: &mut BitWriter, event: &Event<'_>) -> bool {
        let Some(most) = self.copy else { return false };
        let scopes = &event.scopes;
        let Some(header) = scopes.begins().get(Scope::EventRecordHeader as usize) else { return false };
        if scopes.values.is_some() || scopes.end == 0 {
            return false;
        }
        // Only alignment separates the previous record from this record. It stays the same if both begin at the same
        // position relative to the maximum alignment.
        copy_bits(out, scopes, header.bit..scopes.end, most)
    }

    /// Encodes an event record. Returns the number of changed texts.
    pub(super) fn encode_event(
        &mut self,
        out: &mut BitWriter,
        (lengths, contexts): (&mut Vec<Option<i128>>, &mut ContextCache),
        config: &EncoderConfig,
        event: &Event<'_>,
        time: WrittenTime<'_>,
        elements: &mut EmptyElements,
    ) -> Result<EncodedRecord, String> {
        let WrittenTime { cycles, .. } = time;
        let Self { lowered, losses, id, scopes, has_empty_elements, .. } = self;
        let mut encoded = EncodedRecord::default();
        if config.added.are_in_events() {
            out.align(8);
        }
        for encoding in scopes {
            let scope = encoding.scope;
            let mut roles = RoleValues::default();
            if scope == config.timestamp.scope {
                // Its timestamps are right: they were checked for missing bits before.
                let is_same = |cycles: &u64| event.clock.is_some_and(|clock| clock.cycles == *cycles);
                roles.timestamp = cycles.filter(|cycles| time.is_changed || !is_same(cycles));
                // Except a field that has more bits than before, or fewer bits than it needs now.
                let is_other =
                    !encoding.keeps_bits || config.has(WriteRule::TimeGaps) && config.timestamp.are_variable;
                roles.whole_timestamp = cycles.filter(|_| is_other);
            }
            let is_same = roles.timestamp.is_none() && roles.whole_timestamp.is_none();
            if is_same && !*has_empty_elements && encoding.copy(out, event) {
                if scope == Scope::EventRecordHeader {
                    encoded.timestamp_bit = end_header(out, config, *id, None, cycles)?;
                }
                continue;
            }
            let is_plain = is_same && scope != config.timestamp.scope && !*has_empty_elements;
            let is_context = scope == Scope::CommonContext && !config.frame.mirrors && is_plain;
            if is_context && contexts.put(out, event, &config.lowered) {
                continue;
            }
            let begin = out.at();
            let mut encoder = FieldEncoder::new(out, config, roles, None, lengths);
            if scope == config.timestamp.scope && !time.is_changed {
                encoder.times = time.fields;
            }
            let mut counting = None;
            if *has_empty_elements {
                counting = Some(CountingEncoder::new(&mut encoder, elements));
            }
            let visited = match (encoding.keeps_bits, &mut counting) {
                (true, Some(counting)) => event.visit(scope, counting),
                (false, Some(counting)) => config.lowered.visit(lowered, event, scope, counting, losses),
                (true, None) => event.visit(scope, &mut encoder),
                (false, None) => config.lowered.visit(lowered, event, scope, &mut encoder, losses),
            };
            encoded.texts.cut += encoder.cut;
            encoded.texts.replaced += encoder.replaced;
            let class_id = encoder.class_id;
            if let Some(error) = encoder.error.take() {
                return Err(error.to_string());
            }
            visited.map_err(|error| error.to_string())?;
            if is_context {
                contexts.keep(out, begin, event, &config.lowered);
            }
            if scope == Scope::EventRecordHeader {
                encoded.timestamp_bit = end_header(out, config, *id, class_id, cycles)?;
            }
        }
        Ok(encoded)
    }
}

/// Adds the fields that an event record header lacks. `recorded` is the class id in the header. Returns the bit of the
/// timestamp, if it was added.
fn end_header(
    out: &mut BitWriter,
    config: &EncoderConfig,
    id: u128,
    recorded: Option<u64>,
    cycles: Option<u64>,
) -> Result<Option<u64>, String> {
    if let Some(recorded) = recorded.filter(|recorded| u128::from(*recorded) != id && !config.frame.is_ctf) {
        return Err(format!("its header has the class id {recorded}, but its class is {id}"));
    }
    if config.added.are_in_events() {
        out.align(8);
    }
    if config.added.has(Role::EventRecordClassId) {
        let bits = config.records.class_id_bits;
        let fits = |id: &u64| id.checked_shr(bits as u32).unwrap_or(0) == 0;
        let Some(short) = u64::try_from(id).ok().filter(fits) else {
            return Err(format!("the id {id} of its class has more than {bits} bits"));
        };
        out.put(short, bits, ByteOrder::LittleEndian);
    }
    Ok(cycles.filter(|_| config.added.has(Role::Timestamp)).map(|cycles| {
        let bit = out.at();
        out.put(cycles, 64, ByteOrder::LittleEndian);
        bit
    }))
}

/// Encoded event record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EncodedRecord {
    pub(super) texts: ChangedTexts,
    /// Bit of the timestamp added to its header.
    pub(super) timestamp_bit: Option<u64>,
}

/// Time for an event record.
#[derive(Clone, Copy, Debug)]
pub(super) struct WrittenTime<'t> {
    /// Default clock value.
    pub(super) cycles: Option<u64>,
    /// Value after each timestamp, if there are several.
    pub(super) fields: &'t [u64],
    /// `true` if all timestamps get the event time, because readers would decode their own values as a different time.
    pub(super) is_changed: bool,
}

/// Changed text counts in an event record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChangedTexts {
    pub(super) cut: u64,
    pub(super) replaced: u64,
}
