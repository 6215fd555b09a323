//! Builds events from values.

use std::sync::Arc;

use crate::class::{DynamicClass, FieldClass, FieldKind, Length, Scope, StringLength, VariableLengthValue};
use crate::clock::ClockValue;
use crate::decode::DecodeError;
use crate::event::{Event, EventValues, Scopes};
use crate::field::{Field, FieldValue, Real, Text, Visitor, Wide};
use crate::meaning::MemberIndex;
use crate::plan::steps::{NodeId, Op, Plan};
use crate::plan::{EventRecordPlans, scope_plan};
use crate::trace::DataStream;

/// Builds successive events of one class from values and checks them against the class. For writers, text formats and
/// tests.
///
/// Members keep their values from event to event until they are set again. Once the buffers are large enough, events do
/// not allocate memory.
///
/// ```
/// use std::sync::Arc;
/// use ichnos_model::class::{
///     BitField, ByteOrder, DataStreamClass, EventRecordClass, FieldClass, FieldKind, IntegerProperties,
///     Member,
/// };
/// use ichnos_model::event::EventBuilder;
/// use ichnos_model::trace::Limits;
/// use ichnos_model::{DataStream, Trace, TraceClass};
///
/// let bits = BitField::new(16, ByteOrder::LittleEndian, 8);
/// let size = FieldClass::new(FieldKind::Integer { bits, integer: IntegerProperties::default() });
/// let members = vec![Member::new("size", Arc::new(size))];
/// let payload = FieldClass::new(FieldKind::Structure { members, minimum_alignment: 8 });
/// let class = EventRecordClass { payload: Some(Arc::new(payload)), ..EventRecordClass::default() };
/// let stream = DataStreamClass { event_records: vec![Arc::new(class)], ..DataStreamClass::default() };
/// let class = TraceClass { data_streams: vec![stream], ..TraceClass::default() };
/// let trace = Trace::new(class, "example", &Limits::default())?;
/// let stream = DataStream::new(Arc::new(trace), 0, None, "").unwrap();
///
/// let mut builder = EventBuilder::new(Arc::new(stream), 0).unwrap();
/// builder.set("size", 1400u64)?;
/// assert_eq!(builder.event()?.field("size").and_then(|size| size.as_u64()), Some(1400));
/// builder.set("size", 70_000u64)?;
/// let error = builder.event().unwrap_err().to_string();
/// assert_eq!(error, "payload member `size`: expected at most 16 bits, found 70000");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EventBuilder {
    stream: Arc<DataStream>,
    class: BuilderClass,
    clock: Option<ClockValue>,
    /// Flag for a set value, and the value, by scope and member.
    members: [Vec<(bool, EventValues)>; 7],
    /// All set values in class order.
    values: EventValues,
}

/// The builder's event record class.
#[derive(Debug)]
enum BuilderClass {
    /// Index within the classes that the data stream class declares.
    Declared(usize),
    Dynamic(Arc<DynamicClass>),
}

impl BuilderClass {
    fn plans<'a>(&'a self, stream: &'a DataStream) -> Option<&'a EventRecordPlans> {
        match self {
            Self::Declared(index) => stream.plans().event_records.get(*index),
            Self::Dynamic(class) => Some(&class.plans),
        }
    }
}

/// Reason why values do not form an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The class lacks this member.
    #[error("the event record class has no member `{0}`")]
    NoMember(String),
    /// A member has no value.
    #[error("{scope} member `{member}`: expected a value, found none")]
    Missing {
        /// Scope name.
        scope: &'static str,
        /// Member name.
        member: String,
    },
    /// A value does not fit its class.
    #[error("{scope} member `{member}`: expected {expected}, found {found}")]
    Value {
        /// Scope name.
        scope: &'static str,
        /// Name of the member or an inner field.
        member: String,
        /// Required value.
        expected: String,
        /// Actual value.
        found: String,
    },
}

