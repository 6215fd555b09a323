//! Split by value.

use std::collections::HashMap;
use std::fmt::Write as _;

use ichnos_model::Event;
use ichnos_model::field::{FieldPath, FieldValue};

/// Parts of [`SplitBy::Events`](crate::SplitBy::Events) with one value each, in order of discovery.
#[derive(Debug)]
pub struct PartValues {
    /// `None` to split by event name.
    field: Option<FieldPath>,
    numbers: HashMap<String, usize>,
    /// Labels by part number. `None` for events without the field.
    labels: Vec<Option<String>>,
    /// Number of the part for events without a value.
    without: Option<usize>,
    text: String,
}

impl PartValues {
    /// Splits by the value of a field.
    #[must_use]
    pub fn by_field(path: &str) -> Self {
        Self { field: Some(FieldPath::from(path)), ..Self::by_name() }
    }

    /// Splits by event name.
    #[must_use]
    pub fn by_name() -> Self {
        Self { field: None, numbers: HashMap::new(), labels: Vec::new(), without: None, text: String::new() }
    }

    /// Returns the value of a part as text, or `None` if its events lack a value.
    #[must_use]
    pub fn label(&self, number: usize) -> Option<&str> {
        self.labels.get(number)?.as_deref()
    }

    /// Returns the number of the part for events without a value.
    pub fn without(&mut self) -> usize {
        *self.without.get_or_insert_with(|| {
            self.labels.push(None);
            self.labels.len() - 1
        })
    }

    /// Returns the part number of an event.
    pub fn part_of(&mut self, event: &Event<'_>) -> usize {
        let Some(field) = &mut self.field else { return self.number_of(event.name()) };
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        let number = match field.get(event).is_some_and(|value| put_text(&mut text, value)) {
            true => self.number_of(&text),
            false => self.without(),
        };
        self.text = text;
        number
    }

    fn number_of(&mut self, text: &str) -> usize {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.labels.len();
        self.labels.push(Some(text.to_owned()));
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// Appends a value as text. Returns `false` if it has no text form.
fn put_text(text: &mut String, value: FieldValue<'_>) -> bool {
    let mut hexadecimal = |bytes: &mut dyn Iterator<Item = u8>| {
        text.push_str("0x");
        // Writing into memory cannot fail.
        bytes.for_each(|byte| {
            let _ = write!(text, "{byte:02x}");
        });
        true
    };
    match value {
        FieldValue::Blob(bytes) => return hexadecimal(&mut bytes.iter().copied()),
        FieldValue::Wide(wide) if value.as_i128().is_none() => {
            return hexadecimal(&mut wide.words.iter().rev().flat_map(|word| word.to_be_bytes()));
        }
        _ => {}
    }
    let written = if let Some(integer) = value.as_i128() {
        write!(text, "{integer}")
    } else if let Some(boolean) = value.as_bool() {
        write!(text, "{boolean}")
    } else {
        match value {
            FieldValue::Text(bytes) => write!(text, "{}", String::from_utf8_lossy(bytes)),
            FieldValue::Guid(guid) => write!(text, "{guid}"),
            FieldValue::Real(_) => match value.as_f64() {
                Some(real) => write!(text, "{real}"),
                None => return false,
            },
            _ => return false,
        }
    };
    written.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_texts() {
        let text_of = |value| {
            let mut text = String::new();
            put_text(&mut text, value).then_some(text)
        };
        assert_eq!(text_of(FieldValue::Unsigned(7)).as_deref(), Some("7"));
        assert_eq!(text_of(FieldValue::Signed(-7)).as_deref(), Some("-7"));
        assert_eq!(text_of(FieldValue::Boolean(true)).as_deref(), Some("true"));
        assert_eq!(text_of(FieldValue::Text(b"a\xff")).as_deref(), Some("a\u{fffd}"));
        assert_eq!(text_of(FieldValue::Blob(&[1, 0xab])).as_deref(), Some("0x01ab"));
        assert_eq!(text_of(FieldValue::Null), None);
    }
}
