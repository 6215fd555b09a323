//! `ichnos schema`: what the events of a trace consist of.

use std::borrow::Cow;
use std::fmt::Write as _;

use ichnos::export::rfc3339;
use ichnos::model::*;
use serde_json::{Value as Json, json};

use crate::args::{self, Arithmetic, Global};
use crate::classes;
use crate::exit::{Exit, Failure};
use crate::json::{self as js, Object};
use crate::report::Report;
use crate::selected::Selected;
use crate::selection::Selection;
use crate::style::{Paint, safe};
use crate::tree::Branch;
use crate::{input, output, scan, unmatched, written_schema};

pub(crate) fn run(args: &args::Schema, global: &Global, report: Report) -> Result<Exit, Failure> {
    let selection = Selection::new(&args.selecting, args.clock_gmt, None)?;
    let session =
        input::open(&args.reading, Arithmetic::Exact, scan::progress(global.progress, report), report)?;
    let damaged = input::report_problems(&session, report);
    let selected = Selected::new(&session, selection, report)?;
    let classes: Vec<Cow<'_, TraceClass>> = match selected.selection.is_some() {
        true => classes::selected(&session, &selected, global, report),
        false => {
            classes::meet(&session, global, report);
            session.traces().iter().map(|trace| trace.trace().class_with_dynamic()).collect()
        }
    };
    let mut records =
        classes.iter().flat_map(|class| &class.data_streams).map(|class| class.event_records.len());
    let is_nothing = selected.selection.is_some() && records.all(|count| count == 0);
    unmatched::explain(&session, &selected.selection, selected.window, u64::from(!is_nothing), report);
    if let Some(language) = &args.language {
        written_schema::print(language, &session, &classes, args.reading.limits().model, report)?;
    } else if args.report.json {
        let mut object = js::document("schema");
        let traces = session.traces().iter().zip(&classes).map(|(trace, class)| {
            let mut object = Object::default();
            object.put("path", trace.path());
            object.put("format", trace.format());
            object.append(&mut trace_json(class));
            object.json()
        });
        object.put("traces", traces.collect::<Vec<_>>());
        output::print_json(&object.json(), args.report.integers.into())?;
    } else {
        let paint = Paint::stdout(global.color);
        let traces = session.traces().iter().zip(&classes);
        let trees = traces.map(|(trace, class)| trace_tree(class, trace.path(), paint));
        output::print_trees(trees, paint)?;
    }
    Ok(if damaged {
        Exit::Damaged
    } else if is_nothing {
        Exit::Nothing
    } else {
        Exit::Success
    })
}

// ---------------------------------------------------------------------------------------------
// JSON

/// All of a trace class.
pub(crate) fn trace_json(class: &TraceClass) -> Object {
    let mut object = Object::default();
    object.put("dialect", class.dialect.as_str());
    identity(&mut object, &class.namespace, &class.name, &class.uid);
    object.put_some("uuid", class.uuid.map(|uuid| uuid.to_string()));
    object.put_some("default_byte_order", class.default_byte_order.map(ByteOrder::name));
    object.put("environment", js::map(&class.environment));
    object.put("clocks", class.clocks.iter().map(|clock| clock_json(clock).json()).collect::<Vec<_>>());
    scope_json(&mut object, "packet_header", &class.packet_header, class);
    let streams: Vec<Json> = class.data_streams.iter().map(|stream| stream_json(stream, class)).collect();
    object.put("data_stream_classes", streams);
    object.put_some("attributes", js::attributes(&class.attributes));
    if !class.call_sites.is_empty() {
        object.put("call_sites", class.call_sites.iter().map(js::value).collect::<Vec<_>>());
    }
    object.put_some("declared_at", js::place(class.declared_at.0));
    object
}

fn identity(object: &mut Object, namespace: &Option<String>, name: &Option<String>, uid: &Option<String>) {
    object.put_some("namespace", namespace.as_deref());
    object.put_some("name", name.as_deref());
    object.put_some("uid", uid.as_deref());
}

fn scope_json(
    object: &mut Object,
    name: &str,
    field: &Option<std::sync::Arc<FieldClass>>,
    trace: &TraceClass,
) {
    object.put_some(name, field.as_ref().map(|field| field_json(field, trace).json()));
}

