//! Events and packets: their scopes, decode plans, and events built from values.

mod class_list;
mod cost;
mod event_builder;
mod event_class_table;
mod event_counts;
mod event_values;
mod stream_table;
mod value_cache;
mod value_recorder;

use self::value_recorder::Recorder;
use crate::class::{EventRecordClass, Scope};
use crate::clock::ClockValue;
use crate::decode::{
    DecodeError, DecodeLimits, PacketBits, Plans, Position, Slots, changed_since, decode_all, decode_joined,
};
use crate::field::Visitor;
use crate::plan::{EventRecordPlans, Node, Plan, scope_plan};
use crate::trace::DataStream;

pub use self::class_list::ClassList;
pub use self::cost::Cost;
pub use self::event_builder::{BuildError, EventBuilder};
pub use self::event_class_table::EventClassTable;
pub use self::event_counts::EventCounts;
pub use self::event_values::{EventValues, ValuesMark};
pub use self::stream_table::StreamTable;
pub use self::value_cache::ValueCache;

/// Scopes of a packet and an event record in it: bit positions, or values.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Scopes<'a> {
    /// The packet.
    pub bits: PacketBits<'a>,
    /// Start of each scope that can be decoded (before its alignment), indexed by [`Scope`].
    pub(crate) begins: &'a [Position; 6],
    /// Values from earlier scopes that fields in later scopes depend on.
    pub slots: &'a Slots,
    /// Decoding limits.
    pub limits: &'a DecodeLimits,
    /// Values of the scopes that are not bits, if any.
    pub values: Option<&'a EventValues>,
    /// End of the event record, in bits from the start of the packet; 0 if unknown.
    pub end: u64,
}

impl<'a> Scopes<'a> {
    /// Creates scopes that are all bits.
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

    /// Sets the end of the event record, in bits from the start of the packet.
    #[inline(always)]
    #[must_use]
    pub fn with_end(self, end: u64) -> Self {
        Self { end, ..self }
    }

    /// Sets the values of the scopes that are not bits.
    #[inline(always)]
    #[must_use]
    pub fn with_values(self, values: &'a EventValues) -> Self {
        Self { values: Some(values), ..self }
    }

    /// Creates scopes that are all values.
    #[must_use]
    pub fn from_values(values: &'a EventValues) -> Self {
        const BEGINS: &[Position; 6] = &[Position::at(0); 6];
        const LIMITS: &DecodeLimits = &DecodeLimits { integer_bits: 0, zero_size_elements: 0 };
        Self::new(PacketBits::whole(&[]), BEGINS, &[], LIMITS).with_values(values)
    }

    /// Returns the start of each scope that can be decoded (before its alignment), indexed by [`Scope`].
    #[inline(always)]
    #[must_use]
    pub fn begins(&self) -> &'a [Position; 6] {
        self.begins
    }

    #[inline(always)]
    fn visit<V: Visitor>(&self, scope: Scope, plan: &Plan, visitor: &mut V) -> Result<(), DecodeError> {
        if let Some(values) = self.values
            && values.has(scope)
        {
            return values.visit(scope, plan, visitor);
        }
        // Scopes that are never decoded lack a start.
        let Some(mut position) = self.begins.get(scope as usize).copied() else { return Ok(()) };
        plan.decode(self.bits, &mut position, self.slots, *self.limits, visitor)
    }
}

/// An event record.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Event<'a> {
    /// The event's data stream.
    pub stream: &'a DataStream,
    /// Event record class.
    pub class: &'a EventRecordClass,
    /// Class decode plans.
    pub(crate) plans: &'a EventRecordPlans,
    /// Event time on the data stream's default clock.
    pub clock: Option<&'a ClockValue>,
    /// Values on other clocks in the trace, by clock class index (CTF 1.8 and PROP-1.0 may have several).
    pub other_clocks: &'a [(u16, u64)],
    /// Field positions or values.
    pub scopes: Scopes<'a>,
}

impl<'a> Event<'a> {
    /// Creates an event record. `plans` determine its class; `clock` is the value of the stream's default clock, if it
    /// has one.
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

    /// Sets the values on other clocks; see [`Event::other_clocks`].
    #[inline(always)]
    #[must_use]
    pub fn with_other_clocks(self, other_clocks: &'a [(u16, u64)]) -> Self {
        Self { other_clocks, ..self }
    }

