//! Proposed event maps, from event and field names.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use ichnos::model::TraceClass;
use ichnos::model::class::{EventRecordClass, FieldKind, Member};
use ichnos::model::meaning::EventRole;

/// Name suffixes for begin events, and for their end events.
const ENDINGS: [(&str, &str); 7] = [
    ("_entry", "_exit"),
    ("_enter", "_exit"),
    ("_begin", "_end"),
    ("_start", "_stop"),
    ("_start", "_end"),
    ("Begin", "End"),
    ("Start", "Stop"),
];

const HEADER: &str = "\
# Draft from the names of events without a role. Edit it, and use it as --map FILE in any command that \
reads traces:
# `ichnos help map` explains roles and meanings.
";

/// Returns a map for all events without a role.
pub(crate) fn propose(classes: &[Cow<'_, TraceClass>]) -> String {
    let records = classes.iter().flat_map(|class| &class.data_streams).flat_map(|class| &class.event_records);
    let by_name: BTreeMap<&str, &EventRecordClass> = records
        .filter(|record| record.role == EventRole::Instant)
        .filter_map(|record| Some((record.name.as_deref()?, &**record)))
        .collect();
    let mut text = HEADER.to_owned();
    let mut is_empty = true;
    let mut ended = HashSet::new();
    for (name, begin) in &by_name {
        let end = ENDINGS.into_iter().find_map(|(first, last)| {
            let end = format!("{}{last}", name.strip_suffix(first)?);
            by_name.get_key_value(end.as_str())
        });
        if let Some((end_name, end)) = end {
            is_empty = false;
            let of_end: HashSet<&str> = fields(end).map(|field| &*field.name).collect();
            let common = fields(begin).filter(|field| of_end.contains(&*field.name));
            let common: Vec<String> = common.map(|field| quoted(&field.name)).collect();
            push_rule(&mut text, name, EventRole::Begin, &common);
            if ended.insert(*end_name) {
                push_rule(&mut text, end_name, EventRole::End, &common);
            }
        } else if let Some(value) = counter(name, begin) {
            is_empty = false;
            push_event(&mut text, name, EventRole::Counter);
            let _ = writeln!(text, "fields = {{ value = {} }}", quoted(value));
        }
    }
    if is_empty {
        text.push_str("\n# No event names look like begin and end events, or like counters.\n");
    }
    text
}

fn push_event(text: &mut String, name: &str, role: EventRole) {
    let parts: Vec<String> = name.split('\\').map(globset::escape).collect();
    let pattern = quoted(&parts.join("[\\]"));
    let _ = writeln!(text, "\n[[event]]\nmatch = {pattern}\nrole = \"{role}\"");
}

/// Appends a rule for begin or end events. `common` are the fields in both events, which can be keys.
fn push_rule(text: &mut String, name: &str, role: EventRole, common: &[String]) {
    push_event(text, name, role);
    if !common.is_empty() {
        let _ = writeln!(text, "# fields = {{ key = [{}] }} # if spans overlap", common.join(", "));
    }
}

/// Returns a TOML string. TOML and JSON have the same escapes.
fn quoted(text: &str) -> String {
    let mut out = Vec::new();
    ichnos::json::write::push_string(&mut out, text);
    String::from_utf8_lossy(&out).replace('\u{7f}', "\\u007f")
}

fn fields(class: &EventRecordClass) -> impl Iterator<Item = &Member> {
    let members = match class.payload.as_deref().map(|payload| &payload.kind) {
        Some(FieldKind::Structure { members, .. }) => &members[..],
        _ => &[],
    };
    members.iter()
}

/// Returns the only numeric field of an event whose name looks like a counter.
fn counter<'c>(name: &str, class: &'c EventRecordClass) -> Option<&'c str> {
    let name = name.to_lowercase();
    let counts = ["counter", "gauge", "usage", "_level", "_size", "_depth"]
        .into_iter()
        .any(|part| name.contains(part));
    let is_number = |field: &&Member| {
        let class = &field.class;
        matches!(class.kind, FieldKind::Float(_))
            || class.integer().is_some_and(|integer| integer.mappings.is_none())
    };
    let mut numbers = fields(class).filter(is_number);
    match (numbers.next(), numbers.next()) {
        (Some(only), None) if counts => Some(&only.name),
        _ => None,
    }
}
