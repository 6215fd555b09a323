//! Single event fields, by name.

use crate::class::{FieldClass, FieldKind, Scope};
use crate::decode::{DecodeError, FixedField, Plans};
use crate::event::{Event, EventValues};
use crate::field::{Field, FieldValue, Real, StringEncoding, Visitor};
use crate::meaning::{Meaning, MemberIndex};
use crate::plan::steps::{NodeId, Op, Plan};
use crate::running_thread;

/// A field of an event record class. The path is looked up once to read many events of that class.
/// [`FieldPath`](crate::field::FieldPath) does the same for events of several classes.
///
/// A path consists of member names and array indexes, separated by `.`: `next_tid`, `args.0.name`. Optional fields and
/// variants do not add a step. A path may begin with a scope: `payload.`, `ctx.` (the specific, then the common
/// context), `header.` (of the event record), `packet.` (the packet context), `resource.` (the origin of the event).
/// Without a scope, the search order is payload, contexts, header, packet context, resource. If events have a [running
/// thread](crate::running_thread) and no field with these names, `tid`, `comm` and `procname` refer to that thread.
///
/// ```
/// # use ichnos_model::Event;
/// # use ichnos_model::field::FieldRef;
/// fn longest(events: &[Event<'_>]) -> Option<u64> {
///     let mut size = None;
///     let sizes = events.iter().filter_map(|event| {
///         let size = match &size {
///             Some(size) => size,
///             None => size.insert(FieldRef::new(event, "size")?),
///         };
///         event.get(size)?.as_u64()
///     });
///     sizes.max()
/// }
/// # assert_eq!(longest(&[]), None);
/// ```
#[derive(Clone, Debug)]
pub struct FieldRef {
    class: ClassAddress,
    scope: Scope,
    /// Candidate fields: for a variant, one for each option that has it.
    targets: Vec<Target>,
    /// Single decoding step of the field, if no other step is needed.
    fixed: Option<FixedField>,
    /// Number of values before the field, if it is an unsigned integer (possibly optional) in the root structure.
    values_before: Option<usize>,
}

/// A plan's field.
#[derive(Clone, Debug, Default)]
struct Target {
    node: NodeId,
    /// Optional field around it.
    optional: Option<NodeId>,
    /// Enclosing arrays, outermost first: element node and element index.
    elements: Vec<(NodeId, u64)>,
}

/// Identifies a class within all opened traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClassAddress {
    trace: usize,
    stream: usize,
    event: Option<usize>,
}

impl ClassAddress {
    #[inline]
    fn for_event(event: &Event<'_>) -> Self {
        Self {
            trace: std::ptr::from_ref(&*event.stream.trace).addr(),
            stream: event.stream.class_index,
            event: event.class_index(),
        }
    }
}

impl FieldRef {
    /// Finds the field at this path in the event's class. Returns `None` if it is missing. In data streams with a
    /// [running thread](running_thread::member_of), `tid`, `pid`, `comm` and `procname` belong to that thread, and
    /// `payload.tid` to the event.
    #[must_use]
    pub fn new(event: &Event<'_>, path: &str) -> Option<Self> {
        let find =
            |scopes: &[Scope], path: &str| scopes.iter().find_map(|scope| Self::within(event, *scope, path));
        if let Some(member) = running_thread::member_of(event.stream.class(), path) {
            return find(&[Scope::Resource], member);
        }
        // All parts of the path may also be member names.
        find(&Scope::SEARCHED, path).or_else(|| {
            let (prefix, path) = path.split_once('.')?;
            find(Scope::with_prefix(prefix), path)
        })
    }

    /// Finds the first member with this meaning. Returns `None` if the class lacks it.
    #[must_use]
    pub fn for_meaning(event: &Event<'_>, meaning: Meaning) -> Option<Self> {
        event.class.meanings.members(meaning).find_map(|member| Self::for_member(event, member))
    }

    /// Finds the processor: the first member with this meaning, or else `cpu_id` in the packet context, where LTTng
    /// stores it for all events of a packet. `None` if the class has neither.
    #[must_use]
    pub fn for_processor(event: &Event<'_>) -> Option<Self> {
        Self::for_meaning(event, Meaning::Processor)
            .or_else(|| Self::within(event, Scope::PacketContext, "cpu_id"))
    }

    /// Finds the member with this index. Returns `None` if the class lacks it.
    #[must_use]
    pub fn for_member(event: &Event<'_>, member: MemberIndex) -> Option<Self> {
        let plan = event.plan(member.scope)?;
        let node = NodeId::try_from(plan.member(member.index as usize)?).ok()?;
        let mut targets = Vec::new();
        Target { node, ..Target::default() }.follow(plan, "", &mut targets);
        Self::for_targets(event, member.scope, plan, targets)
    }

