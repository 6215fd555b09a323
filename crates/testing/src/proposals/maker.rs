//! Random choice of field types.

use std::collections::BTreeSet;

use crate::Random;
use crate::encoder::Order;

use super::Proposal;
use super::names::Names;
use super::targets::{Barrier, KnownTarget, Place, TargetKind};
use super::types::{
    Choice, FieldType, Integer, Kind, Label, Length, TypeField, TypeLocation, TypeRole, Values,
};

/// PROP-1.0 tag: role, scope and field path.
pub(super) type Tag = (TypeRole, usize, Vec<String>);

/// Random generator for the types in a trace.
#[derive(Debug)]
pub(super) struct Maker<'r> {
    pub(super) proposal: Proposal,
    pub(super) random: &'r mut Random,
    pub(super) order: Order,
    pub(super) constructs: BTreeSet<&'static str>,
    pub(super) targets: Vec<KnownTarget>,
    pub(super) place: Place,
    pub(super) tags: Vec<Tag>,
    names: Names,
    /// Field names that other fields do not need.
    used: Vec<String>,
    next_id: usize,
    next_barrier: u64,
    /// Fields before the next member of each open structure, with the barriers around the structure.
    open: Vec<(Vec<TypeField>, Vec<Barrier>)>,
    /// Number of types that may still be made in this scope.
    budget: usize,
}

const SIZES: [usize; 14] = [1, 3, 5, 7, 8, 13, 16, 24, 31, 32, 48, 63, 64, 64];
const WIDE: [usize; 6] = [65, 72, 96, 100, 128, 200];

impl<'r> Maker<'r> {
    pub(super) fn new(proposal: Proposal, random: &'r mut Random) -> Self {
        let order = if random.percent(50) { Order::Le } else { Order::Be };
        Self {
            proposal,
            random,
            order,
            constructs: BTreeSet::new(),
            targets: Vec::new(),
            place: Place::default(),
            tags: Vec::new(),
            names: Names::default(),
            used: Vec::new(),
            next_id: 0,
            next_barrier: 0,
            open: Vec::new(),
            budget: 0,
        }
    }

    fn is_first(&self) -> bool {
        self.proposal == Proposal::First
    }

    pub(super) fn record(&mut self, construct: &'static str) {
        self.constructs.insert(construct);
    }

    /// Starts a root field.
    pub(super) fn begin(&mut self, scope: usize) {
        self.place = Place { scope, ..Place::default() };
        self.targets.retain(|target| target.scope < scope);
        self.budget = 18;
    }

    pub(super) fn name(&mut self) -> String {
        let name = self.names.unique(self.random);
        if !name.starts_with('f') {
            self.record("name that is no identifier");
        }
        name
    }

    /// Returns a new field type in the trace's byte order.
    pub(super) fn plain(&self, kind: Kind) -> FieldType {
        FieldType { is_default_order: self.is_first(), ..FieldType::new(kind, self.order) }
    }

    /// Changes properties that all types have.
    fn vary(&mut self, mut class: FieldType) -> FieldType {
        let is_bits =
            matches!(class.kind, Kind::BitArray(_) | Kind::Boolean(_) | Kind::Integer(..) | Kind::Float(_));
        let can_align = match (&class.kind, self.proposal) {
            (_, Proposal::First) => true,
            (Kind::Structure(_), _) => true,
            _ => is_bits,
        };
        if can_align && self.random.percent(35) {
            let alignment = 1 << self.random.below(7);
            class = class.aligned(alignment);
            let is_text = matches!(
                class.kind,
                Kind::String
                    | Kind::VariableInteger(_)
                    | Kind::VariableBitArray
                    | Kind::VariableBoolean
                    | Kind::Text(_)
            );
            match (alignment, &class.kind) {
                (9.., _) if is_text => self.record("text or LEB128 aligned to more than 8"),
                (2.., Kind::Variant { .. } | Kind::Union(..)) => {
                    self.record("alignment of a variant or union")
                }
                (2.., Kind::Array(..)) => self.record("alignment of an array"),
                (2.., Kind::Structure(_)) => self.record("alignment of a structure"),
                (9.., _) => self.record("alignment above 8"),
                (2.., _) => self.record("alignment up to 8"),
                _ => {}
            }
        }
        // Byte orders may change between bytes only.
        let size = match class.kind {
            Kind::BitArray(size) | Kind::Boolean(size) | Kind::Integer(size, _) | Kind::Float(size) => size,
            _ => 1,
        };
        if is_bits && size % 8 == 0 && self.random.percent(20) {
            class = class.aligned(8);
            class.order = if self.order == Order::Le { Order::Be } else { Order::Le };
            class.is_default_order = false;
            self.record("other byte order");
        } else if is_bits && self.random.percent(20) {
            class.is_default_order = false;
        }
        if self.random.percent(8) {
            class.has_attributes = true;
            self.record("attributes");
        }
        class
    }

