//! Converts fields from other formats to fields in self-describing events.

use ichnos_model::Visitor;
use ichnos_model::class::{FieldClass, FieldKind, IntegerProperties, Member, Uuid, VariableLengthValue};
use ichnos_model::clock::WallClock;
use ichnos_model::field::{Field as VisitedField, Real, StringEncoding, Text, Wide};

use crate::wire_writer::{push_u16, push_u32, push_u64, push_utf16};
use crate::{FieldType, PayloadField};

/// Maximum nesting of field types, because readers limit it. Deeper fields are dropped.
const DEPTH: usize = 26;

/// Nesting levels in an object: the object and its field list.
const OBJECT_LEVELS: usize = 2;

/// Maximum number of fields in an event, including nested fields, because readers limit it. Other fields are dropped.
pub(super) const MOST_FIELDS: usize = 5_000;

/// Maximum number of array elements.
const MOST_ELEMENTS: u64 = u16::MAX as u64;

/// Name for the only field in an object that contains an array.
const WRAPPED: &str = "value";

/// Describes a class without values as an array of bytes, which is always empty. Readers cannot decode an object
/// without fields at the end of a payload.
fn no_value() -> FieldType {
    FieldType::Array(Box::new(FieldType::U8))
}

/// Returns `true` if a class is described as an array.
pub(super) fn is_array(class: &FieldClass) -> bool {
    match &class.kind {
        FieldKind::Array { .. } | FieldKind::Blob { .. } | FieldKind::Optional { .. } => true,
        _ => has_no_value(class),
    }
}

/// Returns `true` for a class without values: null, or a structure without members.
pub(super) fn has_no_value(class: &FieldClass) -> bool {
    match &class.kind {
        FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => {
            members.iter().all(|member| member.class.is_padding())
        }
        FieldKind::Variant { options, .. } => options.is_empty(),
        FieldKind::Null { .. } => true,
        _ => false,
    }
}

/// Returns `true` for a class that is an array even if it is optional. An absent array is empty.
pub(super) fn is_own_optional(class: &FieldClass) -> bool {
    matches!(class.kind, FieldKind::Array { .. } | FieldKind::Blob { .. })
}

/// Returns `true` for a date in EventPipe encoding.
pub(super) fn is_file_time(class: &FieldClass) -> bool {
    let is_file_time = |integer: &IntegerProperties| integer.wall_clock == Some(WallClock::FILETIME);
    class.integer().is_some_and(is_file_time) && class.bits().is_some_and(|bits| bits.length == 64)
}

/// Returns the array type. TraceEvent cannot decode nested arrays, so an inner array is wrapped in an object.
fn array_of(element: FieldType) -> FieldType {
    let element = match element {
        FieldType::Array(_) => FieldType::Object(vec![PayloadField::new(WRAPPED, element)]),
        element => element,
    };
    FieldType::Array(Box::new(element))
}

/// Returns the field type for a class that [fits](fits).
fn field_type(class: &FieldClass) -> FieldType {
    match &class.kind {
        FieldKind::Boolean(_) | FieldKind::VariableLength { value: VariableLengthValue::Boolean, .. } => {
            FieldType::Boolean32
        }
        FieldKind::BitArray(bits) | FieldKind::BitMap { bits, .. } => integer_type(bits.length, false),
        FieldKind::Integer { .. } if is_file_time(class) => FieldType::FileTime,
        FieldKind::Integer { bits, integer } => integer_type(bits.length, integer.signed),
        FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } => {
            integer_type(64, integer.signed)
        }
        FieldKind::VariableLength { .. } => FieldType::U64,
        FieldKind::Float(bits) if bits.length <= 32 => FieldType::F32,
        FieldKind::Float(_) => FieldType::F64,
        FieldKind::String { .. } => FieldType::Utf16String,
        FieldKind::Blob { .. } => FieldType::Array(Box::new(FieldType::U8)),
        FieldKind::Guid { .. } => FieldType::Guid,
        _ if has_no_value(class) => no_value(),
        FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => {
            let members = members.iter().filter(|member| !member.class.is_padding());
            let field = |member: &Member| PayloadField::new(member.name.clone(), field_type(&member.class));
            FieldType::Object(members.map(field).collect())
        }
        FieldKind::Array { element, .. } => array_of(field_type(element)),
        FieldKind::Optional { field, .. } if is_own_optional(field) => field_type(field),
        FieldKind::Optional { field, .. } => array_of(field_type(field)),
        FieldKind::Variant { options, .. } => {
            let options = options.iter().enumerate().map(|(index, option)| {
                let name = option.name.clone().unwrap_or_else(|| format!("option_{index}"));
                PayloadField::new(name, array_of(field_type(&option.class)))
            });
            FieldType::Object(options.collect())
        }
        _ => no_value(),
    }
}

