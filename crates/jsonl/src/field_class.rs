//! Field classes in the member `fields` of lines.

use std::sync::Arc;

use ichnos_export::documents::write_path;
use ichnos_json::write::ValueWriter;
use ichnos_model::Scope;
use ichnos_model::class::{
    Attributes, BitField, BitOrder, ByteOrder, DisplayBase, FieldClass, FieldKind, FieldLocation,
    IntegerProperties, Length, LocationStep, Mapping, Mappings, MappingsBuilder, Member, RangeSet, Role,
    StringLength, Value, VariableLengthValue, VariantOption, WideInteger, WideRange,
};
use ichnos_model::clock::{ClockClass, WallClock};
use ichnos_model::field::StringEncoding;
use ichnos_model::meaning::ActivityPaths;

use crate::members::{DescriptionResult, Members, text};

/// Reads and writes field classes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldClassCodec<'a> {
    /// Clocks of the trace.
    pub(crate) clocks: &'a [ClockClass],
    /// `true` if optionals, variants and arrays have selector and length fields. Otherwise, values determine options
    /// and lengths.
    pub(crate) with_selectors: bool,
    /// Packet and data stream scopes in lines. Fields in other scopes cannot be selectors.
    pub(crate) scopes: StreamScopes,
}

/// Returns a scope's name in lines.
pub(crate) const fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::PacketHeader => "packet_header",
        Scope::PacketContext => "context",
        Scope::EventRecordHeader => "header",
        Scope::CommonContext => "common_context",
        Scope::SpecificContext => "specific_context",
        Scope::Payload => "payload",
        Scope::Resource => "resource",
    }
}

/// Scopes that all events of a data stream have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamScopes([bool; 4]);

impl StreamScopes {
    /// Iterates over all possible scopes.
    pub(crate) fn all() -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().take(Self::default().0.len())
    }

    /// Reads the scopes in the member `fields` of a data stream class.
    pub(crate) fn from_fields(fields: Option<&Value>) -> Self {
        let mut scopes = Self::default();
        for (scope, is_there) in Self::all().zip(&mut scopes.0) {
            *is_there = fields.and_then(|fields| fields.get(scope_name(scope))).is_some();
        }
        scopes
    }

    /// Returns `true` if events lack a scope.
    fn lack(self, scope: Scope) -> bool {
        self.0.get(scope as usize) == Some(&false)
    }
}

/// Returns a placeholder for a class that will be read.
fn nothing() -> Arc<FieldClass> {
    Arc::new(FieldClass::new(FieldKind::Null { alignment: 1 }))
}

/// Returns the kind with a name, without its properties. Returns `None` for an unknown name.
fn kind(name: &str) -> Option<FieldKind> {
    let bits = BitField::new(8, ByteOrder::LittleEndian, 8);
    let variable = |value| FieldKind::VariableLength { value, alignment: 8 };
    let length = Length::Static(0);
    let kinds: [FieldKind; 18] = [
        FieldKind::BitArray(bits),
        FieldKind::BitMap { bits, flags: Mappings::default() },
        FieldKind::Boolean(bits),
        FieldKind::Integer { bits, integer: IntegerProperties::default() },
        FieldKind::Float(bits),
        variable(VariableLengthValue::BitArray),
        variable(VariableLengthValue::Boolean),
        variable(VariableLengthValue::Integer(IntegerProperties::default())),
        FieldClass::string().kind,
        FieldKind::Blob { length: length.clone(), media_type: String::new(), alignment: 8 },
        FieldClass::guid().kind,
        FieldClass::structure([]).kind,
        FieldKind::Array { element: nothing(), length, minimum_alignment: 1, element_aligns: true },
        FieldKind::Optional { field: nothing(), selector: FieldLocation::by_values().into(), ranges: None },
        FieldKind::Variant { options: Vec::new(), selector: FieldLocation::by_values().into(), alignment: 1 },
        FieldKind::Union { members: Vec::new(), alignment: 1 },
        FieldKind::Null { alignment: 1 },
        FieldKind::Padding(bits),
    ];
    kinds.into_iter().map(FieldClass::new).find(|class| class.type_name() == name).map(|class| class.kind)
}