    fn size(&mut self) -> usize {
        if self.random.percent(15) {
            self.record("more than 64 bits");
            return self.random.pick(&WIDE);
        }
        if self.random.percent(50) { self.random.pick(&SIZES) } else { 1 + self.random.index(64) }
    }

    /// Returns enumeration labels that other fields do not need.
    fn labels(&mut self, signed: bool) -> Vec<Label> {
        let count = self.random.below(4) + u64::from(!self.is_first());
        if count == 0 {
            self.record("enumeration without labels");
        }
        let mut labels: Vec<Label> = Vec::new();
        for _ in 0..count {
            let name = self.name();
            let ranges = 1 + self.random.below(2) as i128;
            let ranges = (0..ranges).map(|_| {
                let lower = i128::from(self.random.below(200)) - if signed { 100 } else { 0 };
                (lower, lower + i128::from(self.random.below(20)))
            });
            labels.push((name, ranges.collect()));
        }
        if self.random.percent(10) {
            self.record("label of values beyond 64 bits");
            let name = self.name();
            labels.push((name, vec![(1 << 70, (1 << 70) + 5)]));
        }
        labels
    }

    fn integer(&mut self, values: Values) -> Integer {
        let signed = self.random.percent(40);
        let labels = self.random.percent(25).then(|| self.labels(signed));
        if labels.is_some() {
            self.record("enumeration");
        }
        Integer { signed, labels, values }
    }

    /// Returns a type without nested types.
    fn leaf(&mut self) -> FieldType {
        let kind = loop {
            break match self.random.below(15) {
                0 => {
                    self.record("bit array");
                    Kind::BitArray(self.size())
                }
                1 => {
                    self.record("boolean");
                    Kind::Boolean(self.size())
                }
                2..=5 => {
                    self.record("integer");
                    Kind::Integer(self.size(), self.integer(Values::Any))
                }
                6 => {
                    self.record("floating-point number");
                    Kind::Float(self.random.pick(&[16, 32, 32, 64, 64, 128]))
                }
                7 => {
                    self.record("variable-length bit array");
                    Kind::VariableBitArray
                }
                8 if self.is_first() => {
                    self.record("variable-length boolean");
                    Kind::VariableBoolean
                }
                8 | 9 => {
                    self.record("variable-length integer");
                    Kind::VariableInteger(self.integer(Values::Any))
                }
                10 => {
                    self.record("null-terminated string");
                    Kind::String
                }
                11 => {
                    self.record("text of static length");
                    Kind::Text(Length::Static(self.random.below(9)))
                }
                12 if !self.is_first() => {
                    self.record("BLOB of static length");
                    Kind::Blob(Length::Static(self.random.below(9)))
                }
                12 => {
                    self.record("null");
                    Kind::Null
                }
                14 if self.is_first() => return self.union(),
                number => {
                    let Some(location) = self.needed(&TargetKind::Length) else { continue };
                    let length = Length::Dynamic(location);
                    let is_text = number == 13;
                    self.record(if is_text { "text of dynamic length" } else { "BLOB of dynamic length" });
                    if is_text { Kind::Text(length) } else { Kind::Blob(length) }
                }
            };
        };
        let class = self.plain(kind);
        self.vary(class)
    }

