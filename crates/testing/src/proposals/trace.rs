//! Metadata and data streams in a random trace.

use crate::Random;
use crate::encoder::Order;

use super::encode::PacketEncoder;
use super::json::{array, field_type, object, string, tag_name};
use super::maker::{Maker, Tag};
use super::targets::{KnownTarget, TargetKind, scope_name};
use super::types::{FieldType, Integer, Kind, Length, TypeField, TypeRole, Values};
use super::{ExpectedEvent, ExpectedPacket, Proposal, RandomStream, RandomTrace};

/// Value for the UUID role.
const UUID: [u8; 16] = *b"\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff";
const UUID_TEXT: &str = "00112233-4455-6677-8899-aabbccddeeff";
const MAGIC: i128 = 0xc1fc_1fc1;

/// Clock names in the metadata.
const CLOCKS: [&str; 3] = ["c 1", "c2", "monotonic"];

/// Maximum number of attempts to encode a packet whose content ends at a byte.
const MOST_TRIES: u32 = 60;

/// Roles for the packet size.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sizes {
    None,
    Total,
    /// PROP-1.0: the data stream consists of one packet.
    Content,
    Both,
}

/// Event record class.
struct EventClass {
    id: i128,
    context: Option<FieldType>,
    payload: Option<FieldType>,
    tags: Vec<Tag>,
}

/// Data stream class.
struct StreamClass {
    id: i128,
    sizes: Sizes,
    context: Option<FieldType>,
    header: Option<FieldType>,
    common: Option<FieldType>,
    events: Vec<EventClass>,
    tags: Vec<Tag>,
}

/// Returns a random trace for a document.
pub fn random_trace(proposal: Proposal, random: &mut Random) -> RandomTrace {
    let mut maker = Maker::new(proposal, random);
    let clocks = match proposal {
        Proposal::First => maker.random.pick(&[0, 1, 1, 2, 2, 3]),
        Proposal::Second => maker.random.index(3).min(1),
    };
    if clocks > 1 {
        maker.record("several clocks");
    }
    let class_count = 1 + usize::from(maker.random.percent(20));
    if class_count > 1 {
        maker.record("several data stream classes");
    }
    let has_uuid = maker.random.percent(40);
    let (header, header_tags) = packet_header(&mut maker, class_count > 1, has_uuid);
    let mut classes = Vec::new();
    for number in 0..class_count {
        let id = if class_count == 1 && maker.random.percent(50) { 0 } else { 1 + number as i128 };
        let id = if class_count == 1 && header.is_none() { 0 } else { id };
        classes.push(stream_class(&mut maker, id, clocks));
    }
    let has_class_id = header_tags.iter().any(|(role, ..)| *role == TypeRole::StreamClass)
        || header.as_ref().is_some_and(has_class_role);
    if !has_class_id {
        classes[0].id = 0;
    }
    let metadata = metadata(&mut maker, clocks, has_uuid, (&header, &header_tags), &classes);
    let mut streams = Vec::new();
    for (number, class) in classes.iter().enumerate() {
        for part in 0..1 + maker.random.index(2) {
            let number = number * 2 + part;
            let stream = stream(&mut maker, number, clocks, header.as_ref(), class);
            if !stream.packets.is_empty() {
                streams.push(stream);
            }
        }
    }
    RandomTrace { metadata, streams, constructs: maker.constructs }
}

fn has_class_role(class: &FieldType) -> bool {
    let inner = match &class.kind {
        Kind::Structure(fields) => fields.iter().any(|field| has_class_role(&field.class)),
        Kind::Array(_, element) => has_class_role(element),
        _ => false,
    };
    inner || class.roles.contains(&TypeRole::StreamClass)
}