    /// Finds the field at this path in a scope of the event's class. Returns `None` if it is missing.
    #[must_use]
    pub fn within(event: &Event<'_>, scope: Scope, path: &str) -> Option<Self> {
        let plan = event.plan(scope)?;
        let mut targets = Vec::new();
        Target::default().follow(plan, path, &mut targets);
        Self::for_targets(event, scope, plan, targets)
    }

    /// Finds the field of a plan node, by its index in [`Plan::nodes`]. Returns `None` if it is missing.
    ///
    /// The field should not be in an optional, a variant or an array. Otherwise, the result is the first one present.
    #[must_use]
    pub fn for_node(event: &Event<'_>, scope: Scope, node: usize) -> Option<Self> {
        let plan = event.plan(scope)?;
        plan.get(node)?;
        let target = Target { node: NodeId::try_from(node).ok()?, ..Target::default() };
        Self::for_targets(event, scope, plan, vec![target])
    }

    /// Returns `true` for an integer at a constant offset in its scope: [`Event::get`] then runs a single
    /// step on bits instead of decoding the scope.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        self.fixed.is_some()
    }

    fn for_targets(event: &Event<'_>, scope: Scope, plan: &Plan, targets: Vec<Target>) -> Option<Self> {
        let (fixed, values_before) = match &targets[..] {
            [] => return None,
            [only] => (only.fixed(scope, plan), only.values_before(plan)),
            _ => (None, None),
        };
        Some(Self { class: ClassAddress::for_event(event), scope, targets, fixed, values_before })
    }

    /// Returns the field's scope.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Returns the index of the field's node in [`Plan::nodes`]. For a variant, it is the field in the first option.
    #[must_use]
    pub fn node(&self) -> u32 {
        self.targets.first().map_or(0, |target| target.node)
    }

    /// Returns the field's class, for events with the same class as `event`. If several variant options have the field,
    /// returns the class from the first option. `None` if the field belongs to another event record class.
    #[must_use]
    pub fn class<'a>(&self, event: &Event<'a>) -> Option<&'a FieldClass> {
        let plan = event.plan(self.scope).filter(|_| self.class == ClassAddress::for_event(event))?;
        Some(&plan.node(self.targets.first()?.node).class)
    }

    /// Returns the encoding of the field's [texts](FieldValue::Text), like [`class`](Self::class) from the first of
    /// several variant options. UTF-8 for fields without text, and if the class is `None`.
    #[must_use]
    pub fn encoding(&self, event: &Event<'_>) -> StringEncoding {
        match self.class(event).map(|class| &class.kind) {
            Some(FieldKind::String { encoding, .. }) => *encoding,
            _ => StringEncoding::Utf8,
        }
    }
}

impl Target {
    /// Returns the field's single decoding step: see [`FieldRef::fixed`].
    fn fixed(&self, scope: Scope, plan: &Plan) -> Option<FixedField> {
        let is_direct = self.elements.is_empty()
            && matches!(scope, Scope::Payload | Scope::CommonContext | Scope::PacketContext);
        if is_direct { FixedField::new(plan, self.node) } else { None }
    }

    /// Number of values before the field: see [`FieldRef::values_before`].
    fn values_before(&self, plan: &Plan) -> Option<usize> {
        let Op::Structure { members, .. } = &plan.root().op else { return None };
        if !self.elements.is_empty() || !plan.is_unsigned(self.node) {
            return None;
        }
        let member = self.optional.unwrap_or(self.node);
        members.iter().filter(|id| !plan.is_padding(**id)).position(|id| *id == member)
    }

    /// Follows a path from the node, and adds the fields at its end.
    fn follow(&self, plan: &Plan, path: &str, found: &mut Vec<Self>) {
        let to = |node| Self { node, optional: None, elements: self.elements.clone() };
        match &plan.node(self.node).op {
            Op::Optional { field, .. } => {
                Self { optional: Some(self.node), ..to(*field) }.follow(plan, path, found);
            }
            Op::Variant(variant) => {
                variant.options.iter().for_each(|option| to(*option).follow(plan, path, found));
            }
            _ if path.is_empty() => found.push(self.clone()),
            Op::Structure { members, .. } | Op::Union { members } => {
                for member in members {
                    // Members always have a name.
                    let name = plan.node(*member).name.as_deref().unwrap_or_default();
                    let rest = path.strip_prefix(name).and_then(|rest| match rest {
                        "" => Some(rest),
                        _ => rest.strip_prefix('.'),
                    });
                    let before = found.len();
                    if let Some(rest) = rest {
                        to(*member).follow(plan, rest, found);
                    }
                    // The first of several members with the same name wins.
                    if found.len() > before {
                        break;
                    }
                }
            }
            Op::StaticArray { element, .. } | Op::DynamicArray { element, .. } => {
                let (index, rest) = path.split_once('.').unwrap_or((path, ""));
                if let Ok(index) = index.parse() {
                    let mut element = (to(*element), *element);
                    element.0.elements.push((element.1, index));
                    element.0.follow(plan, rest, found);
                }
            }
            _ => {}
        }
    }
}

