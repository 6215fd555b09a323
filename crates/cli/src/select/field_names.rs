//! Checks field names in options, and suggests similar names.

use std::collections::BTreeSet;

use ichnos::Session;
use ichnos::analysis::{KEY_NAMES, KeyProperty, named_meaning};
use ichnos::model::class::{DataStreamClass, EventRecordClass, FieldClass, FieldKind};
use ichnos::model::meaning::Meaning;
use ichnos::model::plan::scope_class;
use ichnos::model::{Scope, TraceClass, running_thread};

use crate::exit::Failure;
use crate::output::safe;
use crate::select::Selection;
use crate::suggestions::{did_you_mean, list};

/// Maximum number of names to list in an error.
const LISTED: usize = 8;
/// Option that takes properties of events, too.
const GROUPS: &str = "--by";
/// Maximum number of names to collect for suggestions.
const COLLECTED: usize = 100_000;

/// Checks that the traces declare all fields named by options. `names` has pairs of an option and a field.
///
/// `after` must be `true` after reading, when all classes are known. Before reading, the check passes if classes can be
/// unknown.
///
/// # Errors
/// If all selected event record classes lack a field.
pub(crate) fn check<'n>(
    session: &Session,
    selection: &Selection,
    names: impl IntoIterator<Item = (&'n str, &'n str)>,
    after: bool,
) -> Result<(), Failure> {
    let has_dynamic = session.traces().iter().any(|trace| trace.has_dynamic_classes());
    if has_dynamic && !after {
        return Ok(());
    }
    let classes: Vec<_> = session.traces().iter().map(|trace| trace.trace().class_with_dynamic()).collect();
    let wrong = names.into_iter().filter_map(|(option, name)| {
        let mut elsewhere = BTreeSet::new();
        for class in &classes {
            for (stream, event) in events(class) {
                let is_known =
                    has_field(stream, event, name) || option == GROUPS && has_property(event, name);
                if !is_known {
                    continue;
                }
                let event_name = event.name.as_deref().unwrap_or_default();
                if selection.events.as_ref().is_none_or(|patterns| patterns.matches(event_name)) {
                    return None;
                }
                elsewhere.insert(event_name);
            }
        }
        Some(failure(option, name, &elsewhere, classes.iter().map(|class| &**class)))
    });
    Failure::check(wrong)
}

/// Checks that a field named by an option is a number in some events. `after` has the same meaning as in [`check`].
///
/// # Errors
/// If no field with this name is a number.
pub(crate) fn check_numbers(
    session: &Session,
    option: &str,
    name: &str,
    instead: &str,
    after: bool,
) -> Result<(), Failure> {
    let has_dynamic = session.traces().iter().any(|trace| trace.has_dynamic_classes());
    if has_dynamic && !after {
        return Ok(());
    }
    let mut other = None;
    for trace in session.traces() {
        let class = trace.trace().class_with_dynamic();
        for (stream, event) in events(&class) {
            for field in fields(stream, event, name) {
                match what_is_no_number(field) {
                    Some(what) => other = Some(what),
                    None => return Ok(()),
                }
            }
        }
    }
    let Some(what) = other else { return Ok(()) };
    let failure = Failure::new(format!("{option}: the field `{}` is {what}, not a number", safe(name)));
    Err(failure.help(instead))
}

/// Returns the type name of a field class that is not a number.
fn what_is_no_number(class: &FieldClass) -> Option<&'static str> {
    Some(match class.kind {
        FieldKind::String { .. } => "a string",
        FieldKind::Blob { .. } => "a BLOB",
        FieldKind::Guid { .. } => "a GUID",
        FieldKind::Array { .. } => "an array",
        FieldKind::Structure { .. } | FieldKind::Union { .. } => "a structure",
        _ => return None,
    })
}

/// Returns all event record classes, with their data stream classes.
pub(crate) fn events(class: &TraceClass) -> impl Iterator<Item = (&DataStreamClass, &EventRecordClass)> {
    let streams = class.data_streams.iter();
    streams.flat_map(|stream| stream.event_records.iter().map(move |event| (stream, &**event)))
}

