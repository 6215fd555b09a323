//! The rules by which field classes are lowered.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use super::annotations::{annotate_added, annotate_field, strip};
use super::capabilities::{Capabilities, VariantSelection};
use super::loss_table::{Loss, LossKind, LossTable};
use super::moves::{Fit, MoveKind, NONE, NodeMove, ScopeMoves};
use super::names::{identifier, is_identifier, unique};
use crate::plan::steps::{NodeId, Op, Plan, Slot, align};
use crate::{
    Attributes, BitField, ByteOrder, DisplayBase, FieldClass, FieldKind, FieldLocation, IntegerProperties,
    IntegerRange, Length, LocationStep, MappingsBuilder, Member, RangeSet, Role, Scope, StringEncoding,
    StringLength, VariableLengthValue, VariantOption,
};

/// Lowers the root class of a scope.
pub(super) struct ClassLowerer<'a> {
    pub(super) capabilities: &'a Capabilities,
    pub(super) plan: &'a Plan,
    pub(super) scope: Scope,
    /// The default clock of the data stream.
    pub(super) default_clock: Option<u16>,
    /// What the class is called in the loss table.
    pub(super) class_name: &'a str,
    pub(super) losses: &'a mut LossTable,
    /// Whether to note what a field was beyond its lowered class.
    pub(super) annotates: bool,
    moves: Vec<NodeMove>,
    members: Vec<Option<usize>>,
    next: NodeId,
    fit: Fit,
    path: Vec<String>,
    /// Fields in optional fields whose length a member before the optional field says, with its name.
    hoists: Vec<(NodeId, String)>,
}

/// What has to be said before a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Its length in bytes or elements.
    Length,
    /// Whether it is there.
    Presence,
    /// Which option it is.
    Tag,
}

impl Before {
    const fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Presence => "present",
            Self::Tag => "tag",
        }
    }
}

impl<'a> ClassLowerer<'a> {
    pub(super) fn new(
        capabilities: &'a Capabilities,
        plan: &'a Plan,
        scope: Scope,
        default_clock: Option<u16>,
        class_name: &'a str,
        losses: &'a mut LossTable,
        annotates: bool,
    ) -> Self {
        Self {
            capabilities,
            plan,
            scope,
            default_clock,
            class_name,
            losses,
            annotates,
            moves: vec![NodeMove::DROPPED; plan.nodes.len()],
            members: Vec::new(),
            next: 0,
            fit: Fit::Same,
            path: Vec::new(),
            hoists: Vec::new(),
        }
    }

    /// Lowers the class, whose nodes are numbered from `first` on in the lowered plan.
    pub(super) fn lower(mut self) -> (Arc<FieldClass>, ScopeMoves) {
        let class = self.class(0, None);
        let class = if self.fit == Fit::Same { Arc::clone(&self.plan.root().class) } else { Arc::new(class) };
        (class, ScopeMoves { moves: self.moves.into(), fit: self.fit, members: self.members })
    }

    /// Lowers the members of the structure that the class is, which become members of another structure:
    /// behind those of `out`, whose nodes end before `next`, which is moved on.
    pub(super) fn lower_members_into(mut self, next: &mut NodeId, out: &mut Vec<Member>) -> ScopeMoves {
        self.next = *next;
        self.fit = Fit::Moved;
        if let Op::Structure { members, .. } = &self.plan.root().op {
            let mut names = out.iter().map(|member| member.name.clone()).collect();
            for id in members {
                self.member(*id, out, &mut names);
            }
        }
        *next = self.next;
        ScopeMoves { moves: self.moves.into(), fit: self.fit, members: self.members }
    }

    fn allocate(&mut self) -> NodeId {
        let id = self.next;
        self.next = self.next.saturating_add(1);
        id
    }

    fn note(&mut self, fit: Fit) {
        self.fit = self.fit.max(fit);
    }

    fn lose(&mut self, kind: LossKind, what: String) {
        let mut field = short_name(self.scope).to_owned();
        for name in &self.path {
            field.push('.');
            field.push_str(name);
        }
        self.losses.add(Loss { kind, class: self.class_name.to_owned(), field, what }, 1);
    }

    fn lowered(&mut self, fit: Fit, from: &FieldClass, to: &str) {
        self.note(fit);
        self.lose(LossKind::Lowered, format!("{} -> {to}", from.describe()));
    }