fn packet_header(maker: &mut Maker<'_>, needs_id: bool, has_uuid: bool) -> (Option<FieldType>, Vec<Tag>) {
    let is_first = maker.proposal == Proposal::First;
    maker.begin(0);
    if !needs_id && maker.random.percent(30) {
        return (None, Vec::new());
    }
    if !needs_id && is_first && maker.random.percent(15) {
        maker.record("root that is no structure");
        let class = maker.any(2);
        return (Some(class), Vec::new());
    }
    let mut fields = Vec::new();
    if maker.random.percent(60) {
        maker.record("magic number");
        maker.role(TypeRole::Magic, 32, &mut fields);
    }
    if has_uuid && maker.random.percent(60) {
        maker.record("UUID");
        let name = maker.name();
        let mut class = match maker.proposal {
            Proposal::First => {
                let values = Values::Any;
                let integer = Integer { signed: false, labels: None, values };
                let byte = maker.plain(Kind::Integer(8, integer)).aligned(8);
                maker.tags.push((TypeRole::Uuid, 0, vec![name.clone()]));
                maker.plain(Kind::Array(Length::Static(16), Box::new(byte))).aligned(8)
            }
            Proposal::Second => maker.plain(Kind::Blob(Length::Static(16))),
        };
        class.roles.push(TypeRole::Uuid);
        fields.push(TypeField { name, class });
    }
    user_fields(maker, &mut fields, 30);
    if needs_id || maker.random.percent(40) {
        maker.role(TypeRole::StreamClass, 8, &mut fields);
    }
    if maker.random.percent(50) {
        maker.record("data stream id");
        maker.role(TypeRole::Stream, 8, &mut fields);
        small_role(maker, &mut fields);
    }
    user_fields(maker, &mut fields, 30);
    let tags = std::mem::take(&mut maker.tags);
    let alignment = maker.random.pick(&[1, 1, 8, 64]);
    (Some(maker.plain(Kind::Structure(fields)).aligned(alignment)), tags)
}

/// Lets other fields need the last field, if it is a small integer.
fn small_role(maker: &mut Maker<'_>, fields: &mut [TypeField]) {
    let Some(field) = fields.last_mut() else { return };
    if matches!(field.class.kind, Kind::Integer(..) | Kind::VariableInteger(_)) && field.class.saves.is_none()
    {
        let id = maker.new_id();
        field.class.saves = Some(id);
        maker.targets.push(KnownTarget {
            id,
            kind: TargetKind::Length,
            scope: maker.place.scope,
            path: vec![field.name.clone()],
            barriers: Vec::new(),
            is_in_union: false,
            is_through_variant: false,
        });
    }
}

/// Adds fields without roles. PROP-2.0 headers cannot contain them.
fn user_fields(maker: &mut Maker<'_>, fields: &mut Vec<TypeField>, percent: u64) {
    let is_header = matches!(maker.place.scope, 0 | 2);
    if (is_header && maker.proposal == Proposal::Second) || !maker.random.percent(percent) {
        return;
    }
    if is_header {
        maker.record("header field without a role");
    }
    for _ in 0..1 + maker.random.below(2) {
        maker.field(2, fields);
    }
}