/// Returns the type for an integer. Integers with more than 64 bits become texts.
fn integer_type(length: u64, signed: bool) -> FieldType {
    match (length, signed) {
        (0..=8, true) => FieldType::I8,
        (0..=8, false) => FieldType::U8,
        (9..=16, true) => FieldType::I16,
        (9..=16, false) => FieldType::U16,
        (17..=32, true) => FieldType::I32,
        (17..=32, false) => FieldType::U32,
        (33..=64, true) => FieldType::I64,
        (33..=64, false) => FieldType::U64,
        _ => FieldType::Utf16String,
    }
}

/// Returns the number of bytes in an integer, or `None` if it is written as text.
fn integer_size(class: &FieldClass) -> Option<usize> {
    match &class.kind {
        FieldKind::VariableLength { .. } => Some(8),
        _ => match class.bits()?.length {
            0..=8 => Some(1),
            9..=16 => Some(2),
            17..=32 => Some(4),
            33..=64 => Some(8),
            _ => None,
        },
    }
}

/// Returns `true` if a field can be described. Subtracts its fields from the remaining number.
pub(super) fn fits(class: &FieldClass, left: &mut usize) -> bool {
    /// Checks a class that is `depth` type levels below the event.
    fn has_room(class: &FieldClass, depth: usize, left: &mut usize) -> bool {
        let Some(rest) = left.checked_sub(1).filter(|_| depth < DEPTH) else { return false };
        *left = rest;
        // An array in an array is wrapped in an object.
        let element_depth =
            |element: &FieldClass| depth + 1 + if is_array(element) { OBJECT_LEVELS } else { 0 };
        match &class.kind {
            FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => {
                members.iter().all(|member| has_room(&member.class, depth + OBJECT_LEVELS, left))
            }
            FieldKind::Array { element, .. } => has_room(element, element_depth(element), left),
            FieldKind::Optional { field, .. } if is_own_optional(field) => has_room(field, depth, left),
            FieldKind::Optional { field, .. } => has_room(field, element_depth(field), left),
            FieldKind::Variant { options, .. } => options
                .iter()
                .all(|option| has_room(&option.class, element_depth(&option.class) + OBJECT_LEVELS, left)),
            _ => true,
        }
    }
    let before = *left;
    let fits = has_room(class, 0, left);
    if !fits {
        *left = before;
    }
    fits
}

/// Describes a field that [fits](fits).
pub(super) fn describe(name: String, class: &FieldClass) -> PayloadField {
    PayloadField::new(name, field_type(class))
}

/// Returns the number of zero bytes for an absent field: 0, an empty text, an empty array.
pub(super) fn absent_size(kind: &FieldType) -> usize {
    match kind {
        FieldType::I8 | FieldType::U8 => 1,
        FieldType::I16 | FieldType::U16 | FieldType::Utf16String | FieldType::Array(_) => 2,
        FieldType::I32 | FieldType::U32 | FieldType::F32 | FieldType::Boolean32 => 4,
        FieldType::Guid => 16,
        FieldType::Object(fields) => fields.iter().map(|field| absent_size(&field.kind)).sum(),
        // 64 bits. Other types do not occur here.
        _ => 8,
    }
}

