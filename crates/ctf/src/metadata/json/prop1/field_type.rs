//! PROP-1.0 field types.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ichnos_model::Scope;
use ichnos_model::class::{
    Attributes, BitField, ByteOrder, DisplayBase, FieldClass, FieldKind, FieldLocation, IntegerProperties,
    Length, LocationStep, Member, RangeSet, StringLength, Value, VariableLengthValue, VariantOption,
};
use ichnos_model::field::StringEncoding;
use ichnos_model::trace::{Diagnostic, Limits, Severity, TextPosition};

use super::super::class_counter::{ClassAlias, ClassCounter};
use super::super::class_parts::{bit_length, element_label, float};
use super::super::labels::Labels;
use super::super::object::{
    Object, UnknownProperties, alignment_value, array, attributes, boolean, listed, or_refuse, refuse,
    refuse_duplicates, text,
};
use super::super::text::{Json, JsonNode, Property};
use super::constant::{positive, unsigned, wide_integer};
use crate::metadata::{Problems, memory};

/// Namespace of attributes that replace CTF 1.8 properties.
pub(in crate::metadata) const STANDARD: &str = "diamon.org/ctf/ns/std";

/// Error about an unknown field type. Reported unless the field can be ignored.
type UnknownType = Option<Box<Diagnostic>>;

/// Reads field types. Paths stay as written, and variant choices do not have ranges yet, because both depend on the
/// type's use.
pub(super) struct TypeReader<'a> {
    pub(super) problems: &'a mut Problems,
    pub(super) limits: &'a Limits,
    /// Byte order meant by `default`.
    pub(super) default_byte_order: Option<ByteOrder>,
    /// Named field types. An error if the type cannot be read, with the unknown field type that caused it.
    aliases: HashMap<String, Result<ClassAlias, UnknownType>>,
    /// Unknown field type inside the current type, which makes the current type undecodable.
    pub(super) unknown: UnknownType,
    scope: Option<Scope>,
    counter: ClassCounter,
}

impl<'a> TypeReader<'a> {
    pub(super) fn new(
        default_byte_order: Option<ByteOrder>,
        limits: &'a Limits,
        problems: &'a mut Problems,
    ) -> Self {
        Self {
            problems,
            limits,
            default_byte_order,
            aliases: HashMap::new(),
            unknown: None,
            scope: None,
            counter: ClassCounter::new(["field type", "field types"], limits),
        }
    }

    /// Reads an object's `user-attrs` (CTF2-PROP-1.0, "User attributes").
    pub(super) fn attributes(&mut self, object: &mut Object<'_>) -> Attributes {
        object.get("user-attrs").map(|node| attributes(node, self.problems)).unwrap_or_default()
    }

    /// Reads an alias (CTF2-PROP-1.0, "Field type alias fragment").
    pub(super) fn alias_fragment(&mut self, object: &mut Object<'_>) -> Attributes {
        let class = object.require("field-type", self.problems);
        let name_node = object.require("name", self.problems);
        let attributes = self.attributes(object);
        let name = name_node.and_then(|node| text(node, self.problems));
        self.problems.enter(match name {
            Some(name) => format!("field type alias `{name}`"),
            None => "field type alias".to_owned(),
        });
        let before = self.counter.start_alias();
        self.scope = None;
        let class = class.and_then(|node| self.field_type(node));
        let unknown = self.unknown.take();
        let alias = self.counter.finish_alias(class, before).ok_or(unknown);
        if let (Some(name), Some(node)) = (name, name_node) {
            if self.aliases.contains_key(name) {
                self.problems.error(node.position, format!("duplicate field type alias `{name}`"));
            } else {
                // An alias with an invalid type is still recorded, so that its uses are not reported too.
                self.aliases.insert(name.to_owned(), alias);
            }
        }
        self.problems.leave();
        attributes
    }

    /// Reads a root field's type, which may differ from a structure.
    pub(super) fn root(&mut self, node: &JsonNode, scope: Scope) -> Option<Arc<FieldClass>> {
        self.scope = Some(scope);
        let class = self.field_type(node);
        self.scope = None;
        class
    }

