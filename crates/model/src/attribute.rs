//! Attributes: what a producer says about a class beyond what decoding needs.
//!
//! They travel along untouched. The values are those of JSON, because CTF 2 writes them so.

/// A value of an attribute, of an extension or of the environment.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// True or false.
    Boolean(bool),
    /// An integer of up to 128 bits.
    Integer(i128),
    /// A number with a fraction or an exponent, or an integer that does not fit
    /// [`Value::Integer`], as it was written.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    Array(Vec<Value>),
    /// Names and values in the order they were written.
    Map(Vec<(String, Value)>),
}

impl Eq for Value {}

impl Value {
    /// The value of `name` in a [map](Value::Map).
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Self::Map(entries) => entries.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The text of a [text](Value::Text).
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The integer of an [integer](Value::Integer).
    #[must_use]
    pub fn as_integer(&self) -> Option<i128> {
        match self {
            Self::Integer(integer) => Some(*integer),
            _ => None,
        }
    }
}

/// The attributes of one object: namespaces and their values, in the order they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes(pub Vec<(String, Value)>);

impl Attributes {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value under a namespace.
    #[must_use]
    pub fn get(&self, namespace: &str) -> Option<&Value> {
        self.0.iter().find(|(key, _)| key == namespace).map(|(_, value)| value)
    }

    /// Sets the value under a namespace.
    pub fn set(&mut self, namespace: impl Into<String>, value: Value) {
        let namespace = namespace.into();
        match self.0.iter_mut().find(|(key, _)| *key == namespace) {
            Some((_, old)) => *old = value,
            None => self.0.push((namespace, value)),
        }
    }
}
