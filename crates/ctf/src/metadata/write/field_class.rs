//! PROP-2.0 and SPEC-2.0 field classes.

use std::sync::Arc;

use ichnos_model::Scope;
use ichnos_model::class::{
    BitField, DisplayBase, FieldClass, FieldKind, FieldLocation, IntegerProperties, IntegerRange, Length,
    LocationStep, Mappings, Member, RangeSet, Role, StringLength, Value, VariableLengthValue, VariantOption,
    WideRange,
};
use ichnos_model::field::StringEncoding;

use super::aliases::Aliases;
use super::json::{self, JsonObject};
use super::places::{PathTarget, RootClasses, RootPosition};
use super::ranges::{self, MappingRange};
use super::sizes::ClassSizes;
use super::unsupported::Refusals;
use crate::metadata::json::roles;
use crate::metadata::json::vocabulary::Vocabulary;

/// Default BLOB media type (CTF2-SPEC-2.0, "Static-length BLOB field class").
pub(super) const ANY_BYTES: &str = "application/octet-stream";

/// Writes field classes.
pub(super) struct FieldClassWriter<'c> {
    pub(super) vocabulary: Vocabulary,
    pub(super) refusals: Refusals,
    pub(super) sizes: ClassSizes,
    /// Timestamp clock of the data stream class.
    pub(super) default_clock: Option<u16>,
    /// Remaining number of class visits for following locations.
    pub(super) visits: u64,
    /// Shared class names.
    pub(super) aliases: Aliases,
    place: RootPosition<'c>,
}

impl<'c> FieldClassWriter<'c> {
    pub(super) fn new(vocabulary: Vocabulary, sizes: ClassSizes, refusals: Refusals, visits: u64) -> Self {
        Self {
            vocabulary,
            refusals,
            sizes,
            default_clock: None,
            visits,
            aliases: Aliases::new("class"),
            place: RootPosition::new(Scope::PacketHeader, [None; 6]),
        }
    }

    /// Returns a root field's class.
    pub(super) fn root(&mut self, class: &'c Arc<FieldClass>, scope: Scope, roots: RootClasses<'c>) -> Value {
        self.place = RootPosition::new(scope, roots);
        self.refusals.enter(scope.name());
        let is_structure = matches!(class.kind, FieldKind::Structure { .. });
        self.refusals.refuse_if(!is_structure, "a root field that is not a structure");
        let value = self.class(class);
        self.refusals.leave();
        value
    }

    /// Returns a field class: an object, or an alias name.
    fn class(&mut self, class: &'c Arc<FieldClass>) -> Value {
        if self.vocabulary == Vocabulary::Prop2 || !self.sizes.is_shared(class) {
            return self.object(class);
        }
        if let Some(name) = self.aliases.get(class) {
            return name;
        }
        let object = self.object(class);
        self.aliases.add(class, object)
    }

    fn object(&mut self, class: &'c FieldClass) -> Value {
        let mut object = JsonObject::default();
        let is_uuid = class.roles.has(Role::MetadataStreamUuid) && is_bytes_of_uuid(class);
        if is_uuid {
            // CTF 1.8 and PROP-1.0 use a byte array instead.
            object.set("type", "static-length-blob");
            object.set("length", 16u64);
        } else {
            self.kind(class, &mut object);
        }
        self.roles(class, &mut object);
        object
            .set_some(self.vocabulary.attributes(), json::attributes(&class.attributes, &mut self.refusals));
        object.finish()
    }

    fn is_spec2(&self) -> bool {
        self.vocabulary == Vocabulary::Spec2
    }

    fn refuse(&mut self, what: impl Into<String>) {
        self.refusals.refuse(what);
    }

