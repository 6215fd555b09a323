//! Events and packets as they are delivered: where they lie, and the plans to decode them.

use crate::decode::{
    DecodeError, DecodeLimits, PacketBits, Plans, Position, Slots, changed_since, decode_all, decode_joined,
};
use crate::event_values::Recorder;
use crate::plan::{EventRecordPlans, Node, Plan};
use crate::{DataStream, EventRecordClass, EventValues, Scope, Visitor};

/// A value of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClockValue {
    /// Nanoseconds from the origin of the clock.
    pub nanoseconds: i128,
    /// Cycles as the trace has them, without the offset of the clock class.
    pub cycles: u64,
}

/// Where the scopes of a packet and of an event record in it lie, or what their values are.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Scopes<'a> {
    /// The packet.
    pub bits: PacketBits<'a>,
    /// Where each scope that can be decoded begins (before its alignment), by the number of the [`Scope`].
    pub begins: &'a [Position; 6],
    /// Values that fields of later scopes need from earlier ones.
    pub slots: &'a Slots,
    /// Limits of decoding.
    pub limits: &'a DecodeLimits,
    /// The scopes that are values rather than bits, if there are any.
    pub values: Option<&'a EventValues>,
    /// Where the event record ends, in bits from the beginning of the packet; 0 if that is not known.
    pub end: u64,
}

impl<'a> Scopes<'a> {
    /// Scopes that are all bits.
    #[inline(always)]
    #[must_use]
    pub fn new(
        bits: PacketBits<'a>,
        begins: &'a [Position; 6],
        slots: &'a Slots,
        limits: &'a DecodeLimits,
    ) -> Self {
        Self { bits, begins, slots, limits, values: None, end: 0 }
    }

    /// The same, of an event record that ends at this bit of the packet.
    #[inline(always)]
    #[must_use]
    pub fn with_end(self, end: u64) -> Self {
        Self { end, ..self }
    }

    /// The same, but the scopes that are among these values are values.
    #[inline(always)]
    #[must_use]
    pub fn with_values(self, values: &'a EventValues) -> Self {
        Self { values: Some(values), ..self }
    }

    /// Scopes that are all values.
    #[must_use]
    pub fn of_values(values: &'a EventValues) -> Self {
        const BEGINS: &[Position; 6] = &[Position::at(0); 6];
        const LIMITS: &DecodeLimits = &DecodeLimits { integer_bits: 0, zero_size_elements: 0 };
        Self::new(PacketBits::whole(&[]), BEGINS, &[], LIMITS).with_values(values)
    }

    fn visit<V: Visitor>(&self, scope: Scope, plan: &Plan, visitor: &mut V) -> Result<(), DecodeError> {
        if let Some(values) = self.values
            && values.has(scope)
        {
            return values.visit(scope, plan, visitor);
        }
        // What is never decoded begins nowhere.
        let Some(mut position) = self.begins.get(scope as usize).copied() else { return Ok(()) };
        plan.decode(self.bits, &mut position, self.slots, *self.limits, visitor)
    }
}

/// An event record.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Event<'a> {
    /// The stream that it is in.
    pub stream: &'a DataStream,
    /// Its class.
    pub class: &'a EventRecordClass,
    /// The decode plans of its class.
    pub plans: &'a EventRecordPlans,
    /// When it was recorded, by the default clock of its stream.
    pub clock: Option<&'a ClockValue>,
    /// Values of further clocks of the trace, by the index of the clock class (CTF 1.8 and
    /// PROP-1.0 may have several).
    pub other_clocks: &'a [(u16, u64)],
    /// Where its fields are.
    pub scopes: Scopes<'a>,
}

impl<'a> Event<'a> {
    /// An event record of a data stream and of the class of these plans, with the value of the stream's
    /// default clock if it has one.
    #[inline(always)]
    #[must_use]
    pub fn new(
        stream: &'a DataStream,
        plans: &'a EventRecordPlans,
        clock: Option<&'a ClockValue>,
        scopes: Scopes<'a>,
    ) -> Self {
        Self { stream, class: &plans.class, plans, clock, other_clocks: &[], scopes }
    }

    /// The same with values of further clocks; see [`Event::other_clocks`].
    #[inline(always)]
    #[must_use]
    pub fn with_other_clocks(self, other_clocks: &'a [(u16, u64)]) -> Self {
        Self { other_clocks, ..self }
    }