/// All of a clock class.
pub(crate) fn clock_json(clock: &ClockClass) -> Object {
    let mut object = Object::default();
    object.put("id", clock.id.as_str());
    identity(&mut object, &clock.namespace, &clock.name, &clock.uid);
    object.put_some("uuid", clock.uuid.map(|uuid| uuid.to_string()));
    object.put_some("description", clock.description.as_deref());
    object.put("frequency", clock.frequency);
    object.put_some("precision", clock.precision);
    object.put_some("accuracy", clock.accuracy);
    object.put("offset_seconds", clock.offset_seconds);
    object.put("offset_cycles", clock.offset_cycles);
    match &clock.origin {
        ClockOrigin::UnixEpoch => object.put("origin", "unix-epoch"),
        ClockOrigin::Named { namespace, name, uid } => {
            let mut origin = Object::default();
            identity(&mut origin, namespace, &Some(name.clone()), &Some(uid.clone()));
            object.put("origin", origin);
        }
        ClockOrigin::Unknown => object.put("origin", Json::Null),
    }
    object.put_some("attributes", js::attributes(&clock.attributes));
    object.put_some("declared_at", js::place(clock.declared_at.0));
    object
}

fn stream_json(stream: &DataStreamClass, trace: &TraceClass) -> Json {
    let mut object = Object::default();
    object.put("id", stream.id);
    identity(&mut object, &stream.namespace, &stream.name, &stream.uid);
    object.put_some("default_clock", stream.default_clock.and_then(|index| clock_id(index, trace)));
    scope_json(&mut object, "packet_context", &stream.packet_context, trace);
    scope_json(&mut object, "event_record_header", &stream.event_record_header, trace);
    scope_json(&mut object, "event_record_common_context", &stream.common_context, trace);
    scope_json(&mut object, "resource", &stream.resource, trace);
    let records: Vec<Json> =
        stream.event_records.iter().map(|record| event_record_json(record, trace).json()).collect();
    object.put("event_record_classes", records);
    object.put_some("attributes", js::attributes(&stream.attributes));
    object.put_some("declared_at", js::place(stream.declared_at.0));
    object.json()
}

fn clock_id(index: u16, trace: &TraceClass) -> Option<&str> {
    trace.clocks.get(usize::from(index)).map(|clock| clock.id.as_str())
}

fn event_record_json(record: &EventRecordClass, trace: &TraceClass) -> Object {
    let mut object = Object::default();
    object.put("id", record.id);
    identity(&mut object, &record.namespace, &record.name, &record.uid);
    object.put_some("log_level", record.log_level);
    object.put_some("role", (record.role != EventRole::Instant).then(|| record.role.name()));
    object.put_some("emf_uri", record.emf_uri.as_deref());
    scope_json(&mut object, "specific_context", &record.specific_context, trace);
    scope_json(&mut object, "payload", &record.payload, trace);
    object.put_some("attributes", js::attributes(&record.attributes));
    object.put_some("declared_at", js::place(record.declared_at.0));
    object
}