impl FieldClassCodec<'_> {
    /// Reads a class from an object.
    pub(crate) fn read(self, value: &Value) -> DescriptionResult<FieldClass> {
        let name = text(value, "type").ok_or("a field class without `type`")?;
        let kind = kind(name).ok_or_else(|| format!("a field class of the unknown type `{name}`"))?;
        let mut class = FieldClass::new(kind);
        self.class_members(&mut Members::Read(value), &mut class)?;
        Ok(class)
    }

    /// Writes a class as an object. Omits the usual values.
    pub(crate) fn write(self, place: ValueWriter<'_>, class: &FieldClass) {
        let mut object = place.object();
        object.member("type").string(class.type_name());
        // Members only fail when reading.
        let _ = self.class_members(&mut Members::Write(&mut object), &mut class.clone());
        object.end();
    }

    fn class_members(self, m: &mut Members<'_, '_>, class: &mut FieldClass) -> DescriptionResult<()> {
        // Event lines omit an absent field, so it needs no selector.
        let needs_selector = m.is_read() || !class.is_shown_if_present();
        match &mut class.kind {
            FieldKind::BitArray(bits) | FieldKind::Boolean(bits) | FieldKind::Padding(bits) => {
                layout(m, bits)?
            }
            FieldKind::BitMap { bits, flags } => {
                layout(m, bits)?;
                mappings(m, "flags", flags, &mut Vec::new())?;
            }
            FieldKind::Integer { bits, integer: properties } => {
                layout(m, bits)?;
                integer(m, properties)?;
            }
            FieldKind::Float(bits) => float(m, bits)?,
            FieldKind::VariableLength { value, alignment } => variable_length(m, value, alignment)?,
            FieldKind::String { encoding, length, alignment } => {
                self.string(m, encoding, length, alignment)?
            }
            FieldKind::Blob { length, media_type, alignment } => {
                self.length(m, length)?;
                m.text("media_type", media_type, "application/octet-stream");
                byte_alignment(m, alignment)?;
            }
            FieldKind::Guid { alignment } => {
                m.alignment("alignment", alignment, 8)?;
                activity_process(m, &mut class.activity_paths)?;
            }
            FieldKind::Structure { members, minimum_alignment } => {
                m.alignment("minimum_alignment", minimum_alignment, 8)?;
                self.members(m, members)?;
            }
            FieldKind::Array { element, length, minimum_alignment, element_aligns } => {
                self.length(m, length)?;
                m.alignment("minimum_alignment", minimum_alignment, 1)?;
                m.flag("element_aligns", element_aligns, true);
                self.inner(m, "element", element, "an array")?;
            }
            FieldKind::Optional { field, selector, ranges } => {
                if needs_selector {
                    self.selector_ranges(m, selector, ranges)?;
                }
                self.inner(m, "field", field, "an optional")?;
            }
            FieldKind::Variant { options, selector, alignment } => {
                self.location(m, "selector", selector)?;
                m.alignment("alignment", alignment, 1)?;
                self.options(m, options)?;
            }
            FieldKind::Union { members, alignment } => {
                m.alignment("alignment", alignment, 1)?;
                self.members(m, members)?;
            }
            FieldKind::Null { alignment } => m.alignment("alignment", alignment, 1)?,
            _ => {}
        }
        self.roles(m, class);
        m.attributes(&mut class.attributes);
        Ok(())
    }

    /// Member with an inner class.
    fn inner(
        self,
        m: &mut Members<'_, '_>,
        name: &'static str,
        class: &mut Arc<FieldClass>,
        what: &str,
    ) -> DescriptionResult<()> {
        match m {
            Members::Read(source) => {
                let value = source.get(name).ok_or_else(|| format!("{what} without `{name}`"))?;
                *class = Arc::new(self.read(value)?);
            }
            Members::Write(object) => self.write(object.member(name), class),
        }
        Ok(())
    }

    fn members(self, m: &mut Members<'_, '_>, members: &mut Vec<Member>) -> DescriptionResult<()> {
        let make = || Member::new("", nothing());
        let is_there = m.objects("members", members, make, |m, member| {
            m.needed_text("name", &mut member.name, "a member")?;
            let mut raw_name = member.has_underscore.then(|| member.location_name().into_owned());
            m.optional_text("raw_name", &mut raw_name);
            member.has_underscore = raw_name.is_some();
            self.inner(m, "class", &mut member.class, "a member")?;
            m.attributes(&mut member.attributes);
            Ok(())
        })?;
        if is_there { Ok(()) } else { Err("no `members`".to_owned()) }
    }

    /// Selector of an optional, and the selector values with which the field is present.
    fn selector_ranges(
        self,
        m: &mut Members<'_, '_>,
        selector: &mut FieldLocation,
        ranges: &mut Option<RangeSet>,
    ) -> DescriptionResult<()> {
        self.location(m, "selector", selector)?;
        if m.source().is_some_and(|source| source.get("ranges").is_some()) {
            *ranges = Some(RangeSet(Vec::new())).filter(|_| !selector.is_by_values());
        }
        match ranges {
            Some(ranges) => m.ranges("ranges", ranges),
            None => Ok(()),
        }
    }

    fn options(self, m: &mut Members<'_, '_>, options: &mut Vec<VariantOption>) -> DescriptionResult<()> {
        let make = || VariantOption {
            name: None,
            class: nothing(),
            ranges: RangeSet(Vec::new()),
            attributes: Attributes::default(),
        };
        let is_there = m.objects("options", options, make, |m, option| {
            m.ranges("ranges", &mut option.ranges)?;
            m.optional_text("name", &mut option.name);
            self.inner(m, "class", &mut option.class, "an option")?;
            m.attributes(&mut option.attributes);
            Ok(())
        })?;
        if is_there { Ok(()) } else { Err("no `options`".to_owned()) }
    }

    fn string(
        self,
        m: &mut Members<'_, '_>,
        encoding: &mut StringEncoding,
        length: &mut StringLength,
        alignment: &mut u64,
    ) -> DescriptionResult<()> {
        let mut unusual = Some(*encoding).filter(|encoding| *encoding != StringEncoding::Utf8);
        m.named("encoding", &mut unusual, &StringEncoding::ALL, StringEncoding::name, "encoding")?;
        *encoding = unusual.unwrap_or(StringEncoding::Utf8);
        self.string_length(m, length)?;
        m.alignment("alignment", alignment, 8)?;
        // Only strings with a length can start within a byte.
        let has_length = matches!(length, StringLength::Static(_) | StringLength::Dynamic(_));
        *alignment = (*alignment).max(if has_length { 1 } else { 8 });
        Ok(())
    }

    fn length(self, m: &mut Members<'_, '_>, length: &mut Length) -> DescriptionResult<()> {
        if let Some(source) = m.source() {
            *length = match source.get("length") {
                Some(_) => Length::Static(0),
                None => Length::Dynamic(Box::new(FieldLocation::by_values())),
            };
        }
        match length {
            Length::Static(length) => m.number("length", length, "a field"),
            Length::Dynamic(location) => self.location(m, "length_field", location),
        }
    }

    fn string_length(self, m: &mut Members<'_, '_>, length: &mut StringLength) -> DescriptionResult<()> {
        if let Some(source) = m.source() {
            *length = match source.get("length") {
                None if source.get("length_prefix").is_some() => {
                    StringLength::Prefixed { length: BitField::new(8, ByteOrder::LittleEndian, 8), gap: 0 }
                }
                None => StringLength::NullTerminated,
                Some(Value::Text(length)) if length == "dynamic" => {
                    StringLength::Dynamic(Box::new(FieldLocation::by_values()))
                }
                Some(_) => StringLength::Static(0),
            };
        }
        match length {
            StringLength::NullTerminated => Ok(()),
            StringLength::Static(bytes) => m.number("length", bytes, "a string"),
            StringLength::Dynamic(location) => {
                m.constant("length", "dynamic");
                self.location(m, "length_field", location)
            }
            StringLength::Prefixed { length, gap } => m.object("length_prefix", |m| {
                m.constant("type", "integer");
                layout(m, length)?;
                m.usual_number("gap", gap, 0)
            }),
        }
    }

    /// Location of a selector or length field.
    fn location(
        self,
        m: &mut Members<'_, '_>,
        name: &'static str,
        location: &mut FieldLocation,
    ) -> DescriptionResult<()> {
        match m {
            Members::Read(source) if source.get(name).is_none() || !self.with_selectors => return Ok(()),
            Members::Write(_) if location.is_by_values() => return Ok(()),
            _ => {}
        }
        m.object(name, |m| {
            path(m, &mut location.path);
            m.named("origin", &mut location.origin, &Scope::ALL, Scope::name, "scope")?;
            m.flag("any_option", &mut location.any_option, false);
            Ok(())
        })?;
        if m.is_read() && location.origin.is_some_and(|origin| self.scopes.lack(origin)) {
            *location = FieldLocation::by_values();
        }
        Ok(())
    }

    /// Roles and clock of a class.
    fn roles(self, m: &mut Members<'_, '_>, class: &mut FieldClass) {
        let clock = class.roles.clock.and_then(|index| self.clocks.get(usize::from(index)));
        let mut id = clock.map(|clock| clock.id.clone());
        match m {
            Members::Read(source) => {
                if let Some(Value::Array(names)) = source.get("roles") {
                    let role =
                        |name: &Value| Role::ALL.into_iter().find(|role| Some(role.name()) == name.as_text());
                    class.roles = names.iter().filter_map(role).collect();
                }
            }
            Members::Write(object) if !class.roles.is_empty() => {
                object.member("roles").strings(class.roles.iter().map(Role::name));
            }
            Members::Write(_) => {}
        }
        m.optional_text("clock", &mut id);
        let index = id.and_then(|id| self.clocks.iter().position(|clock| clock.id == id));
        class.roles.clock = index.and_then(|index| u16::try_from(index).ok());
    }
}