fn failure<'c>(
    option: &str,
    name: &str,
    elsewhere: &BTreeSet<&str>,
    classes: impl Iterator<Item = &'c TraceClass>,
) -> Failure {
    let message = format!("{option}: no event has a field `{}`", safe(name));
    if !elsewhere.is_empty() {
        let some: Vec<String> = elsewhere.iter().take(LISTED).map(|name| safe(name).into_owned()).collect();
        let some = list(some.iter().map(String::as_str));
        return Failure::new(format!("{option}: no selected event has a field `{}`", safe(name)))
            .help(format!("only events excluded by --event have the field: {some}"));
    }
    let mut names = BTreeSet::new();
    for class in classes {
        for stream in &class.data_streams {
            let scopes = [
                &class.packet_header,
                &stream.packet_context,
                &stream.event_record_header,
                &stream.common_context,
                &stream.resource,
            ];
            scopes.into_iter().flatten().for_each(|class| collect(class, "", &mut names));
        }
        for (_, event) in events(class) {
            let scopes = [&event.specific_context, &event.payload];
            scopes.into_iter().flatten().for_each(|class| collect(class, "", &mut names));
        }
    }
    // Compare the name without a valid scope.
    let scoped = name.split_once('.').filter(|(prefix, _)| !Scope::with_prefix(prefix).is_empty());
    let rest = scoped.map_or(name, |(_, rest)| rest);
    // These names are rows, but not always fields.
    let rows = if option == GROUPS { &KEY_NAMES[..] } else { &[] };
    let rows: Vec<&str> = rows.iter().copied().filter(|row| *row != name).collect();
    let similar = did_you_mean(rest, names.iter().map(String::as_str).chain(rows.iter().copied()));
    let all: Vec<String> = names.iter().take(LISTED + 1).map(|name| safe(name).into_owned()).collect();
    let help = match (similar, all.len()) {
        (Some(similar), _) => safe(&similar).into_owned(),
        (None, 0) => "events have no fields".to_owned(),
        (None, few) if few <= LISTED => format!("there are {}", list(all.iter().map(String::as_str))),
        (None, _) if option == GROUPS => {
            format!("{option} takes {} or a field; `ichnos schema` lists all fields", rows.join(", "))
        }
        (None, _) => "`ichnos schema` lists all fields".to_owned(),
    };
    Failure::new(message).help(help)
}

/// Returns `true` if events of a class have a field with this name, by the rules of [`ichnos::analysis::find_field`].
fn has_field(stream: &DataStreamClass, event: &EventRecordClass, name: &str) -> bool {
    let means = |meaning: Meaning| event.meanings.members(meaning).next().is_some();
    let has_processor = || {
        let context = stream.packet_context.as_deref();
        means(Meaning::Processor) || context.is_some_and(|context| has_path(context, "cpu_id"))
    };
    name == "cpu" && has_processor()
        || !fields(stream, event, name).is_empty()
        || named_meaning(name).is_some_and(means)
}

/// Returns `true` if events of a class have a property with this name, which can be a row.
fn has_property(event: &EventRecordClass, name: &str) -> bool {
    KeyProperty::named(name).is_some_and(|property| property.is_in(event))
}

/// Returns the fields with this name in all scopes of an event.
fn fields<'c>(stream: &'c DataStreamClass, event: &'c EventRecordClass, name: &str) -> Vec<&'c FieldClass> {
    let mut found = Vec::new();
    let mut add = |scopes: &[Scope], path: &str| {
        let classes = scopes.iter().filter_map(|scope| scope_class(*scope, None, stream, Some(event)));
        classes.for_each(|class| follow(class, path, &mut |field| found.push(field)));
    };
    if let Some(member) = running_thread::member_of(stream, name) {
        add(&[Scope::Resource], member);
        return found;
    }
    add(&Scope::SEARCHED, name);
    if let Some((prefix, rest)) = name.split_once('.') {
        add(Scope::with_prefix(prefix), rest);
    }
    found
}

/// Returns `true` if there is a field at a path.
fn has_path(class: &FieldClass, path: &str) -> bool {
    let mut has_path = false;
    follow(class, path, &mut |_| has_path = true);
    has_path
}

/// Calls `take` for each field at a path. Variants can have several. [`ichnos::model::field::FieldRef`] describes
/// paths.
fn follow<'c>(class: &'c FieldClass, path: &str, take: &mut dyn FnMut(&'c FieldClass)) {
    match &class.kind {
        FieldKind::Optional { field, .. } => follow(field, path, take),
        FieldKind::Variant { options, .. } => {
            options.iter().for_each(|option| follow(&option.class, path, take));
        }
        _ if path.is_empty() => take(class),
        FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => {
            for member in members {
                let rest = path.strip_prefix(member.name.as_str()).and_then(|rest| match rest {
                    "" => Some(rest),
                    _ => rest.strip_prefix('.'),
                });
                if let Some(rest) = rest {
                    follow(&member.class, rest, take);
                }
            }
        }
        FieldKind::Array { element, .. } => {
            let (index, rest) = path.split_once('.').unwrap_or((path, ""));
            if index.parse::<u64>().is_ok() {
                follow(element, rest, take);
            }
        }
        _ => {}
    }
}

/// Collects the paths of all fields without inner fields. For arrays, collects the paths in the first element.
fn collect(class: &FieldClass, path: &str, names: &mut BTreeSet<String>) {
    if names.len() >= COLLECTED {
        return;
    }
    let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match &class.kind {
        FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => {
            members.iter().for_each(|member| collect(&member.class, &join(&member.name), names));
        }
        FieldKind::Array { element, .. } => collect(element, &join("0"), names),
        FieldKind::Optional { field, .. } => collect(field, path, names),
        FieldKind::Variant { options, .. } => {
            options.iter().for_each(|option| collect(&option.class, path, names));
        }
        FieldKind::Padding(_) => {}
        _ => {
            names.insert(path.to_owned());
        }
    }
}