    fn kind(&mut self, class: &'c FieldClass, object: &mut JsonObject) {
        match &class.kind {
            FieldKind::BitArray(bits) => self.bits("fixed-length-bit-array", *bits, object),
            FieldKind::BitMap { bits, flags } if self.is_spec2() => {
                self.bits("fixed-length-bit-map", *bits, object);
                self.refusals.refuse_if(flags.is_empty(), "a bit map without flags");
                let flags = self.mappings(flags, &[], "flag");
                object.set("flags", flags);
            }
            FieldKind::Boolean(bits) => self.bits("fixed-length-boolean", *bits, object),
            FieldKind::Integer { bits, integer } => {
                self.bits(self.integer_type(true, integer), *bits, object);
                self.integer(integer, object);
            }
            FieldKind::Float(bits) => self.bits("fixed-length-floating-point-number", *bits, object),
            FieldKind::VariableLength { value, alignment } => {
                self.bytes_alignment(*alignment);
                self.variable_length(value, object);
            }
            FieldKind::String { encoding, length, alignment } => {
                self.bytes_alignment(*alignment);
                self.string(*encoding, length, object);
            }
            FieldKind::Blob { length, media_type, alignment } => {
                self.bytes_alignment(*alignment);
                self.length("blob", length, object);
                object.set_unless("media-type", media_type.as_str(), ANY_BYTES);
            }
            FieldKind::Structure { members, minimum_alignment } => {
                object.set("type", "structure");
                object.set_unless("minimum-alignment", *minimum_alignment, 1);
                let members = self.members(members);
                object.set_some(self.vocabulary.members(), members);
            }
            FieldKind::Array { element, length, minimum_alignment, .. } => {
                self.length("array", length, object);
                self.array_alignment(class, element, *minimum_alignment, object);
                self.element(element, object);
            }
            FieldKind::Optional { field, selector, ranges } => {
                self.optional(field, selector, ranges.as_ref(), object);
            }
            FieldKind::Variant { options, selector, alignment } => {
                object.set("type", "variant");
                self.refusals.refuse_if(*alignment != 1, "an alignment of a variant");
                self.location("selector-field-location", selector, object);
                let options = self.options(options);
                object.set("options", options);
            }
            _ => self.refusals.refuse_kind(class),
        }
    }

    fn variable_length(&mut self, value: &VariableLengthValue, object: &mut JsonObject) {
        match value {
            VariableLengthValue::BitArray if !self.is_spec2() => {
                object.set("type", "variable-length-bit-array");
            }
            VariableLengthValue::BitArray => self.refuse("a variable-length bit array"),
            VariableLengthValue::Boolean => self.refuse("a variable-length boolean"),
            VariableLengthValue::Integer(integer) => {
                object.set("type", self.integer_type(false, integer));
                self.integer(integer, object);
            }
        }
    }

    fn element(&mut self, element: &'c Arc<FieldClass>, object: &mut JsonObject) {
        self.refusals.enter("element");
        let element = self.class(element);
        self.refusals.leave();
        object.set("element-field-class", element);
    }

    fn optional(
        &mut self,
        field: &'c Arc<FieldClass>,
        selector: &FieldLocation,
        ranges: Option<&RangeSet>,
        object: &mut JsonObject,
    ) {
        object.set("type", "optional");
        self.location("selector-field-location", selector, object);
        if let Some(ranges) = ranges {
            let ranges = self.range_set(ranges);
            object.set("selector-field-ranges", ranges);
        }
        let field = self.class(field);
        object.set("field-class", field);
    }