fn stream_class(maker: &mut Maker<'_>, id: i128, clocks: usize) -> StreamClass {
    let is_first = maker.proposal == Proposal::First;
    let sizes = match maker.random.below(20) {
        0 => Sizes::None,
        1 | 2 => Sizes::Total,
        3 if is_first => Sizes::Content,
        _ => Sizes::Both,
    };
    maker.begin(1);
    let mut fields = Vec::new();
    user_fields(maker, &mut fields, 40);
    let clock = (clocks > 0).then_some(if is_first { TypeRole::Clock(0) } else { TypeRole::Begin });
    // In PROP-2.0, clocks are 0 at the start of each packet.
    if let Some(clock) = clock
        && maker.random.percent(if is_first { 50 } else { 100 })
    {
        maker.record("clock at the beginning of packets");
        maker.role(clock, 32, &mut fields);
    }
    if matches!(sizes, Sizes::Total | Sizes::Both) {
        maker.role(TypeRole::Total, 32, &mut fields);
    }
    user_fields(maker, &mut fields, 30);
    if matches!(sizes, Sizes::Content | Sizes::Both) {
        maker.role(TypeRole::Content, 32, &mut fields);
    }
    for (role, construct) in [(TypeRole::Lost, "counter of lost events"), (TypeRole::Number, "packet number")]
    {
        if maker.random.percent(40) {
            maker.record(construct);
            maker.role(role, 8, &mut fields);
        }
    }
    for clock in 0..clocks {
        if maker.random.percent(if clock == 0 { 40 } else { 20 }) {
            maker.record("clock at the end of packets");
            maker.role(TypeRole::EndClock(clock), 32, &mut fields);
        }
        if clock > 0 && maker.random.percent(20) {
            maker.role(TypeRole::Clock(clock), 32, &mut fields);
        }
    }
    user_fields(maker, &mut fields, 40);
    let context = (!fields.is_empty()).then(|| {
        let alignment = maker.random.pick(&[1, 1, 8, 32]);
        maker.plain(Kind::Structure(fields)).aligned(alignment)
    });
    if maker.random.percent(20) {
        maker.record("several event record classes");
    }
    let event_count = 1 + maker.random.index(3);
    maker.begin(2);
    let header = event_header(maker, event_count > 1, clocks);
    maker.begin(3);
    let common = maker.random.percent(50).then(|| root(maker, clocks, header.is_some()));
    let tags = std::mem::take(&mut maker.tags);
    let mut events: Vec<EventClass> = Vec::new();
    let is_wide = header.as_ref().is_some_and(|header| has_wide_id(header, &tags));
    for number in 0..event_count {
        maker.begin(4);
        let context = maker.random.percent(40).then(|| root(maker, 0, true));
        maker.begin(5);
        let payload =
            (header.is_none() || maker.random.percent(95)).then(|| root(maker, 0, header.is_some()));
        let mut id = number as i128;
        if event_count > 1 && maker.random.percent(60) {
            id = 10 * (number as i128 + 1) + i128::from(maker.random.below(10));
            if is_wide && maker.random.percent(80) {
                maker.record("id of more than 64 bits");
                id += 1 << 64;
            }
        }
        events.push(EventClass { id, context, payload, tags: std::mem::take(&mut maker.tags) });
    }
    StreamClass { id, sizes, context, header, common, events, tags }
}

/// Returns `true` if all ids can have more than 64 bits.
fn has_wide_id(class: &FieldType, tags: &[Tag]) -> bool {
    let Kind::Structure(fields) = &class.kind else { return false };
    let is_wide = |class: &FieldType| matches!(class.kind, Kind::Integer(72, _) | Kind::VariableInteger(_));
    let tagged: Vec<_> = tags.iter().filter(|(role, ..)| *role == TypeRole::Event).collect();
    let of_roles: Vec<_> =
        fields.iter().filter(|field| field.class.roles.contains(&TypeRole::Event)).collect();
    let has_inner = fields.iter().any(|field| matches!(field.class.kind, Kind::Variant { .. }));
    match (tagged.as_slice(), of_roles.as_slice()) {
        ([(_, _, path)], []) => match path.as_slice() {
            [name] => fields.iter().any(|field| field.name == *name && is_wide(&field.class)),
            _ => false,
        },
        ([], [field]) => !has_inner && is_wide(&field.class),
        _ => false,
    }
}

fn event_header(maker: &mut Maker<'_>, needs_id: bool, clocks: usize) -> Option<FieldType> {
    let is_first = maker.proposal == Proposal::First;
    if !needs_id && clocks == 0 && maker.random.percent(50) {
        return None;
    }
    if is_first && maker.random.percent(10) && (needs_id || clocks > 0) {
        maker.record("root that is no structure");
        maker.record("role of a root field");
        let role = if needs_id { TypeRole::Event } else { TypeRole::Clock(0) };
        let integer = Integer { signed: false, labels: None, values: Values::TypeRole(role) };
        maker.tags.push((role, 2, Vec::new()));
        return Some(maker.plain(Kind::Integer(32, integer)).aligned(8));
    }
    let mut fields = Vec::new();
    user_fields(maker, &mut fields, 30);
    if needs_id && maker.random.percent(30) {
        maker.compact_id(&mut fields);
    } else if needs_id || maker.random.percent(50) {
        maker.role(TypeRole::Event, 32, &mut fields);
    }
    if clocks > 0 && maker.random.percent(90) {
        maker.role(TypeRole::Clock(0), 8, &mut fields);
    }
    for clock in 1..clocks {
        if maker.random.percent(40) {
            if is_first && maker.random.percent(70) && add_clock(maker, clock, &fields) {
                continue;
            }
            maker.role(TypeRole::Clock(clock), 16, &mut fields);
        }
    }
    user_fields(maker, &mut fields, 30);
    if fields.is_empty() {
        return None;
    }
    let alignment = maker.random.pick(&[1, 8, 8, 32]);
    Some(maker.plain(Kind::Structure(fields)).aligned(alignment))
}

