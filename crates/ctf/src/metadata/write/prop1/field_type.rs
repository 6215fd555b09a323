//! PROP-1.0 field types.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_model::Scope;
use ichnos_model::class::{
    BitField, ByteOrder, FieldClass, FieldKind, FieldLocation, IntegerProperties, Length, Mappings, Member,
    Ranges, Role, StringLength, Value, VariableLengthValue, VariantOption,
};
use ichnos_model::field::StringEncoding;

use crate::metadata::choices;
use crate::metadata::json::SCOPES;
use crate::metadata::write::aliases::Aliases;
use crate::metadata::write::field_class::ANY_BYTES;
use crate::metadata::write::json::{self, JsonObject};
use crate::metadata::write::places::{PathTarget, RootClasses, RootPosition};
use crate::metadata::write::ranges::{self, MappingRange};
use crate::metadata::write::sizes::ClassSizes;
use crate::metadata::write::unsupported::Refusals;
use crate::metadata::write::{attributes, be_or_le, range_lists_agree};

/// Writes field types.
pub(super) struct Prop1TypeWriter<'c> {
    pub(super) refusals: Refusals,
    pub(super) sizes: ClassSizes,
    /// Default byte order.
    pub(super) byte_order: Option<ByteOrder>,
    /// Remaining number of class visits for following locations.
    pub(super) visits: u64,
    /// Shared class names.
    pub(super) aliases: Aliases,
    place: RootPosition<'c>,
}

impl<'c> Prop1TypeWriter<'c> {
    pub(super) fn new(
        byte_order: Option<ByteOrder>,
        sizes: ClassSizes,
        refusals: Refusals,
        visits: u64,
    ) -> Self {
        Self {
            refusals,
            sizes,
            byte_order,
            visits,
            aliases: Aliases::new("type"),
            place: RootPosition::new(Scope::PacketHeader, [None; 6]),
        }
    }

    /// Returns a root field's type.
    pub(super) fn root(&mut self, class: &'c Arc<FieldClass>, scope: Scope, roots: RootClasses<'c>) -> Value {
        self.place = RootPosition::new(scope, roots);
        self.refusals.enter(scope.name());
        let value = self.field_type(class);
        self.refusals.leave();
        value
    }

