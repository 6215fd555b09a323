//! Attributes: data that a producer attaches to a class. Decoding does not need them.
//!
//! They are passed on unchanged. Values have the JSON types, because CTF 2 stores attributes as JSON.

use std::collections::HashMap;
use std::fmt;

use ichnos_json::write::write_printable;

/// A value of an attribute, an extension or an environment entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// True or false.
    Boolean(bool),
    /// An integer with up to 128 bits.
    Integer(i128),
    /// A number with a fraction or an exponent, or an integer that does not fit [`Value::Integer`], as
    /// written.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    Array(Vec<Value>),
    /// Names and values, in file order.
    Map(Vec<(String, Value)>),
}

impl Eq for Value {}

impl fmt::Display for Value {
    /// Writes JSON on one line. A number keeps its spelling.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Boolean(boolean) => write!(f, "{boolean}"),
            Self::Integer(integer) => write!(f, "{integer}"),
            Self::Number(number) => f.write_str(number),
            Self::Text(text) => write_printable(f, text),
            Self::Array(values) => {
                f.write_str("[")?;
                for (index, value) in values.iter().enumerate() {
                    f.write_str(if index > 0 { "," } else { "" })?;
                    value.fmt(f)?;
                }
                f.write_str("]")
            }
            Self::Map(entries) => {
                f.write_str("{")?;
                for (index, (name, value)) in entries.iter().enumerate() {
                    f.write_str(if index > 0 { "," } else { "" })?;
                    write_printable(f, name)?;
                    f.write_str(":")?;
                    value.fmt(f)?;
                }
                f.write_str("}")
            }
        }
    }
}

impl Value {
    /// Returns the value for `name` in a [map](Value::Map).
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Self::Map(entries) => entries.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Returns the content if it is a [text](Value::Text).
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number if it is an [integer](Value::Integer).
    #[must_use]
    pub fn as_integer(&self) -> Option<i128> {
        match self {
            Self::Integer(integer) => Some(*integer),
            _ => None,
        }
    }
}

/// An object's attributes: namespaces and their values, in file order.
///
/// Takes a single word while empty: there can be millions of objects, and most lack attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes(Option<Box<AttributeList>>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct AttributeList(Vec<(String, Value)>);

impl Attributes {
    /// Returns `true` if there are no attributes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// Namespaces and values.
    pub fn iter(&self) -> std::slice::Iter<'_, (String, Value)> {
        self.entries().iter()
    }

    /// Namespaces and values, as a slice.
    #[must_use]
    pub fn entries(&self) -> &[(String, Value)] {
        self.0.as_ref().map_or(&[], |entries| &entries.0)
    }

    /// Returns the value for a namespace.
    #[must_use]
    pub fn get(&self, namespace: &str) -> Option<&Value> {
        self.iter().find(|(key, _)| key == namespace).map(|(_, value)| value)
    }

    /// Sets the value for a namespace.
    pub fn set(&mut self, namespace: impl Into<String>, value: Value) {
        let namespace = namespace.into();
        let entries = &mut self.0.get_or_insert_default().0;
        match entries.iter_mut().find(|(key, _)| *key == namespace) {
            Some((_, old)) => *old = value,
            None => entries.push((namespace, value)),
        }
    }
}

impl Attributes {
    /// Adds attributes of the same object from another place. Objects in the same namespace are merged. Returns the
    /// namespaces whose new values are dropped because a value already exists.
    pub fn join(&mut self, others: Self) -> Vec<String> {
        let mut dropped = Vec::new();
        let mut others = others.into_iter().peekable();
        if others.peek().is_none() {
            return dropped;
        }
        let namespaces = &mut self.0.get_or_insert_default().0;
        let mut known = positions(namespaces);
        for (namespace, value) in others {
            let own = known.get(&namespace).and_then(|at| namespaces.get_mut(*at));
            match (own.map(|(_, own)| own), value) {
                (None, value) => add(namespaces, &mut known, namespace, value),
                (Some(Value::Map(own)), Value::Map(entries)) => {
                    let mut is_complete = true;
                    let mut known = positions(own);
                    for (name, value) in entries {
                        match known.get(&name).and_then(|at| own.get(*at)) {
                            Some((_, known)) => is_complete &= *known == value,
                            None => add(own, &mut known, name, value),
                        }
                    }
                    dropped.extend((!is_complete).then_some(namespace));
                }
                (Some(own), value) => dropped.extend((*own != value).then_some(namespace)),
            }
        }
        dropped
    }