/// All of a field class.
pub(crate) fn field_json(class: &FieldClass, trace: &TraceClass) -> Object {
    let mut object = Object::default();
    match &class.kind {
        FieldKind::BitArray(bits) => {
            object.put("type", "bit-array");
            bits_json(&mut object, *bits);
        }
        FieldKind::BitMap { bits, flags } => {
            object.put("type", "bit-map");
            bits_json(&mut object, *bits);
            object.put("flags", mappings_json(flags));
        }
        FieldKind::Boolean(bits) => {
            object.put("type", "boolean");
            bits_json(&mut object, *bits);
        }
        FieldKind::Integer { bits, integer } => {
            object.put("type", "integer");
            bits_json(&mut object, *bits);
            integer_json(&mut object, integer);
        }
        FieldKind::Float(bits) => {
            object.put("type", "float");
            bits_json(&mut object, *bits);
        }
        FieldKind::VariableLength { value, alignment } => {
            match value {
                VariableLengthValue::BitArray => object.put("type", "variable-length-bit-array"),
                VariableLengthValue::Boolean => object.put("type", "variable-length-boolean"),
                VariableLengthValue::Integer(integer) => {
                    object.put("type", "variable-length-integer");
                    integer_json(&mut object, integer);
                }
            }
            object.put("alignment", *alignment);
        }
        FieldKind::String { encoding, length, alignment } => {
            object.put("type", "string");
            object.put("encoding", encoding.name());
            match length {
                StringLength::NullTerminated => object.put("length", "null-terminated"),
                StringLength::Static(bytes) => object.put("length", *bytes),
                StringLength::Dynamic(location) => object.put("length", location_json(location)),
                StringLength::Prefixed { length, gap } => {
                    let mut prefix = Object::default();
                    bits_json(&mut prefix, *length);
                    prefix.put("gap", *gap);
                    object.put("length_prefix", prefix.json());
                }
            }
            object.put("alignment", *alignment);
        }
        FieldKind::Blob { length, media_type, alignment } => {
            object.put("type", "blob");
            object.put("length", length_json(length));
            object.put("media_type", media_type.as_str());
            object.put("alignment", *alignment);
        }
        FieldKind::Guid { alignment } => {
            object.put("type", "guid");
            object.put("alignment", *alignment);
        }
        FieldKind::Structure { members, minimum_alignment } => {
            object.put("type", "structure");
            object.put("minimum_alignment", *minimum_alignment);
            object.put("members", members_json(members, trace));
        }
        FieldKind::Array { element, length, minimum_alignment, element_aligns } => {
            object.put("type", "array");
            object.put("length", length_json(length));
            object.put("minimum_alignment", *minimum_alignment);
            if !element_aligns {
                object.put("element_aligns", false);
            }
            object.put("element", field_json(element, trace));
        }
        FieldKind::Optional { field, selector, ranges } => {
            object.put("type", "optional");
            object.put_some("selector", (!selector.path.is_empty()).then(|| location_json(selector)));
            object.put_some("ranges", ranges.as_ref().map(|set| ranges_json(set.0.iter().copied())));
            object.put("field", field_json(field, trace));
        }
        FieldKind::Variant { options, selector, alignment } => {
            object.put("type", "variant");
            object.put("selector", location_json(selector));
            object.put("alignment", *alignment);
            let options: Vec<Json> = options.iter().map(|option| option_json(option, trace)).collect();
            object.put("options", options);
        }
        FieldKind::Union { members, alignment } => {
            object.put("type", "union");
            object.put("alignment", *alignment);
            object.put("members", members_json(members, trace));
        }
        FieldKind::Null { alignment } => {
            object.put("type", "null");
            object.put("alignment", *alignment);
        }
        FieldKind::Padding(bits) => {
            object.put("type", "padding");
            bits_json(&mut object, *bits);
        }
        _ => object.put("type", class.describe()),
    }
    if !class.roles.is_empty() {
        object.put("roles", class.roles.iter().map(Role::name).collect::<Vec<_>>());
    }
    object.put_some("clock", class.roles.clock.and_then(|index| clock_id(index, trace)));
    object.put_some("attributes", js::attributes(&class.attributes));
    object.put_some("declared_at", js::place(class.declared_at.0));
    object
}

fn bits_json(object: &mut Object, bits: BitField) {
    object.put("length", bits.length);
    object.put("byte_order", bits.byte_order.name());
    object.put("bit_order", bits.bit_order.name());
    object.put("alignment", bits.alignment);
}

fn integer_json(object: &mut Object, integer: &IntegerProperties) {
    object.put("signed", integer.signed);
    object.put("preferred_display_base", integer.preferred_base.radix());
    object.put_some("mappings", integer.mappings.as_ref().map(|_| labels_json(integer)));
    object.put_some("wall_clock", integer.wall_clock.map(wall_clock_json));
}

fn wall_clock_json(clock: WallClock) -> Json {
    let mut object = Object::default();
    object.put("epoch_seconds", clock.epoch_seconds());
    object.put("frequency", clock.frequency());
    object.json()
}

/// What an `i128` can be of a range, which is among the others, too.
fn clamped(range: &WideRange) -> IntegerRange {
    IntegerRange { lower: range.lower.clamped(), upper: range.upper.clamped() }
}

