//! Values of checked parameters.

use crate::value::{Map, ParameterValue};

/// Parameters of a component, whose names and types were checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameters<'a>(pub(crate) &'a Map);

impl<'a> Parameters<'a> {
    pub(crate) fn boolean(self, name: &str) -> Option<bool> {
        match self.0.get(name) {
            Some(ParameterValue::Boolean(value)) => Some(*value),
            _ => None,
        }
    }

    /// Returns `true` if a boolean is present and true.
    pub(crate) fn is_set(self, name: &str) -> bool {
        self.boolean(name) == Some(true)
    }

    pub(crate) fn unsigned(self, name: &str) -> Option<u64> {
        match self.0.get(name) {
            Some(ParameterValue::Unsigned(value)) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn signed(self, name: &str) -> Option<i64> {
        match self.0.get(name) {
            Some(ParameterValue::Signed(value)) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn text(self, name: &str) -> Option<&'a str> {
        match self.0.get(name) {
            Some(ParameterValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns a text, or a signed integer as text.
    pub(crate) fn time(self, name: &str) -> Option<String> {
        self.signed(name).map(|value| value.to_string()).or_else(|| self.text(name).map(str::to_owned))
    }

    /// Returns the texts of an array.
    pub(crate) fn texts(self, name: &str) -> Vec<&'a str> {
        let Some(ParameterValue::Array(elements)) = self.0.get(name) else { return Vec::new() };
        let text = |element: &'a ParameterValue| match element {
            ParameterValue::Text(text) => Some(text.as_str()),
            _ => None,
        };
        elements.iter().filter_map(text).collect()
    }
}
