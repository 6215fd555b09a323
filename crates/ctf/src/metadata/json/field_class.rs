//! PROP-2.0 and SPEC-2.0 field classes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ichnos_model::Scope;
use ichnos_model::class::{
    Attributes, BitField, BitOrder, ByteOrder, DisplayBase, FieldClass, FieldKind, FieldLocation,
    IntegerProperties, IntegerRange, Length, Mappings, Member, RangeSet, Roles, StringLength,
    VariableLengthValue, VariantOption,
};
use ichnos_model::field::StringEncoding;
use ichnos_model::memory::size;
use ichnos_model::trace::{Diagnostic, Limits, TextPosition};

use super::class_counter::{ClassAlias, ClassCounter};
use super::class_parts::{bit_length, element_label, float};
use super::location::{field_location, first_overlap, flags, mappings, range_set};
use super::object::{
    Object, UnknownProperties, alignment_value, array, attributes, listed, non_empty_array, or_refuse,
    positive, refuse, text, unsigned,
};
use super::roles;
use super::text::{Json, JsonNode};
use super::vocabulary::Vocabulary;
use crate::metadata::{Problems, memory};

/// Reads field classes.
pub(super) struct ClassReader<'a> {
    pub(super) problems: &'a mut Problems,
    pub(super) limits: &'a Limits,
    pub(super) vocabulary: Vocabulary,
    /// Extensions declared by the preamble: namespaces and names.
    pub(super) extensions: HashSet<(String, String)>,
    aliases: HashMap<String, Option<ClassAlias>>,
    scope: Option<Scope>,
    counter: ClassCounter,
    release_candidate: bool,
}

impl<'a> ClassReader<'a> {
    pub(super) fn new(vocabulary: Vocabulary, limits: &'a Limits, problems: &'a mut Problems) -> Self {
        Self {
            problems,
            limits,
            vocabulary,
            extensions: HashSet::new(),
            aliases: HashMap::new(),
            scope: None,
            counter: ClassCounter::new(["field class", "field classes"], limits),
            release_candidate: false,
        }
    }

    /// Reports once that a release candidate of SPEC-2.0 wrote the metadata.
    pub(super) fn report_release_candidate(&mut self, position: TextPosition) {
        if !self.release_candidate {
            self.release_candidate = true;
            let note = "release candidate vocabulary (CTF2-SPECRC-7.0)";
            self.problems.add(Diagnostic::note(position, note));
        }
    }

    /// Reads an object's attributes and extensions.
    pub(super) fn extras(&mut self, object: &mut Object<'_>) -> Attributes {
        let found = object.get(self.vocabulary.attributes()).or_else(|| {
            // Release candidates kept the PROP-2.0 property.
            let name = Vocabulary::Prop2.attributes();
            if !object.has(name) {
                return None;
            }
            self.report_release_candidate(object.name_position(name));
            object.get(name)
        });
        // Attributes are optional.
        let attributes = found.map(|node| attributes(node, self.problems)).unwrap_or_default();
        if let Some(node) = object.get("extensions") {
            self.extensions_of(node);
        }
        attributes
    }

    /// Checks that extensions are declared (CTF2-SPEC-2.0, "Extensions"). The preamble already refused declared
    /// extensions.
    fn extensions_of(&mut self, node: &JsonNode) {
        let Some(namespaces) = super::object::properties(node, self.problems) else { return };
        for namespace in namespaces {
            let declares_none = !self.extensions.iter().any(|(name, _)| **name == *namespace.name);
            if declares_none {
                let message = format!(
                    "the preamble does not declare an extension in the namespace `{}`",
                    namespace.name
                );
                self.problems.error(node.position, message);
                continue;
            }
            // A value of another kind was already reported.
            for extension in super::object::properties(&namespace.value, self.problems).unwrap_or_default() {
                if !self.extensions.contains(&(namespace.name.to_string(), extension.name.to_string())) {
                    let message = format!(
                        "the preamble does not declare the extension `{}` in the namespace `{}`",
                        extension.name, namespace.name
                    );
                    self.problems.error(extension.name_position, message);
                }
            }
        }
    }

