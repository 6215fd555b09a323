//! Small CTF trace: metadata and packets.

use crate::encoder::{Encoder, Order};

use super::ctf_language::{ClassText, Language, RootPlace};
use super::{Construct, Datum, EncodedEvent, Lost, Origin};

/// Root field: structure members, or another class.
#[derive(Clone, Debug, Default)]
struct Root {
    members: Vec<(String, ClassText)>,
    whole: Option<ClassText>,
}

impl Root {
    fn text(&self, language: Language) -> Option<String> {
        let members: Vec<(&str, ClassText)> =
            self.members.iter().map(|(name, class)| (&**name, class.clone())).collect();
        let class =
            self.whole.clone().or_else(|| (!members.is_empty()).then(|| language.structure(&members)));
        class.map(|class| class.text)
    }
}

#[derive(Clone, Debug, Default)]
struct EventText {
    id: Option<String>,
    name: Option<String>,
    roots: [Root; 2],
    more: Vec<(String, String)>,
}

#[derive(Clone, Debug, Default)]
struct StreamText {
    id: Option<String>,
    roots: [Root; 3],
    more: Vec<(String, String)>,
    tags: Vec<String>,
    events: Vec<EventText>,
}

/// Fragment that can have further properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fragment {
    Preamble,
    Trace,
    Stream,
    Event,
}

/// Builder for a trace.
pub(super) struct CtfTrace {
    pub(super) language: Language,
    name: String,
    preamble: Vec<(String, String)>,
    trace: Vec<(String, String)>,
    /// Blocks or fragments before the data stream classes: clocks and the environment.
    fragments: Vec<String>,
    header: Root,
    tags: Vec<String>,
    streams: Vec<StreamText>,
    files: Vec<(String, Vec<u8>)>,
    pub(super) encoder: Encoder,
    /// Positions and widths of the packet's size fields.
    total_size: Option<(u64, u64)>,
    content_size: Option<(u64, u64)>,
    events: Vec<EncodedEvent>,
    /// Packet values. They are part of each event.
    packet: Vec<(&'static str, Datum)>,
    /// Discarded events and packets.
    pub(super) lost: Vec<Lost>,
}

impl CtfTrace {
    /// Starts a trace with one data stream class and one event record class. It is called `e` where the language has
    /// names.
    pub(super) fn new(language: Language, construct: impl AsRef<str>) -> Self {
        let document = match language.0 {
            Origin::Prop1 => "prop1",
            Origin::Prop2 => "prop2",
            Origin::Spec2 => "spec2",
            _ => "ctf1.8",
        };
        let name = (!language.is_prop1()).then(|| "e".to_owned());
        let event = EventText { name, ..EventText::default() };
        Self {
            language,
            name: format!("{document}: {}", construct.as_ref()),
            preamble: Vec::new(),
            trace: Vec::new(),
            fragments: Vec::new(),
            header: Root::default(),
            tags: Vec::new(),
            streams: vec![StreamText { events: vec![event], ..StreamText::default() }],
            files: vec![("stream".to_owned(), Vec::new())],
            encoder: Encoder::default(),
            total_size: None,
            content_size: None,
            events: Vec::new(),
            packet: Vec::new(),
            lost: Vec::new(),
        }
    }

    fn stream(&mut self) -> &mut StreamText {
        self.streams.last_mut().unwrap()
    }

    fn event_class(&mut self) -> &mut EventText {
        self.stream().events.last_mut().unwrap()
    }

    fn root(&mut self, place: RootPlace) -> &mut Root {
        match place {
            RootPlace::PacketHeader => &mut self.header,
            RootPlace::PacketContext => &mut self.stream().roots[0],
            RootPlace::EventHeader => &mut self.stream().roots[1],
            RootPlace::CommonContext => &mut self.stream().roots[2],
            RootPlace::SpecificContext => &mut self.event_class().roots[0],
            RootPlace::Payload => &mut self.event_class().roots[1],
        }
    }

    /// Adds a member to a root field of the last class.
    pub(super) fn member(&mut self, place: RootPlace, name: &str, class: ClassText) -> &mut Self {
        self.root(place).members.push((name.to_owned(), class));
        self
    }

