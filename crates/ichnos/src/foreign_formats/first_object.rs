//! Outline of a JSON text that can be truncated.

use std::borrow::Cow;

use ichnos_json::read::Reader;

/// Members of the first object in a JSON text that can be truncated.
pub(super) struct FirstObject<'a> {
    /// Names and values. The last value can be truncated.
    members: Vec<(Cow<'a, str>, &'a str)>,
    /// `true` if the object is the first array element.
    pub(super) is_element: bool,
    /// `true` if another object follows on the next line.
    pub(super) is_line: bool,
}

impl<'a> FirstObject<'a> {
    /// Reads the members of a text up to its end.
    pub(super) fn from_text(text: &'a str) -> Self {
        let mut json = Reader::new(text);
        let is_element = json.take(b'[');
        let mut found = Self { members: Vec::new(), is_element, is_line: false };
        if !json.take(b'{') {
            return found;
        }
        let mut is_first = true;
        let is_whole = loop {
            let key = match json.key(&mut is_first) {
                Ok(Some(key)) => key.text(),
                Ok(None) => break true,
                Err(_) => break false,
            };
            json.peek();
            let rest = text.get(json.offset()..).unwrap_or_default();
            let value = json.skip();
            found.members.push((key, value.unwrap_or(rest)));
            if value.is_err() {
                break false;
            }
        };
        found.is_line = is_whole && json.peek() == Some(b'{');
        found
    }

    /// Returns the text of a value.
    pub(super) fn value(&self, name: &str) -> Option<&'a str> {
        self.members.iter().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    pub(super) fn has(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.value(name).is_some())
    }

    /// Returns `true` if a value is a number.
    pub(super) fn has_number(&self, name: &str) -> bool {
        self.value(name).is_some_and(|value| value.starts_with(|c: char| c == '-' || c.is_ascii_digit()))
    }

    /// Returns the object in a value, or the first object in its array.
    pub(super) fn object(&self, name: &str) -> FirstObject<'a> {
        FirstObject::from_text(self.value(name).unwrap_or_default())
    }
}
