//! Random trace classes with everything that a dialect can express.

use std::collections::BTreeSet;
use std::sync::Arc;

use ichnos_ctf::metadata::Dialect;
use ichnos_model::class::{
    Attributes, BitField, BitOrder, ByteOrder, DataStreamClass, DisplayBase, EventRecordClass, FieldClass,
    FieldKind, FieldLocation, IntegerProperties, IntegerRange, Length, LocationStep, Mappings, Member,
    RangeSet, Role, StringLength, Uuid, Value, VariableLengthValue, VariantOption, WideInteger, WideRange,
};
use ichnos_model::clock::{ClockClass, ClockOrigin};
use ichnos_model::field::StringEncoding;
use ichnos_model::{Scope, TraceClass};
use ichnos_testing::Random;

/// Texts that writers must escape, and names that they must change.
const HOSTILE: [&str; 14] = [
    "",
    "\"",
    "\\",
    "*/ \u{0}1",
    "\n\t\r\u{1}",
    "\u{7f}\u{85}\u{2028}",
    "\u{ffff}\u{10ffff}",
    "caf\u{e9}",
    "a b",
    "\u{1e}",
    "//",
    "}];",
    "${x}",
    "'",
];
const KEYWORDS: [&str; 8] = ["event", "int", "align", "struct", "_Bool", "const", "env", "stream"];

/// A field on which other fields may depend.
#[derive(Clone)]
struct KnownField {
    scope: Scope,
    path: Vec<String>,
    kind: KnownKind,
}

#[derive(Clone)]
enum KnownKind {
    Length,
    Boolean,
    Selector { signed: bool },
    Labels(Mappings),
}

pub struct ClassMaker {
    random: Random,
    dialect: Dialect,
    names: u64,
    budget: u32,
    scope: Scope,
    known: Vec<KnownField>,
    path: Vec<String>,
    /// Path length of each enclosing structure.
    frames: Vec<usize>,
    shared: Vec<Arc<FieldClass>>,
}

impl ClassMaker {
    pub fn new(seed: u64, dialect: Dialect) -> Self {
        Self {
            random: Random::new(seed),
            dialect,
            names: 0,
            budget: 60,
            scope: Scope::PacketHeader,
            known: Vec::new(),
            path: Vec::new(),
            frames: Vec::new(),
            shared: Vec::new(),
        }
    }

    fn is_json(&self) -> bool {
        self.dialect != Dialect::Ctf18
    }

    fn of(&self, dialects: &[Dialect]) -> bool {
        dialects.contains(&self.dialect)
    }

    fn text(&mut self) -> String {
        self.names += 1;
        match self.random.percent(40) {
            true => format!("{}{}", self.random.pick(&HOSTILE), self.names),
            false => format!("n{}", self.names),
        }
    }

    /// Returns a member name, and `true` if it has an underscore.
    fn name(&mut self, taken: &BTreeSet<String>) -> (String, bool) {
        if self.is_json() {
            return (self.text(), false);
        }
        self.names += 1;
        let number = self.names;
        let keyword = self.random.pick(&KEYWORDS).to_owned();
        let name = match self.random.below(5) {
            0 if !taken.contains(keyword.trim_start_matches('_')) => keyword,
            1 => format!("{number}x"),
            2 => format!("_m{number}"),
            _ => format!("m{number}"),
        };
        let has_underscore = self.random.percent(40);
        (name, has_underscore)
    }