    /// Reads a field type: an object, or an alias name.
    fn field_type(&mut self, node: &JsonNode) -> Option<Arc<FieldClass>> {
        if !self.counter.can_nest(node.position, self.problems) {
            return None;
        }
        match &node.json {
            Json::Text(name) => self.aliased(name, node.position),
            Json::Object(properties) => {
                if !self.counter.enter(node.position, self.problems) {
                    return None;
                }
                let class = self.object(node, properties);
                self.counter.leave();
                class.map(Arc::new)
            }
            _ => {
                refuse(node, "an object or the name of a field type alias", self.problems);
                None
            }
        }
    }

    fn aliased(&mut self, name: &str, position: TextPosition) -> Option<Arc<FieldClass>> {
        let Some(alias) = self.aliases.get(name) else {
            self.counter.report_unknown(name, position, self.problems);
            return None;
        };
        let alias = match alias {
            Ok(alias) => alias,
            Err(unknown) => {
                self.unknown.clone_from(unknown);
                return None;
            }
        };
        // Each use resolves its own paths, so it becomes a copy, including its members.
        let bytes = (memory::of_field_class() + memory::of_member("name")).saturating_mul(alias.classes);
        let fits =
            self.counter.count_alias(alias, position, self.problems) && self.problems.charge(bytes, position);
        fits.then(|| alias.class.clone())
    }

    fn object(&mut self, node: &JsonNode, properties: &[Property]) -> Option<FieldClass> {
        let element = second_field_type(properties);
        match element {
            Some(second) => {
                let message = "the element type of an array is called `element-field-type`, not `field-type`";
                self.problems.warning(second.name_position, message);
            }
            None => refuse_duplicates(properties, self.problems),
        }
        let mut object = Object::from_properties(node, properties);
        let type_node = object.require("field-type", self.problems)?;
        let name = text(type_node, self.problems)?;
        let Some(found) = TYPES.iter().find(|(known, _)| *known == name) else {
            if name == "integer" {
                self.problems.warning(type_node.position, "the field type `integer` is called `int`");
                return self.of_type(Prop1Type::Integer, node, object, element);
            }
            let names: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
            let error = Diagnostic::error(type_node.position, "an unknown field type cannot be decoded");
            self.unknown = Some(Box::new(error.expected(listed(&names), type_node.describe())));
            return None;
        };
        // The document's tables misname these types. Their properties identify them.
        let meant = match found.1 {
            Prop1Type::VariableInteger if object.has("members") => {
                let message = "a `varint` with the property `members`: read as `varenum`";
                self.problems.warning(type_node.position, message);
                Prop1Type::VariableEnumeration
            }
            Prop1Type::TextSequence if object.has("choices") => {
                let message = "a `textsequence` with the property `choices`: read as `variant`";
                self.problems.warning(type_node.position, message);
                Prop1Type::Variant
            }
            Prop1Type::Enumeration if !object.has("size") => {
                // Apart from size and byte order, both have the same properties.
                let message = "an `enum` without the property `size`: read as `varenum`";
                self.problems.warning(node.position, message);
                Prop1Type::VariableEnumeration
            }
            other => other,
        };
        self.of_type(meant, node, object, element)
    }

    fn of_type(
        &mut self,
        name: Prop1Type,
        node: &JsonNode,
        mut object: Object<'_>,
        element: Option<&Property>,
    ) -> Option<FieldClass> {
        let attributes = self.attributes(&mut object);
        let kind = self.kind(name, &mut object, element, &attributes);
        object.finish(UnknownProperties::Ignore, self.problems);
        Some(FieldClass { attributes, declared_at: node.position.into(), ..FieldClass::new(kind?) })
    }