    /// Returns an integer's type name. PROP-2.0 has separate types for enumerations.
    fn integer_type(&self, is_fixed: bool, integer: &IntegerProperties) -> &'static str {
        let is_enumeration = !self.is_spec2() && integer.mappings.is_some();
        match (is_fixed, integer.signed, is_enumeration) {
            (true, false, false) => "fixed-length-unsigned-integer",
            (true, true, false) => "fixed-length-signed-integer",
            (true, false, true) => "fixed-length-unsigned-enumeration",
            (true, true, true) => "fixed-length-signed-enumeration",
            (false, false, false) => "variable-length-unsigned-integer",
            (false, true, false) => "variable-length-signed-integer",
            (false, false, true) => "variable-length-unsigned-enumeration",
            (false, true, true) => "variable-length-signed-enumeration",
        }
    }

    fn bits(&mut self, name: &str, bits: BitField, object: &mut JsonObject) {
        object.set("type", name);
        object.set("length", bits.length);
        object.set("byte-order", bits.byte_order.name());
        if bits.is_reversed() {
            match self.vocabulary {
                Vocabulary::Spec2 => object.set("bit-order", bits.bit_order.name()),
                Vocabulary::Prop2 => self.refuse(format!(
                    "the bit order {} of a {} field",
                    bits.bit_order.name(),
                    bits.byte_order.name()
                )),
            }
        }
        object.set_unless("alignment", bits.alignment, 1);
    }

    fn bytes_alignment(&mut self, alignment: u64) {
        if alignment != 8 {
            self.refuse(format!("the alignment {alignment} of a field of whole bytes, which is always 8"));
        }
    }

    fn integer(&mut self, integer: &IntegerProperties, object: &mut JsonObject) {
        if integer.preferred_base != DisplayBase::Decimal {
            object.set("preferred-display-base", u64::from(integer.preferred_base.radix()));
        }
        self.refusals.refuse_if(integer.wall_clock.is_some(), "the epoch of an integer");
        if let Some(mappings) = &integer.mappings {
            if !self.is_spec2() {
                self.refusals.refuse_if(mappings.is_empty(), "an enumeration without labels");
            }
            let mappings = self.mappings(mappings, integer.wide_ranges(), "mapping");
            object.set("mappings", mappings);
        }
    }

    fn mappings(&mut self, mappings: &Mappings, wide: &[WideRange], what: &str) -> Value {
        let mut object = JsonObject::default();
        let refusals = &mut self.refusals;
        ranges::each(mappings, wide, what, refusals, |name, bounds, refusals| {
            refusals.refuse_if(bounds.is_empty(), "a name without values");
            object.set(name, Value::Array(bounds.iter().map(MappingRange::to_pair).collect()));
        });
        object.finish()
    }

    fn range_set(&mut self, ranges: &RangeSet) -> Value {
        self.refusals.refuse_if(ranges.0.is_empty(), "no selector value");
        let pair = |range: &IntegerRange| MappingRange::Narrow(range.lower, range.upper).to_pair();
        Value::Array(ranges.0.iter().map(pair).collect())
    }

    fn string(&mut self, encoding: StringEncoding, length: &'c StringLength, object: &mut JsonObject) {
        match length {
            StringLength::NullTerminated => object.set("type", "null-terminated-string"),
            StringLength::Static(length) => {
                object.set("type", "static-length-string");
                object.set("length", *length);
            }
            StringLength::Dynamic(location) => {
                object.set("type", "dynamic-length-string");
                self.location("length-field-location", location, object);
            }
            StringLength::Prefixed { .. } => self.refuse("a length-prefixed string"),
        }
        if encoding != StringEncoding::Utf8 {
            match self.vocabulary {
                Vocabulary::Spec2 => object.set("encoding", encoding.name()),
                Vocabulary::Prop2 => self.refuse(format!("the encoding {}", encoding.name())),
            }
        }
    }

    fn length(&mut self, kind: &str, length: &'c Length, object: &mut JsonObject) {
        match length {
            Length::Static(length) => {
                object.set("type", format!("static-length-{kind}").as_str());
                object.set("length", *length);
            }
            Length::Dynamic(location) => {
                object.set("type", format!("dynamic-length-{kind}").as_str());
                self.location("length-field-location", location, object);
            }
        }
    }

    /// Writes an array's alignment. Here, the element alignment is the minimum.
    fn array_alignment(
        &mut self,
        class: &FieldClass,
        element: &FieldClass,
        minimum: u64,
        object: &mut JsonObject,
    ) {
        let own = class.alignment();
        let of_element = element.alignment();
        let expected = match self.vocabulary {
            Vocabulary::Spec2 => {
                object.set_unless("minimum-alignment", minimum, 1);
                of_element.max(minimum)
            }
            Vocabulary::Prop2 => of_element,
        };
        if own != expected {
            let source = if expected == of_element { "element" } else { "minimum" };
            self.refuse(format!("array alignment {own} differs from {source} alignment {expected}"));
        }
    }

    fn location(&mut self, name: &str, location: &FieldLocation, object: &mut JsonObject) {
        let target = self.place.single_target(location, &mut self.visits, &mut self.refusals);
        if let Some(target) = target {
            object.set(name, self.field_location(location, &target));
        }
    }

    fn field_location(&self, location: &FieldLocation, target: &PathTarget<'c>) -> Value {
        let names = target.members.iter().map(|member| json::text(&member.name));
        match self.vocabulary {
            Vocabulary::Prop2 => {
                Value::Array(std::iter::once(json::text(target.scope.name())).chain(names).collect())
            }
            Vocabulary::Spec2 => {
                let mut object = JsonObject::default();
                let path = match location.origin {
                    Some(origin) => {
                        object.set("origin", origin.name());
                        names.collect()
                    }
                    None => relative(location, &target.members),
                };
                object.set("path", Value::Array(path));
                object.finish()
            }
        }
    }

    fn members(&mut self, members: &'c [Member]) -> Option<Value> {
        if members.is_empty() {
            return None;
        }
        self.place.enter_structure(members);
        let mut values = Vec::with_capacity(members.len());
        for member in members {
            self.refusals.enter(format!("member `{}`", member.name));
            self.place.enter_member(member);
            let mut object = JsonObject::default();
            object.set("name", &member.name);
            let class = self.class(&member.class);
            object.set("field-class", class);
            let attributes = json::attributes(&member.attributes, &mut self.refusals);
            object.set_some(self.vocabulary.attributes(), attributes);
            values.push(object.finish());
            self.place.leave_member();
            self.refusals.leave();
        }
        self.place.leave_structure();
        Some(Value::Array(values))
    }

    fn options(&mut self, options: &'c [VariantOption]) -> Value {
        self.refusals.refuse_if(options.is_empty(), "a variant without options");
        let mut values = Vec::with_capacity(options.len());
        for (index, option) in options.iter().enumerate() {
            self.refusals.enter(match &option.name {
                Some(name) => format!("option `{name}`"),
                None => format!("option {}", index + 1),
            });
            let mut object = JsonObject::default();
            object.set_some("name", option.name.as_ref());
            let ranges = self.range_set(&option.ranges);
            object.set("selector-field-ranges", ranges);
            let class = self.class(&option.class);
            object.set("field-class", class);
            let attributes = json::attributes(&option.attributes, &mut self.refusals);
            object.set_some(self.vocabulary.attributes(), attributes);
            values.push(object.finish());
            self.refusals.leave();
        }
        Value::Array(values)
    }

    fn roles(&mut self, class: &FieldClass, object: &mut JsonObject) {
        if !class.clock_updates().is_empty() {
            self.refuse("a field that updates several clocks");
        }
        let mut names = Vec::new();
        for role in class.roles.iter() {
            let is_timestamp = matches!(role, Role::Timestamp | Role::PacketEndTimestamp);
            if is_timestamp && class.roles.clock.is_some_and(|clock| Some(clock) != self.default_clock) {
                self.refuse("a timestamp from a clock other than the default clock of the data stream class");
                continue;
            }
            match roles::name_of(role, self.place.scope, self.vocabulary) {
                Some(name) => names.push(json::text(name)),
                None => self.refuse(format!("the role {role} in the {}", self.place.scope)),
            }
        }
        if !names.is_empty() {
            object.set("roles", Value::Array(names));
        }
    }
}

