//! Metadata rows: event descriptions.

use crate::wire::{Wire, push_property};
use crate::{FieldType, PayloadField};

/// Event description.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct EventMetadata {
    /// Id in event rows.
    pub id: u32,
    /// Provider name.
    pub provider: String,
    /// Number of the event within its provider.
    pub event_id: u32,
    /// Event name. Empty for native runtime events.
    pub name: String,
    /// Event groups: bits defined by the provider.
    pub keywords: u64,
    /// Event version.
    pub version: u32,
    /// Level: 1 (critical) to 5 (verbose), or 0 (always). `None` if missing, as version 6 allows.
    pub level: Option<u8>,
    /// Opcode: 1 starts an activity, 2 ends it. `None` if missing.
    pub opcode: Option<u8>,
    /// Payload fields. Empty if they are not described, even if the payload has fields.
    pub fields: Vec<PayloadField>,
    /// `true` if the field descriptions are invalid.
    pub has_unknown_fields: bool,
    /// Text with placeholders for fields, defined by the producer (version 6).
    pub message_template: Option<String>,
    /// Text for people (version 6).
    pub description: Option<String>,
    /// Provider GUID (version 6).
    pub provider_guid: Option<[u8; 16]>,
    /// Other properties (version 6).
    pub properties: Vec<(String, String)>,
}

// Type codes.
const OBJECT: u32 = 1;
const ARRAY: u32 = 19;

// Tags after the fields, up to version 5.
const TAG_OPCODE: u8 = 1;
const TAG_V2_PARAMS: u8 = 2;

/// Maximum type nesting. Not more than [`Limits`](ichnos_model::trace::Limits) allows for field classes.
const DEPTH: u32 = 32;

/// Maximum number of fields in an event, including nested fields. A field takes far more memory than its few bytes in
/// the file. Recorded events have at most some hundred fields.
const MOST_FIELDS: u32 = 10_000;

/// Remaining limits for a description.
struct RemainingFields {
    depth: u32,
    fields: u32,
}

impl RemainingFields {
    const ALL: Self = Self { depth: DEPTH, fields: MOST_FIELDS };

    /// Reads one level deeper. Returns `None` beyond the limit.
    fn within<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.depth = self.depth.checked_sub(1)?;
        let read = read(self);
        self.depth += 1;
        read
    }

    /// Counts a field. Returns `None` beyond the limit.
    fn take_field(&mut self) -> Option<()> {
        self.fields = self.fields.checked_sub(1)?;
        Some(())
    }
}

impl EventMetadata {
    /// Reads a metadata payload in versions 3 to 5. Returns `None` if it ends before the level.
    #[must_use]
    pub fn read(payload: &[u8]) -> Option<Self> {
        Self::read_tagged(payload).map(|(metadata, _)| metadata)
    }

    /// Reads a metadata payload in versions 3 to 5. Also returns the violated rule on its tags, if any.
    pub(crate) fn read_tagged(payload: &[u8]) -> Option<(Self, Option<&'static str>)> {
        let mut wire = Wire::new(payload);
        let mut metadata = Self {
            id: wire.u32()?,
            provider: wire.utf16_string()?,
            event_id: wire.u32()?,
            name: wire.utf16_string()?,
            keywords: wire.u64()?,
            version: wire.u32()?,
            level: Some(u8::try_from(wire.u32()?).unwrap_or(u8::MAX)),
            ..Self::default()
        };
        if wire.is_at_end() {
            return Some((metadata, None));
        }
        match fields(&mut wire, FieldOrder::TypeThenName, &mut { RemainingFields::ALL }) {
            Some(fields) => metadata.fields = fields,
            None => {
                metadata.has_unknown_fields = true;
                return Some((metadata, None));
            }
        }
        let mut broken = None;
        while let Some(size) = wire.length()
            && let Some(kind) = wire.u8()
        {
            let Some(tag) = wire.take(size) else {
                broken = Some("expected tags that end with the metadata row, found a longer tag");
                break;
            };
            match kind {
                TAG_OPCODE => metadata.opcode = Wire::new(tag).u8().or(metadata.opcode),
                TAG_V2_PARAMS => {
                    if !metadata.fields.is_empty() {
                        broken = Some("expected fields in front of the tags or in a tag, found both");
                    }
                    match tagged_fields(tag) {
                        Some(fields) => metadata.fields = fields,
                        None => metadata.has_unknown_fields = true,
                    }
                }
                // Newer versions have more tags.
                _ => {}
            }
        }
        Some((metadata, broken))
    }