    /// Returns a field type: an object, or an alias name. Locations are absolute here, so shared classes cannot contain
    /// relative locations.
    fn field_type(&mut self, class: &'c Arc<FieldClass>) -> Value {
        if !self.sizes.is_shared(class) || self.sizes.has_relative(class) {
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
        self.kind(class, &mut object);
        let attributes = attributes::with_base(class, &mut self.refusals);
        object.set_some("user-attrs", json::attributes(&attributes, &mut self.refusals));
        object.finish()
    }

    fn refuse(&mut self, what: impl Into<String>) {
        self.refusals.refuse(what);
    }

    fn kind(&mut self, class: &'c FieldClass, object: &mut JsonObject) {
        match &class.kind {
            FieldKind::BitArray(bits) => self.bits("bitarray", *bits, object),
            FieldKind::Boolean(bits) => self.bits("bool", *bits, object),
            FieldKind::Integer { bits, integer } => {
                let name = if integer.mappings.is_some() { "enum" } else { "int" };
                self.bits(name, *bits, object);
                self.integer(integer, object);
            }
            FieldKind::Float(bits) => self.bits("float", *bits, object),
            FieldKind::VariableLength { value, alignment } => {
                self.variable_length(value, object);
                object.set_unless("alignment", *alignment, 8);
            }
            FieldKind::String { encoding, length, alignment } => {
                if *encoding != StringEncoding::Utf8 {
                    self.refuse(format!("the encoding {}", encoding.name()));
                }
                self.string(length, *alignment, object);
            }
            FieldKind::Blob { length: Length::Static(16), media_type, alignment }
                if class.roles.has(Role::MetadataStreamUuid) =>
            {
                self.refusals.refuse_if(media_type != ANY_BYTES, "the media type of a BLOB");
                self.bytes_of_uuid(*alignment, object);
            }
            FieldKind::Structure { members, minimum_alignment } => {
                object.set("field-type", "struct");
                object.set_unless("alignment", *minimum_alignment, 1);
                if !members.is_empty() {
                    let fields = self.fields(members);
                    object.set("fields", fields);
                }
            }
            FieldKind::Union { members, alignment } => {
                object.set("field-type", "union");
                object.set_unless("alignment", *alignment, 1);
                let fields = self.fields(members);
                object.set("fields", fields);
            }
            FieldKind::Array { element, length, .. } => {
                self.length(length, object);
                // Arrays have an explicit alignment here, because elements do not affect it.
                object.set_unless("alignment", class.alignment(), 1);
                self.refusals.enter("element");
                let element = self.field_type(element);
                self.refusals.leave();
                object.set("element-field-type", element);
            }
            FieldKind::Variant { options, selector, alignment } => {
                object.set("field-type", "variant");
                object.set_unless("alignment", *alignment, 1);
                let target = self.location("tag", selector, object);
                let choices = self.choices(options, selector, target.as_ref());
                object.set("choices", choices);
            }
            FieldKind::Null { alignment } => {
                object.set("field-type", "null");
                object.set_unless("alignment", *alignment, 1);
            }
            _ => self.refusals.refuse_kind(class),
        }
    }

    fn bits(&mut self, name: &str, bits: BitField, object: &mut JsonObject) {
        object.set("field-type", name);
        object.set("size", bits.length);
        if Some(bits.byte_order) != self.byte_order {
            object.set("byte-order", be_or_le(bits.byte_order));
        }
        if bits.is_reversed() {
            let (bit_order, byte_order) = (bits.bit_order.name(), bits.byte_order.name());
            self.refuse(format!("the bit order {bit_order} of a {byte_order} field"));
        }
        object.set_unless("alignment", bits.alignment, 1);
    }

    fn variable_length(&mut self, value: &VariableLengthValue, object: &mut JsonObject) {
        let name = match value {
            VariableLengthValue::BitArray => "varbitarray",
            VariableLengthValue::Boolean => "varbool",
            VariableLengthValue::Integer(integer) if integer.mappings.is_some() => "varenum",
            VariableLengthValue::Integer(_) => "varint",
        };
        object.set("field-type", name);
        if let VariableLengthValue::Integer(integer) = value {
            self.integer(integer, object);
        }
    }

    /// Writes an array type, which depends on its length.
    fn length(&mut self, length: &Length, object: &mut JsonObject) {
        match length {
            Length::Static(length) => {
                object.set("field-type", "array");
                object.set("length", *length);
            }
            Length::Dynamic(location) => {
                object.set("field-type", "sequence");
                self.location("length", location, object);
            }
        }
    }

    fn bytes_of_uuid(&mut self, alignment: u64, object: &mut JsonObject) {
        object.set("field-type", "array");
        object.set("length", 16u64);
        object.set_unless("alignment", alignment, 1);
        let mut element = JsonObject::default();
        self.bits(
            "int",
            BitField::new(8, self.byte_order.unwrap_or(ByteOrder::LittleEndian), 8),
            &mut element,
        );
        object.set("element-field-type", element.finish());
    }

    fn integer(&mut self, integer: &IntegerProperties, object: &mut JsonObject) {
        object.set_unless("signed", integer.signed, false);
        self.refusals.refuse_if(integer.wall_clock.is_some(), "the epoch of an integer");
        let Some(mappings) = &integer.mappings else { return };
        let mut members = JsonObject::default();
        let refusals = &mut self.refusals;
        ranges::each(mappings, integer.wide_ranges(), "label", refusals, |name, bounds, _| {
            members.set(name, Value::Array(bounds.iter().map(value_or_range).collect()));
        });
        object.set("members", members.finish());
    }

    fn string(&mut self, length: &'c StringLength, alignment: u64, object: &mut JsonObject) {
        let usual = match length {
            StringLength::NullTerminated => {
                object.set("field-type", "string");
                8
            }
            StringLength::Static(length) => {
                object.set("field-type", "textarray");
                object.set("length", *length);
                1
            }
            StringLength::Dynamic(location) => {
                object.set("field-type", "textsequence");
                self.location("length", location, object);
                1
            }
            StringLength::Prefixed { .. } => return self.refuse("a length-prefixed string"),
        };
        object.set_unless("alignment", alignment, usual);
    }

    fn location(
        &mut self,
        name: &str,
        location: &FieldLocation,
        object: &mut JsonObject,
    ) -> Option<PathTarget<'c>> {
        let target = self.place.target(location, &mut self.visits, &mut self.refusals)?;
        object.set(name, path(target.scope, target.members.iter().map(|member| member.name.as_str())));
        Some(target)
    }

