//! Lowering rules for field classes.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use super::annotations::{
    NAMESPACE, annotate_attributes, annotate_field, annotate_name, kept_attributes, source_name, strip,
};
use super::capabilities::{Feature, RolePlaces};
use super::class_lowerer::{ClassLowerer, member_of};
use super::loss_table::LossKind;
use super::moves::{MoveKind, NONE, NodeMove, ScopeConversion, ScopeMoves};
use super::names::UniqueNames;
use super::prefix_member::{PrefixMember, option_names};
use crate::class::{
    Attributes, FieldClass, FieldKind, FieldLocation, IntegerRange, Length, LocationStep, Member, RangeSet,
    Role, Scope, Value, VariantOption,
};
use crate::plan::steps::{NodeId, Op, Plan, align};

impl<'a> ClassLowerer<'a> {
    /// Lowers the class.
    pub(super) fn lower(mut self) -> (Arc<FieldClass>, ScopeMoves) {
        let is_structure = matches!(self.plan.root().op, Op::Structure { .. });
        let is_extended = self.input.options.extended.has(self.scope);
        let class = if is_structure || self.capabilities.has(Feature::AnyRoots) && !is_extended {
            self.class(0, None)
        } else {
            self.change(LossKind::Lowered, "root field -> its member `value`");
            self.wrapped(0)
        };
        let class = if self.conversion == ScopeConversion::Same {
            Arc::clone(&self.plan.root().class)
        } else {
            Arc::new(class)
        };
        (class, self.finish_moves())
    }

    /// Lowers the members of the root structure into members of another structure. They come after the members in
    /// `out`, whose nodes end before `next`. Advances `next`.
    pub(super) fn lower_members_into(mut self, next: &mut NodeId, out: &mut Vec<Member>) -> ScopeMoves {
        self.next = *next;
        self.conversion = ScopeConversion::Moved;
        let mut names = self.taken(out);
        match &self.plan.root().op {
            Op::Structure { members, .. } => {
                members.iter().for_each(|id| self.member(*id, out, &mut names));
            }
            _ => self.member(0, out, &mut names),
        }
        *next = self.next;
        self.finish_moves()
    }

    /// Lowers some fields of the class into structure members in another scope: see [`Self::lower_members_into`].
    pub(super) fn lower_some_into(
        mut self,
        fields: &HashSet<NodeId>,
        next: &mut NodeId,
        out: &mut Vec<Member>,
    ) -> ScopeMoves {
        self.next = *next;
        self.conversion = ScopeConversion::Moved;
        self.is_elsewhere = true;
        let mut names = self.taken(out);
        let mut fields: Vec<NodeId> = fields.iter().copied().collect();
        fields.sort_unstable();
        for id in fields {
            self.member(id, out, &mut names);
        }
        *next = self.next;
        self.finish_moves()
    }

    fn finish_moves(self) -> ScopeMoves {
        let (moves, renamed) = (self.moves.into(), self.renamed);
        ScopeMoves { moves, conversion: self.conversion, members: self.members, renamed }
    }

    /// Names that later members must not use.
    fn taken(&mut self, members: &[Member]) -> UniqueNames {
        let mut names = std::mem::take(&mut self.reserved);
        names.extend(members.iter().map(|member| member.name.clone()));
        names
    }

