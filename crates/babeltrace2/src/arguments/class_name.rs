//! Component class names: `[NAME:]TYPE.PLUGIN.CLASS`.

use super::escapes::{is_printable, text_until};
use crate::command::{ComponentClass, ComponentKind, Failure};

const ESCAPABLE: &[char] = &['.', ':', '\\'];

/// Component class, and the component name before it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NamedClass {
    /// Component name. Never empty.
    pub(crate) name: Option<String>,
    pub(crate) class: ComponentClass,
}

/// Parses a component class with an optional component name.
///
/// # Errors
/// If it does not have this form. The outer cause is made from a text before the argument.
pub(crate) fn parse_named_class(argument: &str, context: &str) -> Result<NamedClass, Failure> {
    parse_class(argument).map_err(|inner| {
        let text = format!("{context}{argument}");
        match inner {
            Some(inner) => Failure::from_cause(inner).in_context(text),
            None => Failure::from_cause(text),
        }
    })
}

/// Parses a component class. An error is the cause, or `None` if there is more after the class name.
fn parse_class(argument: &str) -> Result<NamedClass, Option<String>> {
    let wrong = |cause: &str| Err(Some(cause.to_owned()));
    if !is_printable(argument) {
        return wrong("Argument contains a non-printable character.");
    }
    let (name, end) = text_until(argument, ESCAPABLE, &[':']);
    let (name, rest) = match after(argument, end) {
        Some(rest) => (Some(name).filter(|name| !name.is_empty()), rest),
        None => (None, argument),
    };
    let (kind, end) = text_until(rest, ESCAPABLE, &['.']);
    let Some(rest) = after(rest, end) else {
        return wrong("Missing component class type (`source`, `filter`, or `sink`).");
    };
    let Some(kind) = kind_with_name(&kind) else {
        return Err(Some(format!("Unknown component class type: `{kind}`.")));
    };
    let (plugin, end) = text_until(rest, ESCAPABLE, &['.']);
    let Some(rest) = after(rest, end).filter(|_| !plugin.is_empty()) else {
        return wrong("Missing plugin or component class name.");
    };
    let (class, end) = text_until(rest, ESCAPABLE, &['.']);
    if class.is_empty() {
        return wrong("Missing component class name.");
    }
    if after(rest, end).is_some() {
        return Err(None);
    }
    Ok(NamedClass { name, class: ComponentClass { kind, plugin, name: class } })
}

/// Returns the text after the character at a position, or `None` at the end.
fn after(text: &str, position: usize) -> Option<&str> {
    // All ends are ASCII characters.
    text.get(position.checked_add(1)?..)
}

fn kind_with_name(name: &str) -> Option<ComponentKind> {
    match name {
        "source" | "src" => Some(ComponentKind::Source),
        "filter" | "flt" => Some(ComponentKind::Filter),
        "sink" => Some(ComponentKind::Sink),
        _ => None,
    }
}

/// Returns a kind as written on the command line.
pub(crate) fn kind_name(kind: ComponentKind) -> &'static str {
    match kind {
        ComponentKind::Source => "source",
        ComponentKind::Filter => "filter",
        ComponentKind::Sink => "sink",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        let text = |argument: &str| match parse_class(argument) {
            Ok(NamedClass { name, class }) => {
                format!("{name:?} {} {} {}", kind_name(class.kind), class.plugin, class.name)
            }
            Err(cause) => cause.unwrap_or_else(|| "no cause".to_owned()),
        };
        let cases = [
            ("source.ctf.fs", "None source ctf fs"),
            ("src.ctf.lttng-live", "None source ctf lttng-live"),
            ("a:flt.b.c", "Some(\"a\") filter b c"),
            (r"a\:\.\\b:sink.b\.c.d", r#"Some("a:.\\b") sink b.c d"#),
            (":sink.b.c", "None sink b c"),
            ("sink.b.c:d", "Missing component class type (`source`, `filter`, or `sink`)."),
            ("a", "Missing component class type (`source`, `filter`, or `sink`)."),
            ("a:", "Missing component class type (`source`, `filter`, or `sink`)."),
            ("a:source", "Missing component class type (`source`, `filter`, or `sink`)."),
            ("x.b.c", "Unknown component class type: `x`."),
            ("source.", "Missing plugin or component class name."),
            ("source.b", "Missing plugin or component class name."),
            ("source..c", "Missing plugin or component class name."),
            ("source.b.", "Missing component class name."),
            ("source.b.c.d", "no cause"),
            ("source.b.c.", "no cause"),
            ("source.b.é", "Argument contains a non-printable character."),
        ];
        for (argument, expected) in cases {
            assert_eq!(text(argument), expected, "{argument}");
        }
    }
}