/// Value losses by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PayloadLosses {
    /// Arrays and BLOBs with more elements than an array can have.
    pub(super) cut: u64,
    /// Invalid texts.
    pub(super) texts: u64,
    /// Texts that were cut at their first U+0000.
    pub(super) ends: u64,
    /// Numbers that changed.
    pub(super) rounded: u64,
}

/// Compound field that is being written.
#[derive(Clone, Copy, Debug)]
enum OpenCompound {
    /// Array. Has the number of elements so far, and the payload size at the maximum number of elements.
    Array {
        seen: u64,
        end: Option<usize>,
    },
    /// Variant. Has the number of options after the selected option.
    Variant {
        after: usize,
    },
    Other,
}

/// Writes scope fields as a payload that matches [`describe`].
#[derive(Debug, Default)]
pub(super) struct PayloadWriter {
    pub(super) bytes: Vec<u8>,
    pub(super) losses: PayloadLosses,
    compounds: Vec<OpenCompound>,
    /// Scope members to write, by index in the plan.
    members: Vec<usize>,
    /// Number of open compound fields in a member that is not written.
    muted: usize,
    text: Vec<u8>,
}

impl PayloadWriter {
    /// Starts an event payload.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.losses = PayloadLosses::default();
    }

    /// Starts a scope. `members` are the members to write, in plan order. Index 0 is the root.
    pub(super) fn begin_scope(&mut self, members: &[usize]) {
        self.compounds.clear();
        if members == [0] {
            // The root itself is a field.
            self.compounds.push(OpenCompound::Other);
        }
        self.muted = 0;
        self.members.clear();
        self.members.extend_from_slice(members);
    }

    /// Enters a field. Returns `false` if it is not written.
    fn enter(&mut self, field: VisitedField<'_>) -> bool {
        if self.muted > 0 {
            return false;
        }
        match &mut self.compounds[..] {
            // The root.
            [] => {}
            [_] => return self.members.binary_search(&field.index()).is_ok(),
            [.., OpenCompound::Array { seen, end }] => {
                *seen += 1;
                if *seen == MOST_ELEMENTS + 1 {
                    *end = Some(self.bytes.len());
                    self.losses.cut += 1;
                }
            }
            _ => {}
        }
        true
    }

    fn begin(&mut self, field: VisitedField<'_>, compound: OpenCompound) -> bool {
        if !self.enter(field) {
            self.muted += 1;
            return false;
        }
        self.compounds.push(compound);
        true
    }

    fn end(&mut self) {
        if self.muted > 0 {
            self.muted -= 1;
            return;
        }
        match self.compounds.pop() {
            Some(OpenCompound::Array { end: Some(end), .. }) => self.bytes.truncate(end),
            Some(OpenCompound::Variant { after }) => {
                for _ in 0..after {
                    push_u16(&mut self.bytes, 0);
                }
            }
            _ => {}
        }
    }

    fn integer(&mut self, field: VisitedField<'_>, value: u64) {
        if !self.enter(field) {
            return;
        }
        let bytes = value.to_le_bytes();
        match integer_size(field.class()) {
            Some(size) => self.bytes.extend_from_slice(bytes.get(..size).unwrap_or(&bytes)),
            None => self.push_text(&value.to_string()),
        }
    }

    fn push_text(&mut self, text: &str) {
        self.losses.ends += u64::from(memchr::memchr(0, text.as_bytes()).is_some());
        push_utf16(&mut self.bytes, text);
        push_u16(&mut self.bytes, 0);
    }

    fn begin_count(&mut self, count: u64) {
        push_u16(&mut self.bytes, u16::try_from(count).unwrap_or(u16::MAX));
    }
}

impl Visitor for PayloadWriter {
    fn unsigned(&mut self, field: VisitedField<'_>, value: u64) {
        self.integer(field, value);
    }

