//! Field classes of the member `fields` of lines.

use std::sync::Arc;

use ichnos_model::{
    ActivityPaths, Attributes, BitField, BitOrder, ByteOrder, DisplayBase, FieldClass, FieldKind,
    FieldLocation, IntegerProperties, IntegerRange, Length, LocationStep, Mappings, MappingsBuilder, Member,
    RangeSet, Role, Roles, Scope, StringEncoding, StringLength, Value, VariableLengthValue, VariantOption,
    WallClock, WideInteger, WideRange,
};

/// Builds field classes from their descriptions in lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Classes<'a> {
    /// Ids of the clocks of the trace.
    pub(crate) clocks: &'a [String],
    /// `true` if fields keep selectors and length fields; otherwise values determine options and lengths.
    pub(crate) with_selectors: bool,
    /// Scopes of packets and data streams that lines have: fields in others select nothing here.
    pub(crate) scopes: StreamScopes,
}

/// Scopes that all events of a data stream have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamScopes([bool; 4]);

impl StreamScopes {
    const ALL: [(Scope, &str); 4] = [
        (Scope::PacketHeader, "packet_header"),
        (Scope::PacketContext, "context"),
        (Scope::EventRecordHeader, "header"),
        (Scope::CommonContext, "common_context"),
    ];

    /// Returns the scopes in the member `fields` of a data stream class.
    pub(crate) fn of(fields: Option<&Value>) -> Self {
        Self(Self::ALL.map(|(_, name)| fields.and_then(|fields| fields.get(name)).is_some()))
    }

    /// Returns `true` if events do not have a scope.
    fn lack(self, scope: Scope) -> bool {
        Self::ALL.iter().zip(self.0).any(|((known, _), is_there)| *known == scope && !is_there)
    }
}

/// A result, or the fault of a description.
pub(crate) type Made<T> = Result<T, String>;