    /// Adds a field class alias (CTF2-SPEC-2.0, "Field class alias fragment"). An alias with an invalid class is still
    /// recorded, so that its uses are not reported as well.
    pub(super) fn add_alias(&mut self, name: &JsonNode, class: Option<&JsonNode>) {
        let Some(text) = text(name, self.problems) else {
            if let Some(class) = class {
                self.unscoped(class);
            }
            return;
        };
        if self.aliases.contains_key(text) {
            self.problems.error(name.position, format!("duplicate field class alias `{text}`"));
            return;
        }
        self.problems.enter(format!("field class alias `{text}`"));
        let alias = class.and_then(|class| self.unscoped(class));
        self.problems.leave();
        let bytes = (size::<(String, Option<ClassAlias>)>() + 1) as u64 * 3 + memory::of_text(text);
        self.problems.charge(bytes, name.position);
        self.aliases.insert(text.to_owned(), alias);
    }

    /// Reads a class outside any scope.
    fn unscoped(&mut self, node: &JsonNode) -> Option<ClassAlias> {
        let before = self.counter.start_alias();
        self.scope = None;
        let class = self.class(node);
        self.counter.finish_alias(class, before)
    }

    /// Reads a root field class, which must be a structure.
    pub(super) fn root(&mut self, node: &JsonNode, scope: Scope, what: &str) -> Option<Arc<FieldClass>> {
        self.problems.enter(what);
        self.scope = Some(scope);
        let class = self.class(node);
        self.scope = None;
        if let Some(class) = &class
            && !matches!(class.kind, FieldKind::Structure { .. })
        {
            let error = Diagnostic::error(node.position, "the class of a root field must be a structure");
            self.problems.add(error.expected("a structure", format!("a {}", class.describe())));
        }
        self.problems.leave();
        class
    }

    /// Reads a field class: an object, or in SPEC-2.0 an alias name.
    pub(super) fn class(&mut self, node: &JsonNode) -> Option<Arc<FieldClass>> {
        if !self.counter.can_nest(node.position, self.problems) {
            return None;
        }
        match &node.json {
            Json::Text(name) if self.vocabulary == Vocabulary::Spec2 => self.aliased(name, node.position),
            Json::Object(_) => {
                if !self.counter.enter(node.position, self.problems) {
                    return None;
                }
                let class = self.object(node);
                self.counter.leave();
                class.map(Arc::new)
            }
            _ => {
                let expected = match self.vocabulary {
                    Vocabulary::Spec2 => "an object or the name of a field class alias",
                    Vocabulary::Prop2 => "an object",
                };
                refuse(node, expected, self.problems);
                None
            }
        }
    }

    fn aliased(&mut self, name: &str, position: TextPosition) -> Option<Arc<FieldClass>> {
        let Some(alias) = self.aliases.get(name) else {
            self.counter.report_unknown(name, position, self.problems);
            return None;
        };
        let alias = alias.as_ref()?;
        if !self.counter.count_alias(alias, position, self.problems) {
            return None;
        }
        let class = alias.class.clone();
        if let Some(scope) = self.scope {
            roles::check_scope(&class, scope, position, self.problems);
        }
        Some(class)
    }

    fn object(&mut self, node: &JsonNode) -> Option<FieldClass> {
        let mut object = Object::open(node, self.problems)?;
        let type_node = object.require("type", self.problems)?;
        let name = text(type_node, self.problems)?;
        let Some(type_name) = TYPES.iter().find(|(known, _)| *known == name) else {
            let names: Vec<&str> = TYPES.iter().filter(|t| self.has_type(t.1)).map(|t| t.0).collect();
            let error = Diagnostic::error(type_node.position, "unknown field class type");
            self.problems.add(error.expected(listed(&names), type_node.describe()));
            return None;
        };
        if !self.has_type(type_name.1) {
            match self.vocabulary {
                Vocabulary::Spec2 => self.report_release_candidate(type_node.position),
                Vocabulary::Prop2 => {
                    let message = format!("PROP-2.0 does not have a field class of the type `{name}`");
                    self.problems.error(type_node.position, message);
                    return None;
                }
            }
        }
        let kind = self.kind(type_name.1, &mut object);
        let roles = self.roles(type_name.1, kind.as_ref(), &mut object);
        let attributes = self.extras(&mut object);
        object.finish(UnknownProperties::Refuse, self.problems);
        let declared_at = node.position.into();
        Some(FieldClass { roles, attributes, declared_at, ..FieldClass::new(kind?) })
    }

    /// Returns `true` if this dialect's document defines a type.
    fn has_type(&self, name: ClassType) -> bool {
        match name {
            ClassType::Enumeration { .. }
            | ClassType::VariableEnumeration { .. }
            | ClassType::VariableBitArray => self.vocabulary == Vocabulary::Prop2,
            ClassType::BitMap => self.vocabulary == Vocabulary::Spec2,
            _ => true,
        }
    }

