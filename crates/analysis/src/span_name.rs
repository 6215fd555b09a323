//! Span names, derived from event names.

use ichnos_model::Event;

/// FXT event kinds. They end class names, and are not part of the span name.
const KINDS: [&str; 4] = [":async_begin", ":async_end", ":begin", ":end"];

const ENDINGS: [&str; 11] =
    ["_begin", "_end", "_enter", "_entry", "_exit", "_start", "_stop", "Begin", "End", "Start", "Stop"];

/// Returns the name of the spans that events of this class start or end: from its
/// [`EventDisplay`](ichnos_model::meaning::EventDisplay), or else the class name without the event kind.
pub(crate) fn span_name<'a>(event: &Event<'a>) -> &'a str {
    match event.class.display.as_deref().and_then(|display| display.name.as_deref()) {
        Some(name) => name,
        None => category_and_span(event).1,
    }
}

/// Returns the category of an event, and its span name without the event kind.
pub(crate) fn category_and_span<'a>(event: &Event<'a>) -> (&'a str, &'a str) {
    // A name without a category would be mistaken for a category.
    match without_kind(event) {
        Some(name) => name.split_once(':').filter(|(_, name)| !name.is_empty()).unwrap_or(("", name)),
        None => {
            let (category, name) = event.category_and_name();
            (category, without_ending(name).unwrap_or(name))
        }
    }
}

/// Returns `true` if the event class names its spans.
pub(crate) fn has_span_name(event: &Event<'_>) -> bool {
    let display = event.class.display.as_deref();
    display.is_some_and(|display| display.name.is_some())
        || without_kind(event).is_some()
        || without_ending(event.category_and_name().1).is_some()
}

fn without_kind<'a>(event: &Event<'a>) -> Option<&'a str> {
    let without = KINDS.into_iter().find_map(|kind| event.name().strip_suffix(kind));
    without.filter(|name| !name.is_empty())
}

fn without_ending(name: &str) -> Option<&str> {
    let without = ENDINGS.into_iter().find_map(|ending| name.strip_suffix(ending));
    without.filter(|name| !name.is_empty())
}