impl EventBuilder {
    /// Creates a builder for the event record class with this index in a data stream. Returns `None` for an invalid
    /// index.
    #[must_use]
    pub fn new(stream: Arc<DataStream>, class: usize) -> Option<Self> {
        Self::for_class(stream, BuilderClass::Declared(class))
    }

    /// Creates a builder for a data stream and a class discovered while reading or writing it.
    #[must_use]
    pub fn dynamic(stream: Arc<DataStream>, class: Arc<DynamicClass>) -> Option<Self> {
        Self::for_class(stream, BuilderClass::Dynamic(class))
    }

    /// Creates a builder for events with the class and data stream of `event`. Returns `None` if the class is missing.
    #[must_use]
    pub fn like(event: &Event<'_>) -> Option<Self> {
        let DataStream { trace, class_index, id, name, .. } = event.stream;
        let stream = DataStream::new(Arc::clone(trace), *class_index, *id, Arc::clone(name))?;
        let index = event.class_index()?;
        let class = match index.checked_sub(stream.class().event_records.len()) {
            Some(index) => BuilderClass::Dynamic(trace.dynamic_classes(*class_index)?.get(index).ok()??),
            None => BuilderClass::Declared(index),
        };
        Self::for_class(Arc::new(stream), class)
    }

    /// Sets all members and the time from an event of the class.
    ///
    /// # Errors
    /// See [`Event::visit`].
    pub fn copy_from(&mut self, event: &Event<'_>) -> Result<(), DecodeError> {
        let mut values = std::mem::take(&mut self.values);
        let copied = values.copy_from(event);
        self.clear();
        for scope in Scope::ALL.into_iter().filter(|scope| values.has(*scope)) {
            let mut members = std::mem::take(&mut self.members[scope as usize]);
            if let Some(plan) = self.plan(scope) {
                let has_value = |index: usize| {
                    // A root that is not a structure, node 0, is its only member.
                    let node = plan.member(index).unwrap_or_default();
                    !matches!(plan.node(node as NodeId).class.kind, FieldKind::Padding(_))
                };
                let members = members.iter_mut().enumerate().filter(|(index, _)| has_value(*index));
                let members = members.map(|(_, (is_set, member))| {
                    *is_set = true;
                    member
                });
                values.split(scope, members);
            }
            self.members[scope as usize] = members;
        }
        self.values = values;
        self.clock = event.clock.copied();
        copied
    }

    fn for_class(stream: Arc<DataStream>, class: BuilderClass) -> Option<Self> {
        let plans = stream.plans();
        let event = class.plans(&stream)?;
        let count = |plan: Option<&Plan>| match plan.map(|plan| &plan.root().op) {
            Some(Op::Structure { members, .. }) => vec![<(bool, EventValues)>::default(); members.len()],
            Some(_) => vec![Default::default()],
            None => Vec::new(),
        };
        let members = [
            count(stream.trace.plans.packet_header.as_ref()),
            count(plans.packet_context.as_ref()),
            count(plans.event_record_header.as_ref()),
            count(plans.common_context.as_ref()),
            count(event.specific_context.as_ref()),
            count(event.payload.as_ref()),
            count(plans.resource.as_ref()),
        ];
        Some(Self { stream, class, clock: None, members, values: EventValues::default() })
    }

    /// Sets the time in cycles on the stream's default clock, if it has one.
    pub fn set_cycles(&mut self, cycles: u64) {
        let clock = self.stream.clock();
        self.clock = clock.map(|clock| ClockValue { nanoseconds: clock.nanoseconds(cycles), cycles });
    }

