//! Resources and scopes whose fields are names and texts, because there are too many.

use std::borrow::Cow;

use ichnos_model::Event;

use super::element_class::{OriginFields, TextPair};

/// Names and texts of a resource or a scope.
#[derive(Debug)]
pub(super) struct OriginPairs {
    /// Fields that OpenTelemetry defines.
    own: Vec<TextPair>,
    pub(super) attributes: Vec<TextPair>,
}

impl OriginPairs {
    /// Separates attributes from fields that OpenTelemetry defines. The first pair with the name of such a field has it.
    pub(super) fn new(pairs: Vec<TextPair>, known: &[&str]) -> Self {
        let (mut own, mut attributes) = (Vec::<TextPair>::new(), Vec::new());
        for pair in pairs {
            let is_own = known.contains(&&*pair.0) && own.iter().all(|(name, _)| *name != pair.0);
            if is_own { own.push(pair) } else { attributes.push(pair) }
        }
        Self { own, attributes }
    }

    fn own(&self, name: &str) -> Option<&str> {
        self.own.iter().find(|(own, _)| own == name).map(|(_, text)| text.as_str())
    }

    /// Returns the text of a field that OpenTelemetry defines, or an empty one, the default. It can also be a field of
    /// its own.
    pub(super) fn text<'t>(&'t self, event: &Event<'t>, fields: &OriginFields, name: &str) -> Cow<'t, str> {
        match self.own(name) {
            Some(text) => Cow::Borrowed(text),
            None => fields.own.text(event, name),
        }
    }

    /// Returns a number, or 0, the default.
    pub(super) fn number(&self, event: &Event<'_>, fields: &OriginFields, name: &str) -> u64 {
        let own = self.own(name).and_then(|text| text.parse().ok());
        own.unwrap_or_else(|| fields.own.number(event, name))
    }
}