    /// Returns the class name, or an empty text.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.class.name.as_deref().unwrap_or_default()
    }

    /// Splits the class name into a category and the rest: `CATEGORY:NAME` for LTTng, `CATEGORY/NAME` for .NET. Other
    /// names have an empty category.
    #[must_use]
    pub fn category_and_name(&self) -> (&'a str, &'a str) {
        let name = self.name();
        let parts = name.split_once(':').or_else(|| name.rsplit_once('/'));
        parts.filter(|(_, name)| !name.is_empty()).unwrap_or(("", name))
    }

    /// Returns the event time in nanoseconds from the origin of the stream's default clock, or `None` without a clock.
    #[must_use]
    pub fn nanoseconds(&self) -> Option<i128> {
        self.clock.map(|clock| clock.nanoseconds)
    }

    /// Returns the record size in bits, including the header and the alignment before it. `None` if unknown, for
    /// example for a record made of values.
    #[inline]
    #[must_use]
    pub fn size_in_bits(&self) -> Option<u64> {
        let begin = self.scopes.begins.get(Scope::EventRecordHeader as usize)?.bit;
        self.scopes.end.checked_sub(begin).filter(|bits| *bits > 0)
    }

    /// Returns the class index, for data kept by class: first the classes that the data stream class declares, then
    /// those discovered while reading. `None` if the plans come from elsewhere.
    #[inline]
    #[must_use]
    pub fn class_index(&self) -> Option<usize> {
        self.plans.index
    }

    /// Returns the class's decode plans.
    #[inline(always)]
    #[must_use]
    pub fn plans(&self) -> &'a EventRecordPlans {
        self.plans
    }

    /// Returns a scope's plan, if events of the class can have it.
    #[inline]
    #[must_use]
    pub fn plan(&self, scope: Scope) -> Option<&'a Plan> {
        scope_plan(scope, &self.stream.trace.plans, self.stream.plans(), self.plans)
    }

    /// Returns the bytes of the common context, if it consists of whole bytes. Equal bytes mean equal values.
    #[inline]
    #[must_use]
    pub fn common_context_bytes(&self) -> Option<&'a [u8]> {
        let [.., begin, end, _] = self.scopes.begins;
        if self.scopes.values.is_some_and(|values| values.has(Scope::CommonContext))
            || (begin.bit | end.bit) % 8 != 0
        {
            return None;
        }
        self.scopes.bits.bytes().get(usize::try_from(begin.bit / 8).ok()?..usize::try_from(end.bit / 8).ok()?)
    }

    /// Returns `true` if the event has fields in the [resource](Scope::Resource) scope.
    #[inline]
    #[must_use]
    pub fn has_resource(&self) -> bool {
        self.scopes.values.is_some_and(|values| values.has(Scope::Resource))
    }

    /// Returns a scope's root node, if events of the class can have it.
    #[must_use]
    pub fn root(&self, scope: Scope) -> Option<&'a Node> {
        Some(self.plan(scope)?.root())
    }

    /// Passes all fields of a scope to `visitor`. Does nothing if the event lacks the scope.
    ///
    /// # Errors
    /// Only a reader validating its own data sees this error: delivered events fit their class.
    #[inline(always)]
    pub fn visit<V: Visitor>(&self, scope: Scope, visitor: &mut V) -> Result<(), DecodeError> {
        match self.plan(scope) {
            Some(plan) => self.scopes.visit(scope, plan, visitor),
            None => Ok(()),
        }
    }

    /// Passes all fields of a scope to `visitor` like [`Event::visit`]. `begin_structure` and `end_structure` may be
    /// skipped for a root structure.
    ///
    /// # Errors
    /// See [`Event::visit`].
    #[inline(always)]
    pub fn visit_members<V: Visitor>(&self, scope: Scope, visitor: &mut V) -> Result<(), DecodeError> {
        let Some(plan) = self.plan(scope) else { return Ok(()) };
        // All fields of a record whose end is known fit. In others, those before the first that does not fit count.
        let Scopes { bits, end, .. } = &self.scopes;
        let is_fitting = *end > 0 && (*end / 8) as usize <= bits.bytes().len();
        let result = if is_fitting { self.visit_bytewise(scope, plan, visitor) } else { None };
        result.unwrap_or_else(|| self.scopes.visit(scope, plan, visitor))
    }

    /// Passes all fields of a scope to `visitor`, except a root structure. Returns `None` if that takes more than loading
    /// bytes.
    #[inline(always)]
    fn visit_bytewise<V: Visitor>(
        &self,
        scope: Scope,
        plan: &Plan,
        visitor: &mut V,
    ) -> Option<Result<(), DecodeError>> {
        let Scopes { bits, begins, slots, values, .. } = self.scopes;
        if values.is_some_and(|values| values.has(scope)) {
            return None;
        }
        let begin = begins.get(scope as usize).map_or(0, |begin| begin.bit);
        let steps = plan.byte_steps().filter(|_| begin % 8 == 0)?;
        let is_right = decode_joined(steps, plan, bits.bytes(), (begin / 8) as usize, slots, visitor);
        Some(if is_right { Ok(()) } else { changed_since(bits, begin) })
    }

    /// Passes all fields of the common context, the specific context and the payload to `visitor`. `begin_structure`
    /// may be skipped for these three root structures, so this is for visitors that want values regardless of their
    /// scope.
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