    fn signed(&mut self, field: VisitedField<'_>, value: i64) {
        self.integer(field, value as u64);
    }

    fn wide(&mut self, field: VisitedField<'_>, value: Wide<'_>) {
        if !self.enter(field) {
            return;
        }
        if integer_size(field.class()).is_some() {
            // Variable-length integer.
            self.losses.rounded += 1;
            let is_signed = field.class().integer().is_some_and(|integer| integer.signed);
            let most = match (is_signed, value.is_negative()) {
                (true, true) => i64::MIN as u64,
                (true, false) => i64::MAX as u64,
                (false, _) => u64::MAX,
            };
            return push_u64(&mut self.bytes, most);
        }
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        value.write_decimal(&mut text);
        // Decimal digits are valid UTF-8.
        self.push_text(std::str::from_utf8(&text).unwrap_or_default());
        self.text = text;
    }

    fn boolean(&mut self, field: VisitedField<'_>, value: bool, _: u64) {
        if self.enter(field) {
            push_u32(&mut self.bytes, value.into());
        }
    }

    fn bit_array(&mut self, field: VisitedField<'_>, bits: u64) {
        self.integer(field, bits);
    }

    fn bit_map(&mut self, field: VisitedField<'_>, bits: u64) {
        self.integer(field, bits);
    }

    fn real(&mut self, field: VisitedField<'_>, value: Real<'_>) {
        if !self.enter(field) {
            return;
        }
        let is_single = field.class().bits().is_some_and(|bits| bits.length <= 32);
        match (value, is_single) {
            (Real::Single(value), true) => push_u32(&mut self.bytes, value.to_bits()),
            (value, true) => push_u32(&mut self.bytes, (value.to_f64() as f32).to_bits()),
            (value, false) => {
                self.losses.rounded += u64::from(matches!(value, Real::Wide(_)));
                push_u64(&mut self.bytes, value.to_f64().to_bits());
            }
        }
    }

    fn text(&mut self, field: VisitedField<'_>, value: Text<'_>) {
        if !self.enter(field) {
            return;
        }
        if value.encoding == StringEncoding::Utf16Le && value.bytes.len().is_multiple_of(2) {
            let units = value.bytes.as_chunks::<2>().0;
            let length = units.iter().position(|unit| *unit == [0, 0]).unwrap_or(units.len());
            self.losses.ends += u64::from(length < units.len());
            self.bytes.extend_from_slice(value.bytes.get(..2 * length).unwrap_or_default());
            return push_u16(&mut self.bytes, 0);
        }
        if let Some(text) = value.as_str() {
            return self.push_text(text);
        }
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        self.losses.texts += u64::from(!value.write_utf8(&mut text));
        // `write_utf8` writes valid UTF-8.
        self.push_text(std::str::from_utf8(&text).unwrap_or_default());
        self.text = text;
    }

    fn blob(&mut self, field: VisitedField<'_>, bytes: &[u8]) {
        if !self.enter(field) {
            return;
        }
        self.begin_count(bytes.len() as u64);
        let kept = bytes.get(..MOST_ELEMENTS as usize).unwrap_or(bytes);
        self.losses.cut += u64::from(kept.len() < bytes.len());
        self.bytes.extend_from_slice(kept);
    }

    fn guid(&mut self, field: VisitedField<'_>, value: Uuid) {
        if self.enter(field) {
            self.bytes.extend_from_slice(&value.to_bytes_le());
        }
    }

    fn null(&mut self, field: VisitedField<'_>) {
        if self.enter(field) {
            self.begin_count(0);
        }
    }

    fn begin_structure(&mut self, field: VisitedField<'_>) {
        let is_root = self.compounds.is_empty();
        if self.begin(field, OpenCompound::Other) && !is_root && has_no_value(field.class()) {
            self.begin_count(0);
        }
    }