    /// Reads a metadata row in version 6, without its size. Returns `None` if it is incomplete.
    #[must_use]
    pub fn read_v6(row: &[u8]) -> Option<Self> {
        let mut wire = Wire::new(row);
        let mut metadata = Self {
            id: wire.varuint32()?,
            provider: wire.string()?,
            event_id: wire.varuint32()?,
            name: wire.string()?,
            ..Self::default()
        };
        // Invalid fields cannot be skipped, because their size is unknown.
        match fields_v6(&mut wire, &mut { RemainingFields::ALL }) {
            Some(fields) => metadata.fields = fields,
            None => {
                metadata.has_unknown_fields = true;
                return Some(metadata);
            }
        }
        if let Some(size) = wire.u16()
            && let Some(optional) = wire.take(size.into())
        {
            // Unknown kinds have an unknown size, so nothing after them can be read.
            let mut optional = Wire::new(optional);
            while metadata.read_optional(&mut optional).is_some() {}
        }
        Some(metadata)
    }

    fn read_optional(&mut self, wire: &mut Wire<'_>) -> Option<()> {
        match wire.u8()? {
            1 => self.opcode = Some(wire.u8()?),
            3 => self.keywords = wire.u64()?,
            4 => self.message_template = Some(wire.string()?),
            5 => self.description = Some(wire.string()?),
            6 => push_property(&mut self.properties, (wire.string()?, wire.string()?)),
            7 => self.provider_guid = Some(wire.guid()?),
            8 => self.level = Some(wire.u8()?),
            9 => self.version = wire.u8()?.into(),
            _ => return None,
        }
        Some(())
    }

    /// Reads a version 6 metadata block's content. `row` receives the position of each row and its metadata.
    /// Returns the position of unreadable bytes, if any.
    pub fn read_block_v6(content: &[u8], mut row: impl FnMut(usize, Option<Self>)) -> Option<usize> {
        let mut wire = Wire::new(content);
        let header = wire.u16().and_then(|size| wire.take(size.into()));
        if header.is_none() {
            return Some(0);
        }
        while !wire.is_at_end() {
            let begin = wire.position();
            let Some(bytes) = wire.u16().and_then(|size| wire.take(size.into())) else { return Some(begin) };
            row(begin, Self::read_v6(bytes));
        }
        None
    }
}

impl EventMetadata {
    /// Approximate memory for this event kind, as measured: its class, its compiled plan, and the class for events with
    /// invalid payloads.
    pub(crate) fn memory(&self) -> u64 {
        const KIND: u64 = 6 << 10;
        const FIELD: u64 = 600;
        fn of_fields(fields: &[PayloadField]) -> u64 {
            fields.iter().map(|field| FIELD + TEXTS * field.name.len() as u64 + of_type(&field.kind)).sum()
        }
        fn of_type(kind: &FieldType) -> u64 {
            match kind {
                FieldType::Object(fields) => of_fields(fields),
                FieldType::Array(element)
                | FieldType::FixedLengthArray(element, _)
                | FieldType::RelLoc(element)
                | FieldType::DataLoc(element) => FIELD + of_type(element),
                _ => 0,
            }
        }
        /// Copies per text.
        const TEXTS: u64 = 8;
        let texts = [Some(&self.message_template), Some(&self.description)];
        let texts = texts.into_iter().flatten().flatten().map(String::len);
        let properties = self.properties.iter().map(|(name, value)| 32 + name.len() + value.len());
        let texts = texts.chain(properties).chain([self.provider.len(), self.name.len()]);
        KIND + TEXTS * texts.sum::<usize>() as u64 + of_fields(&self.fields)
    }

    /// Returns `true` if the number and depth of fields are typical for hand-written events.
    pub(crate) fn has_few_fields(&self) -> bool {
        fn count(fields: &[PayloadField], depth: u32) -> usize {
            fields.iter().map(|field| count_type(&field.kind, depth)).sum()
        }
        fn count_type(kind: &FieldType, depth: u32) -> usize {
            const TOO_MANY: usize = 1 << 20;
            let Some(depth) = depth.checked_sub(1) else { return TOO_MANY };
            1 + match kind {
                FieldType::Object(fields) => count(fields, depth),
                FieldType::Array(element)
                | FieldType::FixedLengthArray(element, _)
                | FieldType::RelLoc(element)
                | FieldType::DataLoc(element) => count_type(element, depth),
                _ => 0,
            }
        }
        count(&self.fields, 8) <= 200
    }
}