    /// Sets a root field that is not a structure.
    pub(super) fn whole(&mut self, place: RootPlace, class: ClassText) -> &mut Self {
        self.root(place).whole = Some(class);
        self
    }

    /// Adds a property to a fragment of the last class. The value is JSON or TSDL.
    pub(super) fn more(&mut self, fragment: Fragment, key: &str, value: impl Into<String>) -> &mut Self {
        let pair = (key.to_owned(), value.into());
        match fragment {
            Fragment::Preamble => self.preamble.push(pair),
            Fragment::Trace => self.trace.push(pair),
            Fragment::Stream => self.stream().more.push(pair),
            Fragment::Event => self.event_class().more.push(pair),
        }
        self
    }

    /// Adds a PROP-1.0 tag to the fragment of a root field: tag name and further members.
    pub(super) fn tag(&mut self, place: RootPlace, member: &str, tag: &str, more: &str) -> &mut Self {
        let location = self.language.location(place, member);
        let text = format!(r#"{{"tag":"{tag}","path":{location}{more}}}"#);
        match place {
            RootPlace::PacketHeader => self.tags.push(text),
            RootPlace::SpecificContext | RootPlace::Payload => {
                self.event_class().more.push(("tags".to_owned(), format!("[{text}]")))
            }
            _ => self.stream().tags.push(text),
        }
        self
    }

    /// Adds a fragment or a block before the data stream classes.
    pub(super) fn fragment(&mut self, text: impl Into<String>) -> &mut Self {
        self.fragments.push(text.into());
        self
    }

    /// Sets the name of the last event record class.
    pub(super) fn name_event(&mut self, name: &str) -> &mut Self {
        self.event_class().name = Some(name.to_owned());
        self
    }

    /// Sets the id of the last event record class.
    pub(super) fn event_id(&mut self, id: u128) -> &mut Self {
        self.event_class().id = Some(self.language_id(id));
        self
    }

    /// Starts another event record class in the last data stream class.
    pub(super) fn next_event_class(&mut self, id: u128, name: &str) -> &mut Self {
        let (id, name) = (Some(self.language_id(id)), (!self.language.is_prop1()).then(|| name.to_owned()));
        self.stream().events.push(EventText { id, name, ..EventText::default() });
        self
    }

    /// Sets the id of the last data stream class.
    pub(super) fn stream_id(&mut self, id: u128) -> &mut Self {
        self.stream().id = Some(self.language_id(id));
        self
    }

    /// Starts another data stream class, with an event record class `f`.
    pub(super) fn next_stream_class(&mut self, id: u128) -> &mut Self {
        let name = (!self.language.is_prop1()).then(|| "f".to_owned());
        let event = EventText { name, ..EventText::default() };
        let id = Some(self.language_id(id));
        self.streams.push(StreamText { id, events: vec![event], ..StreamText::default() });
        self
    }

    /// Returns an id. PROP-1.0 recommends objects for integers beyond 64 bits.
    fn language_id(&self, id: u128) -> String {
        let is_wide = self.language.is_prop1() && i64::try_from(id).is_err();
        if is_wide { format!(r#"{{"base":10,"value":"{id}"}}"#) } else { id.to_string() }
    }

    /// Starts another file.
    pub(super) fn next_file(&mut self, name: &str) -> &mut Self {
        self.end_packet(0);
        self.files.push((name.to_owned(), Vec::new()));
        self
    }

    /// Ends the packet with padding bytes. The next value starts another packet.
    pub(super) fn end_packet(&mut self, padding: usize) -> &mut Self {
        let mut encoder = std::mem::take(&mut self.encoder);
        let content = encoder.at;
        let total = content.next_multiple_of(8) + 8 * padding as u64;
        for (place, size) in [(self.total_size.take(), total), (self.content_size.take(), content)] {
            if let Some((at, length)) = place {
                encoder.patch(at, size, length, Order::Le);
            }
        }
        encoder.bytes.resize((total / 8) as usize, 0xee);
        self.files.last_mut().unwrap().1.extend(encoder.bytes);
        self.packet.clear();
        self
    }

    /// Encodes bits that readers do not show: role values.
    pub(super) fn bits(&mut self, value: i128, length: usize) -> &mut Self {
        self.encoder.int(value, length, Order::Le);
        self
    }

    /// Encodes the total packet size.
    pub(super) fn total_size(&mut self, length: usize) -> &mut Self {
        self.total_size = Some((self.encoder.at, length as u64));
        self.bits(0, length)
    }

    /// Encodes the packet content size.
    pub(super) fn content_size(&mut self, length: usize) -> &mut Self {
        self.content_size = Some((self.encoder.at, length as u64));
        self.bits(0, length)
    }

    /// Begins an event of the first class.
    pub(super) fn event(&mut self) -> &mut Self {
        let name = self.streams[0].events[0].name.clone();
        self.event_of(name.as_deref(), None)
    }

    /// Begins an event of the first class with a time in nanoseconds.
    pub(super) fn event_at(&mut self, nanoseconds: i128) -> &mut Self {
        let name = self.streams[0].events[0].name.clone();
        self.event_of(name.as_deref(), Some(nanoseconds))
    }

    /// Begins an event of a name.
    pub(super) fn event_of(&mut self, name: Option<&str>, nanoseconds: Option<i128>) -> &mut Self {
        let name = name.filter(|_| !self.language.is_prop1()).map(str::to_owned);
        self.events.push(EncodedEvent { name, nanoseconds, scopes: self.packet.clone() });
        self
    }

    /// Encodes an integer that is seen.
    pub(super) fn int(
        &mut self,
        place: RootPlace,
        name: &str,
        value: i128,
        length: usize,
        order: Order,
    ) -> &mut Self {
        self.put(place, name, Datum::integer(value), |encoder| encoder.int(value, length, order))
    }

    /// Records the value of another clock in the last event.
    pub(super) fn other_clock(&mut self, name: &str, value: i128) -> &mut Self {
        let clocks = Datum::structure([(name, Datum::integer(value))]);
        self.events.last_mut().unwrap().scopes.push(("clocks", clocks));
        self
    }

    /// Encodes an 8-bit integer that readers show.
    pub(super) fn byte(&mut self, place: RootPlace, name: &str, value: u8) -> &mut Self {
        self.int(place, name, value.into(), 8, Order::Le)
    }

    /// Encodes a member of a root field.
    pub(super) fn put(
        &mut self,
        place: RootPlace,
        name: &str,
        value: Datum,
        encode: impl FnOnce(&mut Encoder) -> &mut Encoder,
    ) -> &mut Self {
        encode(&mut self.encoder);
        let scopes = self.scopes(place);
        match scopes.iter_mut().find(|(scope, _)| *scope == place.scope()) {
            Some((_, root)) => root.add(name, value),
            None => scopes.push((place.scope(), Datum::structure([(name, value)]))),
        }
        self
    }

    /// Encodes a root field that is not a structure.
    pub(super) fn put_whole(
        &mut self,
        place: RootPlace,
        value: Datum,
        encode: impl FnOnce(&mut Encoder) -> &mut Encoder,
    ) -> &mut Self {
        encode(&mut self.encoder);
        self.scopes(place).push((place.scope(), value));
        self
    }

    fn scopes(&mut self, place: RootPlace) -> &mut Vec<(&'static str, Datum)> {
        match place {
            RootPlace::PacketHeader | RootPlace::PacketContext => &mut self.packet,
            _ => &mut self.events.last_mut().unwrap().scopes,
        }
    }

    /// Ends the last packet and the trace.
    pub(super) fn finish(&mut self) -> Construct {
        if self.encoder.at > 0 {
            self.end_packet(0);
        }
        let metadata = if self.language.is_tsdl() { self.tsdl() } else { self.json() };
        let mut files = vec![("metadata".to_owned(), metadata.into_bytes())];
        files.append(&mut self.files);
        Construct {
            name: std::mem::take(&mut self.name),
            origin: self.language.0,
            files,
            events: std::mem::take(&mut self.events),
            lost: std::mem::take(&mut self.lost),
        }
    }

    fn json(&self) -> String {
        let language = self.language;
        let kind = if language.is_prop1() { "fragment" } else { "type" };
        let object = |name: &str, pairs: &[(String, String)]| {
            let pairs: Vec<String> =
                pairs.iter().map(|(key, value)| format!(r#","{key}":{value}"#)).collect();
            format!(r#"{{"{kind}":"{name}"{}}}"#, pairs.concat())
        };
        let tags = |tags: &[String]| {
            (!tags.is_empty()).then(|| ("tags".to_owned(), format!("[{}]", tags.join(","))))
        };
        let root = |root: &Root, key: &str| Some((root_key(language, key), root.text(language)?));
        let mut fragments = Vec::new();
        if language.is_prop1() {
            fragments.push(r#""CTF 2""#.to_owned());
        } else {
            let version = [("version".to_owned(), "2".to_owned())];
            fragments.push(object("preamble", &[&version[..], &self.preamble].concat()));
        }
        fragments.extend(self.fragments.iter().cloned());
        let mut trace = self.trace.clone();
        trace.extend(root(&self.header, "packet-header"));
        trace.extend(tags(&self.tags));
        if language.is_prop1() || !trace.is_empty() {
            fragments.push(object("trace-class", &trace));
        }
        for stream in &self.streams {
            let mut pairs: Vec<_> = stream.id.iter().map(|id| ("id".to_owned(), id.clone())).collect();
            pairs.extend(stream.more.iter().cloned());
            let keys = ["packet-context", "event-record-header", "event-record-common-context"];
            pairs.extend(stream.roots.iter().zip(keys).filter_map(|(class, key)| root(class, key)));
            pairs.extend(tags(&stream.tags));
            fragments.push(object("data-stream-class", &pairs));
            for event in &stream.events {
                let mut pairs: Vec<_> = event.id.iter().map(|id| ("id".to_owned(), id.clone())).collect();
                let parent =
                    if language.is_prop1() { "parent-data-stream-class-id" } else { "data-stream-class-id" };
                pairs.extend(stream.id.iter().map(|id| (parent.to_owned(), id.clone())));
                pairs.extend(event.name.iter().map(|name| ("name".to_owned(), format!("{name:?}"))));
                pairs.extend(event.more.iter().cloned());
                let keys = ["specific-context", "payload"];
                pairs.extend(event.roots.iter().zip(keys).filter_map(|(class, key)| root(class, key)));
                fragments.push(object("event-record-class", &pairs));
            }
        }
        match language.is_spec2() {
            true => fragments.iter().map(|fragment| format!("\u{1e}{fragment}\n")).collect(),
            false => format!("[\n{}\n]\n", fragments.join(",\n")),
        }
    }

    fn tsdl(&self) -> String {
        let language = self.language;
        let root = |class: &Root, key: &str| {
            class.text(language).map_or_else(String::new, |text| format!("    {key} := {text};\n"))
        };
        let pairs = |pairs: &[(String, String)]| -> String {
            pairs.iter().map(|(key, value)| format!("    {key} = {value};\n")).collect()
        };
        let mut text = format!(
            "/* CTF 1.8 */\ntrace {{\n    major = 1;\n    minor = 8;\n    byte_order = le;\n{}{}}};\n",
            pairs(&self.trace),
            root(&self.header, "packet.header"),
        );
        text += &self.fragments.concat();
        for stream in &self.streams {
            let id = stream.id.as_ref().map_or_else(String::new, |id| format!("    id = {id};\n"));
            let keys = ["packet.context", "event.header", "event.context"];
            let roots: String = stream.roots.iter().zip(keys).map(|(class, key)| root(class, key)).collect();
            text += &format!("stream {{\n{id}{}{roots}}};\n", pairs(&stream.more));
            for event in &stream.events {
                let id = event.id.as_ref().map_or_else(String::new, |id| format!("    id = {id};\n"));
                let parent =
                    stream.id.as_ref().map_or_else(String::new, |id| format!("    stream_id = {id};\n"));
                let name =
                    event.name.as_ref().map_or_else(String::new, |name| format!("    name = {name:?};\n"));
                let roots = root(&event.roots[0], "context") + &root(&event.roots[1], "fields");
                text += &format!("event {{\n{name}{id}{parent}{}{roots}}};\n", pairs(&event.more));
            }
        }
        text
    }
}

/// Returns the class key for a root field.
fn root_key(language: Language, name: &str) -> String {
    if !language.is_prop1() {
        return format!("{name}-field-class");
    }
    let name = match name {
        "event-record-common-context" => "event-record-context",
        "specific-context" => "context",
        name => name,
    };
    format!("{name}-field-type")
}