impl Classes<'_> {
    /// Returns the class that an object describes.
    pub(crate) fn class(self, value: &Value) -> Made<FieldClass> {
        let kind = text(value, "type").ok_or("a field class without `type`")?;
        let kind = match kind {
            "bit-array" => FieldKind::BitArray(bits(value)?),
            "bit-map" => {
                let (flags, _) = mappings(value.get("flags"))?;
                FieldKind::BitMap { bits: bits(value)?, flags }
            }
            "boolean" => FieldKind::Boolean(bits(value)?),
            "integer" => FieldKind::Integer { bits: bits(value)?, integer: integer(value)? },
            "float" => {
                let bits = bits(value)?;
                if !matches!(bits.length, 16 | 32 | 64) && (bits.length < 128 || bits.length % 32 != 0) {
                    return Err(format!("a floating-point number of {} bits", bits.length));
                }
                FieldKind::Float(bits)
            }
            "variable-length-bit-array" => variable(value, VariableLengthValue::BitArray)?,
            "variable-length-boolean" => variable(value, VariableLengthValue::Boolean)?,
            "variable-length-integer" => variable(value, VariableLengthValue::Integer(integer(value)?))?,
            "string" => {
                let encoding = match text(value, "encoding") {
                    None => StringEncoding::Utf8,
                    Some(name) => encoding(name).ok_or_else(|| format!("an unknown encoding `{name}`"))?,
                };
                let length = match value.get("length") {
                    None if value.get("length_prefix").is_some() => {
                        let prefix = value.get("length_prefix").unwrap_or(&Value::Null);
                        StringLength::Prefixed {
                            length: bits(prefix)?,
                            gap: number(prefix, "gap")?.unwrap_or_default(),
                        }
                    }
                    None => StringLength::NullTerminated,
                    Some(Value::Text(length)) if length == "dynamic" => {
                        StringLength::Dynamic(Box::new(self.location(value, "length_field")?))
                    }
                    Some(_) => StringLength::Static(number(value, "length")?.unwrap_or_default()),
                };
                // Strings with a length can begin within a byte, others cannot.
                let least = match length {
                    StringLength::Static(_) | StringLength::Dynamic(_) => 1,
                    _ => 8,
                };
                let alignment = alignment(value, "alignment", 8)?.max(least);
                FieldKind::String { encoding, length, alignment }
            }
            "blob" => FieldKind::Blob {
                length: self.length(value)?,
                media_type: text(value, "media_type").unwrap_or("application/octet-stream").to_owned(),
                alignment: alignment(value, "alignment", 8)?.max(8),
            },
            "guid" => FieldKind::Guid { alignment: alignment(value, "alignment", 8)? },
            "structure" => FieldKind::Structure {
                members: self.members(value)?,
                minimum_alignment: alignment(value, "minimum_alignment", 8)?,
            },
            "array" => FieldKind::Array {
                element: Arc::new(self.class(value.get("element").ok_or("an array without `element`")?)?),
                length: self.length(value)?,
                minimum_alignment: alignment(value, "minimum_alignment", 1)?,
                element_aligns: !matches!(value.get("element_aligns"), Some(Value::Boolean(false))),
            },
            "optional" => {
                let selector = Box::new(self.location(value, "selector")?);
                let ranges = value.get("ranges").filter(|_| !selector.is_of_values());
                FieldKind::Optional {
                    field: Arc::new(self.class(value.get("field").ok_or("an optional without `field`")?)?),
                    ranges: ranges.map(|ranges| range_set(Some(ranges))).transpose()?,
                    selector,
                }
            }
            "variant" => FieldKind::Variant {
                options: self.options(value)?,
                selector: Box::new(self.location(value, "selector")?),
                alignment: alignment(value, "alignment", 1)?,
            },
            "union" => FieldKind::Union {
                members: self.members(value)?,
                alignment: alignment(value, "alignment", 1)?,
            },
            "null" => FieldKind::Null { alignment: alignment(value, "alignment", 1)? },
            "padding" => FieldKind::Padding(bits(value)?),
            other => return Err(format!("a field class of the unknown type `{other}`")),
        };
        let mut class = FieldClass::new(kind);
        class.attributes = attributes(value.get("attributes"));
        class.roles = roles(value);
        if matches!(class.kind, FieldKind::Guid { .. }) {
            let process = number(value, "activity_process")?;
            class.activity_paths = process.map(|process| ActivityPaths { process });
        }
        if let Some(id) = text(value, "clock") {
            let index = self.clocks.iter().position(|clock| clock == id);
            class.roles.clock = index.and_then(|index| u16::try_from(index).ok());
        }
        Ok(class)
    }

    fn members(self, value: &Value) -> Made<Vec<Member>> {
        let Some(Value::Array(members)) = value.get("members") else { return Err("no `members`".to_owned()) };
        let member = |value: &Value| {
            let name = text(value, "name").ok_or("a member without `name`")?;
            let class = self.class(value.get("class").ok_or("a member without `class`")?)?;
            let mut member = Member::new(name, class);
            member.has_underscore = text(value, "raw_name").is_some();
            member.attributes = attributes(value.get("attributes"));
            Ok(member)
        };
        members.iter().map(member).collect()
    }

    fn options(self, value: &Value) -> Made<Vec<VariantOption>> {
        let Some(Value::Array(options)) = value.get("options") else { return Err("no `options`".to_owned()) };
        let option = |value: &Value| {
            Ok(VariantOption {
                name: text(value, "name").map(str::to_owned),
                class: Arc::new(self.class(value.get("class").ok_or("an option without `class`")?)?),
                ranges: range_set(value.get("ranges"))?,
                attributes: attributes(value.get("attributes")),
            })
        };
        options.iter().map(option).collect()
    }

    fn length(self, value: &Value) -> Made<Length> {
        Ok(match number(value, "length")? {
            Some(length) => Length::Static(length),
            None => Length::Dynamic(Box::new(self.location(value, "length_field")?)),
        })
    }

    /// Returns the location of a selector or a length.
    fn location(self, value: &Value, name: &str) -> Made<FieldLocation> {
        let Some(selector) = value.get(name).filter(|_| self.with_selectors) else {
            return Ok(FieldLocation::of_values());
        };
        let mut location = FieldLocation::of_values();
        if let Some(name) = text(selector, "origin") {
            let origin = Scope::ALL.into_iter().find(|scope| scope.name() == name);
            location.origin = Some(origin.ok_or_else(|| format!("an unknown scope `{name}`"))?);
        }
        if location.origin.is_some_and(|origin| self.scopes.lack(origin)) {
            return Ok(FieldLocation::of_values());
        }
        if let Some(Value::Array(path)) = selector.get("path") {
            let step = |step: &Value| match step {
                Value::Text(name) => LocationStep::Member(name.clone()),
                _ => LocationStep::Parent,
            };
            location.path = path.iter().map(step).collect();
        }
        location.any_option = matches!(selector.get("any_option"), Some(Value::Boolean(true)));
        Ok(location)
    }
}

/// Returns the text of a member of an object.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_text()
}

/// Reads an integer from a number, or from a string of its digits.
pub(crate) fn integer_of(value: &Value) -> Option<i128> {
    match value {
        Value::Integer(integer) => Some(*integer),
        Value::Text(text) => text.parse().ok(),
        // An identifier of more than 64 bits.
        Value::Map(_) => value.get("$int")?.as_text()?.parse().ok(),
        _ => None,
    }
}

/// Returns the number in a member of an object, if it has that.
pub(crate) fn number<T: TryFrom<i128>>(value: &Value, name: &str) -> Made<Option<T>> {
    let Some(value) = value.get(name) else { return Ok(None) };
    let number = integer_of(value).and_then(|integer| T::try_from(integer).ok());
    number.map(Some).ok_or_else(|| format!("a value of `{name}` that is not an integer of its range"))
}

/// Returns attributes unchanged.
pub(crate) fn attributes(value: Option<&Value>) -> Attributes {
    match value {
        Some(Value::Map(entries)) => entries.iter().cloned().collect(),
        _ => Attributes::default(),
    }
}

