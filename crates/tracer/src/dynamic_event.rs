//! Events whose members are known when they happen.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt::{self, Debug, Write as _};
use std::hash::{BuildHasherDefault, Hasher};

use crate::description::{FieldDescription, MemberDescription};
use crate::recording::{UNDESCRIBED, lose, record_bytes};
use crate::shown_text::{put_shown, shown_size};

/// Type of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DynamicType {
    Unsigned = 1,
    Signed,
    Float,
    Boolean,
    Text,
    TraceId,
    SpanId,
}

impl DynamicType {
    fn description(self) -> FieldDescription {
        match self {
            Self::Unsigned => FieldDescription::VariableInteger { is_signed: false },
            Self::Signed => FieldDescription::VariableInteger { is_signed: true },
            Self::Float => FieldDescription::Float { bits: 64 },
            Self::Boolean => FieldDescription::Boolean,
            Self::Text => FieldDescription::TerminatedString,
            Self::TraceId => FieldDescription::ArrayBlob { length: 16, media_type: None },
            Self::SpanId => FieldDescription::ArrayBlob { length: 8, media_type: None },
        }
    }
}

/// Most members of an event: `tracing` has 32 fields, and four are added to them. Further members are left out.
const MOST_MEMBERS: usize = 36;

/// Identity of a class: the place in the program, what happened there, and the types of the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ClassKey {
    recording: u16,
    kind: u8,
    /// Address of the description of the place.
    place: usize,
    /// A byte for each member: its type, and the number of its name within the place.
    members: [u16; MOST_MEMBERS],
}

/// A member of an event that is being written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DynamicMember {
    pub(crate) name: &'static str,
    pub(crate) meaning: Option<&'static str>,
    value: DynamicType,
}

impl DynamicMember {
    /// Returns the description of the member, under its unique name.
    pub(crate) fn description<'n>(&self, name: &'n str) -> MemberDescription<'n> {
        let member = MemberDescription::new(name, self.value.description());
        self.meaning.map_or(member, |meaning| member.with_meaning(meaning))
    }
}

/// Returns a unique name for each member. A program can give fields the names of identifiers, or use a name twice.
pub(crate) fn unique_names(members: &[DynamicMember]) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut unique = |member: &DynamicMember| {
        let mut name = member.name.to_owned();
        let mut number = 2;
        while !taken.insert(name.clone()) {
            name = format!("{}_{number}", member.name);
            number += 1;
        }
        name
    };
    members.iter().map(&mut unique).collect()
}

/// An event that is being written: the bytes of its payload. It is used again, so that events
/// need no memory.
#[derive(Debug, Default)]
pub(crate) struct DynamicEvent {
    bytes: Vec<u8>,
    members: Vec<DynamicMember>,
    /// Numbers of the names.
    names: Vec<u8>,
    ids: HashMap<ClassKey, u16, BuildHasherDefault<KeyHasher>>,
}

thread_local! {
    static EVENT: RefCell<DynamicEvent> = RefCell::default();
}

/// What happened where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventOrigin {
    pub(crate) recording: u16,
    /// Tells apart several kinds of events of the same place.
    pub(crate) kind: u8,
    /// Address of the description of the place.
    pub(crate) place: usize,
}

/// Records an event. `fill` sets its members, and `describe` adds the class if it is new, and returns its id.
///
/// An event while another one is being written, for example by the `Debug` of a value, is lost, and counted.
pub(crate) fn record_dynamic(
    origin: EventOrigin,
    fill: impl FnOnce(&mut DynamicEvent),
    describe: impl FnOnce(&[DynamicMember]) -> u16,
) {
    let _ = EVENT.try_with(|event| {
        let Ok(mut event) = event.try_borrow_mut() else { return lose() };
        event.clear();
        fill(&mut event);
        let key = event.key(origin);
        let id = match event.ids.get(&key) {
            Some(id) => *id,
            None => {
                let id = describe(&event.members);
                // Otherwise, the next event tries it again.
                if id != UNDESCRIBED {
                    event.ids.insert(key, id);
                }
                id
            }
        };
        record_bytes(origin.recording, id, &event.bytes);
    });
}