/// Plans of an event record class's joined steps.
impl<'a> Plans<'a> for &'a Event<'a> {
    // Most visitors do not ask for all classes. The lookup has no side effects, so the compiler drops it for them.
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

/// Scopes that belong to the event record itself.
const OWN: [Scope; 3] = [Scope::CommonContext, Scope::SpecificContext, Scope::Payload];

impl Event<'_> {
    /// Runs [`Event::visit_all`] if some scopes are values.
    #[inline(never)]
    fn visit_each<V: Visitor>(&self, visitor: &mut V) -> Result<(), DecodeError> {
        for scope in OWN {
            let Some(plan) = self.plan(scope) else { continue };
            if let Some(values) = self.scopes.values.filter(|values| values.has(scope)) {
                values.visit_inline(scope, plan, visitor)?;
                continue;
            }
            match self.visit_bytewise(scope, plan, visitor) {
                Some(result) => result?,
                None => self.scopes.visit(scope, plan, visitor)?,
            }
        }
        Ok(())
    }
}

impl EventValues {
    /// Replaces its contents by all scopes of an event. The copy outlives the event.
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
    /// The packet's data stream.
    pub stream: &'a DataStream,
    /// Default clock value at the start of the packet.
    pub begin: Option<ClockValue>,
    /// Default clock value at the end of the packet.
    pub end: Option<ClockValue>,
    /// `true` if a tracer bug may put events after `end`: the packet then ends with the last of them.
    pub has_late_events: bool,
    /// `true` if a tracer bug may put wrong times in the packet context. The times here are right, the end only once
    /// the packet has ended.
    pub has_corrected_times: bool,
    /// `true` if the header or the context records a wrong size or id. The lengths and the data stream of this packet
    /// are corrected; its scopes contain the recorded values.
    pub has_corrected_head: bool,
    /// Recorded packet index in its data stream.
    pub sequence_number: Option<u64>,
    /// Index of the packet in its data stream, in reading order, if the reader knows it.
    pub index: Option<u64>,
    /// Discarded event counter at the end of the packet.
    pub discarded_counter: Option<u64>,
    /// Whole packet size in bits.
    pub total_length: u64,
    /// Size in bits without the padding at the end.
    pub content_length: u64,
    /// Field positions; only the first two scopes are used.
    pub scopes: Scopes<'a>,
}

impl<'a> Packet<'a> {
    /// Creates a packet with these sizes in bits, without times and counters.
    #[inline]
    #[must_use]
    pub fn new(stream: &'a DataStream, total_length: u64, content_length: u64, scopes: Scopes<'a>) -> Self {
        Self {
            stream,
            begin: None,
            end: None,
            has_late_events: false,
            has_corrected_times: false,
            has_corrected_head: false,
            sequence_number: None,
            index: None,
            discarded_counter: None,
            total_length,
            content_length,
            scopes,
        }
    }

    /// Sets the default clock's values at the start and the end of the packet.
    #[inline]
    #[must_use]
    pub fn with_times(self, begin: Option<ClockValue>, end: Option<ClockValue>) -> Self {
        Self { begin, end, ..self }
    }

    /// Sets the sequence number, and the counter of discarded event records at the end of the packet.
    #[inline]
    #[must_use]
    pub fn with_counters(self, sequence_number: Option<u64>, discarded_counter: Option<u64>) -> Self {
        Self { sequence_number, discarded_counter, ..self }
    }

    /// Returns the plan for the packet header or the packet context.
    #[must_use]
    pub fn plan(&self, scope: Scope) -> Option<&'a Plan> {
        match scope {
            Scope::PacketHeader => self.stream.trace.plans.packet_header.as_ref(),
            Scope::PacketContext => self.stream.plans().packet_context.as_ref(),
            _ => None,
        }
    }

    /// Passes all fields in the packet header or the packet context to `visitor`.
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