    fn some<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.random.percent(40).then(|| make(self))
    }

    fn value(&mut self, depth: u32) -> Value {
        match self.random.below(if depth == 0 { 5 } else { 7 }) {
            0 => Value::Null,
            1 => Value::Boolean(self.random.percent(50)),
            2 => Value::Integer(i128::from(self.random.number() as i64) << self.random.below(60)),
            3 => Value::Number(
                self.random.pick(&["-1.50e+9", "0.1", "340282366920938463463374607431768211456"]).to_owned(),
            ),
            4 => Value::Text(self.text()),
            5 => Value::Array((0..self.random.below(4)).map(|_| self.value(depth - 1)).collect()),
            _ => {
                Value::Map((0..self.random.below(4)).map(|_| (self.text(), self.value(depth - 1))).collect())
            }
        }
    }

    fn attributes(&mut self) -> Attributes {
        if !self.is_json() || self.random.percent(80) {
            return Attributes::default();
        }
        (0..self.random.below(3)).map(|_| (self.text(), self.value(3))).collect()
    }

    fn alignment(&mut self, least: u64) -> u64 {
        if self.random.percent(60) { least } else { least.max(1 << self.random.below(7)) }
    }

    fn bits(&mut self, length: u64) -> BitField {
        let order = self.random.pick(&[ByteOrder::LittleEndian, ByteOrder::BigEndian]);
        let mut bits = BitField::new(length, order, self.alignment(1));
        if self.of(&[Dialect::Spec2]) && self.random.percent(20) {
            bits.bit_order = self.random.pick(&[BitOrder::FirstToLast, BitOrder::LastToFirst]);
        }
        bits
    }

    fn any_bits(&mut self) -> BitField {
        let length = match self.random.below(3) {
            0 => 1 + self.random.below(200),
            _ => 1 + self.random.below(64),
        };
        self.bits(length)
    }

    fn ranges(&mut self, signed: bool, most: u64) -> RangeSet {
        // Ranges that are unique to the name, because the numbers only grow.
        let count = 1 + self.random.below(3);
        RangeSet(
            (0..count)
                .map(|_| {
                    self.names += 2 + self.random.below(9);
                    let lower = i128::from(self.names % most);
                    let lower = if signed && self.random.percent(30) { -lower } else { lower };
                    match self.random.percent(50) {
                        true => IntegerRange::single(lower),
                        false => IntegerRange { lower, upper: lower + 1 },
                    }
                })
                .collect(),
        )
    }

    /// Creates value names with distinct values.
    fn mappings(&mut self, signed: bool, for_variant: bool) -> (Mappings, Option<Arc<Vec<WideRange>>>) {
        let mut wide = Vec::new();
        let least = u64::from(!self.of(&[Dialect::Spec2, Dialect::Prop1]) || for_variant);
        let mut all = Vec::new();
        for index in 0..least + self.random.below(4) {
            let name = match self.is_json() {
                true => self.text(),
                false if for_variant => {
                    self.names += 1;
                    format!("{}l{}", self.random.pick(&["", "_"]), self.names)
                }
                false => self.text(),
            };
            let mut ranges = self.ranges(signed, 1 << 30);
            if self.is_json() && !for_variant && self.random.percent(20) {
                let upper = WideInteger::parse("fffffffffffffffffffffffffffffffffffff", 16).unwrap();
                let lower = ranges.0[0].lower;
                wide.push(WideRange { mapping: index as usize, lower: WideInteger::from(lower), upper });
                ranges.0.push(IntegerRange { lower, upper: i128::MAX });
            }
            if self.of(&[Dialect::Prop1]) && !for_variant && self.random.percent(20) {
                ranges.0.clear();
                wide.retain(|range| range.mapping != index as usize);
            }
            all.push((name, ranges));
        }
        (all.into_iter().collect(), (!wide.is_empty()).then(|| Arc::new(wide)))
    }

    fn integer(&mut self, signed: bool) -> IntegerProperties {
        use DisplayBase::{Binary, Decimal, Hexadecimal, Octal};
        let mut integer = IntegerProperties { signed, ..IntegerProperties::default() };
        integer.preferred_base = self.random.pick(&[Decimal, Decimal, Hexadecimal, Octal, Binary]);
        if self.random.percent(25) {
            let (mappings, wide) = self.mappings(signed, false);
            (integer.mappings, integer.wide_ranges) = (Some(mappings), wide);
        }
        integer
    }

    /// Creates an integer wide enough for its label values.
    fn integer_kind(&mut self, signed: bool) -> FieldKind {
        let integer = self.integer(signed);
        let mut bits = self.any_bits();
        if integer.mappings.is_some() && bits.length < 40 {
            bits.length = 40;
        }
        FieldKind::Integer { bits, integer }
    }

    fn bytes_alignment(&mut self, is_terminated: bool) -> u64 {
        match (self.dialect, is_terminated) {
            (Dialect::Prop1, true) => self.alignment(8),
            (Dialect::Prop1, false) => self.alignment(1),
            _ => 8,
        }
    }

    fn encoding(&mut self) -> StringEncoding {
        use StringEncoding::{Utf8, Utf16Be, Utf16Le, Utf32Be, Utf32Le};
        match self.dialect {
            Dialect::Spec2 => self.random.pick(&[Utf8, Utf16Be, Utf16Le, Utf32Be, Utf32Le]),
            _ => Utf8,
        }
    }

    fn location(&mut self, fits: impl Fn(&KnownKind) -> bool) -> Option<(Box<FieldLocation>, KnownKind)> {
        let fitting: Vec<KnownField> = self.known.iter().filter(|known| fits(&known.kind)).cloned().collect();
        if fitting.is_empty() {
            return None;
        }
        let known = fitting[self.random.below(fitting.len() as u64) as usize].clone();
        let mut location = FieldLocation::absolute(known.scope, known.path.clone());
        location.any_option = self.dialect == Dialect::Prop1;
        if known.scope == self.scope && self.dialect != Dialect::Prop1 && self.random.percent(50) {
            // Chooses one of the enclosing structures on the path.
            let is_on_the_way =
                |depth: &usize| known.path.len() > *depth && known.path[..*depth] == self.path[..*depth];
            let levels: Vec<usize> =
                (0..self.frames.len()).filter(|i| is_on_the_way(&self.frames[*i])).collect();
            if !levels.is_empty() {
                let level = levels[self.random.below(levels.len() as u64) as usize];
                let up = self.frames.len() - 1 - level;
                let names = known.path[self.frames[level]..].iter().cloned().map(LocationStep::Member);
                location.origin = None;
                location.path = std::iter::repeat_n(LocationStep::Parent, up).chain(names).collect();
            }
        }
        Some((Box::new(location), known.kind))
    }

    fn length(&mut self) -> Length {
        match self.random.percent(50) {
            true => Length::Static(self.random.below(20)),
            false => match self.location(|kind| matches!(kind, KnownKind::Length)) {
                Some((location, _)) => Length::Dynamic(location),
                None => Length::Static(3),
            },
        }
    }

    fn leaf(&mut self) -> FieldKind {
        use Dialect::{Prop1, Prop2, Spec2};
        let signed = self.random.percent(50);
        match self.random.below(11) {
            0 if self.is_json() => FieldKind::BitArray(self.any_bits()),
            1 if self.of(&[Spec2]) => {
                let names = 1 + self.random.below(3);
                let flags = (0..names).map(|_| (self.text(), self.ranges(false, 1 << 20))).collect();
                FieldKind::BitMap { bits: self.any_bits(), flags }
            }
            2 if self.is_json() => FieldKind::Boolean(self.any_bits()),
            3 => {
                let length = self.random.pick(&[16, 32, 64, 128, 160, 256]);
                FieldKind::Float(self.bits(length))
            }
            4 if self.is_json() => {
                let value = match self.random.below(4) {
                    0 if self.of(&[Prop1, Prop2]) => VariableLengthValue::BitArray,
                    1 if self.of(&[Prop1]) => VariableLengthValue::Boolean,
                    _ => VariableLengthValue::Integer(self.integer(signed)),
                };
                FieldKind::VariableLength { value, alignment: self.bytes_alignment(true) }
            }
            5 | 6 => {
                let length = match self.random.percent(50) {
                    true => StringLength::NullTerminated,
                    false => match self.length() {
                        Length::Static(length) => StringLength::Static(length * 4),
                        Length::Dynamic(location) => StringLength::Dynamic(location),
                    },
                };
                let alignment = self.bytes_alignment(length == StringLength::NullTerminated);
                FieldKind::String { encoding: self.encoding(), length, alignment }
            }
            7 if self.of(&[Spec2, Prop2]) => {
                let media_type = match self.random.percent(50) {
                    true => self.text(),
                    false => "application/octet-stream".to_owned(),
                };
                FieldKind::Blob { length: self.length(), media_type, alignment: 8 }
            }
            8 if self.of(&[Prop1]) => FieldKind::Null { alignment: self.alignment(1) },
            _ => self.integer_kind(signed),
        }
    }

    /// Creates optional contents. Outer fields cannot depend on fields inside.
    fn apart<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        let count = self.known.len();
        let made = make(self);
        self.known.truncate(count);
        made
    }

    fn class(&mut self, depth: u32) -> Arc<FieldClass> {
        if self.of(&[Dialect::Spec2, Dialect::Prop1]) && self.random.percent(10) && !self.shared.is_empty() {
            let index = self.random.below(self.shared.len() as u64) as usize;
            return Arc::clone(&self.shared[index]);
        }
        let before = (self.known.len(), self.budget);
        let kind = self.kind(depth);
        let attributes = self.attributes();
        let class = Arc::new(FieldClass { attributes, ..FieldClass::new(kind) });
        if self.known.len() == before.0 && !has_location(&class) {
            self.shared.push(Arc::clone(&class));
        }
        class
    }

    fn kind(&mut self, depth: u32) -> FieldKind {
        self.budget = self.budget.saturating_sub(1);
        if depth == 0 || self.budget == 0 || self.random.percent(50) {
            return self.leaf();
        }
        let is_named = self.of(&[Dialect::Prop1, Dialect::Ctf18]);
        match self.random.below(6) {
            0 => self.structure(depth - 1, Vec::new()),
            1 | 2 => self.array(depth - 1),
            3 if !is_named => {
                let fits = |kind: &KnownKind| matches!(kind, KnownKind::Boolean | KnownKind::Selector { .. });
                let Some((selector, kind)) = self.location(fits) else { return self.leaf() };
                let ranges = match kind {
                    KnownKind::Selector { signed } => Some(self.ranges(signed, 1 << 30)),
                    _ => None,
                };
                let field = self.apart(|maker| maker.class(depth - 1));
                FieldKind::Optional { field, selector, ranges }
            }
            4 if self.of(&[Dialect::Prop1]) => {
                let bits = BitField::new(1 + self.random.below(40), ByteOrder::BigEndian, 1);
                let names: Vec<String> = (0..1 + self.random.below(3)).map(|_| self.text()).collect();
                let members = names.into_iter().map(|name| {
                    let integer = IntegerProperties::default();
                    Member::new(name, FieldClass::new(FieldKind::Integer { bits, integer }))
                });
                FieldKind::Union { members: members.collect(), alignment: self.alignment(1) }
            }
            _ if is_named => self.labelled_variant(depth - 1),
            _ => {
                let fits = |kind: &KnownKind| matches!(kind, KnownKind::Selector { .. });
                let Some((selector, KnownKind::Selector { signed })) = self.location(fits) else {
                    return self.leaf();
                };
                let count = 1 + self.random.below(3);
                let options = (0..count).map(|_| VariantOption {
                    name: self.some(Self::text),
                    ranges: RangeSet(self.ranges(signed, 1 << 40).0[..1].to_vec()),
                    class: self.apart(|maker| maker.class(depth - 1)),
                    attributes: self.attributes(),
                });
                FieldKind::Variant { options: options.collect(), selector, alignment: 1 }
            }
        }
    }

    fn labelled_variant(&mut self, depth: u32) -> FieldKind {
        let fits = |kind: &KnownKind| matches!(kind, KnownKind::Labels(_));
        let Some((selector, KnownKind::Labels(labels))) = self.location(fits) else { return self.leaf() };
        let mut options = Vec::new();
        for label in labels.iter() {
            let name = match self.is_json() {
                true => label.name,
                false => label.name.strip_prefix('_').unwrap_or(label.name),
            };
            options.push(VariantOption {
                name: Some(name.to_owned()),
                ranges: label.ranges.to_set(),
                class: self.apart(|maker| maker.class(depth)),
                attributes: self.attributes(),
            });
        }
        let alignment = if self.is_json() { self.alignment(1) } else { 1 };
        FieldKind::Variant { options, selector, alignment }
    }

    fn array(&mut self, depth: u32) -> FieldKind {
        let length = self.length();
        let element = self.apart(|maker| maker.class(depth));
        let (minimum_alignment, element_aligns) = match self.dialect {
            Dialect::Spec2 => (self.alignment(1), true),
            Dialect::Prop1 => (self.alignment(1), false),
            _ => (1, true),
        };
        FieldKind::Array { element, length, minimum_alignment, element_aligns }
    }

    /// Creates a structure from some members and random members.
    fn structure(&mut self, depth: u32, mut members: Vec<Member>) -> FieldKind {
        self.frames.push(self.path.len());
        let mut taken = BTreeSet::new();
        for _ in 0..self.random.below(6) {
            let (name, has_underscore) = self.name(&taken);
            if !taken.insert(name.trim_start_matches('_').to_owned()) {
                continue;
            }
            let mut member = Member::new(name, FieldClass::unsigned(8));
            member.has_underscore = has_underscore;
            member.attributes = self.attributes();
            self.path.push(member.location_name().into_owned());
            let (class, known) = self.needed().unwrap_or_else(|| (self.class(depth), None));
            member.class = class;
            if let Some(kind) = known {
                self.known.push(KnownField { scope: self.scope, path: self.path.clone(), kind });
            }
            self.path.pop();
            members.push(member);
        }
        self.frames.pop();
        FieldKind::Structure { members, minimum_alignment: self.alignment(1) }
    }

    /// Creates a field on which other fields may depend.
    fn needed(&mut self) -> Option<(Arc<FieldClass>, Option<KnownKind>)> {
        let signed = self.random.percent(50);
        let (kind, known) = match self.random.below(10) {
            0 => {
                let integer = IntegerProperties::default();
                (FieldKind::Integer { bits: self.any_bits(), integer }, KnownKind::Length)
            }
            1 if self.of(&[Dialect::Spec2, Dialect::Prop2]) => {
                (FieldKind::Boolean(self.any_bits()), KnownKind::Boolean)
            }
            2 if self.of(&[Dialect::Spec2, Dialect::Prop2]) => {
                let integer = IntegerProperties { signed, ..IntegerProperties::default() };
                let kind = match self.random.percent(30) {
                    true => FieldKind::VariableLength {
                        value: VariableLengthValue::Integer(integer),
                        alignment: 8,
                    },
                    false => FieldKind::Integer { bits: self.any_bits(), integer },
                };
                (kind, KnownKind::Selector { signed })
            }
            3 if self.of(&[Dialect::Prop1, Dialect::Ctf18]) => {
                let (mappings, _) = self.mappings(signed, true);
                let integer =
                    IntegerProperties { signed, mappings: Some(mappings.clone()), ..Default::default() };
                (FieldKind::Integer { bits: self.bits(48), integer }, KnownKind::Labels(mappings))
            }
            _ => return None,
        };
        Some((Arc::new(FieldClass::new(kind)), Some(known)))
    }

    fn root(&mut self, scope: Scope, roles: &[(&str, u64, Role, Option<u16>)]) -> Option<Arc<FieldClass>> {
        self.known.retain(|known| known.scope < scope);
        self.scope = scope;
        self.budget = 60;
        if roles.is_empty() && self.random.percent(30) {
            return None;
        }
        let members = roles.iter().map(|(name, length, role, clock)| {
            let integer =
                IntegerProperties { preferred_base: DisplayBase::Hexadecimal, ..Default::default() };
            let bits = BitField::new(*length, ByteOrder::LittleEndian, 8);
            let mut class = FieldClass::new(FieldKind::Integer { bits, integer });
            if *role == Role::MetadataStreamUuid {
                let (length, element) = (Length::Static(16), Arc::new(FieldClass::unsigned(8)));
                let media_type = "application/octet-stream".to_owned();
                class.kind = match self.is_json() && self.dialect != Dialect::Prop1 {
                    true => FieldKind::Blob { length, media_type, alignment: 8 },
                    false => FieldKind::Array {
                        element,
                        length,
                        minimum_alignment: 8,
                        element_aligns: !self.is_json(),
                    },
                };
            }
            class.roles.insert(*role);
            class.roles.clock = *clock;
            Member::new(*name, class)
        });
        let members = members.collect();
        let kind = self.structure(3, members);
        Some(Arc::new(FieldClass { attributes: self.attributes(), ..FieldClass::new(kind) }))
    }

    fn clock(&mut self, index: u64) -> ClockClass {
        use Dialect::{Ctf18, Prop1, Prop2, Spec2};
        let frequency = 1 + self.random.number() / 2;
        let mut clock = ClockClass::new(format!("clock{index}"), frequency);
        clock.name = Some(clock.id.clone());
        if self.of(&[Spec2]) {
            clock.id = format!("c{index}{}", self.text());
            clock.name = self.some(Self::text);
            clock.namespace = self.some(Self::text);
            clock.uid = self.some(Self::text);
            clock.accuracy = self.some(|maker| maker.random.number());
        } else {
            clock.uuid = self.some(|maker| Uuid::from_u128(u128::from(maker.random.number())));
        }
        if self.dialect != Prop1 {
            clock.description = self.some(Self::text);
        }
        clock.precision = match self.of(&[Spec2, Ctf18]) {
            true => self.some(|maker| maker.random.number()),
            false => Some(self.random.number()),
        };
        clock.offset_seconds = self.random.number() as i64 / 4;
        clock.offset_cycles = self.random.below(frequency);
        clock.origin = match self.random.below(3) {
            0 if self.of(&[Spec2]) => ClockOrigin::Named {
                namespace: self.some(Self::text),
                name: format!("o{}", self.text()),
                uid: self.text(),
            },
            1 => ClockOrigin::UnixEpoch,
            _ => ClockOrigin::Unknown,
        };
        if self.of(&[Spec2, Prop2, Prop1]) {
            clock.attributes = self.attributes();
        }
        clock
    }

    /// Creates a random trace class.
    pub fn trace(mut self) -> TraceClass {
        use Dialect::{Ctf18, Prop1, Prop2, Spec2};
        let mut trace = TraceClass { dialect: self.dialect.title().to_owned(), ..TraceClass::default() };
        trace.uuid = Some(Uuid::from_u128(u128::from(self.random.number()) << 9));
        if self.of(&[Spec2]) {
            trace.namespace = self.some(Self::text);
            trace.name = self.some(Self::text);
            trace.uid = self.some(Self::text);
        }
        if self.of(&[Prop1, Ctf18]) {
            trace.default_byte_order = self.some(|_| ByteOrder::BigEndian);
        }
        for index in 0..self.random.below(4) {
            let entry = match self.dialect {
                Ctf18 => (format!("e{index}"), Value::Text(self.text())),
                Spec2 => (self.text(), Value::Integer(i128::from(self.random.number()) << 60)),
                Prop1 | Prop2 => (self.text(), self.value(3)),
            };
            trace.environment.push(entry);
        }
        let clocks = self.random.below(3);
        trace.clocks = (0..clocks).map(|index| self.clock(index)).collect();
        trace.attributes = self.attributes();
        let streams = 1 + self.random.below(3);
        let mut header = vec![("magic", 32, Role::PacketMagicNumber, None)];
        if self.random.percent(70) {
            header.push(("uuid", 8, Role::MetadataStreamUuid, None));
        }
        header.push(("stream_id", 64, Role::DataStreamClassId, None));
        trace.packet_header = self.root(Scope::PacketHeader, &header);
        for id in 0..streams {
            let stream = self.stream(id, clocks);
            trace.data_streams.push(stream);
        }
        trace
    }

    fn id(&mut self, index: u64) -> u128 {
        match self.dialect {
            Dialect::Ctf18 => u128::from(u64::MAX - index),
            _ if self.random.percent(20) => u128::MAX - u128::from(index),
            _ => u128::from(index),
        }
    }

    fn stream(&mut self, index: u64, clocks: u64) -> DataStreamClass {
        use Dialect::{Ctf18, Prop1, Spec2};
        let clock = (clocks > 0).then(|| self.random.below(clocks) as u16);
        let named = clock.filter(|_| self.of(&[Prop1, Ctf18]));
        let mut stream = DataStreamClass { id: self.id(index), default_clock: clock, ..Default::default() };
        if self.dialect != Ctf18 {
            stream.namespace = self.some(Self::text);
            stream.name = self.some(Self::text);
        }
        if self.of(&[Spec2]) {
            stream.uid = self.some(Self::text);
        }
        stream.attributes = self.attributes();
        let mut context = vec![
            ("packet_size", 32, Role::PacketTotalLength, None),
            ("content_size", 32, Role::PacketContentLength, None),
            ("events_discarded", 16, Role::DiscardedEventCounter, None),
            ("packet_seq_num", 64, Role::PacketSequenceNumber, None),
        ];
        let mut header = vec![("id", 16, Role::EventRecordClassId, None)];
        if clock.is_some() {
            context.push(("timestamp_begin", 64, Role::Timestamp, named));
            context.push(("timestamp_end", 64, Role::PacketEndTimestamp, named));
            header.push(("timestamp", 27, Role::Timestamp, named));
        }
        stream.packet_context = self.root(Scope::PacketContext, &context);
        stream.event_record_header = self.root(Scope::EventRecordHeader, &header);
        stream.common_context = self.root(Scope::CommonContext, &[]);
        for index in 0..self.random.below(4) {
            let mut event = EventRecordClass { id: self.id(index), ..Default::default() };
            event.name = self.some(Self::text);
            if self.dialect != Ctf18 {
                event.namespace = self.some(Self::text);
            }
            if self.of(&[Spec2]) {
                event.uid = self.some(Self::text);
            }
            event.log_level = self.some(|maker| maker.random.below(20) as i64 - 2);
            event.emf_uri = self.some(Self::text);
            event.attributes = self.attributes();
            event.specific_context = self.root(Scope::SpecificContext, &[]);
            event.payload = self.root(Scope::Payload, &[]);
            stream.event_records.push(Arc::new(event));
        }
        stream
    }
}

fn has_location(class: &FieldClass) -> bool {
    match &class.kind {
        FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => {
            members.iter().any(|member| has_location(&member.class))
        }
        FieldKind::Array { length: Length::Dynamic(_), .. }
        | FieldKind::Blob { length: Length::Dynamic(_), .. }
        | FieldKind::String { length: StringLength::Dynamic(_), .. }
        | FieldKind::Optional { .. }
        | FieldKind::Variant { .. } => true,
        FieldKind::Array { element, .. } => has_location(element),
        _ => false,
    }
}