/// If the last field updates a clock, adds a tag for another clock.
fn add_clock(maker: &mut Maker<'_>, clock: usize, fields: &[TypeField]) -> bool {
    let Some(field) = fields.last() else { return false };
    let tag = (TypeRole::Clock(0), 2, vec![field.name.clone()]);
    if !maker.tags.contains(&tag) || clock != 1 {
        return false;
    }
    maker.record("field that updates several clocks");
    maker.tags.push((TypeRole::Clock(clock), 2, vec![field.name.clone()]));
    true
}

/// Returns a root field without roles. `can_be_empty` is `true` if another part of the event has bits.
fn root(maker: &mut Maker<'_>, clocks: usize, can_be_empty: bool) -> FieldType {
    let is_first = maker.proposal == Proposal::First;
    if is_first && can_be_empty && maker.random.percent(20) {
        maker.record("root that is no structure");
        return maker.any(3);
    }
    let count = maker.random.below(7);
    let mut fields = maker.fields(3, count);
    if is_first && clocks > 0 && maker.random.percent(15) {
        maker.record("clock outside of headers");
        maker.role(TypeRole::Clock(clocks - 1), 32, &mut fields);
    }
    if !can_be_empty {
        let integer = Integer { signed: false, labels: None, values: Values::Any };
        let class = maker.plain(Kind::Integer(16, integer));
        fields.push(TypeField { name: maker.name(), class });
    }
    let alignment = maker.random.pick(&[1, 1, 8, 64]);
    maker.plain(Kind::Structure(fields)).aligned(alignment)
}

fn tags_text(tags: &[Tag]) -> String {
    array(tags.iter().map(|(role, scope, path)| {
        let path = array(path.iter().map(|name| string(name)));
        let path = object(&[("scope", string(scope_name(*scope, Proposal::First))), ("path", path)]);
        let mut entries = vec![("tag", string(tag_name(*role))), ("path", path)];
        match role {
            TypeRole::Lost => entries.push(("reason", string("legacy"))),
            TypeRole::Clock(clock) | TypeRole::EndClock(clock) => {
                entries.push(("data-stream-clock-class-name", string(CLOCKS[*clock])));
            }
            _ => {}
        }
        object(&entries)
    }))
}