impl<'a> Event<'a> {
    /// Returns the value of the field at this path; see [`FieldRef`] for paths. `None` if the class lacks the field,
    /// the event lacks it (an absent optional, an unselected option, an index beyond the elements), it contains fields,
    /// or it is a number with more than 128 bits.
    ///
    /// To read the same field in many events, use a [`FieldPath`](crate::field::FieldPath).
    #[must_use]
    pub fn field(&self, path: &str) -> Option<FieldValue<'a>> {
        self.get(&FieldRef::new(self, path)?)
    }

    /// Returns the value of a field that was found before. `None` in the same cases as [`Event::field`], or if the
    /// field belongs to another class.
    #[inline]
    #[must_use]
    pub fn get(&self, field: &FieldRef) -> Option<FieldValue<'a>> {
        if field.class != ClassAddress::for_event(self) {
            return None;
        }
        self.get_target(field.scope, &field.targets, field.fixed.as_ref(), field.values_before)
    }

    /// Returns the value of the first member with this meaning. `None` in the same cases as [`Event::field`], or if no
    /// member of the class has the meaning. Like [`Event::get`] for a number, it allocates nothing and decodes only the
    /// member.
    ///
    /// ```
    /// # use ichnos_model::Event;
    /// # use ichnos_model::meaning::Meaning;
    /// /// Returns the number of the thread of an event.
    /// fn thread(event: &Event<'_>) -> Option<u64> {
    ///     event.meaning(Meaning::Thread)?.as_u64()
    /// }
    /// # let _: fn(&Event<'_>) -> Option<u64> = thread;
    /// ```
    #[must_use]
    pub fn meaning(&self, meaning: Meaning) -> Option<FieldValue<'a>> {
        let mut members = self.class.meanings.members(meaning);
        let (member, plan, mut target) = members.find_map(|member| {
            let plan = self.plan(member.scope)?;
            let node = NodeId::try_from(plan.member(member.index as usize)?).ok()?;
            Some((member, plan, Target { node, ..Target::default() }))
        })?;
        while let Op::Optional { field, .. } = &plan.node(target.node).op {
            target = Target { node: *field, optional: Some(target.node), ..Target::default() };
        }
        if let Op::Variant(_) = &plan.node(target.node).op {
            return self.get(&FieldRef::for_member(self, member)?);
        }
        let (fixed, before) = (target.fixed(member.scope, plan), target.values_before(plan));
        self.get_target(member.scope, &[target], fixed.as_ref(), before)
    }

    #[inline]
    fn get_target(
        &self,
        scope: Scope,
        targets: &[Target],
        fixed: Option<&FixedField>,
        before: Option<usize>,
    ) -> Option<FieldValue<'a>> {
        let values = self.scopes.values.filter(|values| values.has(scope));
        match (fixed, before, values) {
            (Some(fixed), _, None) => return self.get_fixed(scope, fixed),
            (_, Some(before), Some(values)) => {
                if let Some(value) = values.plain_member(scope, before) {
                    return Some(value);
                }
            }
            _ => {}
        }
        self.find(scope, targets, values)
    }

    #[inline]
    fn get_fixed(&self, scope: Scope, field: &FixedField) -> Option<FieldValue<'a>> {
        let mut integer = IntegerValue(None);
        let begin = *self.scopes.begins.get(scope as usize)?;
        field.visit(ScopePlan { event: self, scope }, self.scopes.bits.data, begin, &mut integer)?;
        integer.0
    }

    #[inline(never)]
    fn find(
        &self,
        scope: Scope,
        targets: &[Target],
        values: Option<&'a EventValues>,
    ) -> Option<FieldValue<'a>> {
        let bytes = values.map_or(self.scopes.bits.data, EventValues::bytes);
        // Most fields are not in arrays: nothing is counted or allocated.
        let at = match targets.iter().any(|target| !target.elements.is_empty()) {
            true => targets.iter().map(|target| vec![None; target.elements.len()]).collect(),
            false => Vec::new(),
        };
        let mut finder = FieldFinder { targets, bytes, at, found: None };
        // Data that cannot be decoded comes after the field, or the field was not found.
        let _: Result<(), DecodeError> = self.visit(scope, &mut finder);
        finder.found
    }
}

