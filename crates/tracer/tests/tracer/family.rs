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
    label: Label<'a>,
}

#[derive(Clone, Copy, Debug, TraceField)]
pub(crate) struct Label<'a> {
    text: &'a str,
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

#[derive(Clone, Copy, Debug, TraceField)]
pub(crate) struct Point {
    x: i32,
    #[trace(big_endian)]
    y: i16,
    state: State,
}

#[derive(Clone, Copy, Debug, TraceField)]
pub(crate) struct Aligned {
    byte: u8,
    #[trace(align = 32, base = 16)]
    word: u32,
    point: Point,
}

#[derive(Clone, Debug, TraceField)]
pub(crate) struct Named {
    name: String,
    kind: Option<u16>,
    #[trace(skip)]
    _unused: (),
    points: [Point; 1],
    #[trace(big_endian)]
    values: Vec<u16>,
}

bitflags::bitflags! {
    #[derive(Clone, Copy, Debug, TraceField)]
    pub(crate) struct Access: u16 {
        const READ = 1;
        const WRITE = 2;
        const BOTH = 3;
        const MODE = 0xc0;
    }
}

#[derive(Clone, Debug, TraceEvent)]
pub(crate) struct Nested {
    first: u8,
    point: Point,
    grid: [Aligned; 2],
    named: Named,
    path: Vec<Point>,
    all: Vec<Named>,
    pair: [Named; 2],
    perhaps: Option<Named>,
    corner: Option<Point>,
    access: Access,
    #[trace(big_endian)]
    rights: Vec<Access>,
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
    Nested(Box<Nested>),
    Nothing,
}

/// A number that is printed with few digits.
fn float() -> impl Strategy<Value = f32> {
    (-4000i16..4000).prop_map(|number| f32::from(number) / 8.0)
}

fn state() -> impl Strategy<Value = State> {
    prop_oneof![Just(State::Idle), Just(State::Running), Just(State::ShutDown)]
}

// Babeltrace 2.0.4 repeats earlier text in place of an empty one.
const TEXT: &str = "[a-zA-Zäß€ ]{1,20}";

fn point() -> impl Strategy<Value = Point> {
    (any::<i32>(), any::<i16>(), state()).prop_map(|(x, y, state)| Point { x, y, state })
}

fn aligned() -> impl Strategy<Value = Aligned> {
    (any::<u8>(), any::<u32>(), point()).prop_map(|(byte, word, point)| Aligned { byte, word, point })
}

fn named() -> impl Strategy<Value = Named> {
    (TEXT, any::<Option<u16>>(), point(), proptest::collection::vec(any::<u16>(), 0..3))
        .prop_map(|(name, kind, point, values)| Named { name, kind, _unused: (), points: [point], values })
}

fn access() -> impl Strategy<Value = Access> {
    prop::sample::select(vec![0, 1, 2, 3, 0x40, 0xc1]).prop_map(Access::from_bits_retain)
}

fn nested() -> impl Strategy<Value = Random> {
    let vec = proptest::collection::vec(named(), 0..3);
    let fixed = (any::<u8>(), point(), [aligned(), aligned()], access());
    let variable = (named(), proptest::collection::vec(point(), 0..3), vec, [named(), named()]);
    let options = (proptest::option::of(named()), proptest::option::of(point()));
    (fixed, variable, options, proptest::collection::vec(access(), 0..3)).prop_map(
        |((first, point, grid, access), (named, path, all, pair), (perhaps, corner), rights)| {
            Random::Nested(Box::new(Nested {
                first,
                point,
                grid,
                named,
                path,
                all,
                pair,
                perhaps,
                corner,
                access,
                rights,
            }))
        },
    )
}

pub(crate) fn random() -> impl Strategy<Value = Random> {
    let text = || TEXT;
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
    prop_oneof![numbers, texts, lists, states, nested(), Just(Random::Nothing)]
}

impl Random {
    /// Passes the event to a function for all types.
    pub(crate) fn record(&self, recorder: &mut impl Recorder) {
        match self {
            Self::Numbers(event) => recorder.record(event),
            Self::Texts(first, number, second, third) => {
                let (second, label) = (second.clone(), Label { text: first });
                recorder.record(&Texts { first, number: *number, second, third: *third, label });
            }
            Self::Lists(array, slice, image, digest, floats) => recorder.record(&Lists {
                array: *array,
                slice,
                image,
                digest: *digest,
                floats: floats.clone(),
            }),
            Self::States(event) => recorder.record(event),
            Self::Nested(event) => recorder.record(&**event),
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
                let label = json!({ "text": first });
                (
                    "Texts",
                    json!({ "first": first, "number": number, "second": second, "third": third, "label": label }),
                )
            }
            Self::Lists(array, slice, image, digest, floats) => (
                "Lists",
                json!({ "array": array, "slice": slice, "image": blob(image, "image/png"), "digest": blob(digest, "application/octet-stream"),
                    "floats": floats }),
            ),
            Self::States(s) => (
                "states: all",
                json!({ "state": labeled(s.state), "before": s.before.map(labeled), "flags": flags(s.flags, &[("READY", 1), ("MODE", 6), ("ERROR", 0x8000)]) }),
            ),
            Self::Nested(n) => {
                let all = |all: &[Named]| all.iter().map(Named::json).collect::<Vec<_>>();
                let rights: Vec<_> = n.rights.iter().map(|rights| rights.json()).collect();
                let path: Vec<_> = n.path.iter().map(Point::json).collect();
                let payload = json!({
                    "first": n.first, "point": n.point.json(), "grid": n.grid.map(|aligned| aligned.json()),
                    "named": n.named.json(), "path": path, "all": all(&n.all), "pair": all(&n.pair),
                    "perhaps": n.perhaps.as_ref().map(Named::json), "corner": n.corner.map(|corner| corner.json()),
                    "access": n.access.json(), "rights": rights,
                });
                ("Nested", payload)
            }
            Self::Nothing => ("Nothing", json!({})),
        }
    }
}

impl Point {
    fn json(&self) -> Value {
        json!({ "x": self.x, "y": self.y, "state": labeled(self.state) })
    }
}

impl Aligned {
    fn json(&self) -> Value {
        json!({ "byte": self.byte, "word": self.word, "point": self.point.json() })
    }
}

impl Named {
    fn json(&self) -> Value {
        json!({ "name": self.name, "kind": self.kind, "points": [self.points[0].json()], "values": self.values })
    }
}

impl Access {
    fn json(self) -> Value {
        flags(self.bits(), &[("READ", 1), ("WRITE", 2), ("MODE", 0xc0)])
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

fn flags(bits: u16, names: &[(&str, u16)]) -> Value {
    let set: Vec<_> = names.iter().filter(|(_, mask)| bits & mask != 0).map(|(name, _)| name).collect();
    json!({ "bits": bits, "flags": set })
}

/// Something that records events.
pub(crate) trait Recorder {
    fn record<E: TraceEvent + ichnos_tracer::InEventSet<Family>>(&mut self, event: &E);
}

ichnos_tracer::event_set! {
    pub(crate) struct Family { Numbers, Texts<'_>, Lists<'_>, States, Nested, Nothing }
}
