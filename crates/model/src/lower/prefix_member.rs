//! Prefix members: added before a field, for data that the format cannot store elsewhere.

use std::borrow::Cow;
use std::collections::HashSet;

use super::absolute::needed_slot;
use super::annotations::{NAMESPACE, annotate_added};
use super::capabilities::Feature;
use super::class_lowerer::ClassLowerer;
use super::loss_table::LossKind;
use super::moves::ScopeConversion;
use super::names::{UniqueNames, identifier, is_identifier};
use crate::class::{
    BitField, ByteOrder, FieldClass, FieldKind, FieldLocation, IntegerProperties, IntegerRange, Length,
    MappingsBuilder, Member, Scope, StringLength, VariantOption,
};
use crate::plan::steps::{NodeId, Op, Slot};

crate::named_enum! {
    /// Data added before a field.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub(super) enum PrefixMember {
        /// Length in bytes or elements.
        Length = "length",
        /// Presence.
        Presence = "present",
        /// Index of the selected option.
        Tag = "tag",
        /// Alignment that the field itself cannot have.
        Alignment = "alignment",
    }
}

impl PrefixMember {
    /// Describes the added member, for display.
    const fn what(self) -> &'static str {
        match self {
            Self::Length => "the length of the next member",
            Self::Presence => "the presence of the next member",
            Self::Tag => "the selected option of the next member",
            Self::Alignment => "the alignment of the next member",
        }
    }
}

