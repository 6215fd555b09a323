//! Names of spans, from the names of the events that begin and end them.

use ichnos_model::Event;

/// Endings of names that are no part of the name without its category: FXT's kinds of events.
const KINDS: [&str; 4] = [":async_begin", ":async_end", ":begin", ":end"];

const ENDINGS: [&str; 11] =
    ["_begin", "_end", "_enter", "_entry", "_exit", "_start", "_stop", "Begin", "End", "Start", "Stop"];

/// Returns the name of the span that events of the class of `event` begin or end: that of its
/// [`EventDisplay`](ichnos_model::EventDisplay), or else that of the class without its ending.
pub(crate) fn span_name<'a>(event: &Event<'a>) -> &'a str {
    match event.class.display.as_deref().and_then(|display| display.name.as_deref()) {
        Some(name) => name,
        None => category_and_span(event).1,
    }
}

/// Returns the category of an event, and the name of the span that it begins or ends, without its ending.
pub(crate) fn category_and_span<'a>(event: &Event<'a>) -> (&'a str, &'a str) {
    // A name without a category would be taken for one.
    match without_kind(event) {
        Some(name) => name.split_once(':').filter(|(_, name)| !name.is_empty()).unwrap_or(("", name)),
        None => {
            let (category, name) = event.category_and_name();
            (category, without_ending(name).unwrap_or(name))
        }
    }
}

/// Returns `true` if the class of `event` says the name of its spans.
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