impl DynamicEvent {
    fn clear(&mut self) {
        self.bytes.clear();
        self.members.clear();
        self.names.clear();
    }

    fn key(&self, origin: EventOrigin) -> ClassKey {
        let mut members = [0; MOST_MEMBERS];
        for ((out, member), name) in members.iter_mut().zip(&self.members).zip(&self.names) {
            *out = (member.value as u16) << 8 | u16::from(*name);
        }
        ClassKey { recording: origin.recording, kind: origin.kind, place: origin.place, members }
    }

    /// Adds a member, unless there are too many. `number` is unique among the names of a place.
    fn add(&mut self, name: &'static str, number: u8, value: DynamicType) -> bool {
        let has_room = self.members.len() < MOST_MEMBERS;
        if has_room {
            self.members.push(DynamicMember { name, meaning: None, value });
            self.names.push(number);
        }
        has_room
    }

    /// Sets the meaning of the last member.
    pub(crate) fn meaning(&mut self, meaning: &'static str) {
        if let Some(member) = self.members.last_mut() {
            member.meaning = Some(meaning);
        }
    }

    pub(crate) fn unsigned(&mut self, name: &'static str, number: u8, value: u64) {
        if self.add(name, number, DynamicType::Unsigned) {
            push_unsigned(&mut self.bytes, value);
        }
    }

    /// Adds the identifier of a trace.
    pub(crate) fn trace_id(&mut self, name: &'static str, number: u8, id: [u8; 16]) {
        if self.add(name, number, DynamicType::TraceId) {
            self.bytes.extend_from_slice(&id);
        }
    }

    /// Adds the identifier of a span.
    pub(crate) fn span_id(&mut self, name: &'static str, number: u8, id: [u8; 8]) {
        if self.add(name, number, DynamicType::SpanId) {
            self.bytes.extend_from_slice(&id);
        }
    }

    pub(crate) fn signed(&mut self, name: &'static str, number: u8, value: i64) {
        if self.add(name, number, DynamicType::Signed) {
            push_signed(&mut self.bytes, value);
        }
    }

    pub(crate) fn float(&mut self, name: &'static str, number: u8, value: f64) {
        if self.add(name, number, DynamicType::Float) {
            self.bytes.extend_from_slice(&value.to_le_bytes());
        }
    }

    pub(crate) fn boolean(&mut self, name: &'static str, number: u8, value: bool) {
        if self.add(name, number, DynamicType::Boolean) {
            self.bytes.push(u8::from(value));
        }
    }

    pub(crate) fn text(&mut self, name: &'static str, number: u8, value: &str) {
        if self.add(name, number, DynamicType::Text) {
            let begin = self.bytes.len();
            self.bytes.extend_from_slice(value.as_bytes());
            self.end_text(begin);
        }
    }

    /// Adds what `Debug` writes.
    pub(crate) fn debug(&mut self, name: &'static str, number: u8, value: &dyn Debug) {
        if self.add(name, number, DynamicType::Text) {
            let begin = self.bytes.len();
            // An error of the value ends its text.
            let _ = write!(Utf8(&mut self.bytes), "{value:?}");
            self.end_text(begin);
        }
    }

    /// Ends a text with a zero, and replaces other zeros, where readers would stop.
    fn end_text(&mut self, begin: usize) {
        let text = self.bytes.get(begin..).unwrap_or_default();
        if shown_size(text) > text.len() {
            let text = self.bytes.split_off(begin);
            put_shown(&text, |part| self.bytes.extend_from_slice(part));
        }
        self.bytes.push(0);
    }
}

/// Appends a number in LEB128.
fn push_unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number in LEB128.
fn push_signed(out: &mut Vec<u8>, mut value: i64) {
    while !(-0x40..0x40).contains(&value) {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8 & 0x7f);
}

/// Text at the end of some bytes.
struct Utf8<'a>(&'a mut Vec<u8>);

impl fmt::Write for Utf8<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Hasher for class keys, which the program itself makes.
#[derive(Debug, Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word.iter_mut().zip(chunk).for_each(|(out, byte)| *out = *byte);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_u16(&mut self, word: u16) {
        self.write_u64(word.into());
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }
}
