//! Lowers a trace, its clocks and its data stream classes, except for field classes.

use std::collections::HashSet;
use std::sync::Arc;

use super::annotations::{NAMESPACE, kept_attributes, strip};
use super::capabilities::{Capabilities, Environment, Feature};
use super::loss_table::{LossKind, LossTable};
use super::names::{UniqueNames, identifier};
use crate::class::{
    DataStreamClass, EventRecordClass, FieldClass, FieldKind, TraceClass, UnmodeledMetadata, Value,
};
use crate::clock::ClockOrigin;

/// Lowers everything except field classes and event record classes.
pub(super) fn lower_objects(class: &mut TraceClass, capabilities: &Capabilities, losses: &mut LossTable) {
    lower_identity(class, capabilities, losses);
    let mut drop = |was_there: bool, what: &str| {
        if was_there {
            losses.note(LossKind::Dropped, "", "", what);
        }
    };
    if !capabilities.has(Feature::Attributes) {
        drop(strip(&mut class.attributes), "attributes of the trace");
    }
    if !capabilities.has(Feature::CallSites) {
        drop(!std::mem::take(&mut class.call_sites).is_empty(), "call sites");
    }
    for clock in &mut class.clocks {
        if !capabilities.has(Feature::Identities) {
            drop(clock.namespace.take().is_some(), "namespace of a clock");
            drop(clock.accuracy.take().is_some(), "accuracy of a clock");
            let uid = clock.uid.take();
            if let (Some(uid), None) = (uid.as_deref().and_then(|uid| uid.parse().ok()), clock.uuid) {
                clock.uuid = Some(uid);
            } else {
                drop(uid.is_some(), "unique identifier of a clock");
            }
            if matches!(clock.origin, ClockOrigin::Named { .. }) {
                clock.origin = ClockOrigin::Unknown;
                drop(true, "origin of a clock");
            }
        }
        if !capabilities.has(Feature::ClockUuids) && clock.uid.is_some() {
            drop(clock.uuid.take().is_some(), "UUID of a clock with another unique identifier");
        }
        if !capabilities.has(Feature::ClockDescriptions) {
            drop(clock.description.take().is_some(), "description of a clock");
        }
        if !capabilities.has(Feature::Attributes) {
            drop(strip(&mut clock.attributes), "attributes of a clock");
        }
    }
    if capabilities.has(Feature::AnyNames) {
        distinguish_clocks(class, !capabilities.has(Feature::Identities), losses);
    } else {
        rename_clocks(class, capabilities.is_reserved, losses);
    }
    lower_environment(class, capabilities, losses);
    lower_unmodeled(class, capabilities, losses);
    for index in 0..class.data_streams.len() {
        lower_stream(class, index, capabilities, losses);
    }
}

/// Lowers the trace name with its namespace and its unique identifier.
fn lower_identity(class: &mut TraceClass, capabilities: &Capabilities, losses: &mut LossTable) {
    if capabilities.has(Feature::Identities) {
        return;
    }
    let mut record_loss = |kind, what: &str| losses.note(kind, "", "", what);
    // A name that the format cannot store becomes an environment entry.
    if let Some(name) = class.name.take().filter(|name| !name.is_empty()) {
        let name = Value::Text(name);
        match class.environment("trace_name").map(|known| *known == name) {
            Some(true) => {}
            Some(false) => record_loss(LossKind::Dropped, "name of the trace"),
            None => {
                class.environment.push(("trace_name".to_owned(), name));
                record_loss(LossKind::Moved, "name of the trace -> environment entry `trace_name`");
            }
        }
    }
    if class.namespace.take().is_some() {
        record_loss(LossKind::Dropped, "namespace of the trace");
    }
    if class.uid.take().is_some() {
        record_loss(LossKind::Dropped, "unique identifier of the trace");
    }
}

