//! Attributes that other dialects write as properties: log levels, EMF URIs, names, bases.

use std::borrow::Cow;

use ichnos_model::TraceClass;
use ichnos_model::class::{Attributes, EventRecordClass, FieldClass, Value};
use ichnos_model::log::{LOG_LEVEL_NAMES, TRACER_NAMESPACES};

use super::unsupported::Refusals;
use crate::metadata::json::attributes::{emf_uri, log_level};
use crate::metadata::json::{STANDARD, standard_base, standard_name};

/// Returns an event record class's attributes, including its log level and EMF URI.
pub(super) fn with_log_level<'c>(
    event: &'c EventRecordClass,
    refusals: &mut Refusals,
) -> Cow<'c, Attributes> {
    let mut attributes = Cow::Borrowed(&event.attributes);
    if log_level(&attributes) != event.log_level {
        match event.log_level {
            Some(level) => {
                let name = usize::try_from(level).ok().and_then(|level| LOG_LEVEL_NAMES.get(level));
                let value = name.map_or(Value::Integer(level.into()), |name| Value::Text((*name).to_owned()));
                set(attributes.to_mut(), "log-level", value, refusals);
            }
            None => refusals.refuse("attributes with a log level, in a class without a log level"),
        }
    }
    if emf_uri(&attributes) != event.emf_uri {
        match &event.emf_uri {
            Some(uri) => set(attributes.to_mut(), "emf-uri", Value::Text(uri.clone()), refusals),
            None => refusals.refuse("attributes with an EMF URI, in a class without an EMF URI"),
        }
    }
    attributes
}

/// Returns a trace class's attributes including its environment, for the dialect without an environment property.
pub(super) fn with_environment<'c>(trace: &'c TraceClass, refusals: &mut Refusals) -> Cow<'c, Attributes> {
    let mut attributes = Cow::Borrowed(&trace.attributes);
    if attributes
        .get(STANDARD)
        .is_some_and(|standard| matches!(standard.get("environment"), Some(Value::Map(_))))
    {
        refusals.refuse("attributes that contain another environment");
    }
    if !trace.environment.is_empty() {
        let environment = Value::Map(trace.environment.clone());
        set_under(STANDARD, attributes.to_mut(), "environment", environment, refusals);
    }
    attributes
}

/// Sets the attributes for a class's namespace and name, for the dialect without these properties.
pub(super) fn set_name(
    attributes: &mut Cow<'_, Attributes>,
    namespace: &Option<String>,
    name: &Option<String>,
    refusals: &mut Refusals,
) {
    let (standard_namespace, standard_name) = standard_name(attributes);
    for (property, standard, value) in [("ns", standard_namespace, namespace), ("name", standard_name, name)]
    {
        if standard != *value {
            match value {
                Some(text) => {
                    set_under(STANDARD, attributes.to_mut(), property, Value::Text(text.clone()), refusals)
                }
                None => refusals
                    .refuse(format!("attributes with a `{property}`, in a class without this property")),
            }
        }
    }
}

/// Returns a field class's attributes, including its display base.
pub(super) fn with_base<'c>(class: &'c FieldClass, refusals: &mut Refusals) -> Cow<'c, Attributes> {
    let mut attributes = Cow::Borrowed(&class.attributes);
    if let Some(integer) = class.integer()
        && integer.preferred_base != standard_base(&attributes)
    {
        let radix = Value::Integer(integer.preferred_base.radix().into());
        set_under(STANDARD, attributes.to_mut(), "base", radix, refusals);
    }
    attributes
}

/// Sets a value in the namespace that readers try first.
fn set(attributes: &mut Attributes, name: &str, value: Value, refusals: &mut Refusals) {
    let [namespace, ..] = TRACER_NAMESPACES;
    set_under(namespace, attributes, name, value, refusals);
}

fn set_under(
    namespace: &str,
    attributes: &mut Attributes,
    name: &str,
    value: Value,
    refusals: &mut Refusals,
) {
    let mut entries = match attributes.get(namespace) {
        None => Vec::new(),
        Some(Value::Map(entries)) => entries.clone(),
        Some(_) => return refusals.refuse(format!("attributes under `{namespace}` that are not an object")),
    };
    match entries.iter_mut().find(|(other, _)| other == name) {
        Some((_, old)) => *old = value,
        None => entries.push((name.to_owned(), value)),
    }
    attributes.set(namespace, Value::Map(entries));
}

/// Returns `true` if a namespace in an event record class's attributes contains only its log level, its EMF URI and its
/// name. In this case, it can be dropped without loss.
pub(crate) fn repeat_event(event: &EventRecordClass, (namespace, value): &(String, Value)) -> bool {
    let Value::Map(entries) = value else { return false };
    let is_said = |(name, value): &(String, Value)| match name.as_str() {
        "log-level" if TRACER_NAMESPACES.contains(&namespace.as_str()) => {
            let alone = Attributes::from_iter([(namespace.clone(), Value::Map(entries.clone()))]);
            event.log_level.is_some() && log_level(&alone) == event.log_level
        }
        "emf-uri" if TRACER_NAMESPACES.contains(&namespace.as_str()) => {
            value.as_text() == event.emf_uri.as_deref()
        }
        "name" if namespace == STANDARD => value.as_text() == event.name.as_deref(),
        "ns" if namespace == STANDARD => value.as_text() == event.namespace.as_deref(),
        _ => false,
    };
    entries.iter().all(is_said)
}

/// Returns `true` if a namespace in a field class's attributes contains only its base.
pub(crate) fn repeat_class(class: &FieldClass, (namespace, value): &(String, Value)) -> bool {
    let base = class.integer().map(|integer| Value::Integer(integer.preferred_base.radix().into()));
    let Value::Map(entries) = value else { return false };
    namespace == STANDARD
        && entries.iter().all(|(name, value)| name == "base" && Some(value) == base.as_ref())
}