/// Scope plan for the fields visited in it.
#[derive(Clone, Copy)]
struct ScopePlan<'e, 'a> {
    event: &'e Event<'a>,
    scope: Scope,
}

impl<'a> Plans<'a> for ScopePlan<'_, 'a> {
    #[inline(always)]
    fn get(self, _: u8) -> &'a Plan {
        self.event.plan(self.scope).unwrap_or(&self.event.stream.trace.plans.nothing)
    }
}

/// Keeps an integer.
struct IntegerValue<'a>(Option<FieldValue<'a>>);

impl Visitor for IntegerValue<'_> {
    #[inline(always)]
    fn unsigned(&mut self, _: Field<'_>, value: u64) {
        self.0 = Some(FieldValue::Unsigned(value));
    }

    #[inline(always)]
    fn signed(&mut self, _: Field<'_>, value: i64) {
        self.0 = Some(FieldValue::Signed(value));
    }
}

/// Keeps a single field's value.
struct FieldFinder<'f, 'a> {
    targets: &'f [Target],
    /// Data around the strings and BLOBs.
    bytes: &'a [u8],
    /// Current element index in each array around each target.
    at: Vec<Vec<Option<u64>>>,
    found: Option<FieldValue<'a>>,
}

impl<'a> FieldFinder<'_, 'a> {
    /// Starts a field: counts elements. Returns if the field is a target, or the optional around a target.
    fn begin(&mut self, field: Field<'_>) -> (bool, bool) {
        let (mut is_target, mut is_optional) = (false, false);
        if self.at.is_empty() {
            for target in self.targets {
                is_target |= field.index() == target.node as usize;
                is_optional |= target.optional.is_some_and(|node| field.index() == node as usize);
            }
        }
        for (target, at) in self.targets.iter().zip(&mut self.at) {
            for i in 0..at.len() {
                if target.elements[i].0 as usize == field.index() {
                    at[i] = Some(at[i].map_or(0, |index| index + 1));
                    // Restart the counts of nested arrays.
                    at[i + 1..].fill(None);
                }
            }
            if at.iter().zip(&target.elements).all(|(at, (_, wanted))| *at == Some(*wanted)) {
                is_target |= field.index() == target.node as usize;
                is_optional |= target.optional.is_some_and(|node| field.index() == node as usize);
            }
        }
        let is_first = self.found.is_none();
        (is_target && is_first, is_optional && is_first)
    }

    /// Returns the value with the lifetime of the surrounding data, or `None` if it is not in that data.
    fn reborrowed(&self, value: FieldValue<'_>) -> Option<FieldValue<'a>> {
        Some(match value {
            FieldValue::Null => FieldValue::Null,
            FieldValue::Unsigned(value) => FieldValue::Unsigned(value),
            FieldValue::Signed(value) => FieldValue::Signed(value),
            FieldValue::Boolean(value) => FieldValue::Boolean(value),
            FieldValue::Bits(bits) => FieldValue::Bits(bits),
            FieldValue::Integer(value) => FieldValue::Integer(value),
            FieldValue::Wide(value) => FieldValue::Integer(value.as_i128()?),
            FieldValue::Real(Real::Half(bits)) => FieldValue::Real(Real::Half(bits)),
            FieldValue::Real(Real::Single(value)) => FieldValue::Real(Real::Single(value)),
            FieldValue::Real(value) => FieldValue::Real(Real::Double(value.to_f64())),
            FieldValue::Text(bytes) => FieldValue::Text(self.borrowed(bytes)?),
            FieldValue::Blob(bytes) => FieldValue::Blob(self.borrowed(bytes)?),
            FieldValue::Guid(value) => FieldValue::Guid(value),
        })
    }

    /// Reborrows bytes with the lifetime of the surrounding data.
    fn borrowed(&self, bytes: &[u8]) -> Option<&'a [u8]> {
        if bytes.is_empty() {
            return Some(&[]);
        }
        let begin = bytes.as_ptr().addr().checked_sub(self.bytes.as_ptr().addr())?;
        self.bytes.get(begin..begin.checked_add(bytes.len())?)
    }
}

impl Visitor for FieldFinder<'_, '_> {
    fn value(&mut self, field: Field<'_>, value: FieldValue<'_>) {
        if self.begin(field).0 {
            self.found = self.reborrowed(value);
        }
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        self.begin(field);
    }

    fn begin_array(&mut self, field: Field<'_>, _: u64) {
        self.begin(field);
    }

    fn begin_optional(&mut self, field: Field<'_>, present: bool, _: i128) {
        let (_, is_optional) = self.begin(field);
        if is_optional && !present {
            self.found = Some(FieldValue::Null);
        }
    }

    fn begin_variant(&mut self, field: Field<'_>, _: usize, _: i128) {
        self.begin(field);
    }
}