    /// Finds a member by name in the payload, the contexts, the event record header or the resource. A prefix
    /// `payload.`, `ctx.`, `header.` or `resource.` selects one of them.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<MemberIndex> {
        let find = |scopes: &[Scope], name: &str| {
            let scopes = scopes.iter().filter(|scope| **scope != Scope::PacketContext);
            { scopes }.find_map(|scope| {
                let plan = self.plan(*scope)?;
                let Op::Structure { members, .. } = &plan.root().op else { return None };
                let is_it = |id: &u32| plan.node(*id).name.as_deref() == Some(name);
                let index = u32::try_from(members.iter().position(is_it)?).ok()?;
                Some(MemberIndex { scope: *scope, index })
            })
        };
        find(&Scope::SEARCHED, name).or_else(|| {
            let (prefix, name) = name.split_once('.')?;
            find(Scope::with_prefix(prefix), name)
        })
    }

    /// Returns a member's class.
    #[must_use]
    pub fn class_of(&self, member: MemberIndex) -> Option<&FieldClass> {
        let plan = self.plan(member.scope)?;
        let node = plan.member(usize::try_from(member.index).ok()?)?;
        Some(&plan.node(NodeId::try_from(node).ok()?).class)
    }

    /// Sets the value of a member by its [name](EventBuilder::member). Integers can be given with or without a sign. An
    /// optional member is present unless it is set to [`FieldValue::Null`].
    ///
    /// # Errors
    /// Fails if the member does not exist.
    pub fn set<'v>(&mut self, name: &str, value: impl Into<FieldValue<'v>>) -> Result<(), BuildError> {
        let member = self.member(name).ok_or_else(|| BuildError::NoMember(name.to_owned()))?;
        let value = value.into();
        let fitting = match self.class_of(member).map(|class| &class.kind) {
            Some(FieldKind::Optional { field, .. }) => {
                let value = fitting(field, value);
                self.put_with(member, |values| {
                    let is_present = !matches!(value, FieldValue::Null);
                    values.push_optional(is_present);
                    if is_present {
                        values.push(value);
                    }
                });
                return Ok(());
            }
            Some(_) => self.class_of(member).map_or(value, |class| fitting(class, value)),
            None => value,
        };
        self.put(member, fitting);
        Ok(())
    }

    /// Sets a member's value.
    pub fn put<'v>(&mut self, member: MemberIndex, value: impl Into<FieldValue<'v>>) {
        self.put_with(member, |values| values.push(value));
    }

    /// Sets a member to the value that `write` appends, including inner fields.
    pub fn put_with(&mut self, member: MemberIndex, write: impl FnOnce(&mut EventValues)) {
        let members = &mut self.members[member.scope as usize];
        let Some((is_set, values)) = members.get_mut(member.index as usize) else { return };
        values.clear();
        values.begin(member.scope);
        write(values);
        *is_set = true;
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.members.iter_mut().flatten().for_each(|(is_set, _)| *is_set = false);
    }

    /// Builds the event from the values that were set.
    ///
    /// # Errors
    /// Fails if a context or payload member lacks a value, or a value does not fit its class.
    pub fn event(&mut self) -> Result<Event<'_>, BuildError> {
        let mut values = std::mem::take(&mut self.values);
        let written = self.write(&mut values);
        self.values = values;
        written?;
        // `for_class` checked it.
        let Some(plans) = self.class.plans(&self.stream) else {
            return Err(BuildError::NoMember(String::new()));
        };
        Ok(Event::new(&self.stream, plans, self.clock.as_ref(), Scopes::from_values(&self.values)))
    }

    fn write(&self, values: &mut EventValues) -> Result<(), BuildError> {
        values.clear();
        for scope in Scope::ALL {
            let Some(plan) = self.plan(scope) else { continue };
            let members = &self.members[scope as usize];
            // Headers, packet contexts and resources are optional.
            let is_own = matches!(scope, Scope::CommonContext | Scope::SpecificContext | Scope::Payload);
            if !is_own && members.iter().all(|(is_set, _)| !is_set) {
                continue;
            }
            values.begin(scope);
            for (index, (is_set, member)) in members.iter().enumerate() {
                // A root that is not a structure, node 0, is its only member.
                let node = plan.member(index).unwrap_or_default();
                if *is_set {
                    values.append(member);
                } else if !matches!(plan.node(node as NodeId).class.kind, FieldKind::Padding(_)) {
                    let member = path_of(plan, node);
                    return Err(BuildError::Missing { scope: word(scope), member });
                }
            }
            let mut check = FitChecker::default();
            if let Err(mismatch) = values.visit_checked(scope, plan, &mut check) {
                return Err(BuildError::Value {
                    scope: word(scope),
                    member: path_of(plan, mismatch.node as usize),
                    expected: mismatch.expected.to_owned(),
                    found: mismatch.found.to_owned(),
                });
            }
            if let Some((node, expected, found)) = check.problem {
                return Err(BuildError::Value {
                    scope: word(scope),
                    member: path_of(plan, node),
                    expected,
                    found,
                });
            }
        }
        Ok(())
    }

    fn plan(&self, scope: Scope) -> Option<&Plan> {
        let event = self.class.plans(&self.stream)?;
        scope_plan(scope, &self.stream.trace.plans, self.stream.plans(), event)
    }
}

