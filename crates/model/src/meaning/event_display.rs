//! Display details for a class's events.

use crate::class::Value;

/// Display details for the events of a class, beyond their [role](crate::meaning::EventRole) and the
/// [meanings](crate::meaning::Meanings) of their fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventDisplay {
    /// Event track.
    pub track: EventTrack,
    /// Name of spans and instants, instead of the class name.
    pub name: Option<String>,
    /// Category, instead of the category in the class name.
    pub category: Option<String>,
    /// Color, for viewers that support it: a CSS name, or `#rrggbb`.
    pub color: Option<String>,
    /// Counter value unit, for example `bytes`.
    pub unit: Option<String>,
    /// Path of the counter value field, in [`FieldRef`](crate::field::FieldRef) syntax, if no member has the meaning
    /// [`CounterValue`](crate::meaning::Meaning::CounterValue). The value is a number, or the text of a number.
    pub counter_value: Option<String>,
    /// Path to the counter name field.
    pub counter_name: Option<String>,
    /// Path to the unit field.
    pub counter_unit: Option<String>,
    /// Path to the tags field. Tags distinguish counters with the same name.
    pub counter_tags: Option<String>,
    /// Path of the event name field, if no member has the meaning [`EventName`](crate::meaning::Meaning::EventName).
    pub name_field: Option<String>,
    /// Path of the object number field. Objects belong to a process. The event names the object, or ends it if
    /// [`object_name`](Self::object_name) is missing. Other events whose name is this number are called by the object's
    /// name.
    pub object: Option<String>,
    /// Path of the object name field: a text, or the number of the object that it belongs to, or its period if the
    /// [`unit`](Self::unit) is `ns`.
    pub object_name: Option<String>,
    /// Path of the field with the number of the object that the events are about. The object's name is shown after the
    /// event name.
    pub about: Option<String>,
}

impl EventDisplay {
    /// Returns all text details with their names.
    fn texts(&mut self) -> [(&'static str, &mut Option<String>); 12] {
        let Self { name, category, color, unit, .. } = self;
        let Self { counter_value, counter_name, counter_unit, counter_tags, .. } = self;
        let Self { name_field, object, object_name, about, .. } = self;
        [
            ("name", name),
            ("category", category),
            ("color", color),
            ("unit", unit),
            ("counter-value", counter_value),
            ("counter-name", counter_name),
            ("counter-unit", counter_unit),
            ("counter-tags", counter_tags),
            ("name-field", name_field),
            ("object", object),
            ("object-name", object_name),
            ("about", about),
        ]
    }

    /// Sets the details that `other` has: its texts, and its track unless that is the default.
    pub fn update(&mut self, other: &Self) {
        if other.track != EventTrack::default() {
            self.track = other.track;
        }
        for ((_, text), (_, new)) in self.texts().into_iter().zip(other.clone().texts()) {
            if new.is_some() {
                *text = new.take();
            }
        }
    }

    /// Converts the details to a map, without unset details.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let track = (self.track != EventTrack::default()).then(|| self.track.name().to_owned());
        let texts = self.clone().texts().map(|(name, text)| (name, text.take()));
        let all = [("track", track)].into_iter().chain(texts);
        Value::Map(all.filter_map(|(name, text)| Some((name.to_owned(), Value::Text(text?)))).collect())
    }

    /// Reads the details from a map. Ignores unknown entries.
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        let get = |name| value.get(name).and_then(Value::as_text);
        let track = get("track").and_then(|track| track.parse().ok()).unwrap_or_default();
        let mut display = Self { track, ..Self::default() };
        for (name, text) in display.texts() {
            *text = get(name).map(str::to_owned);
        }
        display
    }
}

crate::named_enum! {
    /// Event track, for instants and for nested spans without a key.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum EventTrack: "track" {
        /// The event's thread, else its process, else its processor, else its data stream.
        #[default]
        Thread = "thread",
        /// The event's process.
        Process = "process",
        /// The event's processor.
        Processor = "processor",
        /// The trace. Spans with a key can begin in one process and end in another.
        Trace = "trace",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for track in EventTrack::ALL {
            assert_eq!(track.to_string().parse(), Ok(track));
        }
        let display = EventDisplay {
            track: EventTrack::Processor,
            unit: Some("bytes".to_owned()),
            ..EventDisplay::default()
        };
        for display in [display, EventDisplay::default()] {
            assert_eq!(EventDisplay::from_value(&display.to_value()), display);
        }
        assert_eq!("cpu".parse::<EventTrack>().unwrap_err().subject, "track");
    }
}