/// Steps of a location: names, or null for the parent structure.
fn path(m: &mut Members<'_, '_>, path: &mut Vec<LocationStep>) {
    match m {
        Members::Read(source) => {
            if let Some(Value::Array(steps)) = source.get("path") {
                let step = |step: &Value| match step {
                    Value::Text(name) => LocationStep::Member(name.clone()),
                    _ => LocationStep::Parent,
                };
                *path = steps.iter().map(step).collect();
            }
        }
        Members::Write(object) => write_path(object.member("path"), path),
    }
}

/// Alignment of a field that starts at a byte boundary.
fn byte_alignment(m: &mut Members<'_, '_>, alignment: &mut u64) -> DescriptionResult<()> {
    m.alignment("alignment", alignment, 8)?;
    *alignment = (*alignment).max(8);
    Ok(())
}

fn variable_length(
    m: &mut Members<'_, '_>,
    value: &mut VariableLengthValue,
    alignment: &mut u64,
) -> DescriptionResult<()> {
    if let VariableLengthValue::Integer(properties) = value {
        integer(m, properties)?;
    }
    byte_alignment(m, alignment)
}

fn activity_process(m: &mut Members<'_, '_>, paths: &mut Option<ActivityPaths>) -> DescriptionResult<()> {
    let mut process = paths.map(|paths| paths.process);
    m.optional_number("activity_process", &mut process)?;
    *paths = process.map(|process| ActivityPaths { process });
    Ok(())
}

