//! Event types with all kinds of fields, random values, and how Babeltrace prints them.

use ichnos_tracer::{TraceEvent, TraceField};
use proptest::prelude::*;
use serde_json::{Value, json};

#[derive(Clone, Debug, TraceEvent)]
#[trace(namespace = "ns", level = "warning", emf_uri = "http://example.com/numbers")]
pub(crate) struct Numbers {
    byte: u8,
    #[trace(big_endian)]
    short: i16,
    #[trace(base = 16, align = 32)]
    word: u32,
    long: i64,
    single: f32,
    #[trace(big_endian)]
    double: f64,
    is_set: bool,
    #[trace(align = 64, big_endian, name = "last one")]
    last: u64,
}

#[derive(Clone, Debug, TraceEvent)]
pub(crate) struct Texts<'a> {
    first: &'a str,
    number: u16,
    second: Option<String>,
    third: Option<u32>,
}

#[derive(Clone, Debug, TraceEvent)]
pub(crate) struct Lists<'a> {
    array: [u16; 3],
    #[trace(big_endian)]
    slice: &'a [i32],
    #[trace(media_type = "image/png")]
    image: &'a [u8],
    #[trace(blob)]
    digest: [u8; 4],
    floats: Vec<f64>,
}

#[derive(Clone, Copy, Debug, TraceField)]
#[repr(i8)]
pub(crate) enum State {
    Idle = -1,
    Running,
    #[trace(name = "shut down")]
    ShutDown = 7,
}

#[derive(Clone, Debug, TraceEvent)]
#[trace(name = "states: all")]
pub(crate) struct States {
    state: State,
    before: [State; 2],
    #[trace(flags(READY = 0, MODE = 1..=2, ERROR = 15))]
    flags: u16,
}

#[derive(Clone, Debug, TraceEvent)]
pub(crate) struct Nothing;

/// A random event. It owns its values.
#[derive(Clone, Debug)]
pub(crate) enum Random {
    Numbers(Numbers),
    Texts(String, u16, Option<String>, Option<u32>),
    Lists([u16; 3], Vec<i32>, Vec<u8>, [u8; 4], Vec<f64>),
    States(States),
    Nothing,
}

/// A number that is printed with few digits.
fn float() -> impl Strategy<Value = f32> {
    (-4000i16..4000).prop_map(|number| f32::from(number) / 8.0)
}

fn state() -> impl Strategy<Value = State> {
    prop_oneof![Just(State::Idle), Just(State::Running), Just(State::ShutDown)]
}

pub(crate) fn random() -> impl Strategy<Value = Random> {
    // Babeltrace 2.0.4 repeats earlier text in place of an empty one.
    let text = || "[a-zA-Zäß€ ]{1,20}";
    let numbers = (any::<(u8, i16, u32, i64)>(), float(), float(), any::<(bool, u64)>()).prop_map(
        |((byte, short, word, long), single, double, (is_set, last))| {
            Random::Numbers(Numbers { byte, short, word, long, single, double: double.into(), is_set, last })
        },
    );
    let texts = (text(), any::<u16>(), proptest::option::of(text()), any::<Option<u32>>())
        .prop_map(|(first, number, second, third)| Random::Texts(first, number, second, third));
    let lists = (
        any::<[u16; 3]>(),
        proptest::collection::vec(any::<i32>(), 0..5),
        // Babeltrace 2.1.2 ends at an empty BLOB.
        proptest::collection::vec(any::<u8>(), 1..9),
        any::<[u8; 4]>(),
        proptest::collection::vec(float().prop_map(f64::from), 0..4),
    )
        .prop_map(|(array, slice, image, digest, floats)| Random::Lists(array, slice, image, digest, floats));
    let states = (state(), [state(), state()], prop::sample::select(vec![0u16, 1, 6, 0x8000, 0x8003]))
        .prop_map(|(state, before, flags)| Random::States(States { state, before, flags }));
    prop_oneof![numbers, texts, lists, states, Just(Random::Nothing)]
}

impl Random {
    /// Passes the event to a function for all types.
    pub(crate) fn record(&self, recorder: &mut impl Recorder) {
        match self {
            Self::Numbers(event) => recorder.record(event),
            Self::Texts(first, number, second, third) => {
                recorder.record(&Texts { first, number: *number, second: second.clone(), third: *third });
            }
            Self::Lists(array, slice, image, digest, floats) => recorder.record(&Lists {
                array: *array,
                slice,
                image,
                digest: *digest,
                floats: floats.clone(),
            }),
            Self::States(event) => recorder.record(event),
            Self::Nothing => recorder.record(&Nothing),
        }
    }

    /// Returns the name, and the payload as ichnos writes it in JSON Lines.
    pub(crate) fn json(&self) -> (&'static str, Value) {
        match self {
            Self::Numbers(n) => (
                "Numbers",
                json!({ "byte": n.byte, "short": n.short, "word": n.word, "long": n.long, "single": n.single,
                    "double": n.double, "is_set": n.is_set, "last one": n.last }),
            ),
            Self::Texts(first, number, second, third) => {
                ("Texts", json!({ "first": first, "number": number, "second": second, "third": third }))
            }
            Self::Lists(array, slice, image, digest, floats) => (
                "Lists",
                json!({ "array": array, "slice": slice, "image": blob(image, "image/png"), "digest": blob(digest, "application/octet-stream"),
                    "floats": floats }),
            ),
            Self::States(s) => (
                "states: all",
                json!({ "state": labeled(s.state), "before": s.before.map(labeled), "flags": flags(s.flags) }),
            ),
            Self::Nothing => ("Nothing", json!({})),
        }
    }
}

fn blob(bytes: &[u8], media_type: &str) -> Value {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({ "$blob": hex, "media_type": media_type })
}

fn label(state: State) -> &'static str {
    match state {
        State::Idle => "Idle",
        State::Running => "Running",
        State::ShutDown => "shut down",
    }
}

fn labeled(state: State) -> Value {
    json!({ "value": state as i8, "labels": [label(state)] })
}

fn flags(bits: u16) -> Value {
    let names = [("READY", 1), ("MODE", 6), ("ERROR", 0x8000)];
    let set: Vec<_> = names.iter().filter(|(_, mask)| bits & mask != 0).map(|(name, _)| name).collect();
    json!({ "bits": bits, "flags": set })
}

/// Something that records events.
pub(crate) trait Recorder {
    fn record<E: TraceEvent + ichnos_tracer::InEventSet<Family>>(&mut self, event: &E);
}

ichnos_tracer::event_set! {
    pub(crate) struct Family { Numbers, Texts<'_>, Lists<'_>, States, Nothing }
}
