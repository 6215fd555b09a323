//! Random field class trees: decoding must return the values encoded by these tests.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use ichnos_model::class::{
    BitField, BitOrder, ByteOrder, DataStreamClass, EventRecordClass, FieldClass, FieldKind, FieldLocation,
    IntegerProperties, IntegerRange, Length, Mappings, Member, RangeSet, StringLength, VariableLengthValue,
    VariantOption,
};
use ichnos_model::decode::{
    DecodeError, DecodeErrorKind, DecodeLimits, PacketBits, Position, UNKNOWN, read_bits,
};
use ichnos_model::field::{Skip, StringEncoding};
use ichnos_model::plan::{Plan, TracePlans};
use ichnos_model::trace::Limits;
use ichnos_model::{Scope, TraceClass};
use ichnos_testing::Random;
use proptest::prelude::*;

use crate::reading::{FieldCollector, FieldTexts};
use ichnos_testing::encoder::{Encoder, Order, bits, decimal, hex};

/// A field on which other fields may depend.
#[derive(Clone)]
struct NeededField {
    path: Vec<String>,
    kind: NeededKind,
}

#[derive(Clone, Copy, PartialEq)]
enum NeededKind {
    Length,
    Boolean,
    Selector,
}

/// Creates classes.
struct ClassGenerator {
    random: Random,
    order: ByteOrder,
    names: usize,
    /// Remaining number of classes to create.
    budget: usize,
}

fn class(kind: FieldKind) -> Arc<FieldClass> {
    Arc::new(FieldClass::new(kind))
}

impl ClassGenerator {
    fn alignment(&mut self, least: u64) -> u64 {
        if self.random.percent(60) { least } else { least.max(1 << self.random.below(7)) }
    }

    fn bits(&mut self, length: u64) -> BitField {
        let mut alignment = self.alignment(1);
        let mut byte_order = self.order;
        if self.random.percent(15) {
            // The other byte order: usually where it may change.
            byte_order = match byte_order {
                ByteOrder::LittleEndian => ByteOrder::BigEndian,
                ByteOrder::BigEndian => ByteOrder::LittleEndian,
            };
            if self.random.percent(95) {
                alignment = alignment.max(8);
            }
        }
        let mut bits = BitField::new(length, byte_order, alignment);
        if self.random.percent(20) {
            bits.bit_order = self.random.pick(&[BitOrder::FirstToLast, BitOrder::LastToFirst]);
        }
        bits
    }

    fn length(&mut self) -> u64 {
        match self.random.below(4) {
            0 => 1 + self.random.below(200),
            1 => self.random.pick(&[8, 16, 32, 64]),
            _ => 1 + self.random.below(64),
        }
    }

    fn integer(&mut self, signed: bool) -> IntegerProperties {
        IntegerProperties { signed, ..IntegerProperties::default() }
    }

    fn location(&mut self, known: &[NeededField], kind: NeededKind) -> Option<FieldLocation> {
        let fitting: Vec<&NeededField> = known.iter().filter(|needed| needed.kind == kind).collect();
        if fitting.is_empty() {
            return None;
        }
        let index = self.random.below(fitting.len() as u64) as usize;
        Some(FieldLocation::absolute(Scope::Payload, fitting[index].path.clone()))
    }

    fn leaf(&mut self) -> FieldKind {
        let length = self.length();
        match self.random.below(10) {
            0 => FieldKind::BitArray(self.bits(length)),
            1 => FieldKind::BitMap { bits: self.bits(length), flags: Mappings::default() },
            2 => FieldKind::Boolean(self.bits(length)),
            3 => {
                let length = self.random.pick(&[16, 32, 64, 128]);
                FieldKind::Float(self.bits(length))
            }
            4 => {
                let value = match self.random.below(4) {
                    0 => VariableLengthValue::BitArray,
                    1 => VariableLengthValue::Boolean,
                    n => VariableLengthValue::Integer(self.integer(n == 2)),
                };
                FieldKind::VariableLength { value, alignment: self.alignment(8) }
            }
            5 => {
                let encoding = self.random.pick(&[
                    StringEncoding::Utf8,
                    StringEncoding::Utf16Be,
                    StringEncoding::Utf16Le,
                    StringEncoding::Utf32Be,
                    StringEncoding::Utf32Le,
                ]);
                let length = match self.random.percent(50) {
                    true => StringLength::NullTerminated,
                    false => StringLength::Static(self.random.below(5) * encoding.unit() as u64),
                };
                FieldKind::String { encoding, length, alignment: self.alignment(8) }
            }
            6 => {
                let length = Length::Static(self.random.below(5));
                FieldKind::Blob { length, media_type: String::new(), alignment: self.alignment(8) }
            }
            7 => FieldKind::Null { alignment: self.alignment(1) },
            n => {
                let signed = n == 8;
                FieldKind::Integer { bits: self.bits(length), integer: self.integer(signed) }
            }
        }
    }