    /// The node of this scope that is saved in a slot.
    fn saved_in(&self, slot: Slot) -> Option<&'a crate::plan::Node> {
        self.plan.nodes().find(|node| node.saves().contains(&slot))
    }

    /// Whether a location cannot be kept: values alone say what it would say, or it leads to what is left out
    /// or is no unsigned integer.
    fn is_lost(&self, location: &FieldLocation, slot: Option<Slot>) -> bool {
        if location.is_of_values() {
            return true;
        }
        let Some(node) = slot.and_then(|slot| self.saved_in(slot)) else { return false };
        match &node.class.kind {
            FieldKind::Padding(_) => !self.capabilities.padding,
            _ => {
                location.any_option
                    && !self.capabilities.any_option_locations
                    && node.class.integer().is_some_and(|integer| integer.signed)
            }
        }
    }

    /// What has to be said before a field that nothing says yet; `is_member`: there can be a member before it.
    fn before(&self, id: NodeId, is_member: bool) -> Option<Before> {
        let node = self.plan.node(id);
        let is = |condition: bool, before| condition.then_some(before);
        match (&node.class.kind, &node.op) {
            (FieldKind::String { encoding, length, .. }, op) => match length {
                StringLength::Prefixed { .. } => {
                    is(!self.capabilities.prefixed_strings && is_member, Before::Length)
                }
                StringLength::Dynamic(location) => {
                    let slot = if let Op::DynamicText(_, slot) = op { Some(*slot) } else { None };
                    let stays = self.capabilities.encodings.contains(encoding);
                    is(stays && is_member && self.is_lost(location, slot), Before::Length)
                }
                _ => None,
            },
            (FieldKind::Blob { length: Length::Dynamic(location), .. }, op) => {
                let slot = if let Op::DynamicBlob(slot) = op { Some(*slot) } else { None };
                is(self.is_lost(location, slot), Before::Length)
            }
            (FieldKind::Array { length: Length::Dynamic(location), .. }, op) => {
                let slot = if let Op::DynamicArray { length, .. } = op { Some(*length) } else { None };
                is(self.is_lost(location, slot), Before::Length)
            }
            (FieldKind::Optional { selector, .. }, op) => {
                let slot = if let Op::Optional { selector, .. } = op { Some(*selector) } else { None };
                let is_lost = !self.capabilities.optionals || self.is_lost(selector, slot);
                is(is_lost, Before::Presence)
            }
            (FieldKind::Variant { options, selector, .. }, Op::Variant(variant)) => {
                let several = !variant.choices.is_empty() && !self.capabilities.any_option_locations;
                let stays = match self.capabilities.variants {
                    VariantSelection::Labels => self.selects_by_labels(variant.selector, options),
                    _ => true,
                };
                is(several || !stays || selector.is_of_values(), Before::Tag)
            }
            _ => None,
        }
    }

    /// Whether options are selected by labels of an enumeration that are their names.
    fn selects_by_labels(&self, slot: Slot, options: &[VariantOption]) -> bool {
        let mappings = self.saved_in(slot).and_then(|node| node.class.integer()?.mappings.as_ref());
        let Some(mappings) = mappings else { return false };
        let mut names = HashSet::new();
        options.iter().all(|option| {
            let Some(name) = &option.name else { return false };
            let is_kept =
                !self.capabilities.identifiers_only || is_identifier(name) && !name.starts_with('_');
            is_kept
                && !(self.capabilities.is_reserved)(name)
                && names.insert(name)
                && mappings.ranges_of(name).is_some_and(|ranges| ranges.to_set() == option.ranges)
        })
    }

    /// The class of the field before a field, and how the field refers to it.
    fn extra(&mut self, id: NodeId, before: Before, name: &str) -> Member {
        let node = self.plan.node(id);
        self.note(Fit::Moved);
        self.moves[id as usize].extra = self.allocate();
        let class = match (before, &node.class.kind) {
            (Before::Presence, _) if self.capabilities.optionals => FieldClass::unsigned(8),
            (Before::Presence, _) => enumeration(["none", "some"].map(Cow::from).into_iter()),
            (Before::Tag, FieldKind::Variant { options, .. }) => {
                enumeration(option_names(options, self.capabilities.is_reserved))
            }
            _ => FieldClass::unsigned(32),
        };
        self.path.push(name.to_owned());
        self.lose(LossKind::Lowered, format!("a member before it, its {}", before.name()));
        self.path.pop();
        let mut class = class;
        if self.can_annotate() {
            annotate_added(before.name(), &mut class.attributes);
        }
        Member::new(name, class)
    }

    /// The field in an optional field, if its length can be said before the optional field.
    fn hoisted(&self, id: NodeId) -> Option<NodeId> {
        let Op::Optional { field, .. } = &self.plan.node(id).op else { return None };
        (self.before(*field, true) == Some(Before::Length)).then_some(*field)
    }

    /// Appends what a member becomes.
    fn member(&mut self, id: NodeId, out: &mut Vec<Member>, names: &mut HashSet<String>) {
        let node = self.plan.node(id);
        let is_top = node.parent == Some(0);
        if matches!(node.class.kind, FieldKind::Padding(_)) && !self.capabilities.padding {
            self.note(Fit::Moved);
            if is_top {
                self.members.push(None);
            }
            return;
        }
        let source = node.name.as_deref().unwrap_or("value");
        self.path.push(source.to_owned());
        let role_name = self.role_name(&node.class);
        let wanted = match role_name {
            Some(name) => Cow::Borrowed(name),
            None if self.is_role_name(source) => Cow::Owned(format!("{source}_field")),
            None => self.name(source),
        };
        let name = unique(&wanted, names);
        if name != source {
            self.note(Fit::SameBits);
            self.lose(LossKind::Renamed, format!("`{source}` -> `{name}`"));
        }
        let mut location = None;
        if let Some(before) = self.before(id, true) {
            let extra = unique(&format!("{name}_{}", before.name()), names);
            out.push(self.extra(id, before, &extra));
            let path = vec![LocationStep::Member(extra)];
            location = Some(FieldLocation { path, ..FieldLocation::of_values() });
        }
        if let Some(field) = self.hoisted(id) {
            let extra = unique(&format!("{name}_{}", Before::Length.name()), names);
            out.push(self.extra(field, Before::Length, &extra));
            self.moves[id as usize].hoisted = self.moves[field as usize].extra;
            self.hoists.push((field, extra));
        }
        let class = self.class(id, location);
        if is_top {
            self.members.push(Some(out.len()));
        }
        let member = self.source_member(id);
        let attributes = member.map(|member| member.attributes.clone()).unwrap_or_default();
        let has_underscore = member.is_some_and(|member| member.has_underscore);
        out.push(Member { name, has_underscore, class: Arc::new(class), attributes });
        self.path.pop();
    }

    /// The member that a node is of.
    fn source_member(&self, id: NodeId) -> Option<&'a Member> {
        let parent = self.plan.node(self.plan.node(id).parent?);
        let (FieldKind::Structure { members, .. }, Op::Structure { members: ids, .. }) =
            (&parent.class.kind, &parent.op)
        else {
            return None;
        };
        members.get(ids.iter().position(|other| *other == id)?)
    }

    fn role_name(&self, class: &FieldClass) -> Option<&'static str> {
        let role_name = self.capabilities.role_name?;
        class.roles.iter().find_map(|role| role_name(role, self.scope))
    }

    /// Whether a field of this name would get a role by it.
    fn is_role_name(&self, name: &str) -> bool {
        let Some(role_name) = self.capabilities.role_name else { return false };
        Role::ALL
            .into_iter()
            .filter(|role| !matches!(role, Role::Timestamp | Role::PacketEndTimestamp))
            .any(|role| role_name(role, self.scope) == Some(name))
    }

    /// A name as the format can have it.
    fn name<'n>(&self, name: &'n str) -> Cow<'n, str> {
        // Members that are called as a reserved word can be written with an underscore.
        if self.capabilities.identifiers_only { identifier(name, |_| false) } else { Cow::Borrowed(name) }
    }

    /// A location with names as the format can have them.
    fn location(&self, location: &FieldLocation) -> Box<FieldLocation> {
        let mut location = location.clone();
        location.any_option &= self.capabilities.any_option_locations;
        for step in &mut location.path {
            if let LocationStep::Member(name) = step {
                *name = self.name(name).into_owned();
            }
        }
        Box::new(location)
    }

    /// What a field becomes that is no member: if something has to be said before it, a structure of both.
    fn element(&mut self, id: NodeId) -> FieldClass {
        if let Some(at) = self.hoists.iter().position(|(field, _)| *field == id) {
            let (_, name) = self.hoists.swap_remove(at);
            let path = vec![LocationStep::Member(name)];
            return self.class(id, Some(FieldLocation { path, ..FieldLocation::of_values() }));
        }
        if self.before(id, false).is_none() {
            return self.class(id, None);
        }
        let wrap = self.allocate();
        let mut members = Vec::new();
        self.member_of_wrap(id, &mut members);
        self.moves[id as usize].wrap = wrap;
        FieldClass::structure(members)
    }

    fn member_of_wrap(&mut self, id: NodeId, out: &mut Vec<Member>) {
        let mut location = None;
        if let Some(before) = self.before(id, false) {
            let extra = self.extra(id, before, before.name());
            let path = vec![LocationStep::Member(extra.name.clone())];
            location = Some(FieldLocation { path, ..FieldLocation::of_values() });
            out.push(extra);
        }
        let class = self.class(id, location);
        out.push(Member::new("value", class));
    }

    /// What a field becomes. `location`: where the field before it is, if there is one.
    fn class(&mut self, id: NodeId, location: Option<FieldLocation>) -> FieldClass {
        let node = self.plan.node(id);
        let source = &*node.class;
        let target = self.allocate();
        let at = id as usize;
        self.moves[at].target = target;
        self.moves[at].kind = MoveKind::Same;
        let kind = match &source.kind {
            FieldKind::BitArray(bits) if self.capabilities.bit_arrays => {
                FieldKind::BitArray(self.bits(*bits))
            }
            FieldKind::BitMap { bits, flags } if flags.is_empty() && !self.capabilities.empty_bit_maps => {
                if self.capabilities.bit_arrays {
                    self.lowered(Fit::SameBits, source, "bit array");
                    self.moves[at].kind = MoveKind::BitArray;
                    FieldKind::BitArray(self.bits(*bits))
                } else {
                    self.unsigned(at, source, *bits, DisplayBase::Hexadecimal)
                }
            }
            FieldKind::BitMap { bits, flags } if self.capabilities.bit_maps => {
                FieldKind::BitMap { bits: self.bits(*bits), flags: flags.clone() }
            }
            FieldKind::Boolean(bits) if self.capabilities.booleans => FieldKind::Boolean(self.bits(*bits)),
            FieldKind::BitArray(bits) | FieldKind::BitMap { bits, .. } => {
                self.unsigned(at, source, *bits, DisplayBase::Hexadecimal)
            }
            FieldKind::Boolean(bits) => self.unsigned(at, source, *bits, DisplayBase::Decimal),
            FieldKind::Integer { bits, integer } => {
                let integer = self.integer(integer, Some(bits.length));
                FieldKind::Integer { bits: self.bits(*bits), integer }
            }
            FieldKind::Float(bits) => FieldKind::Float(self.bits(*bits)),
            FieldKind::VariableLength { value, alignment } => {
                self.variable_length(at, source, value, *alignment)
            }
            FieldKind::String { encoding, length, alignment } => {
                self.string(at, source, *encoding, length, *alignment, location)
            }
            FieldKind::Blob { length, media_type, alignment } => {
                let alignment = self.byte_alignment(*alignment);
                let length = self.length(length, location);
                if self.capabilities.blobs {
                    FieldKind::Blob { length, media_type: media_type.clone(), alignment }
                } else {
                    self.lowered(Fit::SameBits, source, "array of bytes");
                    self.bytes(at, length, alignment)
                }
            }
            FieldKind::Guid { alignment } if self.capabilities.guids => {
                FieldKind::Guid { alignment: *alignment }
            }
            FieldKind::Guid { alignment } => {
                self.lowered(Fit::SameBits, source, "16 bytes");
                self.bytes_or_blob(at, 16, *alignment)
            }
            FieldKind::Structure { minimum_alignment, .. } => {
                let mut members = Vec::new();
                let mut names = HashSet::new();
                if let Op::Structure { members: ids, .. } = &node.op {
                    for id in ids {
                        self.member(*id, &mut members, &mut names);
                    }
                }
                FieldKind::Structure { members, minimum_alignment: *minimum_alignment }
            }
            FieldKind::Array { length, minimum_alignment, element_aligns, .. } => {
                let length = self.length(length, location);
                let element = match &node.op {
                    Op::StaticArray { element, .. } | Op::DynamicArray { element, .. } => *element,
                    _ => return source.clone(),
                };
                self.path.push("[]".to_owned());
                let class = self.element(element);
                self.path.pop();
                let loose = self.capabilities.loose_array_alignment;
                if !element_aligns && !loose {
                    self.note(Fit::Moved);
                }
                let is_uuid = source.roles.has(Role::MetadataStreamUuid);
                if is_uuid && self.capabilities.uuid_blobs && self.capabilities.blobs {
                    return self.uuid_blob(at, source, *minimum_alignment);
                }
                let most = class.alignment();
                let mut minimum_alignment = *minimum_alignment;
                if minimum_alignment > most && !self.capabilities.array_alignment {
                    self.note(Fit::Moved);
                    self.lose(LossKind::Lowered, format!("alignment {minimum_alignment} -> {most}"));
                    minimum_alignment = most;
                }
                FieldKind::Array {
                    element: Arc::new(class),
                    length,
                    minimum_alignment,
                    element_aligns: *element_aligns || !loose,
                }
            }
            FieldKind::Optional { selector, ranges, .. } => {
                let Op::Optional { field, .. } = &node.op else { return source.clone() };
                self.optional(at, *field, selector, ranges.as_ref(), location)
            }
            FieldKind::Variant { options, selector, alignment } => {
                let Op::Variant(variant) = &node.op else { return source.clone() };
                let is_tagged = location.is_some();
                let selector = location.map_or_else(|| self.location(selector), Box::new);
                let names: Vec<_> = option_names(options, self.capabilities.is_reserved).collect();
                let mut lowered = Vec::with_capacity(options.len());
                for (index, (option, id)) in options.iter().zip(&variant.options).enumerate() {
                    self.path.push(names[index].to_string());
                    let class = Arc::new(self.element(*id));
                    self.path.pop();
                    let (name, ranges) = if is_tagged {
                        (Some(names[index].to_string()), only(index))
                    } else {
                        (option.name.clone(), option.ranges.clone())
                    };
                    lowered.push(VariantOption {
                        name,
                        class,
                        ranges,
                        attributes: option.attributes.clone(),
                    });
                }
                FieldKind::Variant { options: lowered, selector, alignment: *alignment }
            }
            FieldKind::Union { alignment, .. } if self.capabilities.unions => {
                let Op::Union { members: ids } = &node.op else { return source.clone() };
                let mut members = Vec::new();
                let mut names = HashSet::new();
                for id in ids {
                    self.member(*id, &mut members, &mut names);
                }
                FieldKind::Union { members, alignment: *alignment }
            }
            FieldKind::Union { alignment, .. } => {
                // Where no size is fixed, nothing is left but that there was something.
                let bits = fixed_bits(self.plan, id);
                let bytes = bits.map_or(0, |bits| bits.div_ceil(8));
                let is_exact = bits.is_some_and(|bits| bits % 8 == 0) && *alignment >= 8;
                if bits.is_none() {
                    self.lose(LossKind::Dropped, "union of no fixed size".to_owned());
                }
                let fit = if is_exact { Fit::SameBits } else { Fit::Moved };
                self.lowered(fit, source, "its bytes");
                self.bytes_or_blob(at, bytes, (*alignment).max(8))
            }
            FieldKind::Null { alignment } if self.capabilities.nulls => {
                FieldKind::Null { alignment: *alignment }
            }
            FieldKind::Null { alignment } => {
                self.lowered(Fit::SameBits, source, "structure without members");
                self.moves[at].kind = MoveKind::NullAsStructure;
                FieldKind::Structure { members: Vec::new(), minimum_alignment: *alignment }
            }
            FieldKind::Padding(bits) => FieldKind::Padding(self.bits(*bits)),
        };
        self.finish(source, kind)
    }

    /// The class of this kind with what the source says beside its kind.
    fn finish(&mut self, source: &FieldClass, kind: FieldKind) -> FieldClass {
        let mut roles = source.roles;
        let mut clock_updates = source.clock_updates.clone();
        if !self.capabilities.several_clocks {
            if clock_updates.take().is_some() {
                self.note(Fit::SameBits);
                self.lose(LossKind::Dropped, "updates of further clocks".to_owned());
                // The mark that there are such goes with them.
                let clock = roles.clock;
                roles = roles.iter().collect();
                roles.clock = clock;
            }
            if roles.clock.is_some() && roles.clock != self.default_clock {
                self.note(Fit::SameBits);
                self.lose(LossKind::Dropped, "updates of a clock that is not the default one".to_owned());
                roles.remove(Role::Timestamp);
                roles.remove(Role::PacketEndTimestamp);
            }
            if roles.clock.take().is_some() {
                self.note(Fit::SameBits);
            }
        }
        if let Some(name) = self.capabilities.role_name {
            let scope = self.scope;
            for role in roles.iter().filter(|role| name(*role, scope).is_none()) {
                self.note(Fit::SameBits);
                self.lose(LossKind::Dropped, format!("role {role}"));
                roles.remove(role);
            }
        }
        let is_elsewhere = !matches!(self.scope, Scope::PacketContext | Scope::EventRecordHeader);
        if !self.capabilities.timestamps_anywhere && is_elsewhere && roles.has(Role::Timestamp) {
            self.note(Fit::SameBits);
            self.lose(LossKind::Dropped, "update of the clock".to_owned());
            roles.remove(Role::Timestamp);
        }
        let mut attributes = source.attributes.clone();
        if !self.capabilities.attributes && strip(&mut attributes) {
            self.note(Fit::SameBits);
            self.lose(LossKind::Dropped, "attributes".to_owned());
        }
        let is_other = std::mem::discriminant(&source.kind) != std::mem::discriminant(&kind);
        let is_date = self.annotates && source.integer().is_some_and(|integer| integer.wall_clock.is_some());
        if (is_other || is_date) && self.can_annotate() && annotate_field(source, &mut attributes) {
            self.note(Fit::SameBits);
        }
        FieldClass { kind, roles, clock_updates, attributes, declared_at: source.declared_at }
    }

    /// Where fields have no attributes, annotations are [taken out](super::take_annotations), but not of packet headers.
    fn can_annotate(&self) -> bool {
        self.capabilities.attributes || self.scope != Scope::PacketHeader
    }

    /// An unsigned integer of the same bits.
    fn unsigned(
        &mut self,
        at: usize,
        source: &FieldClass,
        bits: BitField,
        preferred_base: DisplayBase,
    ) -> FieldKind {
        self.lowered(Fit::SameBits, source, "unsigned integer");
        self.moves[at].kind = MoveKind::Unsigned;
        let integer = IntegerProperties { preferred_base, ..IntegerProperties::default() };
        FieldKind::Integer { bits: self.bits(bits), integer }
    }

    fn bits(&mut self, bits: BitField) -> BitField {
        if self.capabilities.bit_orders || !bits.is_reversed() {
            return bits;
        }
        self.note(Fit::Moved);
        self.lose(LossKind::Lowered, "bit order -> that of the byte order".to_owned());
        BitField::new(bits.length, bits.byte_order, bits.alignment)
    }

    /// `length`: its bits, if these are fixed.
    fn integer(&mut self, integer: &IntegerProperties, length: Option<u64>) -> IntegerProperties {
        let mut integer = integer.clone();
        self.mappings(&mut integer, length);
        if !self.capabilities.display_bases && integer.preferred_base != DisplayBase::Decimal {
            self.note(Fit::SameBits);
            self.lose(LossKind::Dropped, format!("preferred base {}", integer.preferred_base.radix()));
            integer.preferred_base = DisplayBase::Decimal;
        }
        if !self.capabilities.wall_clocks && integer.wall_clock.take().is_some() {
            self.note(Fit::SameBits);
            self.lose(LossKind::Lowered, "date -> integer".to_owned());
        }
        integer
    }

    fn mappings(&mut self, integer: &mut IntegerProperties, length: Option<u64>) {
        let Some(mappings) = &integer.mappings else { return };
        if let (Some(length @ 1..=126), false) = (length, self.capabilities.mappings_beyond_bits) {
            let (least, most) = match integer.signed {
                true => (-(1i128 << (length - 1)), (1i128 << (length - 1)) - 1),
                false => (0, (1i128 << length) - 1),
            };
            let fits = |range: IntegerRange| range.lower >= least && range.upper <= most;
            if integer.wide_ranges.is_some() || !mappings.iter().all(|one| one.ranges.iter().all(fits)) {
                let mut within = MappingsBuilder::default();
                for mapping in mappings.iter() {
                    let ranges =
                        mapping.ranges.iter().filter(|range| range.lower <= most && range.upper >= least);
                    let mut ranges = ranges.peekable();
                    if ranges.peek().is_some() {
                        within.add_name(mapping.name);
                    }
                    for IntegerRange { lower, upper } in ranges {
                        within.add_range(IntegerRange { lower: lower.max(least), upper: upper.min(most) });
                    }
                }
                (integer.mappings, integer.wide_ranges) = (Some(within.finish()), None);
                self.note(Fit::SameBits);
                self.lose(LossKind::Dropped, format!("names of values beyond {length} bits"));
            }
        }
        if !self.capabilities.empty_mappings && integer.mappings.as_ref().is_some_and(|all| all.is_empty()) {
            integer.mappings = None;
            self.note(Fit::SameBits);
            self.lose(LossKind::Dropped, "mappings of which there is none".to_owned());
        }
    }

    fn byte_alignment(&mut self, alignment: u64) -> u64 {
        if alignment < 8 && !self.capabilities.sub_byte_strings {
            self.note(Fit::Moved);
            return 8;
        }
        if alignment > 8 && !self.capabilities.wide_string_alignment {
            self.note(Fit::Moved);
            self.lose(LossKind::Lowered, format!("alignment {alignment} -> 8"));
            return 8;
        }
        alignment
    }

    fn length(&mut self, length: &Length, location: Option<FieldLocation>) -> Length {
        match (length, location) {
            (Length::Static(length), _) => Length::Static(*length),
            (Length::Dynamic(_), Some(location)) => Length::Dynamic(Box::new(location)),
            (Length::Dynamic(own), None) => Length::Dynamic(self.location(own)),
        }
    }

    /// An array of bytes.
    fn bytes(&mut self, at: usize, length: Length, alignment: u64) -> FieldKind {
        self.moves[at].kind = MoveKind::Bytes;
        self.moves[at].inner = self.allocate();
        let preferred_base = DisplayBase::Hexadecimal;
        let integer = IntegerProperties { preferred_base, ..IntegerProperties::default() };
        let bits = BitField::new(8, ByteOrder::LittleEndian, 8);
        let element = Arc::new(FieldClass::new(FieldKind::Integer { bits, integer }));
        FieldKind::Array { element, length, minimum_alignment: alignment, element_aligns: true }
    }

    fn bytes_or_blob(&mut self, at: usize, length: u64, alignment: u64) -> FieldKind {
        let (length, alignment) = (Length::Static(length), alignment.max(8));
        if !self.capabilities.blobs {
            return self.bytes(at, length, alignment);
        }
        self.moves[at].kind = MoveKind::Bytes;
        FieldKind::Blob { length, media_type: "application/octet-stream".to_owned(), alignment }
    }

    /// The BLOB that the array of the bytes of a UUID becomes.
    fn uuid_blob(&mut self, at: usize, source: &FieldClass, alignment: u64) -> FieldClass {
        self.note(Fit::SameBits);
        // The elements have no node any more: what is moved there comes from the array as a whole.
        let Some(element) = self.next.checked_sub(1) else { return source.clone() };
        self.next = element;
        self.moves[at].inner = NONE;
        if let Op::StaticArray { element, .. } = &self.plan.nodes[at].op {
            self.moves[*element as usize] = NodeMove::DROPPED;
        }
        self.moves[at].kind = MoveKind::Bytes;
        let media_type = "application/octet-stream".to_owned();
        let kind = FieldKind::Blob { length: Length::Static(16), media_type, alignment: alignment.max(8) };
        self.finish(source, kind)
    }

    fn variable_length(
        &mut self,
        at: usize,
        source: &FieldClass,
        value: &VariableLengthValue,
        alignment: u64,
    ) -> FieldKind {
        let bits = |length: u64| BitField::new(length, ByteOrder::LittleEndian, alignment.max(8));
        let has_integers = self.capabilities.variable_length_integers;
        match value {
            VariableLengthValue::Integer(integer) if has_integers => {
                let value = VariableLengthValue::Integer(self.integer(integer, None));
                FieldKind::VariableLength { value, alignment }
            }
            VariableLengthValue::Integer(integer) => {
                self.lowered(Fit::Moved, source, "64-bit integer");
                FieldKind::Integer { bits: bits(64), integer: self.integer(integer, Some(64)) }
            }
            VariableLengthValue::BitArray if self.capabilities.variable_length_bit_arrays => {
                FieldKind::VariableLength { value: VariableLengthValue::BitArray, alignment }
            }
            VariableLengthValue::BitArray => {
                self.moves[at].kind = MoveKind::Unsigned;
                let integer = IntegerProperties::default();
                if has_integers {
                    self.lowered(Fit::SameBits, source, "variable-length unsigned integer");
                    return FieldKind::VariableLength {
                        value: VariableLengthValue::Integer(integer),
                        alignment,
                    };
                }
                self.lowered(Fit::Moved, source, "64-bit unsigned integer");
                FieldKind::Integer { bits: bits(64), integer }
            }
            VariableLengthValue::Boolean if self.capabilities.variable_length_booleans => {
                FieldKind::VariableLength { value: VariableLengthValue::Boolean, alignment }
            }
            VariableLengthValue::Boolean if self.capabilities.booleans => {
                self.lowered(Fit::Moved, source, "8-bit boolean");
                FieldKind::Boolean(bits(8))
            }
            VariableLengthValue::Boolean => {
                self.lowered(Fit::Moved, source, "8-bit unsigned integer");
                self.moves[at].kind = MoveKind::Unsigned;
                FieldKind::Integer { bits: bits(8), integer: IntegerProperties::default() }
            }
        }
    }

    fn string(
        &mut self,
        at: usize,
        source: &FieldClass,
        encoding: StringEncoding,
        length: &StringLength,
        alignment: u64,
        location: Option<FieldLocation>,
    ) -> FieldKind {
        let alignment = self.byte_alignment(alignment);
        let has_encoding = self.capabilities.encodings.contains(&encoding);
        let terminated = |this: &mut Self, kind| {
            this.note(Fit::Moved);
            this.moves[at].kind = kind;
            StringLength::NullTerminated
        };
        if !has_encoding {
            self.lowered(Fit::Moved, source, "UTF-8");
            let length = match location {
                Some(location) => {
                    self.moves[at].kind = MoveKind::Transcoded;
                    StringLength::Dynamic(Box::new(location))
                }
                None => terminated(self, MoveKind::Transcoded),
            };
            return FieldKind::String { encoding: StringEncoding::Utf8, length, alignment };
        }
        let length = match (length, location) {
            (StringLength::NullTerminated, _) => StringLength::NullTerminated,
            (StringLength::Static(length), _) => StringLength::Static(*length),
            (_, Some(location)) => StringLength::Dynamic(Box::new(location)),
            (StringLength::Dynamic(own), None) if !own.is_of_values() => {
                StringLength::Dynamic(self.location(own))
            }
            (StringLength::Prefixed { length, gap }, None) if self.capabilities.prefixed_strings => {
                StringLength::Prefixed { length: *length, gap: *gap }
            }
            _ => terminated(self, MoveKind::Terminated),
        };
        FieldKind::String { encoding, length, alignment }
    }

    fn optional(
        &mut self,
        at: usize,
        field: NodeId,
        selector: &FieldLocation,
        ranges: Option<&RangeSet>,
        location: Option<FieldLocation>,
    ) -> FieldKind {
        if self.capabilities.optionals {
            let is_own = location.is_some();
            let selector = location.map_or_else(|| self.location(selector), Box::new);
            let ranges = if is_own { Some(only(1)) } else { ranges.cloned() };
            return FieldKind::Optional { field: Arc::new(self.element(field)), selector, ranges };
        }
        self.note(Fit::Moved);
        self.lose(LossKind::Lowered, "optional -> variant".to_owned());
        self.moves[at].kind = MoveKind::OptionalAsVariant;
        self.moves[at].inner = self.allocate();
        let option = |name: &str, class, index| VariantOption {
            name: Some(name.to_owned()),
            class: Arc::new(class),
            ranges: only(index),
            attributes: Attributes::default(),
        };
        let none = FieldClass::new(FieldKind::Structure { members: Vec::new(), minimum_alignment: 1 });
        let some = self.element(field);
        let options = vec![option("none", none, 0), option("some", some, 1)];
        let selector = Box::new(location.unwrap_or_else(|| selector.clone()));
        FieldKind::Variant { options, selector, alignment: 1 }
    }
}