/// Returns a relative location with the written member names.
fn relative(location: &FieldLocation, members: &[&Member]) -> Vec<Value> {
    let names = location.path.iter().filter(|step| matches!(step, LocationStep::Member(_))).count();
    let mut rest = members.iter().skip(members.len().saturating_sub(names));
    let is_plain = location.path.iter().skip_while(|step| **step == LocationStep::Parent);
    let is_plain = is_plain.into_iter().all(|step| *step != LocationStep::Parent);
    let step = |step: &LocationStep| match step {
        LocationStep::Parent => Value::Null,
        // Names between parent steps are unchanged.
        LocationStep::Member(name) if !is_plain => json::text(name),
        LocationStep::Member(name) => rest.next().map_or_else(|| json::text(name), |it| json::text(&it.name)),
    };
    location.path.iter().map(step).collect()
}

/// Returns `true` if a class contains a UUID's 16 bytes in CTF 1.8 or PROP-1.0, with a BLOB's layout.
pub(super) fn is_bytes_of_uuid(class: &FieldClass) -> bool {
    let FieldKind::Array { element, length: Length::Static(16), .. } = &class.kind else { return false };
    let FieldKind::Integer { bits, .. } = &element.kind else { return false };
    bits.length == 8 && class.alignment() == 8 && bits.alignment <= 8 && element.attributes.is_empty()
}