/// Converts a number to the representation in its class, if this does not change the number.
fn fitting<'v>(class: &FieldClass, value: FieldValue<'v>) -> FieldValue<'v> {
    let signed = match &class.kind {
        FieldKind::Integer { integer, .. }
        | FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } => integer.signed,
        FieldKind::BitArray(_)
        | FieldKind::BitMap { .. }
        | FieldKind::VariableLength { value: VariableLengthValue::BitArray, .. } => {
            return match value {
                FieldValue::Unsigned(bits) => FieldValue::Bits(bits),
                FieldValue::Signed(bits) => u64::try_from(bits).map_or(value, FieldValue::Bits),
                _ => value,
            };
        }
        FieldKind::Float(bits) => {
            return match value {
                // The nearest number in the class.
                FieldValue::Real(Real::Double(number)) if bits.length == 32 => {
                    FieldValue::Real(Real::Single(number as f32))
                }
                _ => value,
            };
        }
        FieldKind::Blob { .. } => {
            return match value {
                FieldValue::Text(bytes) => FieldValue::Blob(bytes),
                _ => value,
            };
        }
        _ => return value,
    };
    match value {
        FieldValue::Unsigned(number) if signed => i64::try_from(number).map_or(value, FieldValue::Signed),
        FieldValue::Signed(number) if !signed => u64::try_from(number).map_or(value, FieldValue::Unsigned),
        _ => value,
    }
}

/// Scope name in errors.
fn word(scope: Scope) -> &'static str {
    match scope {
        Scope::PacketHeader => "packet header",
        Scope::PacketContext => "packet context",
        Scope::EventRecordHeader => "header",
        Scope::CommonContext => "common context",
        Scope::SpecificContext => "specific context",
        Scope::Payload => "payload",
        Scope::Resource => "resource",
    }
}

/// Names on the path to a plan node, separated by `.`.
fn path_of(plan: &Plan, node: usize) -> String {
    let mut names = Vec::new();
    let mut next = NodeId::try_from(node).ok();
    while let Some(id) = next {
        let node = plan.node(id);
        names.extend(node.name.as_deref());
        next = node.parent;
    }
    names.reverse();
    names.join(".")
}

/// Finds values with the right kind that do not fit their class.
#[derive(Debug, Default)]
struct FitChecker {
    /// Node of the first misfit, with the expected and the actual value.
    problem: Option<(usize, String, String)>,
}

impl FitChecker {
    fn require(&mut self, fits: bool, field: Field<'_>, problem: impl FnOnce() -> (String, String)) {
        if !fits && self.problem.is_none() {
            let (expected, found) = problem();
            self.problem = Some((field.index(), expected, found));
        }
    }

    /// Requires that a value fits a fixed-length class.
    fn require_bits(&mut self, field: Field<'_>, used: u64, value: &dyn std::fmt::Display) {
        let length = match &field.class().kind {
            FieldKind::VariableLength { .. } => return,
            _ => field.length,
        };
        self.require(used <= length, field, || (format!("at most {length} bits"), value.to_string()));
    }
}

