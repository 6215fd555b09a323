//! Babeltrace's additional rules, beyond the specifications.
//!
//! Our own reader shares the writer's assumptions. It accepts some metadata that Babeltrace refuses.

use std::collections::HashSet;

use ichnos_model::TraceClass;
use ichnos_model::class::{DataStreamClass, FieldClass, FieldKind, Role};

use crate::metadata::Dialect;

/// Returns the broken rules, each as a sentence.
pub(super) fn broken_rules(trace: &TraceClass) -> Vec<String> {
    let mut broken = Vec::new();
    // Only ichnos reads the proposals.
    let Some(dialect) =
        [Dialect::Ctf18, Dialect::Spec2].into_iter().find(|known| known.title() == trace.dialect)
    else {
        return broken;
    };
    clocks(trace, dialect, &mut broken);
    if trace.data_streams.len() > 1 {
        let id = trace.packet_header.as_deref().and_then(|header| id_bits(header, Role::DataStreamClassId));
        let ids = trace.data_streams.iter().map(|stream| stream.id);
        check_ids(ids, id, "data stream class", &mut broken);
    }
    let mut scopes = vec![("packet header", trace.packet_header.as_deref())];
    for stream in &trace.data_streams {
        packet_context(stream, dialect, &mut broken);
        let header = stream.event_record_header.as_deref();
        if stream.event_records.len() > 1 {
            let id = header.and_then(|header| id_bits(header, Role::EventRecordClassId));
            let ids = stream.event_records.iter().map(|class| class.id);
            check_ids(ids, id, "event record class", &mut broken);
        }
        scopes.push(("packet context", stream.packet_context.as_deref()));
        scopes.push(("event record header", header));
        scopes.push(("common context", stream.common_context.as_deref()));
        for class in &stream.event_records {
            let name = class.name.as_deref().unwrap_or("event");
            scopes.push((name, class.specific_context.as_deref()));
            scopes.push((name, class.payload.as_deref()));
        }
    }
    for (scope, class) in scopes {
        if let Some(name) = class.and_then(duplicate) {
            broken.push(format!("{scope}: two fields are called `{name}`"));
        }
    }
    broken
}

/// Checks that clock names are unique and that, in SPEC-2.0, an offset's cycles are less than a second.
fn clocks(trace: &TraceClass, dialect: Dialect, broken: &mut Vec<String>) {
    let mut ids = HashSet::new();
    for clock in &trace.clocks {
        if !ids.insert(&*clock.id) {
            broken.push(format!("two clocks are called `{}`", clock.id));
        }
        if dialect == Dialect::Spec2 && clock.offset_cycles >= clock.frequency {
            broken.push(format!(
                "clock `{}`: an offset of {} cycles, at {} Hz",
                clock.id, clock.offset_cycles, clock.frequency
            ));
        }
    }
}

/// Checks packet end times in CTF 1.8. For ichnos, any field whose name ends in `_end` contains the end time.
/// Babeltrace only knows `timestamp_end`. Other fields that are mapped to the clock move it, so that it is late at the
/// first event.
fn packet_context(stream: &DataStreamClass, dialect: Dialect, broken: &mut Vec<String>) {
    let context = stream.packet_context.as_deref().filter(|_| dialect == Dialect::Ctf18);
    for member in context.and_then(FieldClass::members).unwrap_or_default() {
        let is_end = |class: &FieldClass| class.roles.has(Role::PacketEndTimestamp);
        if member.name != "timestamp_end" && has(&member.class, &is_end) {
            broken
                .push(format!("packet context: `{}` moves the clock to the end of the packet", member.name));
        }
    }
}

/// Returns `true` if `is_it` is true for a field or any nested field.
fn has(class: &FieldClass, is_it: &impl Fn(&FieldClass) -> bool) -> bool {
    is_it(class) || children(class).any(|(_, child)| has(child, is_it))
}

/// Returns a field's direct subfields, with their names.
fn children(class: &FieldClass) -> Box<dyn Iterator<Item = (Option<&str>, &FieldClass)> + '_> {
    match &class.kind {
        FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => {
            Box::new(members.iter().map(|member| (Some(&*member.name), &*member.class)))
        }
        FieldKind::Variant { options, .. } => {
            Box::new(options.iter().map(|option| (option.name.as_deref(), &*option.class)))
        }
        FieldKind::Array { element, .. } => Box::new(std::iter::once((None, &**element))),
        FieldKind::Optional { field, .. } => Box::new(std::iter::once((None, &**field))),
        _ => Box::new(std::iter::empty()),
    }
}