    fn fields(&mut self, members: &'c [Member]) -> Value {
        self.place.enter_structure(members);
        let mut fields = Vec::with_capacity(members.len());
        for member in members {
            self.refusals.enter(format!("field `{}`", member.name));
            self.place.enter_member(member);
            let class = self.field_type(&member.class);
            let attributes = json::attributes(&member.attributes, &mut self.refusals);
            fields.push(field(&member.name, class, attributes));
            self.place.leave_member();
            self.refusals.leave();
        }
        self.place.leave_structure();
        Value::Array(fields)
    }

    /// Returns the choices, which are selected by the labels with their names.
    fn choices(
        &mut self,
        options: &'c [VariantOption],
        selector: &FieldLocation,
        target: Option<&PathTarget<'c>>,
    ) -> Value {
        let tags = target.iter().flat_map(|target| &target.classes);
        let tags: Vec<&Mappings> = tags.filter_map(|class| class.integer()?.mappings.as_ref()).collect();
        let names = || options.iter().filter_map(|option| option.name.as_deref());
        self.visits = self.visits.saturating_sub(tags.iter().map(|labels| labels.len() as u64).sum());
        if self.visits == 0 {
            self.refuse("too many labels in too many variants");
            return Value::Null;
        }
        let labels: Vec<HashMap<&str, Ranges<'_>>> =
            tags.iter().map(|mappings| choices::by_option(mappings, names())).collect();
        let is_enumeration = match (target, selector.any_option) {
            // One of several labels is enough.
            (Some(_), true) => !labels.is_empty(),
            (Some(target), false) => labels.len() == target.classes.len(),
            (None, _) => true,
        };
        self.refusals.refuse_if(!is_enumeration, "a variant whose selector is not an enumeration");
        let mut choices = Vec::with_capacity(options.len());
        for option in options {
            // A missing name is refused below.
            let name = option.name.as_deref().unwrap_or_default();
            self.refusals.enter(format!("option `{name}`"));
            self.refusals.refuse_if(option.name.is_none(), "an option without a name");
            let mut found = labels.iter().map(|labels| labels.get(name));
            let selects = |ranges: Option<&Ranges<'_>>| match ranges {
                Some(ranges) => range_lists_agree(&ranges.to_set(), &option.ranges),
                None => option.ranges.0.is_empty(),
            };
            let is_label = match selector.any_option {
                true => selects(found.flatten().next()),
                false => found.all(selects),
            };
            self.refusals.refuse_if(
                is_enumeration && !is_label,
                "an option without a selector label of the same name and values",
            );
            let class = self.field_type(&option.class);
            let attributes = json::attributes(&option.attributes, &mut self.refusals);
            choices.push(field(name, class, attributes));
            self.refusals.leave();
        }
        Value::Array(choices)
    }
}

/// Returns a structure or union field, or a variant choice.
fn field(name: &str, class: Value, attributes: Option<Value>) -> Value {
    let mut field = JsonObject::default();
    field.set("name", name);
    field.set("field-type", class);
    field.set_some("user-attrs", attributes);
    field.finish()
}

/// Returns an absolute path.
pub(super) fn path<'n>(scope: Scope, names: impl Iterator<Item = &'n str>) -> Value {
    let mut path = JsonObject::default();
    let name = SCOPES.iter().find(|(_, other)| *other == scope).map_or("", |(name, _)| *name);
    path.set("scope", name);
    path.set("path", Value::Array(names.map(json::text).collect()));
    path.finish()
}

fn value_or_range(bounds: &MappingRange) -> Value {
    let [lower, upper] = match bounds {
        MappingRange::Narrow(lower, upper) => [Value::Integer(*lower), Value::Integer(*upper)],
        MappingRange::Wide(lower, upper) => [ranges::number(lower), ranges::number(upper)],
    };
    if lower == upper {
        return lower;
    }
    let mut range = JsonObject::default();
    range.set("lower", lower);
    range.set("upper", upper);
    range.finish()
}