    fn kind(
        &mut self,
        name: Prop1Type,
        object: &mut Object<'_>,
        element: Option<&Property>,
        attributes: &Attributes,
    ) -> Option<FieldKind> {
        let alignment = self.alignment(name.least_alignment(), object);
        Some(match name {
            Prop1Type::Null => FieldKind::Null { alignment: alignment? },
            Prop1Type::BitArray => FieldKind::BitArray(self.bits(alignment, object)?),
            Prop1Type::Boolean => FieldKind::Boolean(self.bits(alignment, object)?),
            Prop1Type::Integer | Prop1Type::Enumeration => {
                let bits = self.bits(alignment, object);
                let integer = self.integer(name == Prop1Type::Enumeration, object, attributes);
                FieldKind::Integer { bits: bits?, integer: integer? }
            }
            Prop1Type::Float => {
                let bits = self.bits(alignment, object)?;
                return float(bits, object.get("size"), self.problems);
            }
            Prop1Type::VariableBitArray => {
                FieldKind::VariableLength { value: VariableLengthValue::BitArray, alignment: alignment? }
            }
            Prop1Type::VariableBoolean => {
                FieldKind::VariableLength { value: VariableLengthValue::Boolean, alignment: alignment? }
            }
            Prop1Type::VariableInteger | Prop1Type::VariableEnumeration => {
                let integer = self.integer(name == Prop1Type::VariableEnumeration, object, attributes)?;
                let value = VariableLengthValue::Integer(integer);
                FieldKind::VariableLength { value, alignment: alignment? }
            }
            // Texts are byte arrays, and aligned like arrays. Decoding then refuses texts that do not begin at a byte.
            Prop1Type::String | Prop1Type::TextArray | Prop1Type::TextSequence => {
                let length = match name {
                    Prop1Type::TextArray => self.static_length(object).map(StringLength::Static),
                    Prop1Type::TextSequence => self.length_path(object).map(StringLength::Dynamic),
                    _ => Some(StringLength::NullTerminated),
                };
                let encoding = StringEncoding::Utf8;
                FieldKind::String { encoding, length: length?, alignment: alignment? }
            }
            Prop1Type::Structure => {
                let members = match object.get("fields") {
                    None => Some(Vec::new()),
                    Some(node) => self.fields(node, "field", false),
                };
                FieldKind::Structure { members: members?, minimum_alignment: alignment? }
            }
            Prop1Type::Union => {
                FieldKind::Union { members: self.union_members(object)?, alignment: alignment? }
            }
            Prop1Type::Array => {
                let element = self.element(element, object);
                let length = self.array_length(element.as_deref(), object).map(Length::Static);
                array_of(element?, length?, alignment?)
            }
            Prop1Type::Sequence => {
                let length = self.length_path(object).map(Length::Dynamic);
                array_of(self.element(element, object)?, length?, alignment?)
            }
            Prop1Type::Variant => self.variant(alignment, object)?,
        })
    }

    fn static_length(&mut self, object: &mut Object<'_>) -> Option<u64> {
        let length = object.require("length", self.problems);
        length.and_then(|node| unsigned(node, self.problems))
    }

    /// Reads a length field's path.
    fn length_path(&mut self, object: &mut Object<'_>) -> Option<Box<FieldLocation>> {
        let length = object.require("length", self.problems);
        length.and_then(|node| self.path(node)).map(Box::new)
    }

    fn union_members(&mut self, object: &mut Object<'_>) -> Option<Vec<Member>> {
        let node = object.require("fields", self.problems)?;
        let members = Some(self.fields(node, "field", true)?).filter(|members| !members.is_empty());
        or_refuse(members, node, "at least one field of a known type", self.problems)
    }

    fn array_length(&mut self, element: Option<&FieldClass>, object: &mut Object<'_>) -> Option<u64> {
        let is_uuid = self.scope == Some(Scope::PacketHeader) && element.is_some_and(is_byte);
        if is_uuid && !object.has("length") {
            let message = "an array without the property `length`: read as the 16 bytes of a UUID";
            self.problems.warning(object.position, message);
            return Some(16);
        }
        self.static_length(object)
    }

    fn variant(&mut self, alignment: Option<u64>, object: &mut Object<'_>) -> Option<FieldKind> {
        let selector = object.require("tag", self.problems).and_then(|node| self.path(node));
        let choices = object.require("choices", self.problems);
        let members = choices.and_then(|node| self.fields(node, "choice", true));
        let options = members?.into_iter().map(|member| VariantOption {
            name: Some(member.name),
            class: member.class,
            ranges: RangeSet::default(),
            attributes: member.attributes,
        });
        Some(FieldKind::Variant {
            options: options.collect(),
            selector: Box::new(selector?),
            alignment: alignment?,
        })
    }