    /// Reads roles. PROP-2.0 allows roles on every class, although each role's requirements may refuse them.
    fn roles(&mut self, name: ClassType, kind: Option<&FieldKind>, object: &mut Object<'_>) -> Roles {
        let may = self.vocabulary == Vocabulary::Prop2
            || matches!(
                name,
                ClassType::Integer { signed: false }
                    | ClassType::Enumeration { signed: false }
                    | ClassType::VariableInteger { signed: false }
                    | ClassType::VariableEnumeration { signed: false }
                    | ClassType::StaticBlob
            );
        if !may {
            return Roles::NONE;
        }
        let Some(node) = object.get("roles") else { return Roles::NONE };
        let read = roles::read(node, kind, self.scope, self.vocabulary, self.problems);
        if let Some(position) = read.release_candidate {
            self.report_release_candidate(position);
        }
        read.roles
    }

    fn kind(&mut self, name: ClassType, object: &mut Object<'_>) -> Option<FieldKind> {
        Some(match name {
            ClassType::BitArray => FieldKind::BitArray(self.bits(object)?),
            ClassType::BitMap => {
                let bits = self.bits(object);
                let flags = object.require("flags", self.problems);
                let flags = flags.and_then(|node| self.flags(node));
                FieldKind::BitMap { bits: bits?, flags: flags? }
            }
            ClassType::Boolean => FieldKind::Boolean(self.bits(object)?),
            ClassType::Integer { signed } | ClassType::Enumeration { signed } => {
                let bits = self.bits(object);
                let integer = self.integer(signed, matches!(name, ClassType::Enumeration { .. }), object);
                FieldKind::Integer { bits: bits?, integer: integer? }
            }
            ClassType::Float => {
                let bits = self.bits(object)?;
                return float(bits, object.get("length"), self.problems);
            }
            ClassType::VariableBitArray => {
                FieldKind::VariableLength { value: VariableLengthValue::BitArray, alignment: 8 }
            }
            ClassType::VariableInteger { signed } | ClassType::VariableEnumeration { signed } => {
                let enumeration = matches!(name, ClassType::VariableEnumeration { .. });
                let integer = self.integer(signed, enumeration, object)?;
                FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), alignment: 8 }
            }
            ClassType::NullTerminatedString => {
                let encoding = self.encoding(object)?;
                FieldKind::String { encoding, length: StringLength::NullTerminated, alignment: 8 }
            }
            ClassType::StaticString => self.static_string(object)?,
            ClassType::DynamicString => {
                let encoding = self.encoding(object);
                let length = self.location("length-field-location", object).map(StringLength::Dynamic);
                FieldKind::String { encoding: encoding?, length: length?, alignment: 8 }
            }
            ClassType::StaticBlob | ClassType::DynamicBlob => {
                self.blob(name == ClassType::StaticBlob, object)?
            }
            ClassType::Structure => {
                let minimum_alignment = self.alignment("minimum-alignment", object);
                let members = self.members(object);
                FieldKind::Structure { members: members?, minimum_alignment: minimum_alignment? }
            }
            ClassType::StaticArray | ClassType::DynamicArray => {
                self.array(name == ClassType::StaticArray, object)?
            }
            ClassType::Optional => self.optional(object)?,
            ClassType::Variant => {
                let selector = self.location("selector-field-location", object);
                let options = object.require("options", self.problems);
                let options = options.and_then(|node| self.options(node));
                FieldKind::Variant { options: options?, selector: selector?, alignment: 1 }
            }
        })
    }

    fn blob(&mut self, is_static: bool, object: &mut Object<'_>) -> Option<FieldKind> {
        let length = self.length(is_static, object);
        let media_type = match object.get("media-type") {
            None => Some("application/octet-stream".to_owned()),
            Some(node) => text(node, self.problems).map(str::to_owned),
        };
        Some(FieldKind::Blob { length: length?, media_type: media_type?, alignment: 8 })
    }

    fn array(&mut self, is_static: bool, object: &mut Object<'_>) -> Option<FieldKind> {
        let minimum_alignment = match self.vocabulary {
            Vocabulary::Spec2 => self.alignment("minimum-alignment", object),
            Vocabulary::Prop2 => Some(1),
        };
        let length = self.length(is_static, object);
        let element = object.require("element-field-class", self.problems).and_then(|node| {
            self.problems.enter("element");
            let class = self.class(node);
            self.problems.leave();
            class
        });
        Some(FieldKind::Array {
            element: element?,
            length: length?,
            minimum_alignment: minimum_alignment?,
            element_aligns: true,
        })
    }

    fn optional(&mut self, object: &mut Object<'_>) -> Option<FieldKind> {
        let selector = self.location("selector-field-location", object);
        let ranges = object.get("selector-field-ranges").map(|node| range_set(node, self.problems));
        let field = object.require("field-class", self.problems).and_then(|node| self.class(node));
        let ranges = match ranges {
            Some(ranges) => Some(ranges?),
            None => None,
        };
        Some(FieldKind::Optional { field: field?, selector: selector?, ranges })
    }

    /// Reads a static-length string. CTF2-PROP-2.0 once uses the type `static-length-string` for dynamic-length
    /// strings, so the length field location decides.
    fn static_string(&mut self, object: &mut Object<'_>) -> Option<FieldKind> {
        let dynamic = object.has("length-field-location") && !object.has("length");
        if dynamic && self.vocabulary == Vocabulary::Prop2 {
            let message =
                "a `static-length-string` with a length field location: read as `dynamic-length-string`";
            self.problems.warning(object.position, message);
            let location = self.location("length-field-location", object)?;
            let length = StringLength::Dynamic(location);
            return Some(FieldKind::String { encoding: StringEncoding::Utf8, length, alignment: 8 });
        }
        let encoding = self.encoding(object);
        let length = object.require("length", self.problems).and_then(|node| unsigned(node, self.problems));
        Some(FieldKind::String { encoding: encoding?, length: StringLength::Static(length?), alignment: 8 })
    }

    /// Reads the layout of a fixed-length class (CTF2-SPEC-2.0, "Fixed-length bit array field class").
    fn bits(&mut self, object: &mut Object<'_>) -> Option<BitField> {
        let length = object.require("length", self.problems).and_then(|node| {
            let length = positive(node, self.problems)?;
            bit_length(length, node, self.limits, self.problems)
        });
        let byte_order = object.require("byte-order", self.problems).and_then(|node| {
            let orders = [ByteOrder::BigEndian, ByteOrder::LittleEndian].map(|order| (order.name(), order));
            choice(node, &orders, self.problems)
        });
        let bit_order = match self.vocabulary {
            Vocabulary::Prop2 => None,
            Vocabulary::Spec2 => object.get("bit-order").map(|node| {
                let orders =
                    [BitOrder::FirstToLast, BitOrder::LastToFirst].map(|order| (order.name(), order));
                choice(node, &orders, self.problems)
            }),
        };
        let alignment = self.alignment("alignment", object);
        let mut bits = BitField::new(length?, byte_order?, alignment?);
        if let Some(bit_order) = bit_order {
            bits.bit_order = bit_order?;
        }
        Some(bits)
    }

    fn alignment(&mut self, name: &'static str, object: &mut Object<'_>) -> Option<u64> {
        match object.get(name) {
            None => Some(1),
            Some(node) => {
                let value = unsigned(node, self.problems)?;
                alignment_value(value, 1, node, self.problems)
            }
        }
    }

    /// Reads the properties common to all integers (CTF2-SPEC-2.0, "Abstract integer field class"). PROP-2.0
    /// enumerations must have at least one mapping.
    fn integer(
        &mut self,
        signed: bool,
        enumeration: bool,
        object: &mut Object<'_>,
    ) -> Option<IntegerProperties> {
        let preferred_base = match object.get("preferred-display-base") {
            None => Some(DisplayBase::Decimal),
            Some(node) => unsigned(node, self.problems).and_then(|radix| {
                let base = u32::try_from(radix).ok().and_then(DisplayBase::from_radix);
                or_refuse(base, node, "2, 8, 10 or 16", self.problems)
            }),
        };
        let node = match (enumeration, self.vocabulary) {
            (true, _) => Some(object.require("mappings", self.problems)?),
            (false, Vocabulary::Spec2) => object.get("mappings"),
            (false, Vocabulary::Prop2) => None,
        };
        let (mappings, wide_ranges) = match node {
            None => (None, None),
            Some(node) => {
                let (mappings, wide) = mappings(node, signed, self.limits, self.problems)?.finish();
                if enumeration && mappings.is_empty() {
                    refuse(node, "at least one mapping", self.problems);
                    return None;
                }
                (Some(mappings), wide)
            }
        };
        Some(IntegerProperties {
            signed,
            preferred_base: preferred_base?,
            mappings,
            wide_ranges,
            wall_clock: None,
        })
    }

    /// Reads bit map flags: at least one flag, each with bit indexes.
    fn flags(&mut self, node: &JsonNode) -> Option<Mappings> {
        let flags = Some(flags(node, self.problems)?).filter(|flags| !flags.is_empty());
        let flags = or_refuse(flags, node, "at least one flag", self.problems)?;
        let negative = flags.iter().find(|flag| flag.ranges.iter().any(|range| range.lower < 0));
        if let Some(flag) = negative {
            let position = node.get(flag.name).map_or(node.position, |ranges| ranges.position);
            self.problems.error(position, format!("the flag `{}` names a negative bit index", flag.name));
            return None;
        }
        Some(flags)
    }

    /// Reads a string encoding (CTF2-SPEC-2.0, "Abstract string field class").
    fn encoding(&mut self, object: &mut Object<'_>) -> Option<StringEncoding> {
        if self.vocabulary == Vocabulary::Prop2 {
            return Some(StringEncoding::Utf8);
        }
        let Some(node) = object.get("encoding") else { return Some(StringEncoding::Utf8) };
        choice(node, &StringEncoding::ALL.map(|encoding| (encoding.name(), encoding)), self.problems)
    }

    fn length(&mut self, fixed: bool, object: &mut Object<'_>) -> Option<Length> {
        if fixed {
            let node = object.require("length", self.problems)?;
            return unsigned(node, self.problems).map(Length::Static);
        }
        self.location("length-field-location", object).map(Length::Dynamic)
    }

    fn location(&mut self, name: &'static str, object: &mut Object<'_>) -> Option<Box<FieldLocation>> {
        let node = object.require(name, self.problems)?;
        if self.vocabulary == Vocabulary::Spec2 && matches!(node.json, Json::Array(_)) {
            // Release candidates kept PROP-2.0 locations.
            self.report_release_candidate(node.position);
            return field_location(node, self.scope, Vocabulary::Prop2, self.problems).map(Box::new);
        }
        field_location(node, self.scope, self.vocabulary, self.problems).map(Box::new)
    }

    /// Reads structure members (CTF2-SPEC-2.0, "Structure field member class").
    fn members(&mut self, object: &mut Object<'_>) -> Option<Vec<Member>> {
        let mut name = self.vocabulary.members();
        if self.vocabulary == Vocabulary::Prop2 && !object.has(name) && object.has("member-classes") {
            let position = object.name_position("member-classes");
            self.problems.warning(position, "`member-classes` is called `members` in PROP-2.0");
            name = "member-classes";
        }
        let Some(node) = object.get(name) else { return Some(Vec::new()) };
        let elements = array(node, self.problems)?;
        let mut names = HashSet::with_capacity(elements.len());
        let mut members = Vec::with_capacity(elements.len());
        for (index, element) in elements.iter().enumerate() {
            self.problems.enter(element_label("member", "name", element, index));
            if let Some(member) = self.member(element, &mut names) {
                members.push(member);
            }
            self.problems.leave();
        }
        (members.len() == elements.len()).then_some(members)
    }

    fn member<'n>(&mut self, node: &'n JsonNode, names: &mut HashSet<&'n str>) -> Option<Member> {
        let mut object = Object::open(node, self.problems)?;
        let name = object.require("name", self.problems).and_then(|node| {
            let name = text(node, self.problems)?;
            if !names.insert(name) {
                self.problems.error(node.position, format!("duplicate member `{name}`"));
                return None;
            }
            Some(name)
        });
        let class = object.require("field-class", self.problems).and_then(|node| self.class(node));
        let attributes = self.extras(&mut object);
        object.finish(UnknownProperties::Refuse, self.problems);
        let name = name?;
        // A set contains its name, too.
        if !self.problems.charge(memory::of_member(name) + 32, node.position) {
            return None;
        }
        Some(Member { name: name.to_owned(), has_underscore: false, class: class?, attributes })
    }

    /// Reads variant options (CTF2-SPEC-2.0, "Variant field class option").
    fn options(&mut self, node: &JsonNode) -> Option<Vec<VariantOption>> {
        let elements = non_empty_array(node, "at least one option", self.problems)?;
        let mut names = HashSet::new();
        let mut options = Vec::with_capacity(elements.len());
        for (index, element) in elements.iter().enumerate() {
            self.problems.enter(element_label("option", "name", element, index));
            if let Some(option) = self.option(element, &mut names) {
                options.push(option);
            }
            self.problems.leave();
        }
        if options.len() < elements.len() {
            return None;
        }
        let sets: Vec<RangeSet> = options.iter().map(|option| option.ranges.clone()).collect();
        if let Some(index) = first_overlap(&sets) {
            let element = elements.get(index);
            let ranges = element.and_then(|element| element.get("selector-field-ranges"));
            let position = ranges.map_or(node.position, |ranges| ranges.position);
            self.problems.error(position, "the ranges of two options have a value in common");
            return None;
        }
        Some(options)
    }

    fn option<'n>(&mut self, node: &'n JsonNode, names: &mut HashSet<&'n str>) -> Option<VariantOption> {
        let mut object = Object::open(node, self.problems)?;
        let name = match object.get("name") {
            None => None,
            Some(node) => {
                let name = text(node, self.problems);
                if let Some(name) = name
                    && !names.insert(name)
                {
                    self.problems.error(node.position, format!("duplicate option `{name}`"));
                }
                Some(name)
            }
        };
        let ranges = object.require("selector-field-ranges", self.problems);
        let ranges = ranges.and_then(|node| range_set(node, self.problems));
        let class = object.require("field-class", self.problems).and_then(|node| self.class(node));
        let attributes = self.extras(&mut object);
        object.finish(UnknownProperties::Refuse, self.problems);
        let name = match name {
            Some(name) => Some(name?.to_owned()),
            None => None,
        };
        let ranges = ranges?;
        let texts = name.as_deref().map_or(0, memory::of_text);
        let bytes = size::<VariantOption>() + ranges.0.len() * size::<IntegerRange>();
        if !self.problems.charge(bytes as u64 + texts, node.position) {
            return None;
        }
        Some(VariantOption { name, class: class?, ranges, attributes })
    }
}

