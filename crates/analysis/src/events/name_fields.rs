//! Event names used instead of the class name.

use std::borrow::Cow;
use std::fmt::Write as _;

use ichnos_model::Event;
use ichnos_model::class::DisplayBase;
use ichnos_model::field::FieldRef;
use ichnos_model::meaning::Meaning;

use super::named_objects::{NamedObjects, object_key};
use super::text_field::TextField;

/// Fields that name the events of a class.
#[derive(Debug)]
pub struct NameFields {
    /// Name text, or number of the object whose name is the event name.
    name: Option<TextField>,
    /// Number of the object that the event is about.
    about: Option<FieldRef>,
}

impl NameFields {
    /// Finds the name fields in the event's class.
    pub fn from_event(event: &Event<'_>) -> Self {
        let display = event.class.display.as_deref();
        let path = |path: Option<&String>| FieldRef::new(event, path?);
        let name = path(display.and_then(|display| display.name_field.as_ref()));
        let name = name.or_else(|| FieldRef::for_meaning(event, Meaning::EventName));
        Self {
            name: name.map(|name| TextField::new(event, name)),
            about: path(display.and_then(|display| display.about.as_ref())),
        }
    }

    /// Returns `true` if all events use the class name.
    pub fn is_empty(&self) -> bool {
        self.name.is_none() && self.about.is_none()
    }

    /// Returns the event's own name, used instead of `class`, the class name. `text` is a buffer for it. The last
    /// argument is the trace number and the process number.
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

    /// Returns the objects that can name an event. The last argument is the trace number and the process number.
    pub fn objects(&self, event: &Event<'_>, (trace, process): (u64, Option<u64>)) -> NameObjects {
        let key = |field: Option<&FieldRef>| {
            let number = event.get(field?)?.as_u64()?;
            Some(object_key(trace, process, number))
        };
        let own = self.name.as_ref().map(TextField::field);
        NameObjects { own: key(own), about: key(self.about.as_ref()) }
    }

    /// Returns the event's own name: a text, or the class name followed by a number. `text` is a buffer for it.
    pub fn own_name<'t>(&self, event: &Event<'t>, class: &str, text: &'t mut String) -> Option<&'t str> {
        let name = self.name.as_ref()?;
        let value = event.get(name.field())?;
        match name.text_of(value) {
            Some(Cow::Borrowed(name)) => return Some(name).filter(|name| !name.is_empty()),
            Some(Cow::Owned(name)) => {
                *text = name;
                return Some(&**text).filter(|name| !name.is_empty());
            }
            None => {}
        }
        let number = value.as_i128()?;
        text.clear();
        let base =
            name.field().class(event).and_then(|class| class.integer()).map(|integer| integer.preferred_base);
        // Writing to a string does not fail.
        let _ = match base {
            Some(DisplayBase::Hexadecimal) => write!(text, "{class} {number:#x}"),
            _ => write!(text, "{class} {number}"),
        };
        Some(text)
    }
}

/// Keys of the objects that can name an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameObjects {
    /// Object whose name is the event name.
    pub own: Option<u64>,
    /// Object that the event is about.
    pub about: Option<u64>,
}

impl NameObjects {
    /// Replaces `text` with the event name: the name of the own object, or else `class` with the name of the object
    /// that the event is about. Returns `false` if neither object has a name.
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
