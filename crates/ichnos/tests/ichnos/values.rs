//! Sinks write events with value scopes like events with bit scopes.

use std::cell::Cell;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use ichnos::export::{
    Details, DetailsOptions, Log, LogForm, LogOptions, Null, Pretty, PrettyOptions, ResumableSink as _,
};
use ichnos::model::class::{
    BitField, ByteOrder, DataStreamClass, EventRecordClass, FieldClass, FieldKind, FieldLocation,
    IntegerProperties, IntegerRange, Length, Mappings, Member, RangeSet, StringLength, Uuid, VariantOption,
};
use ichnos::model::clock::WallClock;
use ichnos::model::decode::{DecodeLimits, PacketBits, Position, UNKNOWN};
use ichnos::model::event::{EventValues, Scopes};
use ichnos::model::field::{FieldValue, Real, StringEncoding, Wide};
use ichnos::model::trace::Limits;
use ichnos::model::{DataStream, Event, Message, Scope, Sink, Trace, TraceClass};
use ichnos_jsonl::{JsonLines, JsonLinesOptions};
use proptest::prelude::*;

/// Sink that converts event scopes to values.
struct AsValues<S> {
    sink: S,
    values: EventValues,
}

impl<S: Sink> AsValues<S> {
    fn new(sink: S) -> Self {
        Self { sink, values: EventValues::default() }
    }
}

impl<S: Sink> Sink for AsValues<S> {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        let Message::Event(event) = message else { return self.sink.message(message) };
        self.values.copy_from(event).unwrap();
        let clock = event.clock.copied();
        let scopes = Scopes::from_values(&self.values);
        let event = Event::new(event.stream, event.plans(), clock.as_ref(), scopes)
            .with_other_clocks(event.other_clocks);
        self.sink.message(&Message::Event(event))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.sink.finish()
    }
}

/// Output names.
const OUTPUTS: [&str; 6] = ["pretty", "details", "jsonl", "log", "log-json", "null"];

/// Returns a sink's output for the messages from `feed`, converted to values if requested.
fn write(output: &str, as_values: bool, feed: &mut dyn FnMut(&mut dyn Sink)) -> Vec<u8> {
    let mut out = Vec::new();
    let run = |feed: &mut dyn FnMut(&mut dyn Sink), sink: &mut dyn Sink| {
        feed(sink);
        sink.finish().unwrap();
    };
    macro_rules! run {
        ($sink:expr) => {
            if as_values { run(feed, &mut AsValues::new($sink)) } else { run(feed, &mut $sink) }
        };
    }
    let log = |form| {
        let mut options = LogOptions::default();
        options.form = form;
        options
    };
    match output {
        "pretty" => run!(Pretty::new(&mut out, PrettyOptions::default()).warnings_to(io::sink())),
        "details" => run!(Details::new(&mut out, DetailsOptions::default()).warnings_to(io::sink())),
        "jsonl" => run!(JsonLines::new(&mut out, JsonLinesOptions::default())),
        "log" => run!(Log::new(&mut out, log(LogForm::Text))),
        "log-json" => run!(Log::new(&mut out, log(LogForm::Json))),
        _ => {
            let mut null = AsValues::new(Null::new());
            if as_values {
                run(feed, &mut null)
            } else {
                run(feed, &mut null.sink)
            }
            out = format!("{:?}", null.sink.statistics().unwrap()).into_bytes();
        }
    }
    out
}

#[cfg(feature = "ctf")]
#[test]
fn recorded_traces_are_written_alike() {
    use ichnos::prelude::*;

    let Some(directory) = crate::text_output::traces() else { return };
    let index: serde_json::Value =
        serde_json::from_slice(&std::fs::read(directory.join("real.json")).unwrap()).unwrap();
    let mut compared = 0;
    for entry in index.as_array().unwrap() {
        let path = directory.join("real").join(entry["trace"].as_str().unwrap());
        let Ok(session) = ichnos::open([&path], &OpenOptions::default()) else { continue };
        if session.traces().iter().flat_map(|trace| trace.streams()).any(|stream| stream.bytes > 256 << 10) {
            // Slow without optimization, and other classes do not add coverage.
            continue;
        }
        for output in OUTPUTS {
            let mut feed = |sink: &mut dyn Sink| {
                let Ok(mut cursor) = session.cursor(Window::default()) else { return };
                while cursor.advance() {
                    if let Some(message) = cursor.current() {
                        assert!(sink.message(&message).unwrap().is_continue());
                    }
                }
            };
            let (bits, values) = (write(output, false, &mut feed), write(output, true, &mut feed));
            assert!(bits == values, "{}: {output} differs", path.display());
            compared += bits.len();
        }
    }
    assert!(compared > 1_000_000, "{compared}");
}