/// Lists metadata that the trace class lacks.
fn lower_unmodeled(class: &mut TraceClass, capabilities: &Capabilities, losses: &mut LossTable) {
    let mut record_losses = |kind, what: &str, count| {
        if count > 0 {
            losses.note_times(kind, "", "", what, count);
        }
    };
    let UnmodeledMetadata { alias_names, alias_attributes, aux_streams } =
        std::mem::take(&mut class.unmodeled);
    record_losses(LossKind::Renamed, "field class alias -> another name, or none", alias_names);
    record_losses(LossKind::Dropped, "attributes of a field class alias", alias_attributes);
    for (namespace, value) in aux_streams {
        if capabilities.has(Feature::AuxStreams) {
            class.attributes.separate(&namespace, &value);
            class.unmodeled.aux_streams.push((namespace, value));
        } else if capabilities.has(Feature::Attributes) {
            let what = format!("auxiliary stream `{namespace}` -> attributes of the trace");
            record_losses(LossKind::Moved, &what, 1);
        }
        // Without attributes, they were dropped together with these.
    }
}

/// Assigns a free id to each data stream class with an id of more than 64 bits.
pub(super) fn number_streams(streams: &mut [DataStreamClass], losses: &mut LossTable) {
    let taken: HashSet<u128> = streams.iter().map(|stream| stream.id).collect();
    let mut free = (0..).filter(|id| !taken.contains(id));
    for stream in streams.iter_mut().filter(|stream| u64::try_from(stream.id).is_err()) {
        let Some(id) = free.next() else { return };
        let what = format!("id of a data stream class {} -> {id}", stream.id);
        losses.note(LossKind::Renamed, "", "", what);
        stream.id = id;
    }
}

fn lower_stream(class: &mut TraceClass, index: usize, capabilities: &Capabilities, losses: &mut LossTable) {
    let mut drop = |was_there: bool, what: &str| {
        if was_there {
            losses.note(LossKind::Dropped, "", "", what);
        }
    };
    let stream = &mut class.data_streams[index];
    if !capabilities.has(Feature::StreamNames) {
        drop(stream.name.take().is_some(), "name of a data stream class");
        drop(stream.namespace.take().is_some(), "namespace of a data stream class");
    }
    if !capabilities.has(Feature::Identities) {
        drop(stream.uid.take().is_some(), "unique identifier of a data stream class");
    }
    if !capabilities.has(Feature::Attributes) {
        drop(strip(&mut stream.attributes), "attributes of a data stream class");
    }
    if !capabilities.has(Feature::SeveralClocks) {
        drop(!std::mem::take(&mut stream.other_clocks).is_empty(), "further clocks of a data stream class");
    }
    if !capabilities.has(Feature::Attributes) {
        for root in [&mut stream.packet_context, &mut stream.event_record_header, &mut stream.common_context]
        {
            drop(root.as_mut().is_some_and(strip_members), "member attributes");
        }
    }
}

/// Lowers properties of an event record class other than its field classes.
///
/// Returns the attributes that an annotation must keep. With `annotates`, annotations keep all of them.
pub(super) fn lower_event(
    class: &mut EventRecordClass,
    capabilities: &Capabilities,
    annotates: bool,
    losses: &mut LossTable,
) -> Vec<(String, Value)> {
    let mut kept = Vec::new();
    let name = class.name.clone().unwrap_or_default();
    let mut drop = |was_there: bool, what: &str| {
        if was_there {
            losses.note(LossKind::Dropped, name.clone(), "", what);
        }
    };
    if !capabilities.has(Feature::StreamNames) {
        drop(class.namespace.take().is_some(), "namespace of the event record class");
    }
    if !capabilities.has(Feature::Identities) {
        drop(class.uid.take().is_some(), "unique identifier of the event record class");
    }
    if !capabilities.has(Feature::Attributes) {
        let is_other = |entry: &(String, Value)| !(capabilities.repeats_event)(class, entry);
        kept = kept_attributes(&class.attributes, annotates, is_other);
        let has_others = class
            .attributes
            .iter()
            .any(|entry| entry.0 != NAMESPACE && is_other(entry) && !kept.contains(entry));
        strip(&mut class.attributes);
        drop(has_others, "attributes of the event record class");
        for root in [&mut class.specific_context, &mut class.payload] {
            drop(root.as_mut().is_some_and(strip_members), "member attributes");
        }
    }
    if !capabilities.has(Feature::UnnamedEvents) && class.name.is_none() {
        let name = format!("event_{}", class.id);
        let what = format!("no name -> `{name}`");
        losses.note(LossKind::Renamed, "", "", what);
        class.name = Some(name);
    }
    kept
}