    fn end_structure(&mut self, _: VisitedField<'_>) {
        self.end();
    }

    fn begin_array(&mut self, field: VisitedField<'_>, length: u64) {
        if self.begin(field, OpenCompound::Array { seen: 0, end: None }) {
            self.begin_count(length);
        }
    }

    fn end_array(&mut self, _: VisitedField<'_>) {
        self.end();
    }

    fn begin_optional(&mut self, field: VisitedField<'_>, present: bool, _: i128) {
        let is_in_array =
            matches!(&field.class().kind, FieldKind::Optional { field, .. } if is_own_optional(field));
        // The array itself has a count.
        if self.begin(field, OpenCompound::Other) && !(present && is_in_array) {
            self.begin_count(present.into());
        }
    }

    fn end_optional(&mut self, _: VisitedField<'_>) {
        self.end();
    }

    fn begin_variant(&mut self, field: VisitedField<'_>, option: usize, _: i128) {
        let count = match &field.class().kind {
            FieldKind::Variant { options, .. } => options.len(),
            _ => option + 1,
        };
        let after = count.saturating_sub(option + 1);
        if self.begin(field, OpenCompound::Variant { after }) {
            for _ in 0..option.min(count) {
                push_u16(&mut self.bytes, 0);
            }
            self.begin_count(1);
        }
    }

    fn end_variant(&mut self, _: VisitedField<'_>) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ichnos_model::class::Length;

    use super::*;

    fn optional(class: FieldClass) -> FieldClass {
        FieldClass::optional(class)
    }

    fn list(class: FieldClass) -> FieldClass {
        FieldClass::new(FieldKind::Array {
            element: Arc::new(class),
            length: Length::Static(2),
            minimum_alignment: 8,
            element_aligns: true,
        })
    }

    /// Returns `true` without arrays in arrays and objects without fields.
    fn can_be_evaluated(kind: &FieldType) -> bool {
        match kind {
            FieldType::Object(fields) => {
                !fields.is_empty() && fields.iter().all(|field| can_be_evaluated(&field.kind))
            }
            FieldType::Array(element) => {
                !matches!(**element, FieldType::Array(_)) && can_be_evaluated(element)
            }
            _ => true,
        }
    }

    #[test]
    fn arrays_have_no_arrays_as_elements() {
        let number = || FieldClass::unsigned(32);
        let nothing = || FieldClass::structure([]);
        let classes = [
            optional(list(number())),
            list(list(list(number()))),
            optional(optional(optional(number()))),
            list(optional(nothing())),
            FieldClass::structure([Member::new("a", list(nothing())), Member::new("b", nothing())]),
        ];
        for class in classes {
            assert!(fits(&class, &mut { MOST_FIELDS }));
            let kind = describe(String::new(), &class).kind;
            assert!(can_be_evaluated(&kind), "{kind:?}");
        }
        let bare = FieldType::Array(Box::new(FieldType::U32));
        assert_eq!(describe(String::new(), &optional(list(number()))).kind, bare);
    }

    /// Fields that fit can be read again.
    #[test]
    fn deep_fields_are_within_the_limits_of_the_reader() {
        type Deeper = fn(FieldClass) -> FieldClass;
        let structure: Deeper = |class| FieldClass::structure([Member::new("m", class)]);
        for deeper in [structure, list, optional] {
            let mut class = FieldClass::unsigned(8);
            let mut depth = 0;
            while fits(&class, &mut { MOST_FIELDS }) {
                let metadata = crate::EventMetadata {
                    id: 1,
                    level: Some(0),
                    fields: vec![describe("f".to_owned(), &class)],
                    ..crate::EventMetadata::default()
                };
                let mut row = Vec::new();
                metadata.write(1, &mut row);
                assert_eq!(crate::EventMetadata::read(&row), Some(metadata), "{depth}");
                class = deeper(class);
                depth += 1;
            }
            assert!(depth > 7, "{depth}");
        }
    }
}
