//! Events whose members are known when they happen.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::{self, Debug, Write as _};
use std::hash::{BuildHasherDefault, Hasher};

use crate::description::{FieldDescription, MemberDescription};
use crate::recording::record_parts;

/// Type of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DynamicType {
    Unsigned = 1,
    Signed,
    Float,
    Boolean,
    Text,
}

impl DynamicType {
    fn description(self) -> FieldDescription {
        match self {
            Self::Unsigned => FieldDescription::unsigned(64),
            Self::Signed => FieldDescription::signed(64),
            Self::Float => FieldDescription::Float { bits: 64 },
            Self::Boolean => FieldDescription::Boolean,
            Self::Text => FieldDescription::String,
        }
    }
}

/// Most members of an event: `tracing` has as many fields, and two are added to them. Further members are left out.
const MOST_MEMBERS: usize = 34;

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
    /// Returns the description of the member.
    pub(crate) fn description(&self) -> MemberDescription<'static> {
        let member = MemberDescription::new(self.name, self.value.description());
        self.meaning.map_or(member, |meaning| member.with_meaning(meaning))
    }
}

/// An event that is being written: the bytes of its fixed and of its variable part. It is used again, so that events
/// need no memory.
#[derive(Debug, Default)]
pub(crate) struct DynamicEvent {
    fixed: Vec<u8>,
    variable: Vec<u8>,
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
/// An event while another one is being written, for example by the `Debug` of a value, is left out.
pub(crate) fn record_dynamic(
    origin: EventOrigin,
    fill: impl FnOnce(&mut DynamicEvent),
    describe: impl FnOnce(&[DynamicMember]) -> u16,
) {
    let _ = EVENT.try_with(|event| {
        let Ok(mut event) = event.try_borrow_mut() else { return };
        event.clear();
        fill(&mut event);
        let key = event.key(origin);
        let id = match event.ids.get(&key) {
            Some(id) => *id,
            None => {
                let id = describe(&event.members);
                event.ids.insert(key, id);
                id
            }
        };
        record_parts(origin.recording, id, [&event.fixed, &event.variable]);
    });
}

impl DynamicEvent {
    fn clear(&mut self) {
        self.fixed.clear();
        self.variable.clear();
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
            self.fixed.extend_from_slice(&value.to_le_bytes());
        }
    }

    pub(crate) fn signed(&mut self, name: &'static str, number: u8, value: i64) {
        if self.add(name, number, DynamicType::Signed) {
            self.fixed.extend_from_slice(&value.to_le_bytes());
        }
    }

    pub(crate) fn float(&mut self, name: &'static str, number: u8, value: f64) {
        if self.add(name, number, DynamicType::Float) {
            self.fixed.extend_from_slice(&value.to_le_bytes());
        }
    }

    pub(crate) fn boolean(&mut self, name: &'static str, number: u8, value: bool) {
        if self.add(name, number, DynamicType::Boolean) {
            self.fixed.push(u8::from(value));
        }
    }

    pub(crate) fn text(&mut self, name: &'static str, number: u8, value: &str) {
        if self.add(name, number, DynamicType::Text) {
            self.variable.extend_from_slice(value.as_bytes());
            self.length(value.len());
        }
    }

    /// Adds what `Debug` writes.
    pub(crate) fn debug(&mut self, name: &'static str, number: u8, value: &dyn Debug) {
        if self.add(name, number, DynamicType::Text) {
            let before = self.variable.len();
            // An error of the value ends its text.
            let _ = write!(Utf8(&mut self.variable), "{value:?}");
            self.length(self.variable.len() - before);
        }
    }

    fn length(&mut self, length: usize) {
        // A text of 4 GiB does not fit into a packet.
        self.fixed.extend_from_slice(&(length as u32).to_le_bytes());
    }
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