/// Removes the attributes of members and options. Returns `true` if there were any.
fn strip_members(class: &mut Arc<FieldClass>) -> bool {
    fn has_any(class: &FieldClass, depth: u32) -> bool {
        if depth > 1000 {
            return false;
        }
        class.children().any(|child| {
            child.attributes().is_some_and(|attributes| !attributes.is_empty())
                || has_any(child.class(), depth + 1)
        })
    }
    fn stripped(class: &Arc<FieldClass>) -> Arc<FieldClass> {
        let mut class = (**class).clone().map_children(stripped);
        match &mut class.kind {
            FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => {
                members.iter_mut().for_each(|member| _ = strip(&mut member.attributes));
            }
            FieldKind::Variant { options, .. } => {
                options.iter_mut().for_each(|option| _ = strip(&mut option.attributes));
            }
            _ => {}
        }
        Arc::new(class)
    }
    let had_any = has_any(class, 0);
    if had_any {
        *class = stripped(class);
    }
    had_any
}

/// Assigns unique clock ids that are identifiers.
fn rename_clocks(class: &mut TraceClass, is_reserved: fn(&str) -> bool, losses: &mut LossTable) {
    let mut names = UniqueNames::default();
    for clock in &mut class.clocks {
        let source = clock.name.clone().unwrap_or_else(|| clock.id.clone());
        let wanted = identifier(&source, is_reserved);
        let name = names.take(&wanted);
        if name != source {
            let what = format!("clock `{source}` -> `{name}`");
            losses.note(LossKind::Renamed, "", "", what);
        }
        clock.id.clone_from(&name);
        clock.name = Some(name);
    }
}

/// Assigns unique clock ids, and unique names if others refer to clocks by name. JSON Lines from any program can have
/// two clocks with the same id.
fn distinguish_clocks(class: &mut TraceClass, by_name: bool, losses: &mut LossTable) {
    let (mut ids, mut names) = (UniqueNames::default(), UniqueNames::default());
    let mut distinguish = |source: &mut String, taken: &mut UniqueNames| {
        let name = taken.take(source);
        if name != *source {
            let what = format!("clock `{source}` -> `{name}`");
            losses.note(LossKind::Renamed, "", "", what);
            *source = name;
        }
    };
    for clock in &mut class.clocks {
        distinguish(&mut clock.id, &mut ids);
        if by_name {
            let source = clock.name.as_ref().unwrap_or(&clock.id).clone();
            let mut name = source.clone();
            distinguish(&mut name, &mut names);
            if name != source {
                clock.name = Some(name);
            }
        }
    }
}

fn lower_environment(class: &mut TraceClass, capabilities: &Capabilities, losses: &mut LossTable) {
    let environment = capabilities.environment;
    let is_identifier = |name: &str| {
        let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
        !(capabilities.is_reserved)(name)
            && name.starts_with(is_first)
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
    };
    let is_small = |integer: i128| (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&integer);
    let mut names = UniqueNames::default();
    for (name, value) in std::mem::take(&mut class.environment) {
        let fits = match (environment, &value) {
            (Environment::Any, _) | (_, Value::Text(_)) => true,
            (Environment::Simple, Value::Integer(integer)) => is_small(*integer),
            (Environment::Scalars, Value::Integer(_)) => true,
            _ => false,
        };
        let value = match fits {
            true => value,
            false => {
                let what = format!("environment entry `{name}` -> its JSON as text");
                losses.note(LossKind::Lowered, "", "", what);
                Value::Text(value.to_string())
            }
        };
        let mut lowered = name.clone();
        if environment == Environment::Simple && !is_identifier(&name) {
            lowered = identifier(&name, capabilities.is_reserved).into_owned();
        }
        lowered = names.take(&lowered);
        if lowered != name {
            losses.note(LossKind::Renamed, "", "", format!("environment entry `{name}` -> `{lowered}`"));
        }
        class.environment.push((lowered, value));
    }
}