/// The scope as users write it.
pub(super) const fn short_name(scope: Scope) -> &'static str {
    match scope {
        Scope::PacketHeader => "packet.header",
        Scope::PacketContext => "packet.context",
        Scope::EventRecordHeader => "header",
        Scope::CommonContext | Scope::SpecificContext => "ctx",
        Scope::Payload => "payload",
        Scope::Resource => "resource",
    }
}

/// The set of one value.
fn only(value: usize) -> RangeSet {
    let value = value as i128;
    RangeSet(vec![IntegerRange { lower: value, upper: value }])
}

/// Names of the options of a variant, which differ and are identifiers.
fn option_names(
    options: &[VariantOption],
    is_reserved: fn(&str) -> bool,
) -> impl Iterator<Item = Cow<'_, str>> {
    let mut names = HashSet::new();
    options.iter().enumerate().map(move |(index, option)| match &option.name {
        Some(name) => Cow::Owned(unique(&identifier(name.trim_start_matches('_'), is_reserved), &mut names)),
        None => Cow::Owned(unique(&format!("option{index}"), &mut names)),
    })
}

/// An enumeration of these labels from 0 on.
fn enumeration<'n>(labels: impl Iterator<Item = Cow<'n, str>>) -> FieldClass {
    let mut mappings = MappingsBuilder::default();
    let mut count = 0u64;
    for (index, label) in labels.enumerate() {
        mappings.add_name(&label);
        mappings.add_range(IntegerRange { lower: index as i128, upper: index as i128 });
        count += 1;
    }
    let length = match count {
        0..=256 => 8,
        257..=65_536 => 16,
        _ => 32,
    };
    let integer = IntegerProperties { mappings: Some(mappings.finish()), ..IntegerProperties::default() };
    FieldClass::new(FieldKind::Integer { bits: BitField::new(length, ByteOrder::LittleEndian, 8), integer })
}

/// Size in bits of a field of fixed layout that begins aligned.
fn fixed_bits(plan: &Plan, id: NodeId) -> Option<u64> {
    let node = plan.node(id);
    match &node.op {
        Op::Bits(bits) => Some(bits.length),
        Op::StaticText(_, length) | Op::StaticBlob(length) => length.checked_mul(8),
        Op::Guid => Some(128),
        Op::Null => Some(0),
        Op::Structure { members, .. } => members.iter().try_fold(0u64, |at, id| {
            align(at, plan.node(*id).alignment())?.checked_add(fixed_bits(plan, *id)?)
        }),
        Op::StaticArray { element, length, .. } => {
            let size = fixed_bits(plan, *element)?;
            let stride = align(size, plan.node(*element).alignment())?;
            match length.checked_sub(1) {
                Some(before) => stride.checked_mul(before)?.checked_add(size),
                None => Some(0),
            }
        }
        Op::Union { members } => members.iter().filter_map(|id| fixed_bits(plan, *id)).max(),
        _ => None,
    }
}