    fn any(&mut self, depth: u32, path: &[String], known: &[NeededField]) -> FieldKind {
        self.budget = self.budget.saturating_sub(1);
        if depth == 0 || self.budget == 0 || self.random.percent(45) {
            return self.leaf();
        }
        match self.random.below(8) {
            0 => self.structure(depth - 1, path, known).0,
            n @ (1 | 2) => {
                let length = match self.location(known, NeededKind::Length) {
                    Some(location) if n == 2 => Length::Dynamic(Box::new(location)),
                    _ => Length::Static(self.random.below(4)),
                };
                FieldKind::Array {
                    element: class(self.any(depth - 1, path, known)),
                    length,
                    minimum_alignment: self.alignment(1),
                    element_aligns: self.random.percent(60),
                }
            }
            3 => {
                let field = class(self.any(depth - 1, path, known));
                if let (Some(selector), true) =
                    (self.location(known, NeededKind::Boolean), self.random.percent(50))
                {
                    return FieldKind::Optional { field, selector: Box::new(selector), ranges: None };
                }
                match self.location(known, NeededKind::Selector) {
                    Some(selector) => {
                        let lower = self.random.below(6) as i128 - 3;
                        let ranges = RangeSet(vec![
                            IntegerRange { lower, upper: lower + 1 },
                            IntegerRange::single(100),
                        ]);
                        FieldKind::Optional { field, selector: Box::new(selector), ranges: Some(ranges) }
                    }
                    None => self.leaf(),
                }
            }
            4 | 5 => {
                let Some(selector) = self.location(known, NeededKind::Selector) else { return self.leaf() };
                let mut lower = -4 + self.random.below(2) as i128;
                let mut options = Vec::new();
                while lower < 4 {
                    let upper = lower + self.random.below(4) as i128;
                    options.push(VariantOption {
                        name: self.random.percent(50).then(|| format!("o{lower}")),
                        class: class(self.any(depth - 1, path, known)),
                        ranges: RangeSet(vec![IntegerRange { lower, upper }]),
                        attributes: Default::default(),
                    });
                    lower = upper + 1;
                }
                let alignment = self.alignment(1);
                FieldKind::Variant { options, selector: Box::new(selector), alignment }
            }
            6 => {
                let length = 1 + self.random.below(64);
                let members = (0..=self.random.below(3))
                    .map(|_| {
                        let bits = BitField::new(length, self.order, 1);
                        let integer = IntegerProperties {
                            signed: self.random.percent(50),
                            ..IntegerProperties::default()
                        };
                        self.names += 1;
                        let integer = FieldKind::Integer { bits, integer };
                        Member::new(format!("u{}", self.names), class(integer))
                    })
                    .collect();
                FieldKind::Union { members, alignment: self.alignment(1) }
            }
            _ => match self.location(known, NeededKind::Length) {
                Some(location) if self.random.percent(50) => FieldKind::String {
                    encoding: StringEncoding::Utf8,
                    length: StringLength::Dynamic(Box::new(location)),
                    alignment: self.alignment(8),
                },
                Some(location) => FieldKind::Blob {
                    length: Length::Dynamic(Box::new(location)),
                    media_type: String::new(),
                    alignment: self.alignment(8),
                },
                None => self.leaf(),
            },
        }
    }