impl Visitor for FitChecker {
    fn value(&mut self, field: Field<'_>, value: FieldValue<'_>) {
        match value {
            FieldValue::Unsigned(value) | FieldValue::Bits(value) => {
                self.require_bits(field, 64 - u64::from(value.leading_zeros()), &value);
            }
            FieldValue::Signed(value) => {
                let same = if value < 0 { value.leading_ones() } else { value.leading_zeros() };
                self.require_bits(field, 65 - u64::from(same), &value);
            }
            _ => {}
        }
    }

    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        if let FieldKind::VariableLength { .. } = field.class().kind {
            return;
        }
        let found = || ("a number with the size of its class".to_owned(), format!("{} bits", value.length));
        self.require(value.length <= field.length, field, found);
    }

    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        let FieldKind::String { encoding, length, .. } = &field.class().kind else { return };
        let size = value.bytes.len() as u64;
        let most = match length {
            StringLength::Static(most) => *most,
            StringLength::Prefixed { length, .. } if length.length < 64 => (1 << length.length) - 1,
            _ => u64::MAX,
        };
        self.require(size <= most, field, || (format!("at most {most} bytes"), format!("{size} bytes")));
        let unit = encoding.unit() as u64;
        self.require(size % unit == 0, field, || {
            (format!("code units of {unit} bytes"), format!("{size} bytes"))
        });
        if matches!(length, StringLength::NullTerminated) {
            let has_end = crate::bits::terminator(value.bytes, encoding.unit()).is_some();
            self.require(!has_end, field, || {
                ("a string without U+0000".to_owned(), "a string that contains it".to_owned())
            });
        }
    }

    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        if let FieldKind::Blob { length: Length::Static(length), .. } = &field.class().kind {
            let found = bytes.len();
            self.require(found as u64 == *length, field, || {
                (format!("{length} bytes"), format!("{found} bytes"))
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::{
        BitField, ByteOrder, DataStreamClass, EventRecordClass, FieldClass, IntegerProperties, Member,
        TraceClass, Uuid,
    };
    use crate::clock::WallClock;
    use crate::field::StringEncoding;
    use crate::trace::{Limits, Trace};

    fn builder() -> EventBuilder {
        let bits = BitField::new(8, ByteOrder::LittleEndian, 8);
        let class = |kind| Arc::new(FieldClass::new(kind));
        let signed = IntegerProperties { signed: true, ..IntegerProperties::default() };
        let text = FieldKind::String {
            encoding: StringEncoding::Utf8,
            length: StringLength::NullTerminated,
            alignment: 8,
        };
        let integer = class(FieldKind::Integer { bits, integer: signed });
        let inner = vec![Member::new("level", Arc::clone(&integer))];
        let inner = FieldKind::Structure { members: inner, minimum_alignment: 8 };
        let members = vec![
            Member::new("gap", class(FieldKind::Padding(bits))),
            Member::new("text", class(text)),
            Member::new("inner", class(inner)),
        ];
        let payload = class(FieldKind::Structure { members, minimum_alignment: 8 });
        let members = vec![Member::new("cpu", integer)];
        let context = class(FieldKind::Structure { members, minimum_alignment: 8 });
        let event = EventRecordClass { payload: Some(payload), ..EventRecordClass::default() };
        let stream = DataStreamClass {
            common_context: Some(context),
            event_records: vec![Arc::new(event)],
            ..DataStreamClass::default()
        };
        let trace = TraceClass { data_streams: vec![stream], ..TraceClass::default() };
        let trace = Trace::new(trace, "t", &Limits::default()).unwrap();
        let stream = Arc::new(DataStream::new(Arc::new(trace), 0, None, "s").unwrap());
        assert!(EventBuilder::new(Arc::clone(&stream), 1).is_none());
        EventBuilder::new(stream, 0).unwrap()
    }

    #[test]
    fn makes_one_event_after_the_other() {
        let mut builder = builder();
        builder.set("ctx.cpu", -1i64).unwrap();
        let inner = builder.member("payload.inner").unwrap();
        for level in [3i64, -128] {
            builder.set("text", "x").unwrap();
            builder.put_with(inner, |values| {
                values.begin_structure();
                values.push(level);
                values.end();
            });
            let event = builder.event().unwrap();
            assert_eq!(event.field("inner.level").unwrap().as_i64(), Some(level));
            assert_eq!(event.field("cpu").unwrap().as_i64(), Some(-1));
            assert_eq!(event.field("ctx.cpu").unwrap().as_i64(), Some(-1));
            assert_eq!(event.field("payload.text").unwrap().as_str(), Some("x"));
            assert!(event.field("payload.cpu").is_none() && event.field("inner").is_none());
        }
    }

    #[test]
    fn guids_dates_and_characters() {
        let character = FieldKind::String {
            encoding: StringEncoding::Utf16Le,
            length: StringLength::Static(2),
            alignment: 8,
        };
        let members = [
            Member::new("id", FieldClass::guid()),
            Member::new("time", FieldClass::wall_clock(false, WallClock::FILETIME)),
            Member::new("c", FieldClass::new(character)),
        ];
        let class = EventRecordClass::new("e", members);
        let class = TraceClass::new("x", [], [DataStreamClass::new(Some(0), [class])]);
        let trace = Trace::new(class, "t", &Limits::default()).unwrap();
        let stream = DataStream::new(Arc::new(trace), 0, None, "s").unwrap();
        let mut builder = EventBuilder::new(Arc::new(stream), 0).unwrap();
        let id = Uuid::from_u128(0x6b29fc40_ca47_1067_b31d_00dd010662da);
        builder.set("id", id).unwrap();
        builder.set("time", 116_444_736_000_000_000u64).unwrap();
        builder.set("c", FieldValue::Text(&[0x3d, 0xd8])).unwrap();
        let event = builder.event().unwrap();
        assert_eq!(event.field("id").unwrap().as_uuid(), Some(id));
        assert_eq!(event.field("time").unwrap().as_uuid(), None);
        assert_eq!(event.field("c").unwrap().as_bytes(), Some(&[0x3d, 0xd8][..]));
        builder.set("id", "6b29fc40").unwrap();
        let error = builder.event().unwrap_err().to_string();
        assert_eq!(error, "payload member `id`: expected a GUID, found a string");
        builder.set("id", id).unwrap();
        builder.set("c", FieldValue::Text(b"1234")).unwrap();
        let error = builder.event().unwrap_err().to_string();
        assert_eq!(error, "payload member `c`: expected at most 2 bytes, found 4 bytes");
    }

    #[test]
    fn says_what_does_not_fit() {
        let mut builder = builder();
        let error = |builder: &mut EventBuilder| builder.event().unwrap_err().to_string();
        assert_eq!(builder.set("no", 1u64).unwrap_err(), BuildError::NoMember("no".to_owned()));
        assert_eq!(error(&mut builder), "common context member `cpu`: expected a value, found none");
        builder.set("cpu", u64::MAX).unwrap();
        builder.set("text", "a\0b").unwrap();
        let inner = builder.member("inner").unwrap();
        builder.put(inner, 1i64);
        assert_eq!(
            error(&mut builder),
            "common context member `cpu`: expected a signed integer, found an unsigned integer"
        );
        builder.set("cpu", 128u64).unwrap();
        assert_eq!(error(&mut builder), "common context member `cpu`: expected at most 8 bits, found 128");
        builder.set("cpu", 127i64).unwrap();
        assert_eq!(
            error(&mut builder),
            "payload member `inner`: expected a structure with the members of its class, found a signed integer"
        );
        builder.put_with(inner, |values| {
            values.begin_structure();
            values.push("level");
            values.end();
        });
        assert_eq!(
            error(&mut builder),
            "payload member `inner.level`: expected a signed integer, found a string"
        );
        builder.put_with(inner, |values| {
            values.begin_structure();
            values.push(-128i64);
            values.end();
        });
        assert_eq!(
            error(&mut builder),
            "payload member `text`: expected a string without U+0000, found a string that contains it"
        );
        builder.set("text", "").unwrap();
        assert!(builder.event().is_ok());
        builder.clear();
        assert!(builder.event().is_err());
    }
}
