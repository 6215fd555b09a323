//! Names of objects that events identify by numbers: functions, topics, services.

use std::collections::HashMap;

use ichnos_model::{Event, FieldValue, ValueHash};

use super::class::ViewerClass;

/// Maximum number of objects; further ones have no names.
const MOST: usize = 1 << 16;

/// Maximum length of a name, in bytes.
const MOST_NAME: usize = 256;

/// Name of an object: that of the object it belongs to, and its own.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Debug, Default)]
struct ObjectName {
    owner: Box<str>,
    own: Box<str>,
}

/// Names of objects, by their processes and numbers.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Debug, Default)]
pub(super) struct NamedObjects {
    names: HashMap<u64, ObjectName>,
}

fn key(trace: u32, process: Option<u64>, number: u64) -> u64 {
    let mut hash = ValueHash::new(trace.into());
    hash.add(process.map_or(0, |process| process.wrapping_add(1)));
    hash.add(number);
    hash.finish()
}

impl NamedObjects {
    /// Takes the name that an event gives an object: a text, or the number of the object that it belongs to.
    pub(super) fn observe(
        &mut self,
        trace: u32,
        process: Option<u64>,
        event: &Event<'_>,
        class: &ViewerClass,
    ) {
        let Some((object, name)) = &class.object else { return };
        let (Some(object), Some(name)) = (event.get(object), event.get(name)) else { return };
        let key_of = |value: FieldValue<'_>| Some(key(trace, process, value.as_u64()?));
        let Some(object) = key_of(object) else { return };
        let owner = key_of(name).and_then(|owner| self.names.get(&owner));
        let owner = owner.map(|owner| if owner.own.is_empty() { &owner.owner } else { &owner.own }.clone());
        let own = name.as_str().map(|name| &name[..name.floor_char_boundary(MOST_NAME)]);
        if self.names.len() >= MOST && !self.names.contains_key(&object) {
            return;
        }
        let known = self.names.entry(object).or_default();
        if let Some(own) = own {
            known.own = own.into();
        }
        if let Some(owner) = owner {
            known.owner = owner;
        }
    }

    /// Replaces `text` by the name of an object. Returns `false` if it has none.
    pub(super) fn name(&self, trace: u32, process: Option<u64>, number: u64, text: &mut String) -> bool {
        let Some(ObjectName { owner, own }) = self.names.get(&key(trace, process, number)) else {
            return false;
        };
        text.clear();
        text.push_str(owner);
        if !owner.is_empty() && !own.is_empty() {
            text.push(' ');
        }
        text.push_str(own);
        text.truncate(text.floor_char_boundary(MOST_NAME));
        !text.is_empty()
    }
}
