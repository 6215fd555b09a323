//! Names of spans, from the names of the events that begin and end them.

use ichnos_model::Event;

const ENDINGS: [&str; 15] = [
    ":async_begin",
    ":async_end",
    ":begin",
    ":end",
    "_begin",
    "_end",
    "_enter",
    "_entry",
    "_exit",
    "_start",
    "_stop",
    "Begin",
    "End",
    "Start",
    "Stop",
];

/// Returns the name of the span that events of the class of `event` begin or end: that of its
/// [`EventDisplay`](ichnos_model::EventDisplay), or else that of the class without its ending.
pub(crate) fn span_name<'a>(event: &Event<'a>) -> &'a str {
    match event.class.display.as_deref().and_then(|display| display.name.as_deref()) {
        Some(name) => name,
        None => {
            let name = event.category_and_name().1;
            without_ending(name).unwrap_or(name)
        }
    }
}

/// Returns `true` if the class of `event` says the name of its spans.
pub(crate) fn has_span_name(event: &Event<'_>) -> bool {
    let display = event.class.display.as_deref();
    display.is_some_and(|display| display.name.is_some())
        || without_ending(event.category_and_name().1).is_some()
}

fn without_ending(name: &str) -> Option<&str> {
    let without = ENDINGS.into_iter().find_map(|ending| name.strip_suffix(ending));
    without.filter(|name| !name.is_empty())
}
