//! Names that events have instead of that of their class.

use std::fmt::Write as _;

use ichnos_model::{DisplayBase, Event, FieldRef, Meaning};

use super::named_objects::{NamedObjects, object_key};

/// Fields that say the names of the events of a class.
#[derive(Debug)]
pub struct NameFields {
    /// Name, or the number that is the name.
    name: Option<FieldRef>,
    /// Number of the object that the events are about.
    about: Option<FieldRef>,
}

impl NameFields {
    /// Finds the fields of the class of an event.
    pub fn of(event: &Event<'_>) -> Self {
        let display = event.class.display.as_deref();
        let path = |path: Option<&String>| FieldRef::new(event, path?);
        let name = path(display.and_then(|display| display.name_field.as_ref()));
        Self {
            name: name.or_else(|| FieldRef::for_meaning(event, Meaning::EventName)),
            about: path(display.and_then(|display| display.about.as_ref())),
        }
    }

    /// Returns `true` if all events have the name of the class.
    pub fn is_empty(&self) -> bool {
        self.name.is_none() && self.about.is_none()
    }

    /// Returns the name that an event of a trace and a process has instead of `class`, that of its class. `text` is memory for
    /// it.
    pub fn name<'t>(
        &self,
        event: &Event<'t>,
        class: &str,
        place: (u64, Option<u64>),
        objects: &NamedObjects,
        text: &'t mut String,
    ) -> Option<&'t str> {
        if self.objects(event, place).name(class, objects, text) {
            return Some(text);
        }
        self.own_name(event, class, text)
    }

    /// Returns the objects that can be the name of an event of a trace and a process.
    pub fn objects(&self, event: &Event<'_>, (trace, process): (u64, Option<u64>)) -> NameObjects {
        let key = |field: &Option<FieldRef>| {
            let number = event.get(field.as_ref()?)?.as_u64()?;
            Some(object_key(trace, process, number))
        };
        NameObjects { own: key(&self.name), about: key(&self.about) }
    }

    /// Returns the name of its own that an event has: a text, or a number behind the name of the class. `text` is memory for
    /// it.
    pub fn own_name<'t>(&self, event: &Event<'t>, class: &str, text: &'t mut String) -> Option<&'t str> {
        let field = self.name.as_ref()?;
        let value = event.get(field)?;
        if let Some(name) = value.as_str() {
            return Some(name).filter(|name| !name.is_empty());
        }
        let number = value.as_i128()?;
        text.clear();
        let base = field.class(event).and_then(|class| class.integer()).map(|integer| integer.preferred_base);
        // Writing to a string does not fail.
        let _ = match base {
            Some(DisplayBase::Hexadecimal) => write!(text, "{class} {number:#x}"),
            _ => write!(text, "{class} {number}"),
        };
        Some(text)
    }
}

/// Keys of the objects that can be the name of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameObjects {
    /// The one whose number is the name.
    pub own: Option<u64>,
    /// The one that the event is about.
    pub about: Option<u64>,
}

impl NameObjects {
    /// Replaces `text` by the name of the object that is the name, or else by that of the class with the object that the event
    /// is about. Returns `false` if neither has a name.
    pub fn name(self, class: &str, objects: &NamedObjects, text: &mut String) -> bool {
        text.clear();
        if self.own.is_some_and(|own| objects.name(own, text)) {
            return true;
        }
        let Some(about) = self.about else { return false };
        text.push_str(class);
        text.push(' ');
        objects.name(about, text)
    }
}