fn float(m: &mut Members<'_, '_>, bits: &mut BitField) -> DescriptionResult<()> {
    layout(m, bits)?;
    let is_known = matches!(bits.length, 16 | 32 | 64) || bits.length >= 128 && bits.length % 32 == 0;
    match m.is_read() && !is_known {
        true => Err(format!("a floating-point number of {} bits", bits.length)),
        false => Ok(()),
    }
}

/// Length, alignment, byte order and bit order.
fn layout(m: &mut Members<'_, '_>, bits: &mut BitField) -> DescriptionResult<()> {
    /// Maximum number of bits.
    const MOST: u64 = 1 << 16;
    m.number("length", &mut bits.length, "bits")?;
    if m.is_read() && (bits.length == 0 || bits.length > MOST) {
        return Err(format!("a length of {} bits", bits.length));
    }
    let mut order = Some(bits.byte_order).filter(|order| *order != ByteOrder::LittleEndian);
    m.named("byte_order", &mut order, &ByteOrder::ALL, ByteOrder::name, "byte order")?;
    let mut bit_order = Some(bits.bit_order).filter(|_| bits.is_reversed());
    m.named("bit_order", &mut bit_order, &BitOrder::ALL, BitOrder::name, "bit order")?;
    m.alignment("alignment", &mut bits.alignment, 8)?;
    *bits = BitField::new(bits.length, order.unwrap_or(ByteOrder::LittleEndian), bits.alignment);
    bits.bit_order = bit_order.unwrap_or(bits.bit_order);
    Ok(())
}