impl<'a> ClassLowerer<'a> {
    /// Returns the node in this scope that is saved in a slot.
    pub(super) fn saved_in(&self, slot: Slot) -> Option<&'a crate::plan::Node> {
        self.plan.nodes().find(|node| node.saves().contains(&slot))
    }

    /// Returns `true` if a location cannot be kept. Either only the values determine it, or it leads to a dropped field
    /// or a field that is not an unsigned integer.
    pub(super) fn is_lost(&self, location: &FieldLocation, slot: Option<Slot>) -> bool {
        if location.is_by_values() || self.is_elsewhere(location) {
            return true;
        }
        let Some(slot) = slot else { return false };
        let Some(node) = self.saved_in(slot) else { return false };
        let is_signed = || node.class.integer().is_some_and(|integer| integer.signed);
        self.is_left_out(slot)
            || location.any_option && !self.capabilities.has(Feature::AnyOptionLocations) && is_signed()
    }

    /// Returns `true` if the field in a slot was added when a trace was written, and is dropped now.
    fn is_left_out(&self, slot: Slot) -> bool {
        let node = self.saved_in(slot);
        !self.capabilities.has(Feature::Padding)
            && node.is_some_and(|node| matches!(node.class.kind, FieldKind::Padding(_)))
    }

    /// Returns `true` if a location leads to another scope, but cannot be kept.
    fn is_elsewhere(&self, location: &FieldLocation) -> bool {
        self.input.options.separates_scopes && location.origin.is_some_and(|origin| origin != self.scope)
    }

    /// Returns `true` if a field in an array or an optional depends on a field outside of the same element or optional,
    /// but the format cannot express that.
    fn is_outside(&self, id: NodeId, slot: Option<Slot>) -> bool {
        let Some(slot) = slot.filter(|_| !self.capabilities.has(Feature::OuterLocations)) else {
            return false;
        };
        let around =
            |id: NodeId| std::iter::successors(self.plan.node(id).parent, |id| self.plan.node(*id).parent);
        let all = self.plan.nodes.iter().zip(0..);
        let targets: Vec<NodeId> =
            all.filter(|(node, _)| node.saves().contains(&slot)).map(|(_, id)| id).collect();
        around(id).any(|outer| {
            let op = &self.plan.node(outer).op;
            matches!(op, Op::StaticArray { .. } | Op::DynamicArray { .. } | Op::Optional { .. })
                && !targets.iter().all(|target| around(*target).any(|other| other == outer))
        })
    }

    /// Data to add before a field, because nothing contains it yet. `is_member` if a member can precede the field.
    pub(super) fn prefix(&self, id: NodeId, is_member: bool) -> Option<PrefixMember> {
        let node = self.plan.node(id);
        let is = |condition: bool, prefix| condition.then_some(prefix);
        if self.forced.contains(&(self.scope, id)) {
            return self.forced_prefix(&node.class);
        }
        if self.is_same_dialect() && !matches!(node.class.kind, FieldKind::Optional { .. }) {
            let location = node.class.needed_location()?;
            let is_lost = location.is_by_values()
                || self.is_elsewhere(location)
                || needed_slot(&node.op).is_some_and(|slot| self.is_left_out(slot));
            return is(is_lost, self.forced_prefix(&node.class)?);
        }
        match (&node.class.kind, &node.op) {
            (FieldKind::String { encoding, length, .. }, op) => match length {
                StringLength::Prefixed { .. } => {
                    is(!self.capabilities.has(Feature::PrefixedStrings) && is_member, PrefixMember::Length)
                }
                StringLength::Dynamic(location) => {
                    let slot = if let Op::DynamicText(_, slot) = op { Some(*slot) } else { None };
                    let stays = self.capabilities.encodings.contains(encoding);
                    let is_lost = is_member && self.is_lost(location, slot) || self.is_outside(id, slot);
                    is(stays && is_lost, PrefixMember::Length)
                }
                _ => None,
            },
            (FieldKind::Blob { length: Length::Dynamic(location), .. }, op) => {
                let slot = if let Op::DynamicBlob(slot) = op { Some(*slot) } else { None };
                is(self.is_lost(location, slot) || self.is_outside(id, slot), PrefixMember::Length)
            }
            (FieldKind::Array { length: Length::Dynamic(location), .. }, op) => {
                let slot = if let Op::DynamicArray { length, .. } = op { Some(*length) } else { None };
                is(self.is_lost(location, slot) || self.is_outside(id, slot), PrefixMember::Length)
            }
            (FieldKind::Optional { selector, .. }, op) => {
                let slot = if let Op::Optional { selector, .. } = op { Some(*selector) } else { None };
                let is_lost =
                    self.is_variant(id) || self.is_lost(selector, slot) || self.is_outside(id, slot);
                is(is_lost, PrefixMember::Presence)
            }
            (FieldKind::Variant { options, selector, .. }, Op::Variant(variant)) => {
                let several =
                    !variant.choices.is_empty() && !self.capabilities.has(Feature::AnyOptionLocations);
                let stays = self.capabilities.has(Feature::RangeSelectors)
                    || self.selects_by_labels(variant.selector, options);
                let is_lost = selector.is_by_values()
                    || self.is_left_out(variant.selector)
                    || self.is_outside(id, Some(variant.selector))
                    || self.is_elsewhere(selector);
                // Options that no value selects.
                let has_unused = !self.capabilities.has(Feature::UnusedNames)
                    && options.iter().any(|one| one.ranges.0.is_empty());
                is(several || !stays || is_lost || has_unused, PrefixMember::Tag)
            }
            _ => None,
        }
    }

    /// Returns `true` if a field becomes bytes, because integers in the format have fewer bits.
    pub(super) fn is_too_wide(&self, class: &FieldClass) -> bool {
        let bits = match &class.kind {
            FieldKind::Integer { bits, .. } | FieldKind::BitArray(bits) | FieldKind::BitMap { bits, .. } => {
                bits
            }
            _ => return false,
        };
        // In the same dialect, only fields that were bytes before.
        let own = class.attributes.get(NAMESPACE).and_then(|own| own.get("type"));
        bits.length > self.capabilities.integer_bits && (!self.is_same_dialect() || own.is_some())
    }

    /// Data to add before a field whose location is invalid.
    fn forced_prefix(&self, class: &FieldClass) -> Option<PrefixMember> {
        match &class.kind {
            FieldKind::String { encoding, .. } if !self.capabilities.encodings.contains(encoding) => None,
            FieldKind::Optional { .. } => Some(PrefixMember::Presence),
            FieldKind::Variant { .. } => Some(PrefixMember::Tag),
            _ => Some(PrefixMember::Length),
        }
    }

    /// Returns `true` if enumeration labels select the options with the same names.
    pub(super) fn selects_by_labels(&self, slot: Slot, options: &[VariantOption]) -> bool {
        let mappings = self.saved_in(slot).and_then(|node| node.class.integer()?.mappings.as_ref());
        let Some(mappings) = mappings else { return false };
        // Only PROP-1.0 has labels without an option.
        if mappings.len() > options.len() && !self.capabilities.has(Feature::AnyOptionLocations) {
            return false;
        }
        let mut names = HashSet::new();
        options.iter().all(|option| {
            let Some(name) = &option.name else { return false };
            let is_kept =
                self.capabilities.has(Feature::AnyNames) || is_identifier(name) && !name.starts_with('_');
            is_kept
                && !(self.capabilities.is_reserved)(name)
                && names.insert(name)
                && mappings.ranges_of(name).is_some_and(|ranges| ranges.to_set() == option.ranges)
        })
    }

    /// Creates the member before a field and records the move.
    pub(super) fn extra(&mut self, id: NodeId, prefix: PrefixMember, name: &str) -> Member {
        let node = self.plan.node(id);
        self.record_conversion(ScopeConversion::Moved);
        self.moves[id as usize].extra = self.allocate();
        let class = match (prefix, &node.class.kind) {
            (PrefixMember::Presence, _) if self.capabilities.has(Feature::Optionals) => {
                FieldClass::unsigned(8)
            }
            (PrefixMember::Presence, _) => enumeration(["none", "some"].map(Cow::from).into_iter()),
            (PrefixMember::Tag, FieldKind::Variant { options, .. }) => {
                enumeration(option_names(options, self.capabilities.is_reserved))
            }
            _ => FieldClass::unsigned(32),
        };
        self.added(prefix, name, class)
    }

    /// Returns the alignment of a field that its lowered class may lack, if a member before it can have this alignment.
    pub(super) fn alignment_before(&self, id: NodeId) -> Option<u64> {
        // Headers contain only fields with roles and the fields that they depend on.
        if matches!(self.scope, Scope::PacketHeader | Scope::EventRecordHeader) && !self.is_elsewhere {
            return None;
        }
        let node = self.plan.node(id);
        // In a union, an additional member would be another reading of the same bits.
        if node.parent.is_some_and(|parent| matches!(self.plan.node(parent).op, Op::Union { .. })) {
            return None;
        }
        let capabilities = self.capabilities;
        let (alignment, is_kept) = match &node.class.kind {
            FieldKind::String { alignment, .. }
            | FieldKind::Blob { alignment, .. }
            | FieldKind::VariableLength { alignment, .. } => {
                (*alignment, capabilities.has(Feature::StringAlignments))
            }
            FieldKind::Guid { alignment } => {
                (*alignment, capabilities.has(Feature::Guids) || capabilities.has(Feature::StringAlignments))
            }
            FieldKind::Union { alignment, .. } => {
                (*alignment, capabilities.has(Feature::Unions) || capabilities.has(Feature::StringAlignments))
            }
            FieldKind::Variant { alignment, .. }
                if *alignment > 1 && !capabilities.has(Feature::VariantAlignments) =>
            {
                return Some(*alignment);
            }
            FieldKind::Array { minimum_alignment, .. }
                if *minimum_alignment > 1 && !capabilities.has(Feature::ArrayAlignments) =>
            {
                return Some(*minimum_alignment);
            }
            _ if self.is_too_wide(&node.class) => {
                (node.class.alignment(), capabilities.has(Feature::StringAlignments))
            }
            _ => return None,
        };
        (alignment > 8 && !is_kept).then_some(alignment)
    }

    /// Creates a member with the alignment for the next field.
    pub(super) fn pad(&mut self, alignment: u64, name: &str) -> Member {
        self.record_conversion(ScopeConversion::Moved);
        let class =
            FieldClass::new(FieldKind::Structure { members: Vec::new(), minimum_alignment: alignment });
        self.added(PrefixMember::Alignment, name, class)
    }

    fn added(&mut self, prefix: PrefixMember, name: &str, mut class: FieldClass) -> Member {
        self.path.push(name.to_owned());
        self.record_loss(LossKind::Lowered, format!("added: {}", prefix.what()));
        self.path.pop();
        if self.can_annotate() {
            annotate_added(prefix.name(), &mut class.attributes);
        }
        Member::new(name, class)
    }

    /// Returns `true` if an optional field becomes a variant.
    pub(super) fn is_variant(&self, id: NodeId) -> bool {
        let capabilities = self.capabilities;
        !capabilities.has(Feature::Optionals)
            || !capabilities.has(Feature::OuterLocations) && self.hoisted(id).is_some()
    }

    /// Field inside an optional, if its length can be written before the optional.
    pub(super) fn hoisted(&self, id: NodeId) -> Option<NodeId> {
        let Op::Optional { field, .. } = &self.plan.node(id).op else { return None };
        (self.prefix(*field, true) == Some(PrefixMember::Length)).then_some(*field)
    }
}

/// Unique option names that are identifiers.
pub(super) fn option_names(
    options: &[VariantOption],
    is_reserved: fn(&str) -> bool,
) -> impl Iterator<Item = Cow<'_, str>> {
    let mut names = UniqueNames::default();
    options.iter().enumerate().map(move |(index, option)| match &option.name {
        Some(name) => {
            let name = identifier(name.trim_start_matches('_'), is_reserved);
            // CTF 1.8 readers remove an underscore.
            let begin = if name.starts_with('_') { "option" } else { "" };
            Cow::Owned(names.take(&format!("{begin}{name}")))
        }
        None => Cow::Owned(names.take(&format!("option{index}"))),
    })
}

/// Enumeration with these labels from 0 on.
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