/// Field: class, bytes and value.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) members: Vec<(String, Arc<FieldClass>)>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) value: Vec<Push>,
}

/// Step when writing a value.
#[derive(Clone, Debug)]
pub(crate) enum Push {
    Null,
    Unsigned(u64),
    Signed(i64),
    Boolean(bool),
    Bits(u64),
    Wide([u64; 2], u64, bool),
    Half(u16),
    Single(f32),
    Double(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
    Guid([u8; 16]),
    BeginStructure,
    BeginArray,
    Optional(bool),
    Variant(usize),
    End,
}

impl Push {
    /// Returns the displayed value.
    fn shown(&self) -> String {
        let value = match self {
            Self::Null => FieldValue::Null,
            Self::Unsigned(value) => FieldValue::Unsigned(*value),
            Self::Signed(value) => FieldValue::Signed(*value),
            Self::Boolean(value) => FieldValue::Boolean(*value),
            Self::Bits(bits) => FieldValue::Bits(*bits),
            Self::Wide([low, high], _, signed) => {
                let value = u128::from(*high) << 64 | u128::from(*low);
                match i128::try_from(value) {
                    _ if *signed => FieldValue::Integer(value as i128),
                    Ok(value) => FieldValue::Integer(value),
                    Err(_) => return "None".to_owned(),
                }
            }
            Self::Half(bits) => FieldValue::Real(Real::Half(*bits)),
            Self::Single(value) => FieldValue::Real(Real::Single(*value)),
            Self::Double(value) => FieldValue::Real(Real::Double(*value)),
            Self::Text(bytes) => FieldValue::Text(bytes),
            Self::Blob(bytes) => FieldValue::Blob(bytes),
            Self::Guid(bytes) => FieldValue::Guid(Uuid::from_bytes_le(*bytes)),
            _ => return String::new(),
        };
        format!("{value:?}")
    }