fn integer(m: &mut Members<'_, '_>, integer: &mut IntegerProperties) -> DescriptionResult<()> {
    m.flag("signed", &mut integer.signed, false);
    let mut radix = integer.preferred_base.radix();
    m.usual_number("preferred_display_base", &mut radix, DisplayBase::Decimal.radix())?;
    let base = DisplayBase::from_radix(radix);
    integer.preferred_base = base.ok_or_else(|| format!("an unknown display base {radix}"))?;
    if m.source().is_some_and(|source| source.get("mappings").is_some()) {
        integer.mappings = Some(Mappings::default());
    }
    if let Some(names) = &mut integer.mappings {
        let mut wide = integer.wide_ranges.take().map_or_else(Vec::new, Arc::unwrap_or_clone);
        mappings(m, "mappings", names, &mut wide)?;
        integer.wide_ranges = (!wide.is_empty()).then(|| Arc::new(wide));
    }
    if m.source().map_or(integer.wall_clock.is_some(), |source| source.get("wall_clock").is_some()) {
        let clock = integer.wall_clock.unwrap_or(WallClock::UNIX_NANOSECONDS);
        let (mut epoch, mut frequency) = (clock.epoch_seconds(), clock.frequency());
        m.object("wall_clock", |m| {
            m.number_or("epoch_seconds", &mut epoch, 0)?;
            m.number_or("frequency", &mut frequency, 1_000_000_000)
        })?;
        integer.wall_clock = WallClock::new(epoch, frequency);
    }
    Ok(())
}

/// Name for integer or bit map values.
#[derive(Default)]
struct ValueLabel {
    name: String,
    ranges: RangeSet,
    wide: Vec<(WideInteger, WideInteger)>,
}

/// Label list. Not an object, because order counts, and a name may appear twice.
fn mappings(
    m: &mut Members<'_, '_>,
    name: &'static str,
    mappings: &mut Mappings,
    wide: &mut Vec<WideRange>,
) -> DescriptionResult<()> {
    let label = |mapping: Mapping<'_>| ValueLabel {
        name: mapping.name.to_owned(),
        ranges: RangeSet(mapping.ranges.iter().collect()),
        wide: Vec::new(),
    };
    let mut labels: Vec<ValueLabel> = mappings.iter().map(label).collect();
    for range in wide.drain(..) {
        if let Some(label) = labels.get_mut(range.mapping) {
            label.wide.push((range.lower, range.upper));
        }
    }
    m.objects(name, &mut labels, ValueLabel::default, |m, label| {
        m.needed_text("name", &mut label.name, "a mapping")?;
        m.ranges("ranges", &mut label.ranges)?;
        wide_ranges(m, &mut label.wide)
    })?;
    if m.is_read() {
        let mut builder = MappingsBuilder::default();
        for (mapping, label) in labels.into_iter().enumerate() {
            builder.add_name(&label.name);
            label.ranges.0.into_iter().for_each(|range| builder.add_range(range));
            let ranges = label.wide.into_iter();
            wide.extend(ranges.map(|(lower, upper)| WideRange { mapping, lower, upper }));
        }
        *mappings = builder.finish();
    }
    Ok(())
}

/// Ranges with more than 128 bits, as strings.
fn wide_ranges(
    m: &mut Members<'_, '_>,
    ranges: &mut Vec<(WideInteger, WideInteger)>,
) -> DescriptionResult<()> {
    match m {
        Members::Read(source) => {
            let Some(Value::Array(list)) = source.get("wide_ranges") else { return Ok(()) };
            for range in list {
                let bound = |index: usize| match range {
                    Value::Array(bounds) => WideInteger::parse(bounds.get(index)?.as_text()?, 10)
                        .filter(|bound| bound.bits() <= 1 << 16),
                    _ => None,
                };
                ranges.push(bound(0).zip(bound(1)).ok_or("a wide range that is not two integers")?);
            }
        }
        Members::Write(object) if !ranges.is_empty() => {
            let mut list = object.member("wide_ranges").array();
            for (lower, upper) in ranges {
                list.element().strings([lower.to_string(), upper.to_string()]);
            }
            list.end();
        }
        Members::Write(_) => {}
    }
    Ok(())
}