fn metadata(
    maker: &mut Maker<'_>,
    clocks: usize,
    has_uuid: bool,
    (header, header_tags): (&Option<FieldType>, &[Tag]),
    classes: &[StreamClass],
) -> String {
    let proposal = maker.proposal;
    let text = |class: &FieldType| field_type(class, proposal);
    let is_first = proposal == Proposal::First;
    let mut fragments = Vec::new();
    let order = if maker.order == Order::Le { "le" } else { "be" };
    if is_first {
        fragments.push(string("CTF 2"));
    } else {
        fragments.push(object(&[("type", string("preamble")), ("version", "2".to_owned())]));
    }
    for (number, name) in CLOCKS.iter().enumerate().take(clocks) {
        let frequency = maker.random.pick(&[1_000_000_000u64, 1000, 1, 123_457]);
        let seconds = maker.random.pick(&[0i64, 1_700_000_000, -5]);
        let cycles = (number as u64 * 7).min(frequency - 1);
        fragments.push(match proposal {
            Proposal::First => object(&[
                ("fragment", string("data-stream-clock-class")),
                ("name", string(name)),
                ("freq", frequency.to_string()),
                ("offset-seconds", seconds.to_string()),
                ("offset-cycles", cycles.to_string()),
            ]),
            Proposal::Second => object(&[
                ("type", string("clock-class")),
                ("name", string(name)),
                ("frequency", frequency.to_string()),
                ("offset", object(&[("seconds", seconds.to_string()), ("cycles", cycles.to_string())])),
            ]),
        });
    }
    let kind = if is_first { "fragment" } else { "type" };
    let mut entries = vec![(kind, string("trace-class"))];
    if is_first {
        entries.push(("default-byte-order", string(order)));
    }
    if has_uuid {
        entries.push(("uuid", string(UUID_TEXT)));
    }
    if let Some(header) = header {
        let key = if is_first { "packet-header-field-type" } else { "packet-header-field-class" };
        entries.push((key, text(header)));
    }
    if is_first {
        entries.push(("tags", tags_text(header_tags)));
    }
    fragments.push(object(&entries));
    for class in classes {
        let mut entries = vec![(kind, string("data-stream-class")), ("id", class.id.to_string())];
        let names = match proposal {
            Proposal::First => [
                "packet-context-field-type",
                "event-record-header-field-type",
                "event-record-context-field-type",
            ],
            Proposal::Second => [
                "packet-context-field-class",
                "event-record-header-field-class",
                "event-record-common-context-field-class",
            ],
        };
        for (name, class) in names.into_iter().zip([&class.context, &class.header, &class.common]) {
            if let Some(class) = class {
                entries.push((name, text(class)));
            }
        }
        if is_first {
            entries.push(("tags", tags_text(&class.tags)));
        } else if clocks > 0 {
            entries.push(("default-clock-class-name", string(CLOCKS[0])));
        }
        fragments.push(object(&entries));
        for event in &class.events {
            let id = match proposal {
                Proposal::First if event.id > i64::MAX.into() => {
                    object(&[("base", "16".to_owned()), ("value", string(&format!("{:x}", event.id)))])
                }
                _ => event.id.to_string(),
            };
            let (parent, context, payload) = match proposal {
                Proposal::First => {
                    ("parent-data-stream-class-id", "context-field-type", "payload-field-type")
                }
                Proposal::Second => {
                    ("data-stream-class-id", "specific-context-field-class", "payload-field-class")
                }
            };
            let mut entries =
                vec![(kind, string("event-record-class")), ("id", id), (parent, class.id.to_string())];
            if let Some(class) = &event.context {
                entries.push((context, text(class)));
            }
            if let Some(class) = &event.payload {
                entries.push((payload, text(class)));
            }
            if !is_first && event.id % 2 == 0 {
                entries.push(("name", string(&format!("event {}", event.id))));
            }
            if is_first && !event.tags.is_empty() {
                entries.push(("tags", tags_text(&event.tags)));
            }
            fragments.push(object(&entries));
        }
    }
    format!("[\n{}\n]\n", fragments.join(",\n"))
}

