//! Counters in events.

use std::borrow::Cow;

use ichnos_model::Event;
use ichnos_model::class::FieldKind;
use ichnos_model::field::{FieldRef, FieldValue, Text};
use ichnos_model::meaning::{Meaning, MemberIndex};

/// Maximum length of a counter name with tags, in bytes.
const MOST_NAME: usize = 256;

/// Counter number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CounterNumber {
    /// Integer.
    Integer(i128),
    /// Floating-point number.
    Real(f64),
}

impl CounterNumber {
    /// Returns the number as a float, rounded.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Real(number) => number,
        }
    }

    /// Returns the number if it is an integer of at most 64 bits.
    pub fn as_i64(self) -> Option<i64> {
        match self {
            Self::Integer(number) => i64::try_from(number).ok(),
            Self::Real(_) => None,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let real = || text.parse().ok().filter(|number: &f64| number.is_finite()).map(Self::Real);
        text.parse().ok().map(Self::Integer).or_else(real)
    }
}

/// Counter value in an event.
#[derive(Clone, Copy, Debug)]
pub struct CounterValue<'v> {
    /// Value name, unique in the event.
    pub member: &'v str,
    /// `true` if this is the class's only value.
    pub is_single: bool,
    /// Number.
    pub number: CounterNumber,
}

/// Counter fields in an event class.
#[derive(Debug, Default)]
pub struct CounterFields {
    /// Values and their names.
    values: Vec<(String, FieldRef)>,
    name: Option<FieldRef>,
    unit: Option<FieldRef>,
    tags: Option<FieldRef>,
}

/// Returns the text of a field in UTF-8. `None` for fields without text.
fn text<'e>(event: &Event<'e>, field: &FieldRef) -> Option<Cow<'e, str>> {
    let value = event.get(field)?;
    text_of(event, field, &value)
}

fn text_of<'e>(event: &Event<'e>, field: &FieldRef, value: &FieldValue<'e>) -> Option<Cow<'e, str>> {
    let FieldValue::Text(bytes) = *value else { return None };
    let FieldKind::String { encoding, .. } = &field.class(event)?.kind else { return None };
    Some(Text { bytes, raw: bytes, encoding: *encoding }.to_str_lossy())
}

/// Parses named numbers in a text, for example `0.5=1.5;0.95=3`.
fn named_numbers(text: &str) -> impl Iterator<Item = (&str, CounterNumber)> {
    let parts = text.split(';').filter_map(|part| part.split_once('='));
    parts.filter_map(|(name, number)| Some((name, CounterNumber::parse(number)?)))
}

impl CounterFields {
    /// Finds the counter fields in the event's class.
    pub fn from_event(event: &Event<'_>) -> Self {
        let display = event.class.display.as_deref();
        let find = |path: Option<&String>| FieldRef::new(event, path?);
        let member = |member: MemberIndex| {
            // Members may be unnamed.
            let name = event.plan(member.scope)?.member_name(member.index as usize).unwrap_or_default();
            Some((name.to_owned(), FieldRef::for_member(event, member)?))
        };
        let value = display.and_then(|display| {
            let path = display.counter_value.as_ref()?;
            let name = path.rsplit('.').next().unwrap_or_default();
            Some((name.to_owned(), find(Some(path))?))
        });
        let values = match value {
            Some(value) => vec![value],
            None => event.class.meanings.members(Meaning::CounterValue).filter_map(member).collect(),
        };
        let name = find(display.and_then(|display| display.counter_name.as_ref()));
        Self {
            values,
            name: name.or_else(|| FieldRef::for_meaning(event, Meaning::CounterName)),
            unit: find(display.and_then(|display| display.counter_unit.as_ref())),
            tags: find(display.and_then(|display| display.counter_tags.as_ref())),
        }
    }

    /// Returns `true` if the class lacks counter values.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns `true` if an event has a value.
    pub fn has_value(&self, event: &Event<'_>) -> bool {
        let mut has = false;
        self.for_each(event, |_| has = true);
        has
    }

    /// Returns the counter name in an event, with its distinguishing tags. `None` if the event lacks a name.
    pub fn name<'e>(&self, event: &Event<'e>) -> Option<Cow<'e, str>> {
        let name = text(event, self.name.as_ref()?).filter(|name| !name.is_empty())?;
        let tags = self.tags.as_ref().and_then(|tags| text(event, tags)).filter(|tags| !tags.is_empty());
        let Some(tags) = tags else { return Some(name) };
        let mut name = format!("{name} {{{tags}}}");
        name.truncate(name.floor_char_boundary(MOST_NAME));
        Some(Cow::Owned(name))
    }

    /// Returns the unit in an event.
    pub fn unit<'e>(&self, event: &Event<'e>) -> Option<Cow<'e, str>> {
        text(event, self.unit.as_ref()?).filter(|unit| !unit.is_empty())
    }

    /// Passes the values of an event to `take`: numbers, and texts with one or several numbers. Other values are
    /// skipped.
    pub fn for_each(&self, event: &Event<'_>, mut take: impl FnMut(CounterValue<'_>)) {
        let is_single = self.values.len() == 1;
        for (member, field) in &self.values {
            let Some(value) = event.get(field) else { continue };
            let number = match (value.as_i128(), value.as_f64()) {
                (Some(number), _) => Some(CounterNumber::Integer(number)),
                (None, Some(number)) => Some(CounterNumber::Real(number)),
                (None, None) => None,
            };
            if let Some(number) = number {
                take(CounterValue { member, is_single, number });
            } else if let Some(text) = text_of(event, field, &value) {
                match CounterNumber::parse(&text) {
                    Some(number) => take(CounterValue { member, is_single, number }),
                    None => named_numbers(&text)
                        .for_each(|(member, number)| take(CounterValue { member, is_single: false, number })),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_numbers() {
        let number = CounterNumber::parse;
        assert_eq!(number(" 12 "), Some(CounterNumber::Integer(12)));
        assert_eq!(number("-1.5E3"), Some(CounterNumber::Real(-1500.0)));
        for text in ["", "x", "NaN", "inf", "1,5"] {
            assert_eq!(number(text), None, "{text}");
        }
        let named: Vec<_> = named_numbers("0.5=1.5;0.95=3;;x").collect();
        assert_eq!(named, [("0.5", CounterNumber::Real(1.5)), ("0.95", CounterNumber::Integer(3))]);
    }
}