    /// Returns a structure, and its fields on which later fields may depend.
    fn structure(
        &mut self,
        depth: u32,
        path: &[String],
        known: &[NeededField],
    ) -> (FieldKind, Vec<NeededField>) {
        let mut known = known.to_vec();
        let mut new = Vec::new();
        let mut members = Vec::new();
        for _ in 0..self.random.below(7) {
            self.names += 1;
            let mut needed = None;
            let kind = match self.random.below(8) {
                0 => {
                    needed = Some(NeededKind::Length);
                    let length = self.length();
                    FieldKind::Integer { bits: self.bits(length), integer: self.integer(false) }
                }
                1 => {
                    needed = Some(NeededKind::Boolean);
                    let length = self.length();
                    FieldKind::Boolean(self.bits(length))
                }
                2 => {
                    needed = Some(NeededKind::Selector);
                    let length = self.length();
                    let signed = self.random.percent(60);
                    if self.random.percent(30) {
                        let value = VariableLengthValue::Integer(self.integer(signed));
                        FieldKind::VariableLength { value, alignment: 8 }
                    } else {
                        FieldKind::Integer { bits: self.bits(length), integer: self.integer(signed) }
                    }
                }
                _ => FieldKind::Null { alignment: 1 },
            };
            let prefix = match needed {
                Some(NeededKind::Length) => "len",
                Some(NeededKind::Selector) => "sel",
                _ => "m",
            };
            let name = format!("{prefix}{}", self.names);
            let mut path = path.to_vec();
            path.push(name.clone());
            let kind = match needed {
                Some(kind_of) => {
                    let one = NeededField { path, kind: kind_of };
                    known.push(one.clone());
                    new.push(one);
                    kind
                }
                None if depth > 0 && self.random.percent(15) => {
                    // Later fields can depend on fields in a structure.
                    let (kind, inner) = self.structure(depth - 1, &path, &known);
                    known.extend(inner.iter().cloned());
                    new.extend(inner);
                    kind
                }
                None => self.any(depth, &path, &known),
            };
            members.push(Member::new(name, class(kind)));
        }
        let minimum_alignment = self.alignment(1);
        (FieldKind::Structure { members, minimum_alignment }, new)
    }
}

/// Computes a class's alignment independently.
fn alignment(class: &FieldClass) -> u64 {
    match &class.kind {
        FieldKind::BitArray(bits)
        | FieldKind::Boolean(bits)
        | FieldKind::Float(bits)
        | FieldKind::BitMap { bits, .. }
        | FieldKind::Integer { bits, .. } => bits.alignment,
        FieldKind::Structure { members, minimum_alignment } => {
            let all = members.iter().map(|member| alignment(&member.class));
            all.max().unwrap_or(1).max(*minimum_alignment)
        }
        FieldKind::Array { element, minimum_alignment, element_aligns, .. } => {
            (*minimum_alignment).max(if *element_aligns { alignment(element) } else { 1 })
        }
        FieldKind::Optional { .. } => 1,
        FieldKind::VariableLength { alignment, .. }
        | FieldKind::String { alignment, .. }
        | FieldKind::Blob { alignment, .. }
        | FieldKind::Variant { alignment, .. }
        | FieldKind::Union { alignment, .. }
        | FieldKind::Null { alignment } => *alignment,
        _ => panic!("an unknown kind"),
    }
}

/// Writes a random instance, and the expected report.
struct InstanceWriter {
    random: Random,
    encoder: Encoder,
    /// Byte order of the preceding bits within a byte.
    open: Option<ByteOrder>,
    expected: FieldTexts,
    /// Values of selectors and lengths, by path.
    values: HashMap<String, i128>,
}

impl InstanceWriter {
    fn needed(&self, location: &FieldLocation) -> i128 {
        let path = location.to_string();
        self.values[path.strip_prefix("event-record-payload/").unwrap()]
    }

    fn align(&mut self, alignment: u64) {
        self.encoder.align(alignment);
        if self.encoder.at % 8 == 0 {
            self.open = None;
        }
    }

    /// Returns the decoding error if the byte order changes within a byte.
    fn fixed(&mut self, field: &BitField, bits: &[bool]) -> Result<(), DecodeError> {
        if let Some(from) = self.open
            && from != field.byte_order
        {
            let kind = DecodeErrorKind::ByteOrderChange { from, to: field.byte_order };
            return Err(DecodeError { bit: self.encoder.at, kind });
        }
        let order = match field.byte_order {
            ByteOrder::LittleEndian => Order::Le,
            ByteOrder::BigEndian => Order::Be,
        };
        self.encoder.in_bit_order(bits, order, field.bit_order == BitOrder::FirstToLast);
        self.open = (self.encoder.at % 8 != 0).then_some(field.byte_order);
        Ok(())
    }

