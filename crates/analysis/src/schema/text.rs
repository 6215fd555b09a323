//! Trace classes as text trees.

use std::fmt::Write as _;

use ichnos_json::write::ValueWriter;
use ichnos_model::TraceClass;
use ichnos_model::class::{
    Attributes, BitField, Child, DisplayBase, FieldClass, FieldKind, IntegerProperties, Length, Mapping,
    Mappings, Role, StringLength, Value,
};
use ichnos_model::clock::{ClockClass, ClockOrigin, WallClock};
use ichnos_model::meaning::{EventDisplay, EventRole, EventTrack};

use super::{clock_id, ranges_of};
use ichnos_export::documents::write_value;
use ichnos_export::text::{Branch, Paint, grouped};
use ichnos_export::{printable, rfc3339};

/// Returns a trace class as a tree, for people.
#[must_use]
pub fn trace_tree(class: &TraceClass, title: &str, paint: Paint) -> Branch {
    let mut root = Branch::new(paint.title(&printable(title)));
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
            branch.line(format!("{} = {}", paint.name(&printable(name)), value_text(value)));
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
            let _ = write!(text, ", clock {}", paint.name(&printable(clock)));
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
            if let Some(display) = &record.display {
                display_text(&mut text, display);
            }
            if let Some(uri) = &record.emf_uri {
                let _ = write!(text, ", EMF URI {}", printable(uri));
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

fn display_text(text: &mut String, display: &EventDisplay) {
    let EventDisplay { track, name, category, color, unit, .. } = display;
    let EventDisplay { counter_value, counter_name, counter_unit, counter_tags, .. } = display;
    let EventDisplay { name_field, object, object_name, about, .. } = display;
    if *track != EventTrack::default() {
        let _ = write!(text, " of the {track}");
    }
    let texts = [
        ("name", name),
        ("category", category),
        ("color", color),
        ("unit", unit),
        ("counter value in", counter_value),
        ("counter name in", counter_name),
        ("counter unit in", counter_unit),
        ("counter tags in", counter_tags),
        ("name in", name_field),
        ("names the object in", object),
        ("by", object_name),
        ("about the object in", about),
    ];
    for (what, value) in texts {
        if let Some(value) = value {
            let _ = write!(text, ", {what} `{}`", printable(value));
        }
    }
}

fn names(
    text: &mut String,
    namespace: &Option<String>,
    name: &Option<String>,
    uid: &Option<String>,
    paint: Paint,
) {
    if let Some(name) = name {
        let _ = write!(text, " {}", paint.name(&printable(name)));
    }
    if let Some(namespace) = namespace {
        let _ = write!(text, ", namespace {}", printable(namespace));
    }
    if let Some(uid) = uid {
        let _ = write!(text, ", UID {}", printable(uid));
    }
}

fn clock_tree(clock: &ClockClass, paint: Paint) -> Branch {
    let mut text = format!("clock class {}", paint.name(&printable(&clock.id)));
    let name = clock.name.as_ref().filter(|name| **name != clock.id).cloned();
    names(&mut text, &clock.namespace, &name, &clock.uid, paint);
    let mut branch = Branch::new(text);
    branch.line(clock_text(clock));
    if let Some(description) = &clock.description {
        branch.line(printable(description).into_owned());
    }
    attributes_tree(&mut branch, &clock.attributes, paint);
    branch
}

/// Returns frequency, origin and other properties in one line.
#[must_use]
pub fn clock_text(clock: &ClockClass) -> String {
    let mut text = format!("{} Hz", grouped(clock.frequency));
    match &clock.origin {
        ClockOrigin::UnixEpoch => text.push_str(", from the Unix epoch"),
        ClockOrigin::Named { namespace, name, uid } => {
            let namespace = namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
            let _ = write!(
                text,
                ", from the origin {}{}/{}",
                printable(&namespace),
                printable(name),
                printable(uid)
            );
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

/// Adds attributes by namespace to a tree, if there are any.
pub fn attributes_tree(parent: &mut Branch, attributes: &Attributes, paint: Paint) {
    if !attributes.is_empty() {
        let mut branch = Branch::new("attributes");
        for (namespace, value) in attributes {
            branch.line(format!("{}: {}", paint.name(&printable(namespace)), value_text(value)));
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
        FieldKind::String { encoding, length, .. } => {
            let _ = write!(text, ", {}", encoding.name());
            match length {
                StringLength::NullTerminated => {}
                StringLength::Static(bytes) => {
                    let _ = write!(text, ", {bytes} bytes");
                }
                StringLength::Dynamic(location) => {
                    let _ = write!(text, ", length from {}", printable(&location.to_string()));
                }
                StringLength::Prefixed { length, .. } => {
                    let _ = write!(text, ", length in its first {} bits", length.length);
                }
            }
        }
        FieldKind::Blob { length, media_type, .. } => {
            length_text(&mut text, length, "bytes");
            let _ = write!(text, ", {}", printable(media_type));
        }
        FieldKind::Array { length, .. } => length_text(&mut text, length, "elements"),
        // Values that are not decoded from bits lack a selector.
        FieldKind::Optional { selector, ranges, .. } if !selector.path.is_empty() => {
            let _ = write!(text, ", present if {}", printable(&selector.to_string()));
            match ranges {
                Some(ranges) => {
                    let _ = write!(text, " is {ranges}");
                }
                None => text.push_str(" is true"),
            }
        }
        FieldKind::Variant { selector, .. } => {
            let _ = write!(text, ", selected by {}", printable(&selector.to_string()));
        }
        _ => {}
    }
    if let Some(bits) = class.bits() {
        bits_text(&mut text, bits);
    }
    alignment_text(&mut text, class);
    if let Some(integer) = class.integer() {
        integer_text(&mut text, &mut below, integer, paint);
    } else if let Some(flags) = class.mappings() {
        mappings_tree(&mut below, flags, paint);
    }
    let shown = class.children().enumerate().filter(|(_, child)| {
        // Padding is not reported.
        !matches!(child, Child::Member(member) if member.class.is_padding())
    });
    below.extend(shown.map(|(index, child)| child_tree(index, child, trace, paint)));
    if !class.roles.is_empty() {
        let roles: Vec<&str> = class.roles.iter().map(Role::name).collect();
        let clock = class.roles.clock.and_then(|index| clock_id(index, trace));
        let clock = clock.map(|clock| format!(" of clock {}", printable(clock))).unwrap_or_default();
        let _ = write!(text, " {}", paint.faint(&format!("<{}{clock}>", roles.join(", "))));
    }
    let mut branch = Branch::of_branches(text, below);
    attributes_tree(&mut branch, &class.attributes, paint);
    branch
}

fn child_tree(index: usize, child: Child<'_>, trace: &TraceClass, paint: Paint) -> Branch {
    let name = child.name().map(|name| paint.name(&printable(name)));
    let label = match child {
        Child::Element(_) => "each".to_owned(),
        Child::Choice(option) => {
            format!("{} [{}]", name.unwrap_or_else(|| format!("option {index}")), option.ranges)
        }
        _ => name.unwrap_or_else(|| "field".to_owned()),
    };
    let mut branch = field_tree(&label, child.class(), trace, paint);
    if let Some(attributes) = child.attributes() {
        attributes_tree(&mut branch, attributes, paint);
    }
    branch
}

fn bits_text(text: &mut String, bits: BitField) {
    if bits.length > 8 || bits.length % 8 != 0 {
        let _ = write!(text, ", {}", bits.byte_order.name());
    }
    if bits.is_reversed() {
        let _ = write!(text, ", bits {}", bits.bit_order.name());
    }
}

/// Appends the declared alignment of a class, unless it is the usual one.
fn alignment_text(text: &mut String, class: &FieldClass) {
    let is_any =
        class.is_compound() || class.bits().is_some() || matches!(class.kind, FieldKind::Null { .. });
    let usual = if is_any { 1 } else { 8 };
    let alignment = class.declared_alignment();
    if alignment > usual {
        let _ = write!(text, ", aligned to {alignment} bits");
    }
}

fn length_text(text: &mut String, length: &Length, what: &str) {
    match length {
        Length::Static(length) => {
            let _ = write!(text, ", {length} {what}");
        }
        // Values contain their own number.
        Length::Dynamic(location) if location.is_by_values() => {}
        Length::Dynamic(location) => {
            let _ = write!(text, ", length from {}", printable(&location.to_string()));
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
            let (narrow, wide) = ranges_of(integer, index, mapping);
            let narrow = narrow.iter().map(ToString::to_string);
            let ranges: Vec<String> = narrow.chain(wide.iter().map(ToString::to_string)).collect();
            let name = paint.name(&printable(mapping.name));
            below.push(Branch::new(format!("{name} = {}", ranges.join(", "))));
        }
    }
}

/// Describes an integer with wall clock times.
fn wall_clock_text(clock: WallClock) -> String {
    let epoch = match rfc3339(i128::from(clock.epoch_seconds()) * 1_000_000_000) {
        // The origin is a whole second.
        Some(epoch) => epoch.replace(".000000000", ""),
        None => format!("{} s after the Unix epoch", clock.epoch_seconds()),
    };
    format!("date at {} Hz from {epoch}", grouped(clock.frequency()))
}

fn mappings_tree(below: &mut Vec<Branch>, mappings: &Mappings, paint: Paint) {
    let mapping = |mapping: Mapping<'_>| {
        Branch::new(format!("{} = {}", paint.name(&printable(mapping.name)), mapping.ranges))
    };
    below.extend(mappings.iter().map(mapping));
}

/// Returns a value in one line.
#[must_use]
pub fn value_text(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("\"{}\"", printable(text)),
        value => {
            let mut json = Vec::new();
            write_value(ValueWriter::new(&mut json), value);
            printable(&String::from_utf8_lossy(&json)).into_owned()
        }
    }
}