    /// Appends the lowered members for a source member.
    fn member(&mut self, id: NodeId, out: &mut Vec<Member>, names: &mut UniqueNames) {
        let node = self.plan.node(id);
        let is_top = node.parent == Some(0);
        let is_padding =
            matches!(node.class.kind, FieldKind::Padding(_)) && !self.capabilities.has(Feature::Padding);
        if is_padding || self.left_out.contains(&id) {
            self.record_conversion(ScopeConversion::Moved);
            if is_top {
                self.members.push(None);
            }
            return;
        }
        let source = node.name.as_deref().unwrap_or("value");
        self.path.push(source.to_owned());
        let role_name = self.role_name(&node.class);
        let wanted = match role_name {
            // In the same dialect, fields have got their roles from their names.
            _ if self.is_same_dialect() => self.name(source),
            Some(name) => Cow::Borrowed(name),
            None if self.is_role_name(source) => Cow::Owned(format!("{source}_field")),
            None => self.name(source),
        };
        let name = names.take(&wanted);
        if name != source {
            self.record_conversion(ScopeConversion::SameBits);
            // The member had the other name in the input, too.
            if !(self.is_same_dialect() && source_name(&node.class) == Some(source)) {
                self.record_loss(LossKind::Renamed, format!("`{source}` -> `{name}`"));
            }
            self.renamed.insert(id, name.clone());
        }
        let location = self.say_before(id, true, &name, out, names);
        let mut class = self.aligned(id, location, &name, out, names);
        // Classes with other annotations are recreated when they are read, without their names.
        let is_plain = class.attributes.get(NAMESPACE).is_none();
        let annotates = self.input.options.annotates && self.can_annotate();
        if name != source && role_name.is_none() && annotates && is_plain {
            annotate_name(source, &mut class.attributes);
        }
        if is_top {
            self.members.push(Some(out.len()));
        }
        let member = member_of(self.plan, id);
        let attributes = member.map(|member| member.attributes.clone()).unwrap_or_default();
        let has_underscore = member.is_some_and(|member| member.has_underscore);
        out.push(Member { name, has_underscore, class: Arc::new(class), attributes });
        self.path.pop();
    }