/// Returns the encoding of a name.
pub(crate) fn encoding(name: &str) -> Option<StringEncoding> {
    use StringEncoding::{Utf8, Utf16Be, Utf16Le, Utf32Be, Utf32Le};
    [Utf8, Utf16Be, Utf16Le, Utf32Be, Utf32Le].into_iter().find(|encoding| encoding.name() == name)
}

fn alignment(value: &Value, name: &str, usual: u64) -> Made<u64> {
    let alignment = number(value, name)?.unwrap_or(usual);
    if u64::is_power_of_two(alignment) {
        Ok(alignment)
    } else {
        Err(format!("`{name}` that is not a power of two"))
    }
}

fn bits(value: &Value) -> Made<BitField> {
    /// Maximum number of bits.
    const MOST: u64 = 1 << 16;
    let length = number(value, "length")?.ok_or("bits without `length`")?;
    if length == 0 || length > MOST {
        return Err(format!("a length of {length} bits"));
    }
    let order = match text(value, "byte_order") {
        None | Some("little-endian") => ByteOrder::LittleEndian,
        Some("big-endian") => ByteOrder::BigEndian,
        Some(other) => return Err(format!("an unknown byte order `{other}`")),
    };
    let mut bits = BitField::new(length, order, alignment(value, "alignment", 8)?);
    match text(value, "bit_order") {
        None => {}
        Some("first-to-last") => bits.bit_order = BitOrder::FirstToLast,
        Some("last-to-first") => bits.bit_order = BitOrder::LastToFirst,
        Some(other) => return Err(format!("an unknown bit order `{other}`")),
    }
    Ok(bits)
}

fn variable(value: &Value, kind: VariableLengthValue) -> Made<FieldKind> {
    Ok(FieldKind::VariableLength { value: kind, alignment: alignment(value, "alignment", 8)?.max(8) })
}

fn integer(value: &Value) -> Made<IntegerProperties> {
    let mut integer = IntegerProperties {
        signed: matches!(value.get("signed"), Some(Value::Boolean(true))),
        ..IntegerProperties::default()
    };
    if let Some(radix) = number(value, "preferred_display_base")? {
        let base = DisplayBase::from_radix(radix);
        integer.preferred_base = base.ok_or_else(|| format!("an unknown display base {radix}"))?;
    }
    if let Some(found) = value.get("mappings") {
        let (mappings, wide) = mappings(Some(found))?;
        integer.mappings = Some(mappings);
        integer.wide_ranges = (!wide.is_empty()).then(|| Arc::new(wide));
    }
    if let Some(clock) = value.get("wall_clock") {
        let epoch = number(clock, "epoch_seconds")?.unwrap_or_default();
        let frequency = number(clock, "frequency")?.unwrap_or(1_000_000_000);
        integer.wall_clock = WallClock::new(epoch, frequency);
    }
    Ok(integer)
}

fn mappings(value: Option<&Value>) -> Made<(Mappings, Vec<WideRange>)> {
    let mut builder = MappingsBuilder::default();
    let mut wide = Vec::new();
    let list = match value {
        Some(Value::Array(list)) => &list[..],
        _ => &[],
    };
    for (index, mapping) in list.iter().enumerate() {
        builder.add_name(text(mapping, "name").ok_or("a mapping without `name`")?);
        for range in range_set(mapping.get("ranges"))?.0 {
            builder.add_range(range);
        }
        if let Some(Value::Array(ranges)) = mapping.get("wide_ranges") {
            for range in ranges {
                let bound = |index: usize| match range {
                    Value::Array(bounds) => WideInteger::parse(bounds.get(index)?.as_text()?, 10)
                        .filter(|bound| bound.bits() <= 1 << 16),
                    _ => None,
                };
                let (Some(lower), Some(upper)) = (bound(0), bound(1)) else {
                    return Err("a wide range that is not two integers".to_owned());
                };
                wide.push(WideRange { mapping: index, lower, upper });
            }
        }
    }
    Ok((builder.finish(), wide))
}

fn range_set(value: Option<&Value>) -> Made<RangeSet> {
    let ranges = match value {
        Some(Value::Array(ranges)) => &ranges[..],
        _ => &[],
    };
    let range = |range: &Value| {
        let bound = |index: usize| match range {
            Value::Array(bounds) => integer_of(bounds.get(index)?),
            _ => None,
        };
        let (lower, upper) = bound(0).zip(bound(1)).ok_or("a range that is not two integers")?;
        Ok(IntegerRange { lower, upper })
    };
    ranges.iter().map(range).collect::<Made<_>>().map(RangeSet)
}

fn roles(value: &Value) -> Roles {
    let Some(Value::Array(names)) = value.get("roles") else { return Roles::NONE };
    let role = |name: &Value| Role::ALL.into_iter().find(|role| Some(role.name()) == name.as_text());
    names.iter().filter_map(role).collect()
}
