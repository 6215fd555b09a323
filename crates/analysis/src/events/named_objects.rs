//! Object names by number: functions, topics, services, timers.

use std::borrow::Cow;
use std::collections::HashMap;

use ichnos_model::Event;
use ichnos_model::digest::ValueHash;
use ichnos_model::field::{FieldRef, FieldValue};

use super::text_field::TextField;
use ichnos_export::duration;

/// Maximum number of objects. Further objects stay unnamed.
const MOST: usize = 1 << 16;

/// Maximum length of a name, in bytes.
const MOST_NAME: usize = 256;

/// Maximum number of owners whose names are part of an object's name.
const MOST_OWNERS: usize = 8;

/// Returns the key of an object from its trace, process and number.
pub fn object_key(trace: u64, process: Option<u64>, number: u64) -> u64 {
    let mut hash = ValueHash::new(trace);
    hash.add(process.map_or(0, |process| process.wrapping_add(1)));
    hash.add(number);
    hash.finish()
}

/// Fact about an object in an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectNote<'e> {
    /// Object name.
    Name(Cow<'e, str>),
    /// Owner's key.
    Owner(u64),
    /// Object end. Its number can be reused.
    End,
}

/// Fields that name an object or end it, in an event class.
#[derive(Debug)]
pub struct ObjectFields {
    object: FieldRef,
    /// `None` if the events end the object.
    name: Option<TextField>,
    /// `true` if the object is named by its period in nanoseconds.
    is_period: bool,
}

impl ObjectFields {
    /// Finds the object fields in the event's class.
    pub fn from_event(event: &Event<'_>) -> Option<Self> {
        let display = event.class.display.as_deref()?;
        let object = FieldRef::new(event, display.object.as_deref()?)?;
        let name = match &display.object_name {
            Some(path) => Some(TextField::new(event, FieldRef::new(event, path)?)),
            None => None,
        };
        Some(Self { object, name, is_period: display.unit.as_deref() == Some("ns") })
    }

    /// Returns the key of an event's object, and the fact about it.
    pub fn note<'e>(
        &self,
        trace: u64,
        process: Option<u64>,
        event: &Event<'e>,
    ) -> Option<(u64, ObjectNote<'e>)> {
        let key = |value: FieldValue<'_>| Some(object_key(trace, process, value.as_u64()?));
        let object = key(event.get(&self.object)?)?;
        let Some(name) = &self.name else { return Some((object, ObjectNote::End)) };
        let value = event.get(name.field())?;
        let note = match name.text_of(value) {
            Some(Cow::Borrowed(name)) => {
                ObjectNote::Name(Cow::Borrowed(&name[..name.floor_char_boundary(MOST_NAME)]))
            }
            Some(Cow::Owned(mut name)) => {
                name.truncate(name.floor_char_boundary(MOST_NAME));
                ObjectNote::Name(name.into())
            }
            None if self.is_period => {
                ObjectNote::Name(format!("every {}", duration(value.as_i128()?)).into())
            }
            None => ObjectNote::Owner(key(value)?),
        };
        Some((object, note))
    }
}

/// Object name and owner key.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Debug, Default)]
struct ObjectName {
    owner: Option<u64>,
    own: Box<str>,
}

/// Object names by key.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Debug, Default)]
pub struct NamedObjects {
    names: HashMap<u64, ObjectName>,
}

impl NamedObjects {
    /// Updates an object.
    pub fn take(&mut self, object: u64, note: ObjectNote<'_>) {
        if note == ObjectNote::End {
            self.names.remove(&object);
            return;
        }
        if self.names.len() >= MOST && !self.names.contains_key(&object) {
            return;
        }
        let known = self.names.entry(object).or_default();
        match note {
            ObjectNote::Name(own) => known.own = own.into(),
            ObjectNote::Owner(owner) => known.owner = Some(owner),
            ObjectNote::End => {}
        }
    }

    /// Appends an object's full name to `text`: the owners' names, then its own. Returns `false` and leaves `text`
    /// unchanged if the object is unnamed.
    pub fn name(&self, object: u64, text: &mut String) -> bool {
        let mut next = Some(object);
        let mut parts = [""; MOST_OWNERS];
        for part in &mut parts {
            let Some(known) = next.and_then(|object| self.names.get(&object)) else { break };
            (*part, next) = (&*known.own, known.owner);
        }
        let begin = text.len();
        for part in parts.into_iter().rev().filter(|part| !part.is_empty()) {
            if text.len() > begin {
                text.push(' ');
            }
            text.push_str(part);
        }
        text.truncate(text.floor_char_boundary(begin + MOST_NAME));
        text.len() > begin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(objects: &NamedObjects, object: u64) -> Option<String> {
        let mut text = "x ".to_owned();
        let is_known = objects.name(object, &mut text);
        assert_eq!(is_known, text != "x ");
        is_known.then(|| text.split_off(2))
    }

    #[test]
    fn names_include_owner_names() {
        let mut objects = NamedObjects::default();
        objects.take(1, ObjectNote::Owner(2));
        assert_eq!(name(&objects, 1), None);
        // The order of name and owner does not matter.
        objects.take(1, ObjectNote::Name("tick".into()));
        objects.take(2, ObjectNote::Name("every 5 ms".into()));
        objects.take(2, ObjectNote::Owner(3));
        assert_eq!(name(&objects, 1).as_deref(), Some("every 5 ms tick"));
        objects.take(3, ObjectNote::Name("source".into()));
        assert_eq!(name(&objects, 1).as_deref(), Some("source every 5 ms tick"));
        objects.take(2, ObjectNote::End);
        assert_eq!(name(&objects, 1).as_deref(), Some("tick"));
        assert_eq!(name(&objects, 2), None);
    }

    #[test]
    fn owners_of_each_other_have_names() {
        let mut objects = NamedObjects::default();
        objects.take(1, ObjectNote::Owner(1));
        assert_eq!(name(&objects, 1), None);
        objects.take(1, ObjectNote::Name("é".repeat(MOST_NAME).into()));
        assert!(name(&objects, 1).unwrap().len() <= MOST_NAME);
    }

    #[test]
    fn memory_is_bounded() {
        let mut objects = NamedObjects::default();
        (0..2 * MOST as u64).for_each(|object| objects.take(object, ObjectNote::Name("x".into())));
        assert_eq!(objects.names.len(), MOST);
        objects.take(0, ObjectNote::Name("y".into()));
        assert_eq!(name(&objects, 0).as_deref(), Some("y"));
    }
}