    fn role_name(&self, class: &FieldClass) -> Option<&'static str> {
        let is_of_lost_clock = !self.capabilities.has(Feature::SeveralClocks)
            && class.roles.clock.is_some()
            && class.roles.clock != self.default_clock;
        let is_lost = |role: &Role| {
            self.lost_roles.has(*role)
                || is_of_lost_clock && matches!(role, Role::Timestamp | Role::PacketEndTimestamp)
        };
        let roles = class.roles.iter().filter(|role| !is_lost(role));
        roles.into_iter().find_map(|role| self.capabilities.role_name(role, self.scope))
    }

    /// Returns `true` if this name would give the field a role.
    fn is_role_name(&self, name: &str) -> bool {
        // Header fields that move are in the context after the header.
        let scope = match self.scope {
            Scope::PacketHeader if self.is_elsewhere => Scope::PacketContext,
            Scope::EventRecordHeader if self.is_elsewhere => Scope::CommonContext,
            scope => scope,
        };
        Role::ALL
            .into_iter()
            .filter(|role| {
                // Elsewhere, timestamps can have any name.
                !matches!(role, Role::Timestamp | Role::PacketEndTimestamp)
                    || matches!(scope, Scope::PacketContext | Scope::EventRecordHeader)
            })
            .any(|role| self.capabilities.role_name(role, scope) == Some(name))
    }

    /// Lowers a field that is not a member. With data added before it, the result is a structure of both.
    fn element(&mut self, id: NodeId) -> FieldClass {
        if let Some(at) = self.hoists.iter().position(|(field, _)| *field == id) {
            let (_, name) = self.hoists.swap_remove(at);
            let path = vec![LocationStep::Member(name)];
            return self.class(id, Some(FieldLocation { path, ..FieldLocation::by_values() }));
        }
        if self.prefix(id, false).is_none() {
            return self.class(id, None);
        }
        self.wrapped(id)
    }

    /// Lowers a field to a structure that contains the field and the data added before it.
    fn wrapped(&mut self, id: NodeId) -> FieldClass {
        self.record_conversion(ScopeConversion::Moved);
        let wrap = self.allocate();
        self.moves[id as usize].wrap = wrap;
        // As with structure members, converting the structure again does not change it.
        let (mut members, mut names) = (Vec::new(), UniqueNames::from_iter(["value".to_owned()]));
        let location = self.say_before(id, false, "value", &mut members, &mut names);
        let class = self.aligned(id, location, "value", &mut members, &mut names);
        members.push(Member::new("value", class));
        FieldClass::structure(members)
    }

    /// Adds the presence, the tag or the length before a field, if nothing else contains it. Returns the new location
    /// for the field.
    fn say_before(
        &mut self,
        id: NodeId,
        is_member: bool,
        name: &str,
        out: &mut Vec<Member>,
        names: &mut UniqueNames,
    ) -> Option<FieldLocation> {
        let mut location = None;
        if let Some(prefix) = self.prefix(id, is_member) {
            let extra = names.take(&format!("{name}_{}", prefix.name()));
            out.push(self.extra(id, prefix, &extra));
            let path = vec![LocationStep::Member(extra)];
            location = Some(FieldLocation { path, ..FieldLocation::by_values() });
        }
        if let Some(field) = self.hoisted(id) {
            let extra = names.take(&format!("{name}_{}", PrefixMember::Length.name()));
            out.push(self.extra(field, PrefixMember::Length, &extra));
            self.moves[id as usize].hoisted = self.moves[field as usize].extra;
            self.hoists.push((field, extra));
        }
        location
    }

    /// Lowers a field. If the field cannot have its alignment, adds a member before it that has.
    fn aligned(
        &mut self,
        id: NodeId,
        location: Option<FieldLocation>,
        name: &str,
        out: &mut Vec<Member>,
        names: &mut UniqueNames,
    ) -> FieldClass {
        let Some(alignment) = self.alignment_before(id) else { return self.class(id, location) };
        self.moves[id as usize].pad = self.allocate();
        let class = self.class(id, location);
        if self.moves[id as usize].is_padded {
            let pad = names.take(&format!("{name}_{}", PrefixMember::Alignment.name()));
            out.push(self.pad(alignment, &pad));
        } else {
            self.release_pad(id);
        }
        class
    }

    /// Lowers a field. `location` leads to the member added before it, if any.
    fn class(&mut self, id: NodeId, location: Option<FieldLocation>) -> FieldClass {
        let source = &*self.plan.node(id).class;
        let target = self.allocate();
        self.moves[id as usize].target = target;
        self.moves[id as usize].kind = MoveKind::Same;
        match self.kind(id, location) {
            Some(kind) => self.finish(source, kind),
            None => source.clone(),
        }
    }

    /// Lowers a field kind. Returns `None` if its plan does not match its class, which cannot happen.
    fn kind(&mut self, id: NodeId, location: Option<FieldLocation>) -> Option<FieldKind> {
        let node = self.plan.node(id);
        let source = &*node.class;
        Some(match (&source.kind, &node.op) {
            (FieldKind::Structure { minimum_alignment, .. }, Op::Structure { members, .. }) => {
                let members = self.inner_members(members);
                FieldKind::Structure { members, minimum_alignment: *minimum_alignment }
            }
            (FieldKind::Array { .. }, Op::StaticArray { element, .. } | Op::DynamicArray { element, .. }) => {
                self.array(id, *element, location)?
            }
            (FieldKind::Optional { selector, ranges, .. }, Op::Optional { field, .. }) => {
                self.optional(id as usize, *field, selector, ranges.as_ref(), location)
            }
            (FieldKind::Variant { .. }, Op::Variant(variant)) => {
                self.variant(id, &variant.options, location)?
            }
            (FieldKind::Union { alignment, .. }, Op::Union { members })
                if self.capabilities.has(Feature::Unions) =>
            {
                FieldKind::Union { members: self.inner_members(members), alignment: *alignment }
            }
            (FieldKind::Union { alignment, .. }, Op::Union { .. }) => {
                self.union_bytes(id, source, *alignment)
            }
            _ => self.single(id, source, location),
        })
    }

    /// Lowers structure or union members.
    fn inner_members(&mut self, ids: &[NodeId]) -> Vec<Member> {
        let mut members = Vec::new();
        let mut names = UniqueNames::default();
        ids.iter().for_each(|id| self.member(*id, &mut members, &mut names));
        members
    }

    fn array(&mut self, id: NodeId, element: NodeId, location: Option<FieldLocation>) -> Option<FieldKind> {
        let source = &*self.plan.node(id).class;
        let FieldKind::Array { length, minimum_alignment, element_aligns, .. } = &source.kind else {
            return None;
        };
        let at = id as usize;
        let length = self.length(id, length, location);
        self.path.push("[]".to_owned());
        let class = self.element(element);
        self.path.pop();
        let loose = self.capabilities.has(Feature::LooseArrays);
        if !element_aligns && !loose {
            self.record_conversion(ScopeConversion::Moved);
        }
        if source.roles.has(Role::MetadataStreamUuid) && self.capabilities.has(Feature::Blobs) {
            return self.uuid_blob(at, *minimum_alignment);
        }
        let most = class.alignment();
        let mut minimum_alignment = *minimum_alignment;
        if minimum_alignment > most && !self.capabilities.has(Feature::ArrayAlignments) {
            self.record_lost_alignment(at, minimum_alignment, most);
            minimum_alignment = most;
        }
        let element_aligns = *element_aligns || !loose;
        Some(FieldKind::Array { element: Arc::new(class), length, minimum_alignment, element_aligns })
    }

    fn variant(
        &mut self,
        id: NodeId,
        nodes: &[NodeId],
        location: Option<FieldLocation>,
    ) -> Option<FieldKind> {
        let FieldKind::Variant { options, selector, alignment } = &self.plan.node(id).class.kind else {
            return None;
        };
        let is_tagged = location.is_some();
        let selector = location.map_or_else(|| self.location(id, selector), Box::new);
        let names: Vec<_> = option_names(options, self.capabilities.is_reserved).collect();
        let mut lowered = Vec::with_capacity(options.len());
        for (index, (option, id)) in options.iter().zip(nodes).enumerate() {
            self.path.push(option.name.clone().unwrap_or_else(|| names[index].to_string()));
            let class = Arc::new(self.element(*id));
            self.path.pop();
            let (name, ranges) = if is_tagged {
                (Some(names[index].to_string()), only(index))
            } else {
                (option.name.clone(), option.ranges.clone())
            };
            lowered.push(VariantOption { name, class, ranges, attributes: option.attributes.clone() });
        }
        let mut alignment = *alignment;
        if alignment > 1 && !self.capabilities.has(Feature::VariantAlignments) {
            self.record_lost_alignment(id as usize, alignment, 1);
            alignment = 1;
        }
        Some(FieldKind::Variant { options: lowered, selector, alignment })
    }

    /// Lowers a union to its bytes. Without a fixed size, only its existence is kept.
    fn union_bytes(&mut self, id: NodeId, source: &FieldClass, alignment: u64) -> FieldKind {
        let bits = fixed_bits(self.plan, id);
        let bytes = bits.map_or(0, |bits| bits.div_ceil(8));
        let aligned = self.byte_alignment(id as usize, alignment.max(8));
        let is_exact = bits.is_some_and(|bits| bits % 8 == 0) && alignment == aligned;
        if bits.is_none() {
            self.record_loss(LossKind::Dropped, "union without a fixed size");
        }
        let conversion = if is_exact { ScopeConversion::SameBits } else { ScopeConversion::Moved };
        self.lowered(conversion, source, "its bytes");
        self.bytes_or_blob(id as usize, bytes, aligned)
    }

    /// Creates a class with this kind and the other properties of the source.
    fn finish(&mut self, source: &FieldClass, kind: FieldKind) -> FieldClass {
        let mut roles = source.roles;
        let mut clock_updates = source.clock_updates.clone();
        if !(self.capabilities.has(Feature::SeveralClocks) && self.capabilities.has(Feature::SeveralUpdates))
            && clock_updates.take().is_some()
        {
            self.record_change(ScopeConversion::SameBits, LossKind::Dropped, "updates of further clocks");
            // Remove the mark for additional clocks, too.
            let clock = roles.clock;
            roles = roles.iter().collect();
            roles.clock = clock;
        }
        if !self.capabilities.has(Feature::SeveralClocks) {
            if roles.clock.is_some() && roles.clock != self.default_clock {
                self.record_change(
                    ScopeConversion::SameBits,
                    LossKind::Dropped,
                    "updates of a clock other than the default clock",
                );
                roles.remove(Role::Timestamp);
                roles.remove(Role::PacketEndTimestamp);
            }
            if roles.clock.take().is_some() {
                self.record_conversion(ScopeConversion::SameBits);
            }
        }
        for role in self.lost_roles.iter().filter(|role| source.roles.has(*role)) {
            self.record_change(
                ScopeConversion::Moved,
                LossKind::Moved,
                format!("role {role} -> an added field"),
            );
            roles.remove(role);
        }
        if let RolePlaces::Names { name, .. } = self.capabilities.role_places {
            let scope = self.scope;
            for role in roles.iter().filter(|role| name(*role, scope).is_none()) {
                self.record_change(ScopeConversion::SameBits, LossKind::Dropped, format!("role {role}"));
                roles.remove(role);
            }
        }
        let is_elsewhere = !matches!(self.scope, Scope::PacketContext | Scope::EventRecordHeader);
        if !self.capabilities.has(Feature::TimestampsAnywhere) && is_elsewhere && roles.has(Role::Timestamp) {
            self.record_change(ScopeConversion::SameBits, LossKind::Dropped, "update of the clock");
            roles.remove(Role::Timestamp);
        }
        let (mut attributes, kept) = self.attributes(source);
        let is_other = std::mem::discriminant(&source.kind) != std::mem::discriminant(&kind);
        let is_date = source.integer().is_some_and(|integer| integer.wall_clock.is_some());
        let is_more = self.input.options.annotates && (is_date || source.is_shown_if_present());
        if (is_other || is_more) && self.can_annotate() && annotate_field(source, is_other, &mut attributes) {
            self.record_conversion(ScopeConversion::SameBits);
        }
        annotate_attributes(kept, &mut attributes);
        let (hides_absence, declared_at) = (source.hides_absence, source.declared_at);
        // If the field is no longer a GUID, an annotation contains the paths.
        let activity_paths = source.activity_paths.filter(|_| matches!(kind, FieldKind::Guid { .. }));
        FieldClass { kind, roles, clock_updates, attributes, hides_absence, activity_paths, declared_at }
    }

    /// Returns the class attributes that the format can store, and those that an annotation must keep.
    fn attributes(&mut self, source: &FieldClass) -> (Attributes, Vec<(String, Value)>) {
        let mut attributes = source.attributes.clone();
        let is_other = |entry: &(String, Value)| {
            entry.0 != NAMESPACE && !(self.capabilities.repeats_field)(source, entry)
        };
        let annotates = self.input.options.annotates;
        let kept = match !self.capabilities.has(Feature::Attributes) && self.can_annotate() {
            true => kept_attributes(&attributes, annotates, is_other),
            false => Vec::new(),
        };
        let is_lost = |entry: &(String, Value)| is_other(entry) && !kept.contains(entry);
        let has_others = !self.capabilities.has(Feature::Attributes) && attributes.iter().any(is_lost);
        if !self.capabilities.has(Feature::Attributes) && strip(&mut attributes) {
            self.record_conversion(ScopeConversion::SameBits);
        }
        // In packet headers, annotations cannot move from a dialect with attributes to a dialect without.
        let has_own = !self.can_annotate() && attributes.remove(NAMESPACE).is_some();
        if has_others || has_own {
            self.record_change(ScopeConversion::SameBits, LossKind::Dropped, "attributes");
        }
        (attributes, kept)
    }

    /// Lowers a UUID byte array to a BLOB.
    fn uuid_blob(&mut self, at: usize, alignment: u64) -> Option<FieldKind> {
        self.record_conversion(ScopeConversion::SameBits);
        // Elements no longer have a node: their values come from the whole array.
        self.next = self.next.checked_sub(1)?;
        self.moves[at].inner = NONE;
        if let Op::StaticArray { element, .. } = &self.plan.nodes[at].op {
            self.moves[*element as usize] = NodeMove::DROPPED;
        }
        self.moves[at].kind = MoveKind::Bytes;
        let alignment = self.byte_alignment(at, alignment.max(8));
        let media_type = "application/octet-stream".to_owned();
        Some(FieldKind::Blob { length: Length::Static(16), media_type, alignment })
    }

    fn optional(
        &mut self,
        at: usize,
        field: NodeId,
        selector: &FieldLocation,
        ranges: Option<&RangeSet>,
        location: Option<FieldLocation>,
    ) -> FieldKind {
        if !self.is_variant(at as NodeId) {
            let is_own = location.is_some();
            let selector = location.map_or_else(|| self.location(at as NodeId, selector), Box::new);
            let ranges = if is_own { Some(only(1)) } else { ranges.cloned() };
            return FieldKind::Optional { field: Arc::new(self.element(field)), selector, ranges };
        }
        self.record_change(ScopeConversion::Moved, LossKind::Lowered, "optional -> variant");
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

/// Set with one value.
fn only(value: usize) -> RangeSet {
    let value = value as i128;
    RangeSet(vec![IntegerRange { lower: value, upper: value }])
}

/// Size in bits of an aligned field with a fixed layout.
pub(super) fn fixed_bits(plan: &Plan, id: NodeId) -> Option<u64> {
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
