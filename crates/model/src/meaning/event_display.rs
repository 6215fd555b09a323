//! Details of how viewers show the events of a class.

use crate::Value;

/// Details of how viewers show the events of a class, beyond their [role](crate::EventRole) and the
/// [meanings](crate::Meanings) of their fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventDisplay {
    /// The track of the events.
    pub track: EventTrack,
    /// Name of spans and instants, instead of that of the class.
    pub name: Option<String>,
    /// Category, instead of that in the name of the class.
    pub category: Option<String>,
    /// Color, for viewers that have a choice: a name of CSS, or `#rrggbb`.
    pub color: Option<String>,
    /// Unit of the values of counters, for instance `bytes`.
    pub unit: Option<String>,
    /// Path of the field with the value of a counter, as [`FieldRef`](crate::FieldRef) takes it, where that is no
    /// member with the meaning [`CounterValue`](crate::Meaning::CounterValue). The value is a number, or a text of one.
    pub counter_value: Option<String>,
    /// Path of the field with the name of the counter.
    pub counter_name: Option<String>,
    /// Path of the field with the unit of the value.
    pub counter_unit: Option<String>,
    /// Path of the field with tags, which distinguish counters of a name.
    pub counter_tags: Option<String>,
    /// Path of the field with the name of an event, where that is no member with the meaning
    /// [`EventName`](crate::Meaning::EventName).
    pub name_field: Option<String>,
    /// Path of the field with the number of an object of the process, which the events name, or end if there is no
    /// [`object_name`](Self::object_name). Other events whose name is this number are called by the name of the object.
    pub object: Option<String>,
    /// Path of the field with the name of the object: a text, or the number of the object that it belongs to, or its
    /// period if the [`unit`](Self::unit) is `ns`.
    pub object_name: Option<String>,
    /// Path of the field with the number of the object that the events are about: its name is shown behind theirs.
    pub about: Option<String>,
}

impl EventDisplay {
    /// Returns its texts by their names.
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

    /// Sets the details that `other` has: its texts, and its track unless that is the usual one.
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

    /// Returns its details as a map, without those that are not set.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let track = (self.track != EventTrack::default()).then(|| self.track.name().to_owned());
        let texts = self.clone().texts().map(|(name, text)| (name, text.take()));
        let all = [("track", track)].into_iter().chain(texts);
        Value::Map(all.filter_map(|(name, text)| Some((name.to_owned(), Value::Text(text?)))).collect())
    }

    /// Makes the details of a map. What is not a detail is left out.
    #[must_use]
    pub fn of_value(value: &Value) -> Self {
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
    /// The track of events: where spans without a key are nested, and where instants are.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum EventTrack: "track" {
        /// The thread of the event, else its process, else its processor, else its data stream.
        #[default]
        Thread = "thread",
        /// The process of the event.
        Process = "process",
        /// The processor of the event.
        Processor = "processor",
        /// None of these: the trace. Spans with a key can begin in one process and end in another.
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
            assert_eq!(EventDisplay::of_value(&display.to_value()), display);
        }
        assert!("cpu".parse::<EventTrack>().is_err());
    }
}
