//! Selects samples by field values.

use ichnos_model::Event;
use ichnos_model::class::{FieldClass, FieldKind, Mappings};
use ichnos_model::field::{FieldRef, FieldValue};
use ichnos_model::meaning::Meaning;

use super::FieldValues;

/// Condition on a field in an event record class.
#[derive(Debug)]
pub(super) struct Condition {
    /// `None` if the class lacks the field.
    field: Option<FieldRef>,
    /// Value names, if the field is an enumeration.
    names: Option<Mappings>,
    values: Box<[String]>,
}

impl Condition {
    pub(super) fn from_event(event: &Event<'_>, wanted: &FieldValues) -> Self {
        let name = wanted.path.rsplit('.').next().unwrap_or_default();
        let classes = [
            event.class.payload.as_deref(),
            event.class.specific_context.as_deref(),
            event.stream.class().common_context.as_deref(),
        ];
        let found = classes.into_iter().flatten().find_map(|class| member(class, name));
        Self {
            field: FieldRef::new(event, &wanted.path),
            names: found.and_then(FieldClass::integer).and_then(|integer| integer.mappings.clone()),
            values: wanted.values.as_slice().into(),
        }
    }

    /// Returns the condition that a sample's thread was running. `None` if the class lacks thread states.
    pub(super) fn on_processor(event: &Event<'_>) -> Option<Self> {
        let field = FieldRef::for_meaning(event, Meaning::ThreadState)?;
        let integer = field.class(event).and_then(FieldClass::integer);
        let names = integer.and_then(|integer| integer.mappings.clone());
        Some(Self { field: Some(field), names, values: Meaning::ON_PROCESSOR.map(str::to_owned).into() })
    }

    /// Returns `true` if an event has the field.
    pub(super) fn is_known(&self, event: &Event<'_>) -> bool {
        self.field.as_ref().and_then(|field| event.get(field)).is_some()
    }

    /// Returns `true` if the condition holds for an event.
    pub(super) fn holds(&self, event: &Event<'_>) -> bool {
        let Some(value) = self.field.as_ref().and_then(|field| event.get(field)) else { return false };
        let number = value.as_i128();
        self.values.iter().any(|wanted| {
            let is_text = matches!(value, FieldValue::Text(text) if text == wanted.as_bytes());
            is_text
                || number.is_some_and(|number| {
                    wanted.parse() == Ok(number)
                        || self
                            .names
                            .as_ref()
                            .is_some_and(|names| names.names_of(number).any(|name| name == wanted))
                })
        })
    }
}

/// Returns the class of a named member at any depth.
fn member<'a>(class: &'a FieldClass, name: &str) -> Option<&'a FieldClass> {
    match &class.kind {
        FieldKind::Structure { members, .. } => {
            let own = members.iter().find(|member| member.name == name).map(|member| &*member.class);
            own.or_else(|| members.iter().find_map(|inner| member(&inner.class, name)))
        }
        _ => None,
    }
}