/// The mappings of an integer: with bounds of any size.
fn labels_json(integer: &IntegerProperties) -> Json {
    let bound = |value: &WideInteger| js::value(&Value::Number(value.to_string()));
    let mut mappings = integer.mappings.as_ref().map_or(Json::Null, mappings_json);
    for range in integer.wide_ranges() {
        let mapping = mappings.get_mut(range.mapping).and_then(|mapping| mapping.get_mut("ranges"));
        if let Some(Json::Array(ranges)) = mapping {
            let narrow = clamped(range);
            let narrow = json!([js::integer(narrow.lower), js::integer(narrow.upper)]);
            ranges.retain(|range| *range != narrow);
            ranges.push(Json::Array(vec![bound(&range.lower), bound(&range.upper)]));
        }
    }
    mappings
}

/// A list, not an object: order counts, and a name may come twice.
fn mappings_json(mappings: &Mappings) -> Json {
    let mapping =
        |mapping: Mapping<'_>| json!({ "name": mapping.name, "ranges": ranges_json(mapping.ranges.iter()) });
    Json::Array(mappings.iter().map(mapping).collect())
}

fn ranges_json(ranges: impl Iterator<Item = IntegerRange>) -> Json {
    let range = |range: IntegerRange| Json::Array(vec![js::integer(range.lower), js::integer(range.upper)]);
    Json::Array(ranges.map(range).collect())
}

fn length_json(length: &Length) -> Json {
    match length {
        Length::Static(length) => (*length).into(),
        Length::Dynamic(location) => location_json(location),
    }
}

fn location_json(location: &FieldLocation) -> Json {
    let mut object = Object::default();
    object.put_some("origin", location.origin.map(Scope::name));
    let steps: Vec<Json> = location
        .path
        .iter()
        .map(|step| match step {
            LocationStep::Member(name) => Json::String(name.clone()),
            LocationStep::Parent => Json::Null,
        })
        .collect();
    object.put("path", steps);
    object.put_some("declared_at", js::place(location.declared_at.0));
    object.json()
}

fn members_json(members: &[Member], trace: &TraceClass) -> Json {
    let member = |member: &Member| {
        let mut object = Object::default();
        object.put("name", member.name.as_str());
        object.put_some("raw_name", member.has_underscore.then(|| member.location_name()).as_deref());
        object.put("class", field_json(&member.class, trace));
        object.put_some("attributes", js::attributes(&member.attributes));
        object.json()
    };
    Json::Array(members.iter().map(member).collect())
}

fn option_json(option: &VariantOption, trace: &TraceClass) -> Json {
    let mut object = Object::default();
    object.put_some("name", option.name.as_deref());
    object.put("ranges", ranges_json(option.ranges.0.iter().copied()));
    object.put("class", field_json(&option.class, trace));
    object.put_some("attributes", js::attributes(&option.attributes));
    object.json()
}

// ---------------------------------------------------------------------------------------------
// Text

/// A trace class for people.
pub(crate) fn trace_tree(class: &TraceClass, title: &str, paint: Paint) -> Branch {
    let mut root = Branch::new(paint.title(&safe(title)));
    let mut first = format!("{} trace class", class.dialect);
    names(&mut first, &class.namespace, &class.name, &class.uid, paint);
    if let Some(uuid) = class.uuid {
        let _ = write!(first, ", UUID {uuid}");
    }
    if let Some(order) = class.default_byte_order {
        let _ = write!(first, ", {} by default", order.name());
    }
    root.line(first);
    if !class.environment.is_empty() {
        let mut branch = Branch::new("environment");
        for (name, value) in &class.environment {
            branch.line(format!("{} = {}", paint.name(&safe(name)), value_text(value)));
        }
        root.add(branch);
    }
    attributes_tree(&mut root, &class.attributes, paint);
    for clock in &class.clocks {
        root.add(clock_tree(clock, paint));
    }
    scope_tree(&mut root, "packet header", &class.packet_header, class, paint);
    for stream in &class.data_streams {
        let mut text = format!("data stream class {}", stream.id);
        names(&mut text, &stream.namespace, &stream.name, &stream.uid, paint);
        if let Some(clock) = stream.default_clock.and_then(|index| clock_id(index, class)) {
            let _ = write!(text, ", clock {}", paint.name(&safe(clock)));
        }
        let mut branch = Branch::new(text);
        attributes_tree(&mut branch, &stream.attributes, paint);
        scope_tree(&mut branch, "packet context", &stream.packet_context, class, paint);
        scope_tree(&mut branch, "event record header", &stream.event_record_header, class, paint);
        scope_tree(&mut branch, "event record common context", &stream.common_context, class, paint);
        scope_tree(&mut branch, "resource", &stream.resource, class, paint);
        for record in &stream.event_records {
            let mut text = format!("event record class {}", record.id);
            names(&mut text, &record.namespace, &record.name, &record.uid, paint);
            if let Some(level) = record.log_level {
                let _ = write!(text, ", log level {level}");
            }
            if record.role != EventRole::Instant {
                let _ = write!(text, ", {}", record.role);
            }
            if let Some(uri) = &record.emf_uri {
                let _ = write!(text, ", EMF URI {}", safe(uri));
            }
            let mut event = Branch::new(text);
            attributes_tree(&mut event, &record.attributes, paint);
            scope_tree(&mut event, "specific context", &record.specific_context, class, paint);
            scope_tree(&mut event, "payload", &record.payload, class, paint);
            branch.add(event);
        }
        root.add(branch);
    }
    root
}