    /// Reads the alignment, which the specification's examples also spell `align`.
    fn alignment(&mut self, least: u64, object: &mut Object<'_>) -> Option<u64> {
        let mut node = object.get("alignment");
        if node.is_none() && object.has("align") {
            let position = object.name_position("align");
            self.problems.warning(position, "the property `align` is called `alignment`");
            node = object.get("align");
        }
        let Some(node) = node else { return Some(least) };
        let value = unsigned(node, self.problems)?;
        alignment_value(value, least, node, self.problems)
    }

    fn bits(&mut self, alignment: Option<u64>, object: &mut Object<'_>) -> Option<BitField> {
        let size = object.require("size", self.problems).and_then(|node| {
            let size = positive(node, self.problems)?;
            bit_length(size, node, self.limits, self.problems)
        });
        let byte_order = match object.get("byte-order") {
            None => self.default_byte_order(object.position),
            Some(node) => match text(node, self.problems)? {
                "be" => Some(ByteOrder::BigEndian),
                "le" => Some(ByteOrder::LittleEndian),
                "default" => self.default_byte_order(node.position),
                _ => {
                    refuse(node, "`be`, `le` or `default`", self.problems);
                    None
                }
            },
        };
        Some(BitField::new(size?, byte_order?, alignment?))
    }

    fn default_byte_order(&mut self, position: TextPosition) -> Option<ByteOrder> {
        if self.default_byte_order.is_none() {
            let message = "a field type needs the default byte order, but the trace class lacks it";
            self.problems.error(position, message);
        }
        self.default_byte_order
    }

    fn integer(
        &mut self,
        enumeration: bool,
        object: &mut Object<'_>,
        attributes: &Attributes,
    ) -> Option<IntegerProperties> {
        let signed = object.get("signed").map_or(Some(false), |node| boolean(node, self.problems));
        let mappings = match enumeration {
            true => {
                let members = object.require("members", self.problems);
                // An invalid sign was already reported. The labels are only read to report further errors.
                Some(members.and_then(|node| self.labels(node, signed.unwrap_or(false))))
            }
            false => None,
        };
        let (mappings, wide_ranges) = match mappings {
            Some(labels) => {
                let (mappings, wide) = labels?.finish();
                (Some(mappings), wide)
            }
            None => (None, None),
        };
        let preferred_base = standard_base(attributes);
        Some(IntegerProperties { signed: signed?, preferred_base, mappings, wide_ranges, wall_clock: None })
    }

    /// Reads enumeration labels (CTF2-PROP-1.0, "Enumeration field type member m-value").
    fn labels(&mut self, node: &JsonNode, signed: bool) -> Option<Labels> {
        let most = self.limits.integer_bits;
        Labels::read(node, "label", signed, self.problems, |labels, node, problems| {
            let Some(elements) = array(node, problems) else { return false };
            let add =
                |are_right, element| label_range(element, most, labels, problems) == Some(true) && are_right;
            elements.iter().fold(true, add)
        })
    }

    /// Reads the fields of a structure, union or variant (CTF2-PROP-1.0, "Structure/union/variant field type field").
    /// If `can_ignore`, ignores fields with an unknown type, because no other field is decoded after them.
    fn fields(&mut self, node: &JsonNode, what: &str, can_ignore: bool) -> Option<Vec<Member>> {
        let elements = array(node, self.problems)?;
        let mut ignored = 0;
        let mut names = HashSet::with_capacity(elements.len());
        let mut members = Vec::with_capacity(elements.len());
        for (index, element) in elements.iter().enumerate() {
            self.problems.enter(element_label(what, "name", element, index));
            if let Some(mut object) = Object::open(element, self.problems) {
                let name_node = object.require("name", self.problems);
                let name = name_node.and_then(|node| text(node, self.problems));
                if let (Some(name), Some(node)) = (name, name_node)
                    && !names.insert(name)
                {
                    self.problems.error(node.position, format!("duplicate {what} `{name}`"));
                }
                let class = object.require("field-type", self.problems);
                let class = class.and_then(|node| self.field_type(node));
                if let Some(unknown) = self.unknown.take_if(|_| can_ignore) {
                    let message = format!("this {what} is ignored, because its field type is unknown");
                    self.problems.add(Diagnostic {
                        severity: Severity::Warning,
                        message,
                        expected: None,
                        ..*unknown
                    });
                    ignored += 1;
                }
                let attributes = self.attributes(&mut object);
                object.finish(UnknownProperties::Ignore, self.problems);
                // Resolving paths makes a copy, and a set contains the name.
                let bytes = 3 * name.map_or(0, memory::of_member);
                if let (Some(name), Some(class)) = (name, class)
                    && self.problems.charge(bytes, element.position)
                {
                    members.push(Member { attributes, ..Member::new(name, class) });
                }
            }
            self.problems.leave();
        }
        (members.len() + ignored == elements.len()).then_some(members)
    }