/// Reads one of several names.
fn choice<T: Copy>(node: &JsonNode, choices: &[(&str, T)], problems: &mut Problems) -> Option<T> {
    let name = text(node, problems)?;
    let found = choices.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    if found.is_none() {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        refuse(node, listed(&names), problems);
    }
    found
}

/// Field class types in both documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClassType {
    BitArray,
    BitMap,
    Boolean,
    Integer { signed: bool },
    Enumeration { signed: bool },
    Float,
    VariableBitArray,
    VariableInteger { signed: bool },
    VariableEnumeration { signed: bool },
    NullTerminatedString,
    StaticString,
    DynamicString,
    StaticBlob,
    DynamicBlob,
    Structure,
    StaticArray,
    DynamicArray,
    Optional,
    Variant,
}

const TYPES: [(&str, ClassType); 23] = [
    ("fixed-length-bit-array", ClassType::BitArray),
    ("fixed-length-bit-map", ClassType::BitMap),
    ("fixed-length-boolean", ClassType::Boolean),
    ("fixed-length-unsigned-integer", ClassType::Integer { signed: false }),
    ("fixed-length-signed-integer", ClassType::Integer { signed: true }),
    ("fixed-length-unsigned-enumeration", ClassType::Enumeration { signed: false }),
    ("fixed-length-signed-enumeration", ClassType::Enumeration { signed: true }),
    ("fixed-length-floating-point-number", ClassType::Float),
    ("variable-length-bit-array", ClassType::VariableBitArray),
    ("variable-length-unsigned-integer", ClassType::VariableInteger { signed: false }),
    ("variable-length-signed-integer", ClassType::VariableInteger { signed: true }),
    ("variable-length-unsigned-enumeration", ClassType::VariableEnumeration { signed: false }),
    ("variable-length-signed-enumeration", ClassType::VariableEnumeration { signed: true }),
    ("null-terminated-string", ClassType::NullTerminatedString),
    ("static-length-string", ClassType::StaticString),
    ("dynamic-length-string", ClassType::DynamicString),
    ("static-length-blob", ClassType::StaticBlob),
    ("dynamic-length-blob", ClassType::DynamicBlob),
    ("structure", ClassType::Structure),
    ("static-length-array", ClassType::StaticArray),
    ("dynamic-length-array", ClassType::DynamicArray),
    ("optional", ClassType::Optional),
    ("variant", ClassType::Variant),
];