    /// Returns any type.
    pub(super) fn any(&mut self, depth: u32) -> FieldType {
        self.budget = self.budget.saturating_sub(1);
        if depth == 0 || self.budget == 0 || self.random.percent(55) {
            return self.leaf();
        }
        let class = match self.random.below(6) {
            0 => {
                self.record("structure");
                let count = self.random.below(4);
                let fields = self.fields(depth - 1, count);
                self.plain(Kind::Structure(fields))
            }
            1 => {
                self.record("array of static length");
                let length = Length::Static(self.random.pick(&[0, 1, 2, 2, 3, 5]));
                self.array(length, depth)
            }
            2 => match self.needed(&TargetKind::Length) {
                Some(location) => {
                    self.record("array of dynamic length");
                    self.array(Length::Dynamic(location), depth)
                }
                None => return self.leaf(),
            },
            3 if !self.is_first() => match self.optional(depth) {
                Some(class) => class,
                None => return self.leaf(),
            },
            3 if self.open.is_empty() => return self.leaf(),
            3 => {
                self.several_options();
                return self.leaf();
            }
            _ => match self.variant(depth) {
                Some(class) => class,
                None => return self.leaf(),
            },
        };
        self.vary(class)
    }

    fn within<T>(&mut self, barrier: fn(u64) -> Barrier, work: impl FnOnce(&mut Self) -> T) -> T {
        self.next_barrier += 1;
        self.place.barriers.push(barrier(self.next_barrier));
        let result = work(self);
        self.place.barriers.pop();
        result
    }

    fn array(&mut self, length: Length, depth: u32) -> FieldType {
        let element = self.within(Barrier::Array, |this| this.any(depth - 1));
        if matches!(element.kind, Kind::Structure(_)) {
            self.record("array of structures");
        }
        self.plain(Kind::Array(length, Box::new(element)))
    }

    fn optional(&mut self, depth: u32) -> Option<FieldType> {
        let (selector, ranges) = if self.random.percent(50) {
            self.record("optional by a boolean");
            (self.needed(&TargetKind::Boolean)?, None)
        } else {
            self.record("optional by an integer");
            let ranges = if self.random.percent(50) { vec![(1, 1), (3, 9)] } else { vec![(0, 1)] };
            (self.needed(&TargetKind::Selector)?, Some(ranges))
        };
        let class = self.within(Barrier::Optional, |this| this.any(depth - 1));
        Some(self.plain(Kind::Optional { selector, ranges, class: Box::new(class) }))
    }

    fn variant(&mut self, depth: u32) -> Option<FieldType> {
        if self.is_first() {
            let tag = self.target_of(&TargetKind::Tag(Vec::new()))?;
            let TargetKind::Tag(labels) = &tag.kind else { return None };
            let mut labels = labels.clone();
            // The order of options differs from the order of labels.
            if self.random.percent(30) {
                labels.reverse();
            }
            let location = self.location(&tag);
            self.record("variant by labels");
            let choices = labels
                .into_iter()
                .map(|(name, ranges)| {
                    let class = self.within(Barrier::Option, |this| this.any(depth - 1));
                    Choice { name: Some(name), ranges, class }
                })
                .collect();
            return Some(self.plain(Kind::Variant { tag: location, choices }));
        }
        let location = self.needed(&TargetKind::Selector)?;
        let mut ranges = vec![vec![(0, 0)], vec![(2, 2), (1, 1)], vec![(3, 8)]];
        if self.random.percent(30) {
            ranges = vec![vec![(0, 8)]];
        }
        let is_named = self.random.percent(50);
        if is_named {
            self.record("variant with names");
        } else {
            self.record("variant without names");
        }
        let choices = ranges
            .into_iter()
            .map(|ranges| {
                let class = self.within(Barrier::Option, |this| this.any(depth - 1));
                Choice { name: is_named.then(|| self.name()), ranges, class }
            })
            .collect();
        Some(self.plain(Kind::Variant { tag: location, choices }))
    }