    fn random_bits(&mut self, length: u64) -> Vec<bool> {
        match self.random.below(5) {
            0 => vec![true; length as usize],
            1 => vec![false; length as usize],
            _ => (0..length).map(|_| self.random.percent(50)).collect(),
        }
    }

    /// An integer on which other fields depend is small, so that it fits them.
    fn integer_bits(&mut self, length: u64, name: &str, signed: bool) -> Vec<bool> {
        let value = if name.starts_with("len") {
            self.random.below(4) as i128
        } else if name.starts_with("sel") {
            self.random.below(8) as i128 - if signed { 4 } else { 0 }
        } else {
            return self.random_bits(length);
        };
        bits(value, length as usize)
    }

    fn expect(&mut self, path: &str, value: String) {
        self.expected.push((path.to_owned(), value));
    }

    /// `path` is the displayed path, `names` is the location path, `name` is its last name.
    fn write(&mut self, class: &FieldClass, path: &str, names: &str, name: &str) -> Result<(), DecodeError> {
        self.align(alignment(class));
        match &class.kind {
            FieldKind::BitArray(field) => {
                let value = self.random_bits(field.length);
                self.fixed(field, &value)?;
                self.expect(path, format!("a:{}", hex(&value)));
            }
            FieldKind::BitMap { bits: field, .. } => {
                let value = self.random_bits(field.length);
                self.fixed(field, &value)?;
                self.expect(path, format!("m:{}", hex(&value)));
            }
            FieldKind::Boolean(field) => {
                let value = self.random_bits(field.length);
                self.fixed(field, &value)?;
                let value = value.contains(&true);
                self.values.insert(names.to_owned(), value.into());
                self.expect(path, format!("b:{value}"));
            }
            FieldKind::Integer { bits: field, integer } => {
                let value = self.integer_bits(field.length, name, integer.signed);
                self.fixed(field, &value)?;
                self.integer(&value, integer.signed, path, names, name);
            }
            FieldKind::Float(field) => {
                let value = self.random_bits(field.length);
                self.fixed(field, &value)?;
                let raw = |n: usize| (0..n).fold(0u64, |raw, i| raw | u64::from(value[i]) << i);
                let shown = match field.length {
                    16 => format!("{:?}", ichnos_model::field::Real::Half(raw(16) as u16).to_f64()),
                    32 => format!("{:?}", f64::from(f32::from_bits(raw(32) as u32))),
                    64 => format!("{:?}", f64::from_bits(raw(64))),
                    _ => format!("{}=", hex(&value)),
                };
                self.expect(path, format!("r:{shown}"));
            }
            FieldKind::VariableLength { value: kind, .. } => {
                let groups = match self.random.below(4) {
                    0 => 1 + self.random.below(25),
                    _ => 1 + self.random.below(9),
                };
                let VariableLengthValue::Integer(integer) = kind else {
                    let value = self.random_bits(groups * 7);
                    self.encoder.leb(&value);
                    self.open = None;
                    let shown = match kind {
                        VariableLengthValue::BitArray => format!("a:{}", hex(&value)),
                        _ => format!("b:{}", value.contains(&true)),
                    };
                    self.expect(path, shown);
                    return Ok(());
                };
                let value = self.integer_bits(groups * 7, name, integer.signed);
                self.encoder.leb(&value);
                self.open = None;
                self.integer(&value, integer.signed, path, names, name);
            }
            FieldKind::String { encoding, length, .. } => {
                let unit = encoding.unit();
                let big = matches!(encoding, StringEncoding::Utf16Be | StringEncoding::Utf32Be);
                let put = |writer: &mut Self, c: u8| {
                    let mut bytes = vec![0; unit];
                    bytes[if big { unit - 1 } else { 0 }] = c;
                    writer.encoder.raw(&bytes);
                };
                let (units, ends) = match length {
                    StringLength::NullTerminated => (self.random.below(6), true),
                    StringLength::Static(length) => (length / unit as u64, false),
                    StringLength::Dynamic(location) => (self.needed(location) as u64, false),
                    StringLength::Prefixed { .. } => unreachable!("CTF has no such strings"),
                };
                let mut text = String::new();
                let mut ended = false;
                for _ in 0..units {
                    let c = b'a' + self.random.below(26) as u8;
                    let zero = !ends && self.random.percent(15);
                    put(self, if zero { 0 } else { c });
                    ended |= zero;
                    if !ended {
                        text.push(char::from(c));
                    }
                }
                if ends {
                    put(self, 0);
                }
                if units > 0 || ends {
                    self.open = None;
                }
                self.expect(path, format!("t:{text}"));
            }
            FieldKind::Blob { length, .. } => {
                let length = match length {
                    Length::Static(length) => *length,
                    Length::Dynamic(location) => self.needed(location) as u64,
                };
                let bytes: Vec<u8> = (0..length).map(|_| self.random.number() as u8).collect();
                self.encoder.raw(&bytes);
                let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                self.expect(path, format!("x:{digits}"));
            }
            FieldKind::Structure { members, .. } => {
                for member in members {
                    let inner = if names.is_empty() {
                        member.name.clone()
                    } else {
                        format!("{names}/{}", member.name)
                    };
                    self.write(&member.class, &format!("{path}.{}", member.name), &inner, &member.name)?;
                }
            }
            FieldKind::Array { element, length, .. } => {
                let length = match length {
                    Length::Static(length) => *length,
                    Length::Dynamic(location) => self.needed(location) as u64,
                };
                self.expect(path, format!("#{length}"));
                for i in 0..length {
                    self.write(element, &format!("{path}[{i}]"), names, "")?;
                }
            }
            FieldKind::Optional { field, selector, ranges } => {
                let selector = self.needed(selector);
                let present = match ranges {
                    None => selector != 0,
                    Some(ranges) => ranges.0.iter().any(|r| r.lower <= selector && selector <= r.upper),
                };
                if present {
                    self.write(field, path, names, "")?;
                } else {
                    self.expect(path, "none".to_owned());
                }
            }
            FieldKind::Variant { options, selector, .. } => {
                let selector = self.needed(selector);
                let fits = |option: &&VariantOption| {
                    option.ranges.0.iter().any(|r| r.lower <= selector && selector <= r.upper)
                };
                let Some(option) = options.iter().find(fits) else {
                    let kind = DecodeErrorKind::InvalidSelector(selector);
                    return Err(DecodeError { bit: self.encoder.at, kind });
                };
                let path = match &option.name {
                    Some(name) => format!("{path}<{name}>"),
                    None => path.to_owned(),
                };
                self.write(&option.class, &path, names, "")?;
            }
            FieldKind::Union { members, .. } => {
                let FieldKind::Integer { bits: field, .. } = &members[0].class.kind else { unreachable!() };
                let value = self.random_bits(field.length);
                self.fixed(field, &value)?;
                for member in members {
                    let FieldKind::Integer { integer, .. } = &member.class.kind else { unreachable!() };
                    let path = format!("{path}.{}", member.name);
                    self.integer(&value, integer.signed, &path, "", "");
                }
            }
            FieldKind::Null { .. } => self.expect(path, "null".to_owned()),
            other => panic!("an unknown kind: {other:?}"),
        }
        Ok(())
    }