fn stream(
    maker: &mut Maker<'_>,
    number: usize,
    clocks: usize,
    header: Option<&FieldType>,
    class: &StreamClass,
) -> RandomStream {
    let is_single = matches!(class.sizes, Sizes::None | Sizes::Content);
    let count = if is_single { 1 } else { 1 + maker.random.index(3) };
    let mut stream = RandomStream { file: format!("stream{number}"), bytes: Vec::new(), packets: Vec::new() };
    let mut clocks = vec![0; clocks.max(1)];
    let mut lost = 0;
    'packets: for packet in 0..count {
        lost += i128::from(maker.random.below(3));
        let facts = Facts { header, class, stream: number as i128, packet: packet as i128, lost };
        let events = maker.random.index(5);
        let mut tries = 0;
        let (expected, bytes) = loop {
            tries += 1;
            if tries > MOST_TRIES {
                break 'packets;
            }
            let seed = maker.random.number();
            let events = events.max(usize::from(class.sizes == Sizes::None));
            let mut first = facts.encode(maker.proposal, seed, clocks.clone(), events, &Late::default());
            let late = first.late(maker.random.below(3));
            // Without a size field, the content must end at a byte. A packet must have more than 8 bits.
            let is_exact = matches!(class.sizes, Sizes::Both | Sizes::Content) || late.content % 8 == 0;
            if !is_exact || late.total <= 8 {
                continue;
            }
            let late = match class.sizes {
                Sizes::Total | Sizes::None => Late { total: late.content, ..late },
                _ => late,
            };
            let second = facts.encode(maker.proposal, seed, clocks.clone(), events, &late);
            assert_eq!(second.encoder.encoder.at, late.content, "the layout does not depend on sizes");
            clocks.clone_from(&second.encoder.clocks);
            for (clock, end) in clocks.iter_mut().zip(&late.clocks) {
                *clock = *end.max(clock);
            }
            let mut bytes = second.encoder.encoder.bytes;
            bytes.resize((late.total / 8) as usize, 0xee);
            let (total, content) = (late.total, late.content);
            break (ExpectedPacket { total, content, fields: second.fields, events: second.events }, bytes);
        };
        stream.bytes.extend(bytes);
        stream.packets.push(expected);
    }
    stream
}

/// Values that are known only after a packet is encoded.
#[derive(Clone, Default)]
struct Late {
    content: u64,
    total: u64,
    clocks: Vec<u64>,
}

/// Packet facts.
struct Facts<'t> {
    header: Option<&'t FieldType>,
    class: &'t StreamClass,
    stream: i128,
    packet: i128,
    lost: i128,
}

/// Encoded packet.
struct EncodedTrace {
    encoder: PacketEncoder,
    fields: super::ExpectedFields,
    events: Vec<ExpectedEvent>,
}

impl EncodedTrace {
    fn late(&mut self, padding: u64) -> Late {
        let content = self.encoder.encoder.at;
        let total = content.next_multiple_of(8) + 8 * padding;
        Late { content, total, clocks: self.encoder.clocks.iter().map(|clock| clock + 3).collect() }
    }
}

impl Facts<'_> {
    fn encode(
        &self,
        proposal: Proposal,
        seed: u64,
        clocks: Vec<u64>,
        events: usize,
        late: &Late,
    ) -> EncodedTrace {
        let clock_count = clocks.len();
        let mut encoder = PacketEncoder::new(proposal, seed, clocks);
        encoder.uuid = UUID;
        let mut choices = Random::new(seed ^ 1);
        for (role, value) in [
            (TypeRole::Magic, MAGIC),
            (TypeRole::StreamClass, self.class.id),
            (TypeRole::Stream, self.stream),
            (TypeRole::Total, late.total.into()),
            (TypeRole::Content, late.content.into()),
            (TypeRole::Number, self.packet),
            (TypeRole::Lost, self.lost),
        ] {
            encoder.roles.insert(role, value);
        }
        for clock in 0..clock_count {
            let end = late.clocks.get(clock).copied().unwrap_or(0);
            encoder.roles.insert(TypeRole::EndClock(clock), end.into());
        }
        let scopes = [(self.header, "header"), (self.class.context.as_ref(), "context")];
        for (class, name) in scopes {
            if let Some(class) = class {
                encoder.field(class, name);
            }
        }
        let fields = std::mem::take(&mut encoder.fields);
        let mut all = Vec::new();
        for _ in 0..events {
            let event = &self.class.events[choices.index(self.class.events.len())];
            encoder.roles.insert(TypeRole::Event, event.id);
            let scopes = [
                (self.class.header.as_ref(), "event"),
                (self.class.common.as_ref(), "common"),
                (event.context.as_ref(), "specific"),
                (event.payload.as_ref(), "payload"),
            ];
            for (class, name) in scopes {
                if let Some(class) = class {
                    encoder.field(class, name);
                }
            }
            let fields = std::mem::take(&mut encoder.fields);
            let cycles = Some(encoder.clocks[0]);
            all.push(ExpectedEvent { id: event.id as u128, cycles, fields });
        }
        EncodedTrace { encoder, fields, events: all }
    }
}