    /// Returns a union whose members have the same size. Other fields may need a member.
    fn union(&mut self) -> FieldType {
        self.record("union");
        let size = self.random.pick(&[8, 16, 32, 64, 24]);
        let mut fields = Vec::new();
        let mut is_constrained = false;
        for _ in 0..1 + self.random.below(4) {
            let field = self.name();
            let kind = match self.random.below(7) {
                0 => Kind::BitArray(size),
                1 => Kind::Boolean(size),
                2 | 3 => Kind::Integer(size, self.integer(Values::Any)),
                4 if size == 32 || size == 64 => Kind::Float(size),
                5 if !is_constrained => {
                    is_constrained = true;
                    Kind::Text(Length::Static(size as u64 / 8))
                }
                5 | 6 => {
                    let low = 1 + self.random.index(size - 1);
                    let integer = |signed| Integer { signed, labels: None, values: Values::Any };
                    let parts = [(low, false), (size - low, self.random.percent(50))];
                    let fields = parts.map(|(size, signed)| TypeField {
                        name: self.name(),
                        class: self.plain(Kind::Integer(size, integer(signed))),
                    });
                    Kind::Structure(fields.into())
                }
                _ => {
                    let element = self.plain(Kind::BitArray(8));
                    Kind::Array(Length::Static(size as u64 / 8), Box::new(element))
                }
            };
            fields.push(TypeField { name: field, class: self.plain(kind) });
        }
        let class = self.plain(Kind::Union(size, fields));
        self.vary(class)
    }

    /// Returns the members of a structure at the current place.
    pub(super) fn fields(&mut self, depth: u32, count: u64) -> Vec<TypeField> {
        let mut fields: Vec<TypeField> = Vec::new();
        for _ in 0..count {
            self.field(depth, &mut fields);
        }
        fields
    }

    /// Appends a member, after the fields that it needs.
    pub(super) fn field(&mut self, depth: u32, fields: &mut Vec<TypeField>) {
        let mut name = self.name();
        self.open.push((Vec::new(), self.place.barriers.clone()));
        self.place.container.push(name.clone());
        let known = self.targets.len();
        let class = self.any(depth);
        self.place.container.pop();
        let before = self.open.pop().map(|(before, _)| before).unwrap_or_default();
        let has_targets = self.targets[known..].iter().any(|target| {
            target.scope == self.place.scope && target.path.get(self.place.container.len()) == Some(&name)
        });
        fields.extend(before);
        if !has_targets && self.random.percent(12) {
            let peculiar = Names::peculiar(self.random);
            let is_taken = fields.iter().any(|field| field.name == peculiar);
            if !is_taken {
                peculiar.clone_into(&mut name);
                self.record(if name.is_empty() { "empty name" } else { "keyword as a name" });
            }
        } else if !has_targets && !self.used.is_empty() && self.random.percent(8) {
            let used = &self.used[self.random.index(self.used.len())];
            if !fields.iter().any(|field| field.name == *used) {
                name.clone_from(used);
                self.record("name of an earlier field");
            }
        } else if !has_targets {
            self.used.push(name.clone());
        }
        fields.push(TypeField { name, class });
    }