    fn integer(&mut self, bits: &[bool], signed: bool, path: &str, names: &str, name: &str) {
        let shown = decimal(bits, signed);
        if !name.is_empty()
            && let Ok(value) = shown.parse()
        {
            self.values.insert(names.to_owned(), value);
        }
        self.expect(path, format!("{}:{shown}", if signed { "s" } else { "u" }));
    }
}

fn plans(payload: FieldKind) -> (Arc<FieldClass>, TracePlans) {
    let payload = class(payload);
    let event = EventRecordClass { payload: Some(Arc::clone(&payload)), ..EventRecordClass::default() };
    let stream = DataStreamClass { event_records: vec![Arc::new(event)], ..DataStreamClass::default() };
    let trace = TraceClass { data_streams: vec![stream], ..TraceClass::default() };
    let plans = TracePlans::compile(&trace, &Limits::default()).unwrap();
    (payload, plans)
}

fn payload_plan(plans: &TracePlans) -> &Plan {
    plans.data_streams[0].event_records[0].payload.as_ref().unwrap()
}

fn made(seed: u64, budget: usize) -> FieldKind {
    let mut random = Random::new(seed);
    let order = random.pick(&[ByteOrder::LittleEndian, ByteOrder::BigEndian]);
    ClassGenerator { random, order, names: 0, budget }.structure(4, &[], &[]).0
}

