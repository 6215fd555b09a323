//! Completions for expressions.

use std::collections::BTreeSet;

use ichnos::json::write::ValueWriter;
use ichnos::{Expression, FilterErrorKind};

use crate::app_state::AppState;
use crate::query::Query;
use crate::response::ApiError;

/// Maximum number of completions.
const MOST: usize = 50;

/// Unknown name. The error about it lists the known names.
const UNKNOWN: &str = "ichnos_view_no_such_field";

/// Properties to offer if no error lists them.
const PROPERTIES: [&str; 8] = ["event", "level", "message", "process", "stream", "thread", "time", "trace"];

const OPERATORS: [&str; 10] = ["==", "!=", "<", "<=", ">", ">=", "in", "&&", "||", "!"];

/// Returns event and field names that complete the word before a position in an expression.
pub(super) fn completions(shared: &AppState, query: &Query) -> Result<Vec<u8>, ApiError> {
    let text = query.text("filter").unwrap_or_default();
    let at = query.number("at")?.map_or(text.len(), |at| usize::try_from(at).unwrap_or(text.len()));
    let before = text.get(..text.floor_char_boundary(at.min(text.len()))).unwrap_or_default();
    let is_in_text = before.matches('"').count() % 2 == 1;
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$');
    let word = match is_in_text {
        true => before.rsplit('"').next().unwrap_or_default(),
        false => before.get(before.trim_end_matches(is_word).len()..).unwrap_or_default(),
    };
    let from = before.len() - word.len();
    let lead = before.get(..from).unwrap_or_default().trim_end();
    let follows_value = lead.ends_with(|c: char| is_word(c) || matches!(c, '"' | ')' | ']'));
    let (kind, names) = match () {
        () if is_in_text => ("event", events(shared)),
        () if word.is_empty() && follows_value => ("operator", OPERATORS.map(str::to_owned).into()),
        () => ("field", fields(shared)),
    };
    let lower = word.to_lowercase();
    let (mut first, rest): (Vec<_>, Vec<_>) = names
        .into_iter()
        .filter(|name| name.to_lowercase().contains(&lower))
        .partition(|name| name.to_lowercase().starts_with(&lower));
    first.extend(rest);
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    object.member("from").unsigned(from as u64);
    let mut list = object.member("items").array();
    for name in first.iter().take(MOST) {
        let mut item = list.element().object();
        item.member("text").string(name);
        item.member("kind").string(kind);
        item.end();
    }
    list.end();
    object.end();
    Ok(out)
}

/// Returns the event class names.
fn events(shared: &AppState) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for trace in shared.session.traces() {
        let class = trace.trace().class_with_dynamic();
        let classes = class.data_streams.iter().flat_map(|stream| &stream.event_records);
        names.extend(classes.filter_map(|class| class.name.clone()).map(|name| name.to_string()));
    }
    names
}

/// Returns field and property names as they are written in expressions.
fn fields(shared: &AppState) -> BTreeSet<String> {
    let expression = Expression::parse(&format!("{UNKNOWN} == 1"));
    let checked = expression.and_then(|expression| {
        shared.session.filter(&expression, &|time| (shared.options.resolve_time)(time)).map(drop)
    });
    match checked.map_err(|error| error.kind) {
        Err(FilterErrorKind::UnknownName { candidates, .. }) => {
            candidates.into_iter().map(|known| known.name).collect()
        }
        // Classes declared by records can have any field name, so only the names so far are known.
        _ => fields_of_classes(shared),
    }
}

/// Returns the field names of classes so far, and properties that most events have.
fn fields_of_classes(shared: &AppState) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = PROPERTIES.map(str::to_owned).into();
    for trace in shared.session.traces() {
        let class = trace.trace().class_with_dynamic();
        for stream in &class.data_streams {
            let events = stream.event_records.iter();
            let scopes = events.flat_map(|event| [&event.payload, &event.specific_context]);
            let scopes = scopes.chain([&stream.common_context]).flatten();
            let members = scopes.filter_map(|scope| scope.members()).flatten();
            names.extend(members.map(|member| member.name.to_string()));
        }
    }
    names
}