    /// Removes attributes that [`Self::join`] added. Attributes with a different value stay.
    pub fn separate(&mut self, namespace: &str, value: &Value) {
        let entries = self.0.iter_mut().flat_map(|entries| &mut entries.0);
        let Some((_, own)) = entries.into_iter().find(|(key, _)| key == namespace) else { return };
        let is_empty = match (&mut *own, value) {
            (Value::Map(own), Value::Map(others)) if *own != *others => {
                let known = positions(others);
                own.retain(|entry| known.get(&entry.0).and_then(|at| others.get(*at)) != Some(entry));
                own.is_empty()
            }
            (own, other) => own == other,
        };
        if is_empty {
            self.remove(namespace);
        }
    }

    /// Removes a namespace and returns its value.
    pub fn remove(&mut self, namespace: &str) -> Option<Value> {
        let entries = &mut self.0.as_mut()?.0;
        let at = entries.iter().position(|(key, _)| key == namespace)?;
        let (_, value) = entries.remove(at);
        if entries.is_empty() {
            self.0 = None;
        }
        Some(value)
    }
}

/// Returns the position of the first entry with each name.
fn positions(entries: &[(String, Value)]) -> HashMap<String, usize> {
    let mut positions = HashMap::with_capacity(entries.len());
    for (at, (name, _)) in entries.iter().enumerate() {
        positions.entry(name.clone()).or_insert(at);
    }
    positions
}

/// Adds an entry with a new name.
fn add(
    entries: &mut Vec<(String, Value)>,
    positions: &mut HashMap<String, usize>,
    name: String,
    value: Value,
) {
    positions.insert(name.clone(), entries.len());
    entries.push((name, value));
}

impl<'a> IntoIterator for &'a Attributes {
    type Item = &'a (String, Value);
    type IntoIter = std::slice::Iter<'a, (String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Attributes {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.map(|entries| entries.0).unwrap_or_default().into_iter()
    }
}

impl Extend<(String, Value)> for Attributes {
    fn extend<I: IntoIterator<Item = (String, Value)>>(&mut self, entries: I) {
        let mut entries = entries.into_iter().peekable();
        if entries.peek().is_some() {
            self.0.get_or_insert_default().0.extend(entries);
        }
    }
}

impl FromIterator<(String, Value)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(entries: I) -> Self {
        let mut attributes = Self::default();
        attributes.extend(entries);
        attributes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: impl IntoIterator<Item = (usize, i128)>) -> Value {
        let entries = entries.into_iter().map(|(name, value)| (name.to_string(), Value::Integer(value)));
        Value::Map(entries.collect())
    }

    /// Added entries are removed again, however many there are.
    #[test]
    fn joined_attributes_are_separated() {
        const COUNT: usize = 50_000;
        let own = map((0..COUNT).map(|name| (name, 1)));
        let others = map((COUNT / 2..2 * COUNT).map(|name| (name, 2)));
        let mut attributes: Attributes = [("a".to_owned(), own.clone())].into_iter().collect();
        attributes.join([("a".to_owned(), others.clone())].into_iter().collect());
        attributes.separate("a", &others);
        assert_eq!(attributes.get("a"), Some(&own));
        attributes.separate("a", &own);
        assert!(attributes.is_empty());
    }
}