fn names(
    text: &mut String,
    namespace: &Option<String>,
    name: &Option<String>,
    uid: &Option<String>,
    paint: Paint,
) {
    if let Some(name) = name {
        let _ = write!(text, " {}", paint.name(&safe(name)));
    }
    if let Some(namespace) = namespace {
        let _ = write!(text, ", namespace {}", safe(namespace));
    }
    if let Some(uid) = uid {
        let _ = write!(text, ", UID {}", safe(uid));
    }
}

fn clock_tree(clock: &ClockClass, paint: Paint) -> Branch {
    let mut text = format!("clock class {}", paint.name(&safe(&clock.id)));
    let name = clock.name.as_ref().filter(|name| **name != clock.id).cloned();
    names(&mut text, &clock.namespace, &name, &clock.uid, paint);
    let mut branch = Branch::new(text);
    branch.line(clock_text(clock));
    if let Some(description) = &clock.description {
        branch.line(safe(description).into_owned());
    }
    attributes_tree(&mut branch, &clock.attributes, paint);
    branch
}

/// Frequency, origin and so on in one line.
pub(crate) fn clock_text(clock: &ClockClass) -> String {
    let mut text = format!("{} Hz", crate::style::grouped(clock.frequency));
    match &clock.origin {
        ClockOrigin::UnixEpoch => text.push_str(", from the Unix epoch"),
        ClockOrigin::Named { namespace, name, uid } => {
            let namespace = namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
            let _ = write!(text, ", from the origin {}{}/{}", safe(&namespace), safe(name), safe(uid));
        }
        ClockOrigin::Unknown => text.push_str(", origin unknown"),
    }
    if clock.offset_seconds != 0 || clock.offset_cycles != 0 {
        let _ = write!(text, ", offset {} s", clock.offset_seconds);
        if clock.offset_cycles != 0 {
            let _ = write!(text, " + {} cycles", clock.offset_cycles);
        }
    }
    if let Some(precision) = clock.precision {
        let _ = write!(text, ", precision {precision} cycles");
    }
    if let Some(accuracy) = clock.accuracy {
        let _ = write!(text, ", accuracy {accuracy} cycles");
    }
    if let Some(uuid) = clock.uuid {
        let _ = write!(text, ", UUID {uuid}");
    }
    text
}

fn attributes_tree(parent: &mut Branch, attributes: &Attributes, paint: Paint) {
    if !attributes.is_empty() {
        let mut branch = Branch::new("attributes");
        for (namespace, value) in attributes {
            branch.line(format!("{}: {}", paint.name(&safe(namespace)), value_text(value)));
        }
        parent.add(branch);
    }
}

fn scope_tree(
    parent: &mut Branch,
    name: &str,
    class: &Option<std::sync::Arc<FieldClass>>,
    trace: &TraceClass,
    paint: Paint,
) {
    if let Some(class) = class {
        parent.add(field_tree(name, class, trace, paint));
    }
}