/// Returns a duplicate name of structure members or variant options.
fn duplicate(class: &FieldClass) -> Option<String> {
    let mut names = HashSet::new();
    let own = children(class)
        .filter_map(|(name, _)| name.filter(|name| !name.is_empty()))
        .find(|name| !names.insert(*name));
    own.map(str::to_owned).or_else(|| children(class).find_map(|(_, child)| duplicate(child)))
}

/// Returns the maximum size in bits of the fields with an id role, if they exist.
fn id_bits(class: &FieldClass, role: Role) -> Option<u64> {
    let own = match &class.kind {
        FieldKind::Integer { bits, .. } if class.roles.has(role) => Some(bits.length),
        FieldKind::VariableLength { .. } if class.roles.has(role) => Some(128),
        _ => None,
    };
    own.max(children(class).filter_map(|(_, child)| id_bits(child, role)).max())
}

/// Checks that ids are unique and fit their field.
fn check_ids(ids: impl Iterator<Item = u128>, bits: Option<u64>, of: &str, broken: &mut Vec<String>) {
    let Some(bits) = bits else {
        return broken.push(format!("there are several {of}es, but packets or events lack a class id"));
    };
    let mut known = HashSet::new();
    for id in ids {
        if !known.insert(id) {
            broken.push(format!("duplicate {of} id {id}"));
        }
        if bits < 128 && id >> bits != 0 {
            broken.push(format!("the {of} id {id} does not fit the {bits} bits of its field"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::{MetadataOptions, parse};

    /// Returns the rules that TSDL metadata break. `context` contains the packet context members. Event ids 0 and 300
    /// have `bits` bits.
    fn broken(context: &str, bits: u32) -> Vec<String> {
        let text = format!(
            "/* CTF 1.8 */
            trace {{ major = 1; minor = 8; byte_order = le; }};
            clock {{ name = c; freq = 1000; }};
            typealias integer {{ size = 32; align = 8; signed = false; }} := u32;
            typealias integer {{ size = {bits}; align = 8; signed = false; }} := id;
            typealias integer {{ size = 32; align = 8; signed = false; map = clock.c.value; }} := time;
            stream {{
                packet.context := struct {{ u32 packet_size; {context} }};
                event.header := struct {{ id id; time timestamp; }};
            }};
            event {{ id = 0; name = a; fields := struct {{ u32 _x; u32 y; }}; }};
            event {{ id = 300; name = b; }};"
        );
        let trace = parse(text.as_bytes(), &MetadataOptions::default()).unwrap().trace;
        broken_rules(&trace)
    }

    #[test]
    fn no_other_end_time_moves_the_clock() {
        assert_eq!(broken("time timestamp_begin; time timestamp_end;", 16), [""; 0]);
        assert_eq!(
            broken("time other; time timestamp_begin; time timestamp_end; u32 late_end;", 16),
            [""; 0]
        );
        for name in ["timestamp_end_end", "late_end"] {
            let context = format!("time timestamp_begin; time timestamp_end; time {name};");
            let rule = format!("packet context: `{name}` moves the clock to the end of the packet");
            assert_eq!(broken(&context, 16), [rule]);
        }
    }

    #[test]
    fn ids_fit_in_their_field() {
        let rule = "the event record class id 300 does not fit the 8 bits of its field";
        assert_eq!(broken("time timestamp_begin;", 8), [rule]);
    }

    #[test]
    fn names_are_unique() {
        assert_eq!(broken("u32 _a; u32 a;", 16), ["packet context: two fields are called `a`"]);
    }

    #[test]
    fn examples_keep_the_rules() {
        let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        for path in ["hello-ctf2/trace/metadata", "hello-lttng/trace/ust/uid/65534/64-bit/metadata"] {
            let text = std::fs::read(examples.join(path)).unwrap();
            let trace = parse(&text, &MetadataOptions::default()).unwrap().trace;
            assert_eq!(broken_rules(&trace), [""; 0], "{path}");
        }
    }
}