type Walked = (Result<(), DecodeError>, Position);

/// Decodes with the collector and without a visitor. Both must agree.
fn walk(plans: &TracePlans, bits: PacketBits<'_>, begin: u64, limits: DecodeLimits) -> (Walked, FieldTexts) {
    let plan = payload_plan(plans);
    let slots = || vec![Cell::new(UNKNOWN); plans.slots()];
    let start = Position::at(begin);
    let mut collect = FieldCollector::named("payload");
    let mut position = start;
    let result = plan.decode(bits, &mut position, &slots(), limits, &mut collect);
    let mut skipped = start;
    let skip_result = plan.decode(bits, &mut skipped, &slots(), limits, &mut Skip);
    assert_eq!((&result, position), (&skip_result, skipped), "the collector and the skipping visitor");
    ((result, position), collect.fields)
}

/// Removes the value after the equals sign of wide floating-point numbers, which is not compared.
fn without_values_of_quadruples(fields: FieldTexts) -> FieldTexts {
    fields
        .into_iter()
        .map(|(path, value)| match value.split_once('=') {
            Some((bits, _)) if value.starts_with("r:") => (path, format!("{bits}=")),
            _ => (path, value),
        })
        .collect()
}

fn limits() -> DecodeLimits {
    DecodeLimits::from(&Limits::default())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(seed: u64, budget in 1usize..60, begin in 0u64..40, cut: u64) {
        let (payload, plans) = plans(made(seed, budget));
        let mut writer = InstanceWriter {
            random: Random::new(!seed),
            encoder: Encoder::default(),
            open: None,
            expected: Vec::new(),
            values: HashMap::new(),
        };
        for _ in 0..begin {
            writer.encoder.int(0, 1, Order::Le);
        }
        let written = writer.write(&payload, "payload", "", "");
        let content = writer.encoder.at;
        let mut data = writer.encoder.bytes;
        // Bits after an expected error are missing, so padding is added.
        data.resize(data.len() + 32, 0x5a);
        let bits = PacketBits { data: &data, content: if written.is_ok() { content } else { content + 256 } };
        let ((result, position), fields) = walk(&plans, bits, begin, limits());
        prop_assert_eq!(without_values_of_quadruples(fields), writer.expected.clone());
        prop_assert_eq!(result, written);
        if written.is_ok() {
            prop_assert_eq!(position.bit, content);
            prop_assert_eq!(position.open_byte(), writer.open);
        }
        // If the data is truncated anywhere, everything before is reported, and nothing else.
        let cut = begin + cut % (content - begin + 1);
        let bits = PacketBits { data: &data, content: cut };
        let ((result, position), fields) = walk(&plans, bits, begin, limits());
        prop_assert!(position.bit <= cut);
        let fields = without_values_of_quadruples(fields);
        prop_assert_eq!(&fields[..], &writer.expected[..fields.len()]);
        if cut < content {
            prop_assert!(result.is_err());
        }
    }

    #[test]
    fn anything_can_be_read(seed: u64, budget in 1usize..60, begin in 0u64..20, noise: u64, size in 0usize..80, content in 0u64..800) {
        let (_, plans) = plans(made(seed, budget));
        let mut random = Random::new(noise);
        let data: Vec<u8> = (0..size)
            .map(|_| if random.percent(50) { random.below(4) as u8 } else { random.number() as u8 })
            .collect();
        let limits = DecodeLimits { integer_bits: 300, zero_size_elements: 50 };
        let begin = begin.min(content).min(size as u64 * 8);
        let ((_, position), _) = walk(&plans, PacketBits { data: &data, content }, begin, limits);
        prop_assert!(position.bit <= (size as u64 * 8).min(content));
    }

    #[test]
    fn bits_are_read_one_by_one(data: Vec<u8>, begin in 0u64..200, length in 1u64..=64, big: bool) {
        let bit = |at: u64| {
            let byte = data.get((at / 8) as usize).copied().unwrap_or(0);
            u64::from(byte >> if big { 7 - at % 8 } else { at % 8 } & 1)
        };
        let expected = (0..length).fold(0, |value, i| {
            if big { value << 1 | bit(begin + i) } else { value | bit(begin + i) << i }
        });
        prop_assert_eq!(read_bits(&data, begin, length, big), expected);
    }
}