fn field_tree(label: &str, class: &FieldClass, trace: &TraceClass, paint: Paint) -> Branch {
    let mut text = format!("{label}: {}", class.describe());
    let mut below = Vec::new();
    match &class.kind {
        FieldKind::BitArray(bits) | FieldKind::Boolean(bits) | FieldKind::Float(bits) => {
            bits_text(&mut text, *bits);
        }
        FieldKind::BitMap { bits, flags } => {
            bits_text(&mut text, *bits);
            mappings_tree(&mut below, flags, paint);
        }
        FieldKind::Integer { bits, integer } => {
            bits_text(&mut text, *bits);
            integer_text(&mut text, &mut below, integer, paint);
        }
        FieldKind::VariableLength { value, alignment } => {
            alignment_text(&mut text, *alignment, 8);
            if let VariableLengthValue::Integer(integer) = value {
                integer_text(&mut text, &mut below, integer, paint);
            }
        }
        FieldKind::String { encoding, length, alignment } => {
            let _ = write!(text, ", {}", encoding.name());
            match length {
                StringLength::NullTerminated => {}
                StringLength::Static(bytes) => {
                    let _ = write!(text, ", {bytes} bytes");
                }
                StringLength::Dynamic(location) => {
                    let _ = write!(text, ", length from {}", safe(&location.to_string()));
                }
                StringLength::Prefixed { length, .. } => {
                    let _ = write!(text, ", length in its first {} bits", length.length);
                }
            }
            alignment_text(&mut text, *alignment, 8);
        }
        FieldKind::Blob { length, media_type, alignment } => {
            length_text(&mut text, length, "bytes");
            let _ = write!(text, ", {}", safe(media_type));
            alignment_text(&mut text, *alignment, 8);
        }
        FieldKind::Guid { alignment } => alignment_text(&mut text, *alignment, 8),
        FieldKind::Structure { members, minimum_alignment } => {
            alignment_text(&mut text, *minimum_alignment, 1);
            let shown = members.iter().filter(|member| !matches!(member.class.kind, FieldKind::Padding(_)));
            below.extend(shown.map(|member| member_tree(member, trace, paint)));
        }
        FieldKind::Array { element, length, minimum_alignment, .. } => {
            length_text(&mut text, length, "elements");
            alignment_text(&mut text, *minimum_alignment, 1);
            below.push(field_tree("each", element, trace, paint));
        }
        FieldKind::Optional { field, selector, ranges } => {
            // What is a value, and no bits, has no selector.
            if !selector.path.is_empty() {
                let _ = write!(text, ", there if {}", safe(&selector.to_string()));
                match ranges {
                    Some(ranges) => {
                        let _ = write!(text, " is {ranges}");
                    }
                    None => text.push_str(" is true"),
                }
            }
            below.push(field_tree("field", field, trace, paint));
        }
        FieldKind::Variant { options, selector, alignment } => {
            let _ = write!(text, ", selected by {}", safe(&selector.to_string()));
            alignment_text(&mut text, *alignment, 1);
            for (index, option) in options.iter().enumerate() {
                let name = match &option.name {
                    Some(name) => paint.name(&safe(name)),
                    None => format!("option {index}"),
                };
                let label = format!("{name} [{}]", option.ranges);
                let mut branch = field_tree(&label, &option.class, trace, paint);
                attributes_tree(&mut branch, &option.attributes, paint);
                below.push(branch);
            }
        }
        FieldKind::Union { members, alignment } => {
            alignment_text(&mut text, *alignment, 1);
            below.extend(members.iter().map(|member| member_tree(member, trace, paint)));
        }
        FieldKind::Null { alignment } => alignment_text(&mut text, *alignment, 1),
        _ => {}
    }
    if !class.roles.is_empty() {
        let roles: Vec<&str> = class.roles.iter().map(Role::name).collect();
        let clock = class.roles.clock.and_then(|index| clock_id(index, trace));
        let clock = clock.map(|clock| format!(" of clock {}", safe(clock))).unwrap_or_default();
        let _ = write!(text, " {}", paint.faint(&format!("<{}{clock}>", roles.join(", "))));
    }
    let mut branch = Branch::of_branches(text, below);
    attributes_tree(&mut branch, &class.attributes, paint);
    branch
}

fn member_tree(member: &Member, trace: &TraceClass, paint: Paint) -> Branch {
    let mut branch = field_tree(&paint.name(&safe(&member.name)), &member.class, trace, paint);
    attributes_tree(&mut branch, &member.attributes, paint);
    branch
}

