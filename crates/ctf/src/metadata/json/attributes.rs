//! Attributes that replace CTF 1.8 properties.

use ichnos_model::class::{Attributes, Value};
use ichnos_model::log::{LOG_LEVEL_NAMES, TRACER_NAMESPACES};

fn find<'a>(attributes: &'a Attributes, name: &str) -> Option<&'a Value> {
    TRACER_NAMESPACES.iter().find_map(|namespace| attributes.get(namespace)?.get(name))
}

/// Returns the log level in attributes, as LTTng's number.
pub(in crate::metadata) fn log_level(attributes: &Attributes) -> Option<i64> {
    match find(attributes, "log-level")? {
        Value::Integer(level) => i64::try_from(*level).ok(),
        Value::Text(name) => {
            let name = name.to_ascii_lowercase().replace(['_', '-'], ":");
            let name = match name.as_str() {
                "emerg" => "emergency",
                "crit" => "critical",
                "err" => "error",
                "warn" => "warning",
                name => name,
            };
            let level = LOG_LEVEL_NAMES.iter().position(|known| *known == name)?;
            i64::try_from(level).ok()
        }
        _ => None,
    }
}

/// Returns the EMF URI in attributes.
pub(in crate::metadata) fn emf_uri(attributes: &Attributes) -> Option<String> {
    find(attributes, "emf-uri")?.as_text().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(namespace: &str, level: Value) -> Attributes {
        Attributes::from_iter([(namespace.to_owned(), Value::Map(vec![("log-level".to_owned(), level)]))])
    }

    #[test]
    fn known_log_levels_have_numbers() {
        for (name, level) in
            [("emerg", Some(0)), ("warning", Some(4)), ("debug:line", Some(13)), ("loud", None)]
        {
            assert_eq!(log_level(&attributes("babeltrace.org,2020", Value::Text(name.to_owned()))), level);
        }
        assert_eq!(log_level(&attributes("lttng.org,2009", Value::Integer(6))), Some(6));
        assert_eq!(log_level(&attributes("example.com,1995", Value::Integer(6))), None);
    }
}