/// Order in which a field's name and type are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldOrder {
    TypeThenName,
    NameThenType,
    /// Type first, arrays allowed: the tag format in the document.
    WithArrays,
}

/// Reads the fields in a tag. The runtime writes names first, but the document has types first.
fn tagged_fields(tag: &[u8]) -> Option<Vec<PayloadField>> {
    let read = |order| fields(&mut Wire::new(tag), order, &mut { RemainingFields::ALL });
    read(FieldOrder::NameThenType).or_else(|| read(FieldOrder::WithArrays))
}

/// Reads the fields in an event or an object, versions 3 to 5.
fn fields(wire: &mut Wire<'_>, order: FieldOrder, left: &mut RemainingFields) -> Option<Vec<PayloadField>> {
    left.within(|left| {
        let count = wire.length()?;
        let mut fields = Vec::new();
        for _ in 0..count {
            left.take_field()?;
            fields.push(match order {
                FieldOrder::TypeThenName | FieldOrder::WithArrays => {
                    let kind = field_type(wire, order, left)?;
                    PayloadField::new(wire.utf16_string()?, kind)
                }
                FieldOrder::NameThenType => {
                    let begin = wire.position();
                    let size = wire.length()?;
                    let name = wire.utf16_string()?;
                    let kind = field_type(wire, order, left)?;
                    // Newer versions may have more bytes after the type.
                    let read = wire.position() - begin;
                    wire.take(size.checked_sub(read)?)?;
                    PayloadField::new(name, kind)
                }
            });
        }
        Some(fields)
    })
}

fn field_type(wire: &mut Wire<'_>, order: FieldOrder, left: &mut RemainingFields) -> Option<FieldType> {
    left.within(|left| {
        Some(match wire.u32()? {
            OBJECT => FieldType::Object(fields(wire, order, left)?),
            ARRAY if order != FieldOrder::TypeThenName => {
                FieldType::Array(Box::new(field_type(wire, order, left)?))
            }
            code => scalar(code, false)?,
        })
    })
}

/// Reads the fields in an event or an object, version 6.
fn fields_v6(wire: &mut Wire<'_>, left: &mut RemainingFields) -> Option<Vec<PayloadField>> {
    left.within(|left| {
        let count = wire.u16()?;
        let mut fields = Vec::new();
        for _ in 0..count {
            left.take_field()?;
            let size = wire.u16()?;
            let mut field = Wire::new(wire.take(size.into())?);
            fields.push(PayloadField::new(field.string()?, type_v6(&mut field, left)?));
        }
        Some(fields)
    })
}

fn type_v6(wire: &mut Wire<'_>, left: &mut RemainingFields) -> Option<FieldType> {
    left.within(|left| {
        let mut element = |wire: &mut Wire<'_>| type_v6(wire, left).map(Box::new);
        Some(match wire.u8()? {
            1 => FieldType::Object(fields_v6(wire, left)?),
            19 => FieldType::Array(element(wire)?),
            22 => {
                let element = element(wire)?;
                FieldType::FixedLengthArray(element, wire.u16()?)
            }
            24 => FieldType::RelLoc(element(wire)?),
            25 => FieldType::DataLoc(element(wire)?),
            code => scalar(code.into(), true)?,
        })
    })
}

fn scalar(code: u32, is_v6: bool) -> Option<FieldType> {
    Some(match code {
        3 => FieldType::Boolean32,
        4 => FieldType::Char,
        5 => FieldType::I8,
        6 => FieldType::U8,
        7 => FieldType::I16,
        8 => FieldType::U16,
        9 => FieldType::I32,
        10 => FieldType::U32,
        11 => FieldType::I64,
        12 => FieldType::U64,
        13 => FieldType::F32,
        14 => FieldType::F64,
        15 => FieldType::Decimal,
        16 => FieldType::FileTime,
        17 => FieldType::Guid,
        18 => FieldType::Utf16String,
        20 if is_v6 => FieldType::VarInt,
        21 if is_v6 => FieldType::VarUInt,
        23 if is_v6 => FieldType::Utf8CodeUnit,
        26 if is_v6 => FieldType::Boolean8,
        _ => return None,
    })
}