fn bits_text(text: &mut String, bits: BitField) {
    if bits.length > 8 || bits.length % 8 != 0 {
        let _ = write!(text, ", {}", bits.byte_order.name());
    }
    if bits.is_reversed() {
        let _ = write!(text, ", bits {}", bits.bit_order.name());
    }
    alignment_text(text, bits.alignment, 1);
}

fn alignment_text(text: &mut String, alignment: u64, usual: u64) {
    if alignment > usual {
        let _ = write!(text, ", aligned to {alignment} bits");
    }
}

fn length_text(text: &mut String, length: &Length, what: &str) {
    match length {
        Length::Static(length) => {
            let _ = write!(text, ", {length} {what}");
        }
        // Values say themselves how many they are.
        Length::Dynamic(location) if location.is_of_values() => {}
        Length::Dynamic(location) => {
            let _ = write!(text, ", length from {}", safe(&location.to_string()));
        }
    }
}

fn integer_text(text: &mut String, below: &mut Vec<Branch>, integer: &IntegerProperties, paint: Paint) {
    if integer.preferred_base != DisplayBase::Decimal {
        let _ = write!(text, ", base {}", integer.preferred_base.radix());
    }
    if let Some(clock) = integer.wall_clock {
        let _ = write!(text, ", {}", wall_clock_text(clock));
    }
    if let Some(mappings) = &integer.mappings {
        if integer.wide_ranges().is_empty() {
            return mappings_tree(below, mappings, paint);
        }
        for (index, mapping) in mappings.iter().enumerate() {
            let wide = || integer.wide_ranges().iter().filter(|range| range.mapping == index);
            let is_narrow = |range: &IntegerRange| !wide().any(|wide| clamped(wide) == *range);
            let narrow = mapping.ranges.iter().filter(is_narrow).map(|range| range.to_string());
            let ranges: Vec<String> = narrow.chain(wide().map(ToString::to_string)).collect();
            let name = paint.name(&safe(mapping.name)).to_string();
            below.push(Branch::new(format!("{name} = {}", ranges.join(", "))));
        }
    }
}

/// What an integer counts that is the time of a wall clock.
fn wall_clock_text(clock: WallClock) -> String {
    let epoch = match rfc3339(i128::from(clock.epoch_seconds()) * 1_000_000_000) {
        // A whole second.
        Some(epoch) => epoch.replace(".000000000", ""),
        None => format!("{} s after the Unix epoch", clock.epoch_seconds()),
    };
    format!("date at {} Hz from {epoch}", crate::style::grouped(clock.frequency()))
}

fn mappings_tree(below: &mut Vec<Branch>, mappings: &Mappings, paint: Paint) {
    let mapping = |mapping: Mapping<'_>| {
        Branch::new(format!("{} = {}", paint.name(&safe(mapping.name)), mapping.ranges))
    };
    below.extend(mappings.iter().map(mapping));
}

