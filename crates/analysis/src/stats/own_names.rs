//! Span names on a timeline that differ from the class name.

use ichnos_model::Event;
use ichnos_model::meaning::EventTrack;

use super::key::MOST_BYTES;
use crate::events::{NameFields, NameObjects, NamedObjects, ObjectFields, ObjectNote, ProcessFields};

/// Flags for the parts of an encoded name.
const OWN: u8 = 1;
const ABOUT: u8 = 2;
const TEXT: u8 = 4;

/// Fields that name spans and objects, in an event class.
#[derive(Debug)]
pub(super) struct OwnNames {
    /// `None` if all spans use the class name.
    names: Option<NameFields>,
    object: Option<ObjectFields>,
    /// `None` if the track does not belong to a process, or no name needs it.
    process: Option<ProcessFields>,
}

impl OwnNames {
    /// Finds the name fields in the event's class. `is_span` is `true` if the class has span events.
    pub(super) fn from_event(event: &Event<'_>, is_span: bool) -> Self {
        let names = is_span.then(|| NameFields::from_event(event)).filter(|names| !names.is_empty());
        let object = ObjectFields::from_event(event);
        let track = event.class.display.as_deref().map_or(EventTrack::default(), |display| display.track);
        let is_of_process = !matches!(track, EventTrack::Processor | EventTrack::Trace);
        let needs_process = names.is_some() || object.is_some();
        let process = (is_of_process && needs_process).then(|| ProcessFields::from_event(event));
        Self { names, object, process }
    }

    /// Returns `true` if events name objects or end them.
    pub(super) fn has_objects(&self) -> bool {
        self.object.is_some()
    }

    fn process(&self, event: &Event<'_>) -> Option<u64> {
        self.process.as_ref()?.number(event)
    }

    /// Appends the event's name if it may differ from `class`, the class name. Other threads may read the events that
    /// name objects, so object keys are appended instead of object names. `text` is a buffer.
    pub(super) fn push(
        &self,
        out: &mut Vec<u8>,
        event: &Event<'_>,
        class: &str,
        trace: u64,
        text: &mut String,
    ) {
        let Some(names) = &self.names else { return };
        let objects = names.objects(event, (trace, self.process(event)));
        push_name(out, objects, names.own_name(event, class, text));
    }

    /// Appends the fact about an object in an event, if any. Returns the object's key.
    pub(super) fn push_note(&self, out: &mut Vec<u8>, event: &Event<'_>, trace: u64) -> Option<u64> {
        let (object, note) = self.object.as_ref()?.note(trace, self.process(event), event)?;
        match note {
            ObjectNote::Name(name) => push_name(out, NameObjects::default(), Some(&name)),
            ObjectNote::Owner(owner) => {
                push_name(out, NameObjects { own: Some(owner), about: None }, None);
            }
            ObjectNote::End => {}
        }
        Some(object)
    }
}

/// Encodes a name for [`OwnName`]. Appends nothing if the event uses the class name.
pub(super) fn push_name(out: &mut Vec<u8>, objects: NameObjects, name: Option<&str>) {
    let NameObjects { own, about } = objects;
    let flag = |flag: u8, is_set: bool| if is_set { flag } else { 0 };
    let flags = flag(OWN, own.is_some()) | flag(ABOUT, about.is_some()) | flag(TEXT, name.is_some());
    if flags == 0 {
        return;
    }
    out.push(flags);
    for key in [own, about].into_iter().flatten() {
        out.extend_from_slice(&key.to_le_bytes());
    }
    if let Some(name) = name {
        out.extend_from_slice(&name.as_bytes()[..name.floor_char_boundary(MOST_BYTES)]);
    }
}

/// Name that may depend on objects and differs from the class name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OwnName<'r> {
    objects: NameObjects,
    /// Name used if the objects are unnamed.
    text: Option<&'r [u8]>,
}

impl<'r> OwnName<'r> {
    /// Decodes a name that [`push_name`] encoded.
    pub(super) fn decode(bytes: &'r [u8]) -> Self {
        let Some((flags, mut rest)) = bytes.split_first() else { return Self::default() };
        let mut key = |flag: u8| {
            let (key, behind) = rest.split_first_chunk().filter(|_| flags & flag != 0)?;
            rest = behind;
            Some(u64::from_le_bytes(*key))
        };
        let objects = NameObjects { own: key(OWN), about: key(ABOUT) };
        Self { objects, text: (flags & TEXT != 0).then_some(rest) }
    }

    /// Resolves the name with the objects known now. `text` is a buffer for it.
    pub(super) fn known<'t>(self, class: &[u8], objects: &NamedObjects, text: &'t mut String) -> OwnName<'t>
    where
        'r: 't,
    {
        let has_objects = self.objects != NameObjects::default();
        let is_named = has_objects && self.objects.name(&String::from_utf8_lossy(class), objects, text);
        let text = if is_named { Some(text.as_bytes()) } else { self.text };
        OwnName { objects: NameObjects::default(), text }
    }

    /// Returns the name that does not need objects. `None` for the class name.
    pub(super) fn text(&self) -> Option<&'r [u8]> {
        self.text
    }

    /// Updates `objects` with this name: it is the fact about an object.
    pub(super) fn take(self, object: u64, objects: &mut NamedObjects) {
        let note = match (self.objects.own, self.text) {
            (Some(owner), _) => ObjectNote::Owner(owner),
            (None, Some(name)) => ObjectNote::Name(String::from_utf8_lossy(name)),
            (None, None) => ObjectNote::End,
        };
        objects.take(object, note);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_names_are_read() {
        for own in [None, Some(7)] {
            for about in [None, Some(8)] {
                for text in [None, Some(""), Some("é")] {
                    let objects = NameObjects { own, about };
                    let mut bytes = Vec::new();
                    push_name(&mut bytes, objects, text);
                    assert_eq!(OwnName::decode(&bytes), OwnName { objects, text: text.map(str::as_bytes) });
                    for end in 0..bytes.len() {
                        let _ = OwnName::decode(&bytes[..end]);
                    }
                }
            }
        }
    }

    #[test]
    fn objects_are_named_while_reading() {
        let mut objects = NamedObjects::default();
        let call = |own: OwnName<'_>, objects: &NamedObjects| {
            let mut text = String::new();
            own.known(b"call", objects, &mut text)
                .text()
                .map(|name| String::from_utf8_lossy(name).into_owned())
        };
        let named = |text| OwnName { text, ..OwnName::default() };
        let own = OwnName { objects: NameObjects { own: Some(7), about: None }, text: Some(b"call 7") };
        let other = OwnName { objects: NameObjects { own: None, about: Some(7) }, text: None };
        assert_eq!([own, other].map(|name| call(name, &objects)), [Some("call 7".to_owned()), None]);
        named(Some(b"topic".as_slice())).take(7, &mut objects);
        assert_eq!(
            [own, other].map(|name| call(name, &objects)),
            ["topic", "call topic"].map(|name| Some(name.to_owned()))
        );
        named(None).take(7, &mut objects);
        assert_eq!(call(other, &objects), None);
    }
}