    fn element(&mut self, second: Option<&Property>, object: &mut Object<'_>) -> Option<Arc<FieldClass>> {
        let node = match second {
            Some(second) if !object.has("element-field-type") => Some(&second.value),
            _ => object.require("element-field-type", self.problems),
        };
        self.problems.enter("element");
        let class = node.and_then(|node| self.field_type(node));
        self.problems.leave();
        class
    }

    /// Reads a relative or absolute path (CTF2-PROP-1.0, "Field path m-value").
    fn path(&mut self, node: &JsonNode) -> Option<FieldLocation> {
        match node.json {
            Json::Object(_) => absolute_path(node, self.problems),
            _ => {
                let path = Some(names(node, self.problems)?).filter(|path| !path.is_empty());
                let path = or_refuse(path, node, "at least one name", self.problems)?;
                Some(FieldLocation {
                    origin: None,
                    path,
                    any_option: true,
                    declared_at: node.position.into(),
                })
            }
        }
    }
}

fn array_of(element: Arc<FieldClass>, length: Length, alignment: u64) -> FieldKind {
    FieldKind::Array { element, length, minimum_alignment: alignment, element_aligns: false }
}

/// Adds a value or a value range to the last label, with at most `most` bits each. Returns `Some(true)` if it is valid.
fn label_range(node: &JsonNode, most: u64, labels: &mut Labels, problems: &mut Problems) -> Option<bool> {
    if let Json::Integer(value) = node.json {
        return Some(labels.add(value, value, node, problems));
    }
    if node.get("lower").is_none() && node.get("upper").is_none() {
        let value = wide_integer(node, most, problems)?;
        return Some(labels.add_wide(value.clone(), value, node, problems));
    }
    let mut object = Object::open(node, problems)?;
    let mut bound = |name| {
        let node = object.require(name, problems);
        node.and_then(|node| wide_integer(node, most, problems))
    };
    let (lower, upper) = (bound("lower"), bound("upper"));
    object.finish(UnknownProperties::Ignore, problems);
    Some(labels.add_wide(lower?, upper?, node, problems))
}

/// Reads an absolute path (CTF2-PROP-1.0, "Absolute field path"). An empty path leads to the root field itself.
pub(super) fn absolute_path(node: &JsonNode, problems: &mut Problems) -> Option<FieldLocation> {
    let mut object = Object::open(node, problems)?;
    let origin = object.require("scope", problems).and_then(|node| scope(node, problems));
    let path = object.require("path", problems).and_then(|node| names(node, problems));
    object.finish(UnknownProperties::Ignore, problems);
    Some(FieldLocation {
        origin: Some(origin?),
        path: path?,
        any_option: true,
        declared_at: node.position.into(),
    })
}

/// PROP-1.0 scope names.
pub(in crate::metadata) const SCOPES: [(&str, Scope); 6] = [
    ("trace-packet-header", Scope::PacketHeader),
    ("data-stream-packet-context", Scope::PacketContext),
    ("data-stream-event-record-header", Scope::EventRecordHeader),
    ("data-stream-event-record-context", Scope::CommonContext),
    ("event-record-context", Scope::SpecificContext),
    ("event-record-payload", Scope::Payload),
];