    /// The name of its class; empty if that has none.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.class.name.as_deref().unwrap_or_default()
    }

    /// When it was recorded, in nanoseconds from the origin of the default clock of its stream; None if that
    /// has no clock.
    #[must_use]
    pub fn nanoseconds(&self) -> Option<i128> {
        self.clock.map(|clock| clock.nanoseconds)
    }

    /// Size of its record in bits, header and alignment before it included. None if the format does not know
    /// it, as where a record is values.
    #[inline]
    #[must_use]
    pub fn size_in_bits(&self) -> Option<u64> {
        let begin = self.scopes.begins.get(Scope::EventRecordHeader as usize)?.bit;
        self.scopes.end.checked_sub(begin).filter(|bits| *bits > 0)
    }

    /// Which of the event record classes of its data stream class it is of, for those who keep
    /// something for each class: those that were declared come first, then those that are met while
    /// reading. None if its plans are from elsewhere.
    #[inline]
    #[must_use]
    pub fn class_index(&self) -> Option<usize> {
        self.plans.index
    }

    /// The plan of a scope, if events of its class can have that.
    #[must_use]
    pub fn plan(&self, scope: Scope) -> Option<&'a Plan> {
        let stream = self.stream.plans();
        match scope {
            Scope::PacketHeader => self.stream.trace.plans.packet_header.as_ref(),
            Scope::PacketContext => stream.packet_context.as_ref(),
            Scope::EventRecordHeader => stream.event_record_header.as_ref(),
            Scope::CommonContext => stream.common_context.as_ref(),
            Scope::SpecificContext => self.plans.specific_context.as_ref(),
            Scope::Payload => self.plans.payload.as_ref(),
            Scope::Resource => stream.resource.as_ref(),
        }
    }

    /// Whether it has fields of its [resource](Scope::Resource).
    #[inline]
    #[must_use]
    pub fn has_resource(&self) -> bool {
        self.scopes.values.is_some_and(|values| values.has(Scope::Resource))
    }

    /// The root node of a scope, if events of its class can have that.
    #[must_use]
    pub fn root(&self, scope: Scope) -> Option<&'a Node> {
        Some(self.plan(scope)?.root())
    }

    /// Passes all fields of a scope to `visitor`. Does nothing if the event has no such scope.
    ///
    /// # Errors
    /// Readers only deliver events whose bits fit their class; the error is theirs to see when they
    /// find out.
    pub fn visit<V: Visitor>(&self, scope: Scope, visitor: &mut V) -> Result<(), DecodeError> {
        match self.plan(scope) {
            Some(plan) => self.scopes.visit(scope, plan, visitor),
            None => Ok(()),
        }
    }

    /// Passes the fields that are the event's own to `visitor`: those of the common context, the specific
    /// context and the payload. Of the structures that these three are it may or may not be reported: for
    /// visitors that want values, wherever they stand.
    ///
    /// # Errors
    /// See [`Event::visit`].
    #[inline(always)]
    pub fn visit_all<V: Visitor>(&self, visitor: &mut V) -> Result<(), DecodeError> {
        if let Some(values) = self.scopes.values
            && OWN.into_iter().any(|scope| values.has(scope))
        {
            return self.visit_each(visitor);
        }
        let scopes = &self.scopes;
        if let Some(steps) = &self.plans.joined {
            let begin = scopes.begins[Scope::CommonContext as usize].bit.wrapping_add(7) / 8;
            if decode_joined(steps, self, scopes.bits.bytes(), begin as usize, scopes.slots, visitor) {
                return Ok(());
            }
            return changed_since(scopes.bits, begin * 8);
        }
        let Scopes { bits, begins, slots, limits, .. } = *scopes;
        let mut begin = begins[Scope::CommonContext as usize];
        let common_context = self.stream.plans().common_context.as_ref();
        let plans = [common_context, self.plans.specific_context.as_ref(), self.plans.payload.as_ref()];
        decode_all(plans, bits, &mut begin, slots, *limits, visitor, |_, _| {})
    }
}

/// What the joined steps of an event record class are of.
impl<'a> Plans<'a> for &'a Event<'a> {
    // Most visitors do not ask for all classes; as nothing can go wrong here, the compiler leaves it out
    // then.
    #[inline(always)]
    fn get(self, plan: u8) -> &'a Plan {
        let plan = match plan {
            0 => self.stream.plans().common_context.as_ref(),
            1 => self.plans.specific_context.as_ref(),
            _ => self.plans.payload.as_ref(),
        };
        plan.unwrap_or(&self.stream.trace.plans.nothing)
    }
}