    pub(super) fn new_id(&mut self) -> usize {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Returns the innermost structure, as the place of a field that needs another field.
    fn place(&self) -> Place {
        let mut place = self.place.clone();
        // The last name is the field itself.
        place.container.pop();
        place
    }

    fn location(&mut self, target: &KnownTarget) -> TypeLocation {
        let place = self.place();
        let is_other = target.scope != place.scope;
        let is_absolute = !is_other && target.can_be_absolute() && self.random.percent(30);
        if is_other {
            self.record("location in another scope");
        } else if self.is_first() {
            self.record(if is_absolute { "absolute location" } else { "relative location" });
        }
        if target.path.len() > 1 {
            self.record("location of a nested field");
        }
        if target.is_in_union {
            self.record("location through a union");
        }
        if target.is_through_variant {
            self.record("location through a variant");
        }
        if place.barriers.len() > target.barriers.len() && !is_other {
            self.record("location outside of the array or option");
        }
        target.location(&place, self.proposal, is_absolute)
    }

    fn needed(&mut self, kind: &TargetKind) -> Option<TypeLocation> {
        let target = self.target_of(kind)?;
        Some(self.location(&target))
    }

    /// Returns a field of this kind that may be needed here: a known field, or a new field in the innermost structure.
    fn target_of(&mut self, kind: &TargetKind) -> Option<KnownTarget> {
        let place = self.place();
        let is_same = |other: &TargetKind| match (kind, other) {
            (TargetKind::Tag(_), TargetKind::Tag(_)) => true,
            _ => kind == other,
        };
        let all: Vec<usize> = (0..self.targets.len())
            .filter(|at| {
                is_same(&self.targets[*at].kind) && self.targets[*at].is_allowed(&place, self.proposal)
            })
            .collect();
        if !all.is_empty() && self.random.percent(60) {
            let at = all[self.random.index(all.len())];
            return Some(self.targets[at].clone());
        }
        let barriers = self.open.last()?.1.clone();
        let mut around = place.clone();
        around.barriers.clone_from(&barriers);
        let (field, target) = self.new_target(kind, around);
        if !target.is_allowed(&place, self.proposal) {
            return None;
        }
        self.open.last_mut()?.0.push(field);
        self.targets.push(target.clone());
        Some(target)
    }

    /// Returns the class of a field that others need, and sets its values.
    fn needed_class(&mut self, kind: &mut TargetKind) -> FieldType {
        let id = self.new_id();
        let class = match kind {
            TargetKind::Boolean => {
                let size = 1 + self.random.index(16);
                self.plain(Kind::Boolean(size))
            }
            TargetKind::Length | TargetKind::Selector => {
                let most = 3 + i128::from(self.random.below(2));
                let mut values: Vec<i128> = (0..most).collect();
                let signed = match (&kind, self.proposal) {
                    (TargetKind::Length, Proposal::Second) => false,
                    _ => self.random.percent(30),
                };
                if let TargetKind::Selector = kind {
                    values = (0..4).collect();
                } else if signed {
                    self.record("signed length");
                }
                let labels = (self.random.percent(25)).then(|| self.labels(signed));
                let integer = Integer { signed, labels, values: Values::Of(values) };
                match self.random.below(6) {
                    0 => {
                        self.record("length or selector of variable length");
                        self.plain(Kind::VariableInteger(integer))
                    }
                    1 => {
                        self.record("length or selector of more than 64 bits");
                        self.plain(Kind::Integer(72, integer))
                    }
                    _ => {
                        let size = self.random.pick(&[4, 5, 8, 16, 32, 64]);
                        self.plain(Kind::Integer(size, integer))
                    }
                }
            }
            TargetKind::Tag(labels) => {
                let count = 1 + self.random.below(3);
                let mut next = 0i128;
                let signed = self.random.percent(30);
                for _ in 0..count {
                    let name = self.name();
                    let upper = next + i128::from(self.random.below(3));
                    let mut ranges = vec![(next, upper)];
                    next = upper + 1;
                    if self.random.percent(30) {
                        ranges.push((next, next));
                        next += 1;
                    }
                    labels.push((name, ranges));
                }
                if self.random.percent(10) {
                    labels[0].0 = Names::peculiar(self.random).to_owned();
                    self.record("peculiar label");
                }
                let values = labels.iter().flat_map(|(_, ranges)| ranges.clone());
                let values = values.flat_map(|(lower, upper)| lower..=upper).collect();
                let mut all = labels.clone();
                if self.random.percent(30) {
                    self.record("label without an option");
                    all.push((self.name(), vec![(100, 107)]));
                }
                let integer = Integer { signed, labels: Some(all), values: Values::Of(values) };
                match self.random.below(5) {
                    0 => {
                        self.record("tag of variable length");
                        self.plain(Kind::VariableInteger(integer))
                    }
                    1 => self.plain(Kind::Integer(72, integer)),
                    _ => {
                        let size = self.random.pick(&[8, 9, 16, 32, 64]);
                        self.plain(Kind::Integer(size, integer))
                    }
                }
            }
        };
        self.vary(class).saving(id)
    }

    /// Creates a field for others in the structure at this place, sometimes inside another structure.
    fn new_target(&mut self, kind: &TargetKind, around: Place) -> (TypeField, KnownTarget) {
        let mut kind = kind.clone();
        let class = self.needed_class(&mut kind);
        let name = self.name();
        let mut target = KnownTarget {
            id: class.saves.unwrap_or_default(),
            kind,
            scope: around.scope,
            path: around.container,
            barriers: around.barriers,
            is_in_union: false,
            is_through_variant: false,
        };
        let is_small = matches!(target.kind, TargetKind::Length)
            && matches!(&class.kind, Kind::Integer(..))
            && self.is_first();
        match self.random.below(8) {
            0 | 1 => {
                let inner = self.name();
                target.path.extend([name.clone(), inner.clone()]);
                let fields = vec![TypeField { name: inner, class }];
                (TypeField { name, class: self.plain(Kind::Structure(fields)) }, target)
            }
            2 | 3 if is_small => {
                // A union with an integer and a structure that contains the length.
                target.is_in_union = true;
                let (whole, parts) = (self.name(), self.name());
                let (low, high) = (self.name(), self.name());
                let integer = |values| Integer { signed: false, labels: None, values };
                let length = self.plain(Kind::Integer(3, integer(Values::Of(vec![0, 1, 2, 4]))));
                let length = length.saving(target.id);
                let rest = self.plain(Kind::Integer(5, integer(Values::Any)));
                let is_direct = self.random.percent(30);
                let all = self.plain(Kind::Integer(8, integer(Values::Any)));
                target.path.push(name.clone());
                let members = if is_direct {
                    target.path.push(whole.clone());
                    let of = Kind::Integer(8, integer(Values::Of(vec![0, 1, 3])));
                    let class = self.plain(of).saving(target.id);
                    let bits = self.plain(Kind::BitArray(8));
                    vec![TypeField { name: whole, class }, TypeField { name: parts, class: bits }]
                } else {
                    target.path.extend([parts.clone(), low.clone()]);
                    let fields =
                        vec![TypeField { name: low, class: length }, TypeField { name: high, class: rest }];
                    let class = self.plain(Kind::Structure(fields));
                    vec![TypeField { name: whole, class: all }, TypeField { name: parts, class }]
                };
                let union = self.plain(Kind::Union(8, members));
                (TypeField { name, class: self.vary(union) }, target)
            }
            _ => {
                target.path.push(name.clone());
                (TypeField { name, class }, target)
            }
        }
    }

    /// Adds a variant before the next member. Each option contains a length, or only the option that is always
    /// selected.
    fn several_options(&mut self) {
        let Some(tag) = self.target_of(&TargetKind::Tag(Vec::new())) else { return };
        let TargetKind::Tag(labels) = &tag.kind else { return };
        let labels = labels.clone();
        let Some((_, barriers)) = self.open.last().cloned() else { return };
        let mut place = self.place();
        place.barriers = barriers;
        if tag.is_in_union || !tag.is_allowed(&place, self.proposal) {
            return;
        }
        let location = tag.location(&place, self.proposal, false);
        let (variant, inner) = (self.name(), self.name());
        let is_nested = self.random.percent(50);
        let id = self.new_id();
        let mut choices = Vec::new();
        for (name, ranges) in labels {
            let size = self.random.pick(&[5, 8, 16, 32]);
            let signed = self.random.percent(30);
            let values = Values::Of(vec![0, 1, 2]);
            let integer = Integer { signed, labels: None, values };
            let mut class = self.plain(Kind::Integer(size, integer)).saving(id);
            if is_nested {
                let mut fields = vec![TypeField { name: inner.clone(), class }];
                if self.random.percent(50) {
                    let other = self.plain(Kind::BitArray(3));
                    fields.insert(0, TypeField { name: self.name(), class: other });
                }
                class = self.plain(Kind::Structure(fields));
            }
            choices.push(Choice { name: Some(name), ranges, class });
        }
        let class = self.plain(Kind::Variant { tag: location, choices });
        let class = self.vary(class);
        let mut path = place.container.clone();
        path.push(variant.clone());
        if is_nested {
            path.push(inner);
        }
        if let Some((before, _)) = self.open.last_mut() {
            before.push(TypeField { name: variant, class });
        }
        self.record("length in several options");
        self.targets.push(KnownTarget {
            id,
            kind: TargetKind::Length,
            scope: place.scope,
            path,
            barriers: place.barriers,
            is_in_union: false,
            is_through_variant: true,
        });
    }
}