fn scope(node: &JsonNode, problems: &mut Problems) -> Option<Scope> {
    let name = text(node, problems)?;
    if let Some((_, scope)) = SCOPES.iter().find(|(known, _)| *known == name) {
        return Some(*scope);
    }
    if let Some(scope) = Scope::from_name(name) {
        let meant = SCOPES.iter().find(|(_, other)| *other == scope).map_or("", |(name, _)| *name);
        problems.warning(node.position, format!("the scope `{name}` is called `{meant}` in PROP-1.0"));
        return Some(scope);
    }
    let names = SCOPES.map(|(name, _)| name);
    problems.add(Diagnostic::error(node.position, "unknown scope").expected(listed(&names), node.describe()));
    None
}

/// Reads the names of a path. One of the specification's examples has a single name without brackets.
fn names(node: &JsonNode, problems: &mut Problems) -> Option<Vec<LocationStep>> {
    if let Json::Text(name) = &node.json {
        problems.warning(node.position, "a path must be an array of names, even for a single name");
        return Some(vec![LocationStep::Member(name.clone())]);
    }
    let elements = array(node, problems)?;
    let steps: Vec<LocationStep> = elements
        .iter()
        .filter_map(|element| text(element, problems))
        .map(|name| LocationStep::Member(name.to_owned()))
        .collect();
    (steps.len() == elements.len()).then_some(steps)
}

/// Returns the second of two `field-type` properties in an array or sequence. The specification's examples write the
/// element type this way.
fn second_field_type(properties: &[Property]) -> Option<&Property> {
    let mut types = properties.iter().filter(|property| &*property.name == "field-type");
    let first = types.next()?.value.as_text()?;
    let second = types.next()?;
    let alone = types.next().is_none() && !properties.iter().any(|p| &*p.name == "element-field-type");
    (matches!(first, "array" | "sequence") && alone).then_some(second)
}

/// Returns the display base of integers from attributes, because PROP-1.0 lacks a property for it.
pub(in crate::metadata) fn standard_base(attributes: &Attributes) -> DisplayBase {
    let base = attributes.get(STANDARD).and_then(|standard| standard.get("base")).and_then(Value::as_integer);
    let base = base.and_then(|base| u32::try_from(base).ok()).and_then(DisplayBase::from_radix);
    // Missing or unknown bases only affect the display.
    base.unwrap_or_default()
}

/// Returns `true` if a class can be a UUID byte.
pub(super) fn is_byte(class: &FieldClass) -> bool {
    matches!(class.kind, FieldKind::Integer { bits, .. } if bits.length == 8)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prop1Type {
    Null,
    BitArray,
    Boolean,
    Integer,
    Float,
    Enumeration,
    VariableBitArray,
    VariableBoolean,
    VariableInteger,
    VariableEnumeration,
    String,
    Structure,
    Array,
    TextArray,
    Sequence,
    TextSequence,
    Variant,
    Union,
}

impl Prop1Type {
    /// Returns the minimum alignment, which is also the default. Types made of whole bytes are byte-aligned.
    const fn least_alignment(self) -> u64 {
        match self {
            Self::String
            | Self::VariableBitArray
            | Self::VariableBoolean
            | Self::VariableInteger
            | Self::VariableEnumeration => 8,
            _ => 1,
        }
    }
}

/// Type names (CTF2-PROP-1.0, "Available field types").
const TYPES: [(&str, Prop1Type); 18] = [
    ("null", Prop1Type::Null),
    ("bitarray", Prop1Type::BitArray),
    ("bool", Prop1Type::Boolean),
    ("int", Prop1Type::Integer),
    ("float", Prop1Type::Float),
    ("enum", Prop1Type::Enumeration),
    ("varbitarray", Prop1Type::VariableBitArray),
    ("varbool", Prop1Type::VariableBoolean),
    ("varint", Prop1Type::VariableInteger),
    ("varenum", Prop1Type::VariableEnumeration),
    ("string", Prop1Type::String),
    ("struct", Prop1Type::Structure),
    ("array", Prop1Type::Array),
    ("textarray", Prop1Type::TextArray),
    ("sequence", Prop1Type::Sequence),
    ("textsequence", Prop1Type::TextSequence),
    ("variant", Prop1Type::Variant),
    ("union", Prop1Type::Union),
];