/// The scopes that are an event's own.
const OWN: [Scope; 3] = [Scope::CommonContext, Scope::SpecificContext, Scope::Payload];

impl Event<'_> {
    /// [`Event::visit_all`] where some scopes are values.
    #[inline(never)]
    fn visit_each<V: Visitor>(&self, visitor: &mut V) -> Result<(), DecodeError> {
        let scopes = &self.scopes;
        for scope in OWN {
            let Some(plan) = self.plan(scope) else { continue };
            if let Some(values) = scopes.values.filter(|values| values.has(scope)) {
                values.visit(scope, plan, visitor)?;
                continue;
            }
            let begin = scopes.begins.get(scope as usize).map_or(0, |begin| begin.bit);
            let Some(steps) = plan.byte_steps().filter(|_| begin % 8 == 0) else {
                scopes.visit(scope, plan, visitor)?;
                continue;
            };
            let bytes = scopes.bits.bytes();
            if !decode_joined(steps, plan, bytes, (begin / 8) as usize, scopes.slots, visitor) {
                return changed_since(scopes.bits, begin);
            }
        }
        Ok(())
    }
}

impl EventValues {
    /// Takes over all scopes of an event, in place of what was here: a copy of the event that lasts longer
    /// than the event itself.
    ///
    /// # Errors
    /// See [`Event::visit`].
    pub fn copy_from(&mut self, event: &Event<'_>) -> Result<(), DecodeError> {
        self.clear();
        for scope in Scope::ALL {
            if event.plan(scope).is_some() && (scope != Scope::Resource || event.has_resource()) {
                self.begin(scope);
                event.visit(scope, &mut Recorder(self))?;
            }
        }
        Ok(())
    }
}

/// A packet.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Packet<'a> {
    /// The stream that it is in.
    pub stream: &'a DataStream,
    /// Value of the default clock when it begins.
    pub begin: Option<ClockValue>,
    /// Value of the default clock when it ends.
    pub end: Option<ClockValue>,
    /// Whether it can have events after `end`, by a fault of the tracer: then it ends with the last of them.
    pub has_late_events: bool,
    /// True if its context says other times, or may, by a fault of the tracer: those of the packet are right, that of
    /// its end once it has ended.
    pub has_corrected_times: bool,
    /// Index in the stream, as the packet says.
    pub sequence_number: Option<u64>,
    /// Snapshot of the counter of discarded event records when it ends.
    pub discarded_counter: Option<u64>,
    /// Size of the whole packet in bits.
    pub total_length: u64,
    /// Size without the padding at its end in bits.
    pub content_length: u64,
    /// Where its fields are; only the first two scopes count.
    pub scopes: Scopes<'a>,
}

impl<'a> Packet<'a> {
    /// A packet of these sizes in bits, of which no times and numbers are known.
    #[inline]
    #[must_use]
    pub fn new(stream: &'a DataStream, total_length: u64, content_length: u64, scopes: Scopes<'a>) -> Self {
        Self {
            stream,
            begin: None,
            end: None,
            has_late_events: false,
            has_corrected_times: false,
            sequence_number: None,
            discarded_counter: None,
            total_length,
            content_length,
            scopes,
        }
    }

    /// The same with the values of the default clock when it begins and ends.
    #[inline]
    #[must_use]
    pub fn with_times(self, begin: Option<ClockValue>, end: Option<ClockValue>) -> Self {
        Self { begin, end, ..self }
    }

    /// The same with its sequence number, and the counter of discarded event records at its end.
    #[inline]
    #[must_use]
    pub fn with_counters(self, sequence_number: Option<u64>, discarded_counter: Option<u64>) -> Self {
        Self { sequence_number, discarded_counter, ..self }
    }

    /// The plan of the packet header or the packet context.
    #[must_use]
    pub fn plan(&self, scope: Scope) -> Option<&'a Plan> {
        match scope {
            Scope::PacketHeader => self.stream.trace.plans.packet_header.as_ref(),
            Scope::PacketContext => self.stream.plans().packet_context.as_ref(),
            _ => None,
        }
    }

    /// Passes all fields of the packet header or the packet context to `visitor`.
    ///
    /// # Errors
    /// See [`Event::visit`].
    pub fn visit<V: Visitor>(&self, scope: Scope, visitor: &mut V) -> Result<(), DecodeError> {
        match self.plan(scope) {
            Some(plan) => self.scopes.visit(scope, plan, visitor),
            None => Ok(()),
        }
    }
}