/// A value in one line.
pub(crate) fn value_text(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("\"{}\"", safe(text)),
        value => safe(&js::value(value).to_string()).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn every_class() -> TraceClass {
        let bits = BitField::new(32, ByteOrder::LittleEndian, 8);
        let integer = IntegerProperties {
            signed: true,
            preferred_base: DisplayBase::Hexadecimal,
            mappings: Some(Mappings::from_iter([(
                "run\x1b",
                RangeSet(vec![IntegerRange { lower: -1, upper: i128::from(u64::MAX) }]),
            )])),
            wide_ranges: None,
            wall_clock: None,
        };
        let location = FieldLocation {
            origin: Some(Scope::Payload),
            path: vec![LocationStep::Parent, LocationStep::Member("len".into())],
            any_option: false,
            declared_at: DeclaredAt::default(),
        };
        let plain = Arc::new(FieldClass::new(FieldKind::Boolean(bits)));
        let kinds = vec![
            FieldKind::BitArray(bits),
            FieldKind::BitMap { bits, flags: Mappings::default() },
            FieldKind::Boolean(bits),
            FieldKind::Integer { bits, integer: integer.clone() },
            FieldKind::Float(bits),
            FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), alignment: 8 },
            FieldKind::String {
                encoding: StringEncoding::Utf16Le,
                length: StringLength::Dynamic(Box::new(location.clone())),
                alignment: 8,
            },
            FieldKind::Blob { length: Length::Static(3), media_type: "image/png".into(), alignment: 8 },
            FieldKind::Array {
                element: Arc::clone(&plain),
                length: Length::Dynamic(Box::new(location.clone())),
                minimum_alignment: 64,
                element_aligns: true,
            },
            FieldKind::Optional {
                field: Arc::clone(&plain),
                selector: Box::new(location.clone()),
                ranges: None,
            },
            FieldKind::Variant {
                options: vec![VariantOption {
                    name: None,
                    class: Arc::clone(&plain),
                    ranges: RangeSet(vec![IntegerRange::single(1)]),
                    attributes: Attributes::default(),
                }],
                selector: Box::new(location),
                alignment: 1,
            },
            FieldKind::Union { members: vec![Member::new("u", plain)], alignment: 8 },
            FieldKind::Null { alignment: 1 },
            FieldKind::Guid { alignment: 8 },
            FieldClass::wall_clock(false, WallClock::FILETIME).kind,
        ];
        let mut members = Vec::new();
        for (index, kind) in kinds.into_iter().enumerate() {
            let mut class = FieldClass::new(kind);
            class.roles = Roles::only(Role::Timestamp);
            class.roles.clock = Some(0);
            class.attributes.set("ns", Value::Map(vec![("a".into(), Value::Null)]));
            members.push(Member::new(format!("m{index}"), Arc::new(class)));
        }
        let payload = FieldClass::new(FieldKind::Structure { members, minimum_alignment: 1 });
        TraceClass {
            dialect: "CTF 2".into(),
            environment: vec![("host".into(), Value::Text("a\nb".into()))],
            clocks: vec![ClockClass::new("mono", 1_000_000_000)],
            data_streams: vec![DataStreamClass {
                default_clock: Some(0),
                event_records: vec![Arc::new(EventRecordClass {
                    name: Some("ev".into()),
                    role: EventRole::Sample,
                    payload: Some(Arc::new(payload)),
                    ..EventRecordClass::default()
                })],
                ..DataStreamClass::default()
            }],
            ..TraceClass::default()
        }
    }

    #[test]
    fn json_has_everything() {
        let json = trace_json(&every_class()).json();
        let payload = &json["data_stream_classes"][0]["event_record_classes"][0]["payload"];
        let types: Vec<&str> = payload["members"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["class"]["type"].as_str().unwrap())
            .collect();
        assert_eq!(
            types,
            [
                "bit-array",
                "bit-map",
                "boolean",
                "integer",
                "float",
                "variable-length-integer",
                "string",
                "blob",
                "array",
                "optional",
                "variant",
                "union",
                "null",
                "guid",
                "integer"
            ]
        );
        let integer = &payload["members"][3]["class"];
        assert_eq!(integer["mappings"][0]["ranges"].to_string(), "[[-1,18446744073709551615]]");
        assert_eq!(integer["roles"][0], "default-clock-timestamp");
        assert_eq!(integer["clock"], "mono");
        assert_eq!(
            payload["members"][14]["class"]["wall_clock"].to_string(),
            r#"{"epoch_seconds":-11644473600,"frequency":10000000}"#
        );
        assert_eq!(json["data_stream_classes"][0]["event_record_classes"][0]["role"], "sample");
        assert_eq!(payload["members"][6]["class"]["length"]["path"].to_string(), "[null,\"len\"]");
        assert!(serde_json::from_str::<Json>(&js::text(&json, ichnos::export::Integers::Number)).is_ok());
    }

    #[test]
    fn tree_is_safe_and_complete() {
        let mut out = String::new();
        trace_tree(&every_class(), "t", Paint::PLAIN).render(&mut out);
        assert!(!out.contains('\x1b'));
        for part in [
            "host = \"a\\nb\"",
            "clock class mono",
            "1,000,000,000 Hz",
            "m3: 32-bit signed enumeration, little-endian, aligned to 8 bits, base 16 \
             <default-clock-timestamp of clock mono>",
            "length from event-record-payload/../len",
            "option 0 [1]: 32-bit boolean",
            "event record class 0 ev, sample",
            "m13: GUID <",
            "m14: 64-bit unsigned integer, little-endian, aligned to 8 bits, \
             date at 10,000,000 Hz from 1601-01-01T00:00:00Z <",
        ] {
            assert!(out.contains(part), "{part} not in\n{out}");
        }
    }
}