    pub(crate) fn to(&self, values: &mut EventValues) {
        match self {
            Self::Null => values.push(FieldValue::Null),
            Self::Unsigned(value) => values.push(*value),
            Self::Signed(value) => values.push(*value),
            Self::Boolean(value) => values.push(*value),
            Self::Bits(bits) => values.push(FieldValue::Bits(*bits)),
            Self::Wide(words, length, signed) => {
                values.push(FieldValue::Wide(Wide { words, length: *length, signed: *signed }));
            }
            Self::Half(bits) => values.push(FieldValue::Real(Real::Half(*bits))),
            Self::Single(value) => values.push(FieldValue::Real(Real::Single(*value))),
            Self::Double(value) => values.push(*value),
            Self::Text(bytes) => values.push(FieldValue::Text(bytes)),
            Self::Blob(bytes) => values.push(FieldValue::Blob(bytes)),
            Self::Guid(bytes) => values.push(Uuid::from_bytes_le(*bytes)),
            Self::BeginStructure => values.begin_structure(),
            Self::BeginArray => values.begin_array(),
            Self::Optional(is_present) => values.push_optional(*is_present),
            Self::Variant(option) => values.push_variant(*option),
            Self::End => values.end(),
        }
    }
}

fn class(kind: FieldKind) -> Arc<FieldClass> {
    Arc::new(FieldClass::new(kind))
}

fn bits(length: u64) -> BitField {
    BitField::new(length, ByteOrder::LittleEndian, 8)
}

fn integer(length: u64, signed: bool, mappings: Option<Mappings>) -> Arc<FieldClass> {
    let integer = IntegerProperties { signed, mappings, ..IntegerProperties::default() };
    class(FieldKind::Integer { bits: bits(length), integer })
}

fn mappings() -> Mappings {
    let range = |lower, upper| RangeSet(vec![IntegerRange { lower, upper }]);
    Mappings::from_iter([("few", range(0, 40)), ("many", range(30, 200))])
}

/// Creates a sample with one field.
fn one(class: Arc<FieldClass>, bytes: Vec<u8>, value: Vec<Push>) -> Sample {
    Sample { members: vec![("m".to_owned(), class)], bytes, value }
}

/// Returns fields without nested fields.
pub(crate) fn leaf() -> impl Strategy<Value = Sample> {
    let width = prop::sample::select(vec![8u64, 16, 32, 64]);
    let number =
        (width, any::<u64>(), any::<bool>(), any::<bool>()).prop_map(|(length, value, signed, named)| {
            let bytes = value.to_le_bytes()[..(length / 8) as usize].to_vec();
            let shift = 64 - length;
            let push = if signed {
                Push::Signed((value << shift) as i64 >> shift)
            } else {
                Push::Unsigned(value << shift >> shift)
            };
            one(integer(length, signed, named.then(mappings)), bytes, vec![push])
        });
    let flags = any::<u8>().prop_map(|value| {
        let kind = FieldKind::BitMap { bits: bits(8), flags: mappings() };
        one(class(kind), vec![value], vec![Push::Bits(value.into())])
    });
    let array = any::<u16>().prop_map(|value| {
        one(
            class(FieldKind::BitArray(bits(16))),
            value.to_le_bytes().to_vec(),
            vec![Push::Bits(value.into())],
        )
    });
    let boolean = any::<bool>().prop_map(|value| {
        one(class(FieldKind::Boolean(bits(8))), vec![value.into()], vec![Push::Boolean(value)])
    });
    let wide = (any::<[u64; 2]>(), any::<bool>()).prop_map(|(words, signed)| {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        one(integer(128, signed, None), bytes, vec![Push::Wide(words, 128, signed)])
    });
    let half = any::<u16>().prop_map(|value| {
        one(class(FieldKind::Float(bits(16))), value.to_le_bytes().to_vec(), vec![Push::Half(value)])
    });
    let single = any::<f32>().prop_map(|value| {
        one(class(FieldKind::Float(bits(32))), value.to_le_bytes().to_vec(), vec![Push::Single(value)])
    });
    let double = any::<f64>().prop_map(|value| {
        one(class(FieldKind::Float(bits(64))), value.to_le_bytes().to_vec(), vec![Push::Double(value)])
    });
    let text = prop::collection::vec(1u8.., 0..12).prop_map(|text| {
        let (encoding, length) = (StringEncoding::Utf8, StringLength::NullTerminated);
        let bytes = [&text[..], &[0]].concat();
        one(class(FieldKind::String { encoding, length, alignment: 8 }), bytes, vec![Push::Text(text)])
    });
    let blob = prop::collection::vec(any::<u8>(), 0..9).prop_map(|blob| {
        let length = Length::Static(blob.len() as u64);
        let kind = FieldKind::Blob { length, media_type: "application/octet-stream".into(), alignment: 8 };
        one(class(kind), blob.clone(), vec![Push::Blob(blob)])
    });
    let wide_text = (prop::collection::vec(1u16.., 0..12), any::<bool>()).prop_map(|(units, is_static)| {
        let text: Vec<u8> = units.into_iter().flat_map(u16::to_le_bytes).collect();
        let (length, end) = match is_static {
            true => (StringLength::Static(text.len() as u64), 0),
            false => (StringLength::NullTerminated, 2),
        };
        let kind = FieldKind::String { encoding: StringEncoding::Utf16Le, length, alignment: 8 };
        one(class(kind), [&text[..], &[0; 2][..end]].concat(), vec![Push::Text(text)])
    });
    let guid = any::<[u8; 16]>()
        .prop_map(|guid| one(Arc::new(FieldClass::guid()), guid.to_vec(), vec![Push::Guid(guid)]));
    let date = (any::<i64>(), 0u32..64, any::<bool>()).prop_map(|(value, shift, signed)| {
        // Half of the values are dates.
        let value = value >> shift;
        let class = FieldClass::wall_clock(signed, WallClock::FILETIME);
        let push = if signed { Push::Signed(value) } else { Push::Unsigned(value as u64) };
        one(Arc::new(class), value.to_le_bytes().to_vec(), vec![push])
    });
    let null = Just(one(class(FieldKind::Null { alignment: 1 }), Vec::new(), vec![Push::Null]));
    prop_oneof![4 => number, 1 => flags, 1 => array, 1 => boolean, 1 => wide, 1 => half, 1 => single,
        1 => double, 3 => text, 2 => wide_text, 1 => blob, 1 => guid, 1 => date, 1 => null]
}

/// Returns the location of an adjacent member that determines the next member.
fn beside(name: &str) -> Box<FieldLocation> {
    Box::new(FieldLocation { origin: None, ..FieldLocation::absolute(Scope::Payload, [name.to_owned()]) })
}

/// Returns fields of all kinds.
pub(crate) fn sample() -> impl Strategy<Value = Sample> {
    leaf().prop_recursive(4, 24, 5, |inner| {
        let structure = prop::collection::vec(inner.clone(), 0..5).prop_map(|samples| {
            let (class, bytes, pushes) = structure_of(&samples);
            let value = [vec![Push::BeginStructure], pushes, vec![Push::End]].concat();
            one(class, bytes, value)
        });
        let array = (inner.clone(), 0usize..4, any::<bool>()).prop_map(|(sample, count, is_dynamic)| {
            // Elements are structures, so that related members stay together.
            let (element, bytes, pushes) = structure_of(&[sample]);
            let element_value = [vec![Push::BeginStructure], pushes, vec![Push::End]].concat();
            let mut value = vec![Push::BeginArray];
            (0..count).for_each(|_| value.extend_from_slice(&element_value));
            value.push(Push::End);
            let length = if is_dynamic { Length::Dynamic(beside("n")) } else { Length::Static(count as u64) };
            let array = FieldKind::Array { element, length, minimum_alignment: 8, element_aligns: true };
            let mut sample = one(class(array), bytes.repeat(count), value);
            if is_dynamic {
                sample.members.insert(0, ("n".to_owned(), integer(8, false, None)));
                sample.bytes.insert(0, count as u8);
                sample.value.insert(0, Push::Unsigned(count as u64));
            }
            sample
        });
        let optional = (inner.clone(), any::<bool>()).prop_map(|(sample, is_present)| {
            let (field, bytes, pushes) = structure_of(&[sample]);
            let mut value = vec![Push::Boolean(is_present), Push::Optional(is_present)];
            if is_present {
                value.extend([vec![Push::BeginStructure], pushes, vec![Push::End]].concat());
            }
            let kind = FieldKind::Optional { field, selector: beside("n"), ranges: None };
            let members =
                vec![("n".to_owned(), class(FieldKind::Boolean(bits(8)))), ("m".to_owned(), class(kind))];
            let bytes = [vec![is_present.into()], if is_present { bytes } else { Vec::new() }].concat();
            Sample { members, bytes, value }
        });
        let variant = (inner.clone(), inner, any::<bool>()).prop_map(|(first, second, is_second)| {
            let both = [structure_of(&[first]), structure_of(&[second])];
            let options = both.iter().zip(0..).map(|((class, ..), i)| VariantOption {
                name: Some(format!("o{i}")),
                class: Arc::clone(class),
                ranges: RangeSet(vec![IntegerRange::single(i)]),
                attributes: Default::default(),
            });
            let (selector, alignment) = (beside("n"), 1);
            let kind = FieldKind::Variant { options: options.collect(), selector, alignment };
            let members = vec![("n".to_owned(), integer(8, false, None)), ("m".to_owned(), class(kind))];
            let chosen = usize::from(is_second);
            let (_, bytes, pushes) = both[chosen].clone();
            let value = vec![Push::Unsigned(chosen as u64), Push::Variant(chosen), Push::BeginStructure];
            let value = [value, pushes, vec![Push::End]].concat();
            Sample { members, bytes: [vec![chosen as u8], bytes].concat(), value }
        });
        prop_oneof![2 => structure, 1 => array, 1 => optional, 1 => variant]
    })
}

/// Combines samples into a structure: class, bytes and member values.
pub(crate) fn structure_of(samples: &[Sample]) -> (Arc<FieldClass>, Vec<u8>, Vec<Push>) {
    let mut members: Vec<Member> = Vec::new();
    for (i, sample) in samples.iter().enumerate() {
        for (name, class) in &sample.members {
            let mut class = FieldClass::clone(class);
            // Related members also have the sample's number.
            let numbered = || beside(&format!("n{i}"));
            match &mut class.kind {
                FieldKind::Array { length: Length::Dynamic(place), .. }
                | FieldKind::Optional { selector: place, .. }
                | FieldKind::Variant { selector: place, .. } => *place = numbered(),
                _ => {}
            }
            members.push(Member::new(format!("{name}{i}"), Arc::new(class)));
        }
    }
    let kind = FieldKind::Structure { members, minimum_alignment: 8 };
    let bytes = samples.iter().flat_map(|sample| sample.bytes.clone()).collect();
    let value = samples.iter().flat_map(|sample| sample.value.clone()).collect();
    (class(kind), bytes, value)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Compares a reader that creates bits with a reader that creates values, for the same events.
    #[test]
    fn bits_and_values_are_written_alike(
        context in prop::collection::vec(leaf(), 0..3),
        payload in prop::collection::vec(sample(), 0..6),
    ) {
        let leaves: Vec<(usize, Push)> = payload
            .iter()
            .enumerate()
            .filter(|(_, sample)| sample.members.len() == 1 && sample.value.len() == 1)
            .map(|(i, sample)| (i, sample.value[0].clone()))
            .collect();
        let (common_context, context_bytes, context_pushes) = structure_of(&context);
        let (payload, payload_bytes, payload_pushes) = structure_of(&payload);
        let event = EventRecordClass {
            name: Some("event".to_owned()),
            log_level: Some(4),
            payload: Some(payload),
            ..EventRecordClass::default()
        };
        let stream = DataStreamClass {
            common_context: Some(common_context),
            resource: Some(Arc::new(FieldClass::structure([Member::new("zone", FieldClass::string())]))),
            event_records: vec![Arc::new(event)],
            ..DataStreamClass::default()
        };
        let class = TraceClass {
            dialect: "CTF 2".to_owned(),
            data_streams: vec![stream],
            ..TraceClass::default()
        };
        let trace = Arc::new(Trace::new(class, "trace", &Limits::default()).unwrap());
        let stream = DataStream::new(Arc::clone(&trace), 0, None, "stream").unwrap();
        let data = [&context_bytes[..], &payload_bytes].concat();
        let (context_at, payload_at) = (Position::at(0), Position::at(8 * context_bytes.len() as u64));
        let begins = [context_at, context_at, context_at, context_at, payload_at, payload_at];
        let slots = vec![Cell::new(UNKNOWN); trace.plans.slots()];
        let limits = DecodeLimits::from(&Limits::default());
        let plans = &stream.plans().event_records[0];

        let mut values = EventValues::default();
        values.begin(Scope::CommonContext);
        context_pushes.iter().for_each(|push| push.to(&mut values));
        let mut mixed = values.clone();
        values.begin(Scope::Payload);
        payload_pushes.iter().for_each(|push| push.to(&mut values));
        // A value context before a bit payload.
        mixed.begin(Scope::CommonContext);
        context_pushes.iter().for_each(|push| push.to(&mut mixed));

        // These sinks do not show event resources.
        let mut resource = mixed.clone();
        resource.begin(Scope::Resource);
        resource.push("north");
        let mut only_resource = EventValues::default();
        only_resource.begin(Scope::Resource);
        only_resource.push("south");

        let bits = Scopes::new(PacketBits::whole(&data), &begins, &slots, &limits);
        for (scopes, zone) in [(bits, None), (bits.with_values(&only_resource), Some("south"))] {
            let event = Event::new(&stream, plans, None, scopes);
            let mut copy = EventValues::default();
            copy.copy_from(&event).unwrap();
            let copy = Event::new(&stream, plans, None, Scopes::from_values(&copy));
            for event in [event, copy] {
                let found = event.field("resource.zone");
                prop_assert_eq!(found.and_then(|found| found.as_str()), zone);
                prop_assert_eq!(event.has_resource(), zone.is_some());
            }
        }
        for (i, push) in leaves {
            let path = format!("m{i}");
            for scopes in [bits, Scopes::from_values(&values)] {
                let event = Event::new(&stream, plans, None, scopes);
                for path in [&path, &format!("payload.{path}")] {
                    let found = event.field(path).map_or("None".to_owned(), |found| format!("{found:?}"));
                    prop_assert_eq!(found, push.shown(), "{}", path);
                }
            }
        }
        for output in OUTPUTS {
            let shows_resources = output.starts_with("log") || output == "jsonl";
            let resources = if shows_resources { [&mixed; 2] } else { [&resource, &only_resource] };
            let [with_mixed, with_only] = resources.map(|values| bits.with_values(values));
            let all = [bits, Scopes::from_values(&values), bits.with_values(&mixed), with_mixed, with_only];
            let written = all.map(|scopes| {
                write(output, false, &mut |sink| {
                    let event = Event::new(&stream, plans, None, scopes);
                    for message in [Message::StreamBegin(&stream), Message::Event(event), Message::StreamEnd(&stream)] {
                        assert!(sink.message(&message).unwrap().is_continue());
                    }
                })
            });
            let [bits, others @ ..] = written.map(|text| String::from_utf8_lossy(&text).into_owned());
            prop_assert!(!bits.is_empty(), "{} wrote nothing", output);
            #[cfg(all(feature = "ctf", feature = "fuchsia-log", feature = "jsonl", feature = "nettrace", feature = "xtrace"))]
            if output == "jsonl" {
                prop_assert_eq!(&crate::jsonl::written_again(&bits), &bits);
            }
            for other in &others {
                prop_assert_eq!(&bits, other, "{}", output);
            }
        }
    }
}
