//! Trace, data stream, event record and field classes as lines.

use std::borrow::Cow;
use std::sync::Arc;

use ichnos_model::class::{
    Attributes, DataStreamClass, DisplayBase, EventRecordClass, FieldClass, FieldKind, FieldLocation,
    IntegerProperties, IntegerRange, Length, LocationStep, Mappings, Member, RangeSet, Role, StringLength,
    Value, VariableLengthValue, VariantOption,
};
use ichnos_model::clock::{ClockClass, ClockOrigin};
use ichnos_model::plan::Plan;
use ichnos_model::{Scope, Trace, TraceClass};

use super::DetailsOptions;
use super::field_location::{find_member, write_field_location};
use super::text::DetailsLines;
use crate::property::{self, Hidden};

/// Optional data in packets of a data stream class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamFeatures {
    pub(crate) packet_begin_time: bool,
    pub(crate) packet_end_time: bool,
    discarded_events: bool,
    discarded_packets: bool,
}

impl StreamFeatures {
    pub(crate) fn for_class(class: &DataStreamClass) -> Self {
        let has = |role| class.packet_context.as_deref().is_some_and(|class| class.has_role(role));
        let has_clock = class.default_clock.is_some();
        Self {
            packet_begin_time: has_clock && has(Role::Timestamp),
            packet_end_time: has_clock && has(Role::PacketEndTimestamp),
            discarded_events: has(Role::DiscardedEventCounter),
            discarded_packets: has(Role::PacketSequenceNumber),
        }
    }

    fn discarded_times(self) -> bool {
        self.packet_begin_time && self.packet_end_time
    }
}

/// Writes a trace class with all classes in it.
pub(crate) fn write_trace_class(lines: &mut DetailsLines<'_>, trace: &Trace, options: &DetailsOptions) {
    let class = &trace.class;
    lines.object("Trace class");
    if class.data_streams.is_empty() && class.attributes.is_empty() {
        return lines.push("\n");
    }
    lines.push(":\n");
    lines.indent += 2;
    write_attributes(lines, &class.attributes);
    let mut order: Vec<usize> = (0..class.data_streams.len()).collect();
    order.sort_by_key(|index| class.data_streams[*index].id);
    for index in order {
        write_stream_class(lines, trace, index, options);
    }
    lines.indent -= 2;
}

fn write_stream_class(lines: &mut DetailsLines<'_>, trace: &Trace, index: usize, options: &DetailsOptions) {
    let (class, plans) = (&trace.class.data_streams[index], &trace.plans.data_streams[index]);
    let with_resource = with_resource_in_context(class).filter(|_| options.resource_in_context);
    let class = with_resource.as_ref().unwrap_or(class);
    lines.indent();
    lines.object("Stream class");
    if options.stream_class_name {
        lines.quoted_name(class.name.as_deref());
    }
    let is_shown = options.stream_class_namespace;
    let uid = class.uid.as_deref().filter(|_| is_shown && options.has_uids());
    let namespace = options.namespace(class.namespace.as_deref()).filter(|_| is_shown);
    lines.identity(namespace, uid, Some(class.id));
    lines.push(":\n");
    lines.indent += 2;
    write_attributes(lines, &class.attributes);
    let has_packets = options.has_packets.is_none_or(|has_packets| has_packets(trace));
    write_features(lines, StreamFeatures::for_class(class), has_packets);
    let clock = class.default_clock.and_then(|clock| trace.class.clocks.get(usize::from(clock)));
    if let Some(clock) = clock {
        lines.property_line("Default clock class");
        lines.push("\n");
        lines.indent += 2;
        write_clock_class(lines, clock, &trace.class, options);
        lines.indent -= 2;
    }
    let has_names = options.protocol_version > 0;
    let mut scopes = ReachableScopes { trace: &trace.class, stream: class, event: None, has_names };
    let context = plans.packet_context.as_ref();
    scopes.write_root(lines, "Packet context field class", Scope::PacketContext, context);
    let context = plans.common_context.as_ref();
    scopes.write_root(lines, "Event common context field class", Scope::CommonContext, context);
    let mut order: Vec<usize> = (0..class.event_records.len()).collect();
    order.sort_by_key(|index| class.event_records[*index].id);
    for index in order {
        let event = &class.event_records[index];
        let (specific, payload) = match plans.event_records.get(index) {
            Some(plans) => (plans.specific_context.as_ref(), plans.payload.as_ref()),
            None => (None, None),
        };
        scopes.event = Some(event);
        write_event_class(lines, event, options);
        lines.indent += 2;
        scopes.write_root(lines, "Specific context field class", Scope::SpecificContext, specific);
        scopes.write_root(lines, "Payload field class", Scope::Payload, payload);
        lines.indent -= 2;
    }
    lines.indent -= 2;
}

fn write_features(lines: &mut DetailsLines<'_>, features: StreamFeatures, has_packets: bool) {
    lines.boolean_line("Supports packets", has_packets);
    if has_packets {
        lines.boolean_line("Packets have beginning default clock snapshot", features.packet_begin_time);
        lines.boolean_line("Packets have end default clock snapshot", features.packet_end_time);
    }
    let discarded = [
        ("Supports discarded events", "Discarded events", features.discarded_events),
        ("Supports discarded packets", "Discarded packets", features.discarded_packets),
    ];
    for (title, what, supported) in discarded {
        lines.boolean_line(title, supported);
        if supported {
            let title = format!("{what} have default clock snapshots");
            lines.boolean_line(&title, features.discarded_times());
        }
    }
}

/// Returns a data stream class with the resource members at the end of the common context. `None` without a resource or
/// a common context.
fn with_resource_in_context(class: &DataStreamClass) -> Option<DataStreamClass> {
    let members = [class.common_context.as_ref()?.members()?, class.resource.as_ref()?.members()?].concat();
    let common_context = Some(Arc::new(FieldClass::structure(members)));
    Some(DataStreamClass { common_context, resource: None, ..class.clone() })
}

/// Writes the properties of an event record class, except its field classes.
fn write_event_class(lines: &mut DetailsLines<'_>, class: &EventRecordClass, options: &DetailsOptions) {
    lines.indent();
    lines.object("Event class");
    if let Some(name) = &class.name {
        lines.push(" `");
        lines.colored(lines.palette.green, name);
        lines.push("`");
    }
    let uid = class.uid.as_deref().filter(|_| options.has_uids());
    lines.identity(options.namespace(class.namespace.as_deref()), uid, Some(class.id));
    lines.push(":\n");
    lines.indent += 2;
    write_attributes(lines, &class.attributes);
    if let Some(level) = property::log_level(class) {
        lines.text_line("Log level", level.title);
    }
    if let Some(uri) = property::emf_uri(class) {
        lines.text_line("EMF URI", uri);
    }
    lines.indent -= 2;
}

fn write_clock_class(
    lines: &mut DetailsLines<'_>,
    clock: &ClockClass,
    trace: &TraceClass,
    options: &DetailsOptions,
) {
    if let Some(namespace) = options.namespace(clock.namespace.as_deref()) {
        lines.text_line("Namespace", namespace);
    }
    if let Some(name) = &clock.name {
        lines.text_line("Name", name);
    }
    let uid: Option<Cow<'_, str>> = match (&clock.uid, clock.uuid) {
        (Some(uid), _) => Some(uid.into()),
        (None, Some(uuid)) => Some(uuid.to_string().into()),
        (None, None) => None,
    };
    if let Some(uid) = uid.filter(|_| options.has_uids()) {
        lines.text_line("UID", &uid);
    }
    if let Some(uuid) = clock.uuid.filter(|_| options.has_uuids()) {
        lines.text_line("UUID", &uuid.to_string());
    }
    write_attributes(lines, &clock.attributes);
    if let Some(description) = &clock.description {
        lines.text_line("Description", description);
    }
    lines.integer_line("Frequency (Hz)", i128::from(clock.frequency));
    let precision = clock.precision.or(trace.default_clock_precision);
    if let Some(precision) = precision {
        lines.integer_line("Precision (cycles)", i128::from(precision));
    }
    if let Some(accuracy) = clock.accuracy.filter(|_| options.protocol_version > 0) {
        lines.integer_line("Accuracy (cycles)", i128::from(accuracy));
    }
    // The offset in cycles is less than a second.
    let frequency = clock.frequency.max(1);
    let seconds = i128::from(clock.offset_seconds) + i128::from(clock.offset_cycles / frequency);
    lines.integer_line("Offset from origin (s)", seconds);
    lines.integer_line("Offset from origin (cycles)", i128::from(clock.offset_cycles % frequency));
    match &clock.origin {
        ClockOrigin::Unknown => {}
        ClockOrigin::UnixEpoch => lines.text_line("Origin", "Unix epoch"),
        ClockOrigin::Named { namespace, name, uid } => {
            lines.property_line("Origin");
            lines.push("\n");
            lines.indent += 2;
            if let Some(namespace) = namespace {
                lines.text_line("Namespace", namespace);
            }
            lines.text_line("Name", name);
            lines.text_line("UID", uid);
            lines.indent -= 2;
        }
    }
}

/// Writes attributes, if any, with the end of their last line.
///
/// Skips attributes whose properties are written anyway.
fn write_attributes(lines: &mut DetailsLines<'_>, attributes: &Attributes) {
    let shown = |(namespace, _): &&(String, Value)| namespace != "babeltrace.org,2020";
    if attributes.iter().any(|entry| shown(&entry)) {
        let shown: Attributes = attributes.iter().filter(shown).cloned().collect();
        write_open_attributes(lines, &shown);
        lines.push("\n");
    }
}

fn write_open_attributes(lines: &mut DetailsLines<'_>, attributes: &Attributes) {
    lines.property_line("User attributes");
    lines.map(attributes.entries());
}

fn write_range(lines: &mut DetailsLines<'_>, range: IntegerRange) {
    lines.push("[");
    lines.integer(range.lower);
    if range.lower != range.upper {
        lines.push(", ");
        lines.integer(range.upper);
    }
    lines.push("]");
}

/// Writes sorted ranges, each after a space.
fn write_ranges(lines: &mut DetailsLines<'_>, ranges: impl Iterator<Item = IntegerRange>) {
    let mut ranges: Vec<IntegerRange> = ranges.collect();
    ranges.sort_by_key(|range| (range.lower, range.upper));
    for range in ranges {
        lines.push(" ");
        write_range(lines, range);
    }
}

/// Mappings grouped by name. There can be millions.
struct ByName<'m> {
    mappings: &'m Mappings,
    /// Indexes of the mappings, sorted by name.
    order: Vec<u32>,
}

impl<'m> ByName<'m> {
    fn new(mappings: &'m Mappings) -> Self {
        let mut order: Vec<u32> = (0u32..).take(mappings.len()).collect();
        order.sort_by_key(|index| mappings.get(*index as usize).map(|mapping| mapping.name.as_bytes()));
        Self { mappings, order }
    }

    fn name(&self, index: u32) -> &'m str {
        self.mappings.get(index as usize).map_or("", |mapping| mapping.name)
    }

    /// Returns the mapping indexes of each name.
    fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.order.chunk_by(|a, b| self.name(*a) == self.name(*b))
    }

    fn ranges(&self, indexes: &[u32]) -> impl Iterator<Item = IntegerRange> {
        let mappings = indexes.iter().filter_map(|index| self.mappings.get(*index as usize));
        mappings.flat_map(|mapping| mapping.ranges.iter())
    }
}

fn push_count(lines: &mut DetailsLines<'_>, count: usize, what: &str) {
    lines.integer(count as i128);
    lines.push(" ");
    lines.push(what);
    lines.push(if count == 1 { "" } else { "s" });
}

/// Classes that field locations can reach.
#[derive(Clone, Copy)]
struct ReachableScopes<'a> {
    trace: &'a TraceClass,
    stream: &'a DataStreamClass,
    event: Option<&'a EventRecordClass>,
    /// `true` if field locations consist of names.
    has_names: bool,
}

impl<'a> ReachableScopes<'a> {
    fn root(&self, scope: Scope) -> Option<&'a FieldClass> {
        ichnos_model::plan::scope_class(scope, Some(self.trace), self.stream, self.event)
            .map(|class| &**class)
    }

    /// Writes the class of a scope, unless it is completely hidden.
    fn write_root(&self, lines: &mut DetailsLines<'_>, title: &str, scope: Scope, plan: Option<&Plan>) {
        let Some(class) = self.root(scope) else {
            return;
        };
        let hidden = Hidden::for_plan(plan);
        if hidden.all() {
            return;
        }
        lines.property_line(title);
        lines.push(" ");
        let mut writer = ClassLines { scopes: self, scope, hidden: &hidden, next: 0, path: Vec::new() };
        writer.write(lines, class, None);
        lines.push("\n");
    }
}

/// Target of a field location.
struct DisplayedTarget<'a> {
    scope: Scope,
    /// Member names as displayed.
    path: Vec<&'a str>,
    class: Option<&'a FieldClass>,
    /// `true` without a target, because values contain their own lengths and selections.
    is_by_values: bool,
}

impl DisplayedTarget<'_> {
    /// Returns `true` if the target is displayed. Headers are hidden.
    fn is_seen(&self) -> bool {
        !self.is_by_values && !matches!(self.scope, Scope::PacketHeader | Scope::EventRecordHeader)
    }

    fn is_signed(&self) -> bool {
        matches!(
            self.class.map(|class| &class.kind),
            Some(
                FieldKind::Integer { integer: IntegerProperties { signed: true, .. }, .. }
                    | FieldKind::VariableLength {
                        value: VariableLengthValue::Integer(IntegerProperties { signed: true, .. }),
                        ..
                    }
            )
        )
    }
}

/// Writer for the field classes of one scope.
struct ClassLines<'a> {
    scopes: &'a ReachableScopes<'a>,
    scope: Scope,
    hidden: &'a Hidden,
    /// Index of the next class in plan order.
    next: usize,
    /// Names of the enclosing structures from the root. The root lacks a name.
    path: Vec<&'a str>,
}

impl<'a> ClassLines<'a> {
    fn locate(&self, location: &'a FieldLocation) -> DisplayedTarget<'a> {
        let (scope, mut path) = match location.origin {
            Some(scope) => (scope, Vec::new()),
            None => (self.scope, self.path.clone()),
        };
        let mut class = self.scopes.root(scope);
        for name in &path {
            class = class.and_then(|class| find_member(class, &|m| m.name == *name)).map(|m| &*m.class);
        }
        for step in &location.path {
            match step {
                LocationStep::Parent => {
                    path.pop();
                    class = self.scopes.root(scope);
                    for name in &path {
                        class = class
                            .and_then(|class| find_member(class, &|m| m.name == *name))
                            .map(|m| &*m.class);
                    }
                }
                LocationStep::Member(name) => {
                    let member = class.and_then(|class| find_member(class, &|m| m.is_called(name)));
                    path.push(member.map_or(name, |member| &member.name));
                    class = member.map(|member| &*member.class);
                }
            }
        }
        DisplayedTarget { scope, path, class, is_by_values: location.is_by_values() }
    }

    /// Writes the location of a length or selector field, as `title` calls the field.
    fn write_location(&self, lines: &mut DetailsLines<'_>, title: &str, target: &DisplayedTarget<'_>) {
        let root = self.scopes.root(target.scope);
        let root = root.filter(|_| !self.scopes.has_names);
        write_field_location(lines, title, target.scope, &target.path, root);
    }

    /// Skips a class without writing it.
    fn skip(&mut self, class: &FieldClass) {
        self.next += 1;
        class.children().for_each(|child| self.skip(child.class()));
    }

    /// Writes a class. `name` is the name of its member.
    fn write(&mut self, lines: &mut DetailsLines<'_>, class: &'a FieldClass, name: Option<&'a str>) {
        self.next += 1;
        match &class.kind {
            FieldKind::BitArray(_)
            | FieldKind::VariableLength { value: VariableLengthValue::BitArray, .. } => {
                self.simple(lines, class, "Bit array", "");
            }
            FieldKind::Boolean(_) | FieldKind::VariableLength { value: VariableLengthValue::Boolean, .. } => {
                self.simple(lines, class, "Boolean", "");
            }
            FieldKind::BitMap { flags, .. } => {
                if !self.scopes.has_names {
                    return self.simple(lines, class, "Bit array", "");
                }
                let flags = ByName::new(flags);
                lines.colored(lines.palette.blue, "Bit array");
                // The reference output lacks an opening parenthesis here.
                lines.push(" ");
                push_count(lines, flags.iter().count(), "flag");
                lines.push(")");
                self.mappings(lines, class, "Flags", &flags);
            }
            FieldKind::Integer { bits, integer } => self.integer(lines, class, integer, bits.length, false),
            FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } => {
                self.integer(lines, class, integer, 64, true);
            }
            FieldKind::Float(bits) => {
                let double = bits.length > 32;
                let name = if double { "Double-precision real" } else { "Single-precision real" };
                self.simple(lines, class, name, "");
            }
            FieldKind::String { length, .. } => {
                let _: &StringLength = length;
                self.simple(lines, class, "String", "");
            }
            FieldKind::Guid { .. } => self.simple(lines, class, "GUID", ""),
            FieldKind::Blob { length, media_type, .. } => self.blob(lines, class, length, media_type),
            FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => {
                self.structure(lines, class, members, name);
            }
            FieldKind::Array { element, length, .. } => self.array(lines, class, element, length, name),
            FieldKind::Optional { field, selector, ranges } => {
                let target = self.locate(selector);
                self.optional(lines, class, field, &target, ranges.as_ref(), name);
            }
            FieldKind::Variant { options, selector, .. } => {
                let target = self.locate(selector);
                self.variant(lines, class, options, &target, name);
            }
            _ => self.simple(lines, class, "Null", ""),
        }
    }

    fn simple(&mut self, lines: &mut DetailsLines<'_>, class: &FieldClass, name: &str, properties: &str) {
        lines.colored(lines.palette.blue, name);
        lines.push(properties);
        self.attributes(lines, class);
    }

    /// Writes the attributes of a class after its line, with the same indentation. Returns `true` if there are any.
    fn attributes(&mut self, lines: &mut DetailsLines<'_>, class: &FieldClass) -> bool {
        if class.attributes.is_empty() {
            return false;
        }
        lines.push(":\n");
        lines.indent += 2;
        write_open_attributes(lines, &class.attributes);
        lines.indent -= 2;
        true
    }

    /// Starts a list after the line of a class: directly below without attributes, otherwise under a separate title.
    /// Returns the added indentation.
    fn begin_list(&mut self, lines: &mut DetailsLines<'_>, class: &FieldClass, title: &str) -> usize {
        let titled = self.attributes(lines, class);
        lines.indent += 2;
        if titled {
            lines.push("\n");
            lines.property_line(title);
            lines.indent += 2;
            return 4;
        }
        lines.push(":");
        2
    }

    /// Starts properties after the line of a class, one on each line.
    fn begin_properties(&mut self, lines: &mut DetailsLines<'_>, class: &FieldClass) {
        let any = self.attributes(lines, class);
        lines.push(if any { "\n" } else { ":\n" });
        lines.indent += 2;
    }

    fn mappings(
        &mut self,
        lines: &mut DetailsLines<'_>,
        class: &FieldClass,
        title: &str,
        mappings: &ByName<'_>,
    ) {
        if mappings.order.is_empty() {
            self.attributes(lines, class);
            return;
        }
        let indent = self.begin_list(lines, class, title);
        for of_name in mappings.iter() {
            lines.push("\n");
            lines.property_line(of_name.first().map_or("", |index| mappings.name(*index)));
            write_ranges(lines, mappings.ranges(of_name));
        }
        lines.indent -= indent;
    }

    fn integer(
        &mut self,
        lines: &mut DetailsLines<'_>,
        class: &FieldClass,
        integer: &IntegerProperties,
        length: u64,
        small: bool,
    ) {
        let enumeration = integer.mappings.is_some();
        let name = match (integer.signed, enumeration) {
            (false, false) => "Unsigned integer",
            (true, false) => "Signed integer",
            (false, true) => "Unsigned enumeration",
            (true, true) => "Signed enumeration",
        };
        lines.colored(lines.palette.blue, name);
        lines.push(" (");
        lines.colored(lines.palette.bold, &format!("{length}-bit"));
        lines.push(", Base ");
        lines.integer(i128::from(DisplayBase::radix(integer.preferred_base)));
        if small {
            lines.push(", Expect small values");
        }
        if integer.date_clock().is_some() {
            lines.push(", Date");
        }
        match &integer.mappings {
            None => {
                lines.push(")");
                self.attributes(lines, class);
            }
            Some(mappings) => {
                let mappings = ByName::new(mappings);
                lines.push(", ");
                push_count(lines, mappings.iter().count(), "mapping");
                lines.push(")");
                self.mappings(lines, class, "Mappings", &mappings);
            }
        }
    }

    fn blob(
        &mut self,
        lines: &mut DetailsLines<'_>,
        class: &FieldClass,
        length: &'a Length,
        media_type: &str,
    ) {
        let target = match length {
            Length::Static(_) => None,
            Length::Dynamic(location) => Some(self.locate(location)).filter(DisplayedTarget::is_seen),
        };
        let name = match (length, &target) {
            (Length::Static(_), _) => "Static BLOB",
            (Length::Dynamic(_), None) => "Dynamic BLOB (no length field)",
            (Length::Dynamic(_), Some(_)) => "Dynamic BLOB (with length field)",
        };
        lines.colored(lines.palette.blue, name);
        lines.push(" (");
        if let Length::Static(length) = length {
            lines.push("Length ");
            lines.integer(i128::from(*length));
            lines.push(", ");
        }
        if let Some(target) = target {
            self.write_location(lines, "Length", &target);
            lines.push(", ");
        }
        lines.push("Media type ");
        lines.text(media_type);
        lines.push(")");
        self.attributes(lines, class);
    }

    fn structure(
        &mut self,
        lines: &mut DetailsLines<'_>,
        class: &FieldClass,
        members: &'a [Member],
        name: Option<&'a str>,
    ) {
        let seen = {
            let mut probe = ClassLines { path: Vec::new(), ..*self };
            let is_seen = |member: &Member| {
                let seen = !probe.hidden.at(probe.next);
                probe.skip(&member.class);
                seen
            };
            members.iter().map(is_seen).filter(|seen| *seen).count()
        };
        lines.colored(lines.palette.blue, "Structure");
        lines.push(" (");
        push_count(lines, seen, "member");
        lines.push(")");
        if seen == 0 {
            self.attributes(lines, class);
            members.iter().for_each(|member| self.skip(&member.class));
            return;
        }
        let indent = self.begin_list(lines, class, "Members");
        self.path.extend(name);
        for member in members {
            if self.hidden.at(self.next) {
                self.skip(&member.class);
                continue;
            }
            lines.push("\n");
            lines.member(&member.name);
            self.described(lines, &member.class, &member.attributes, Some(&member.name), " ");
        }
        if name.is_some() {
            self.path.pop();
        }
        lines.indent -= indent;
    }

    /// Writes a class with attributes as one property of two.
    fn described(
        &mut self,
        lines: &mut DetailsLines<'_>,
        class: &'a FieldClass,
        attributes: &Attributes,
        name: Option<&'a str>,
        separator: &str,
    ) {
        if attributes.is_empty() {
            lines.push(separator);
            return self.write(lines, class, name);
        }
        lines.push("\n");
        lines.indent += 2;
        lines.property_line("Field class");
        lines.push(" ");
        self.write(lines, class, name);
        lines.push("\n");
        write_open_attributes(lines, attributes);
        lines.indent -= 2;
    }

    fn array(
        &mut self,
        lines: &mut DetailsLines<'_>,
        class: &FieldClass,
        element: &'a FieldClass,
        length: &'a Length,
        name: Option<&'a str>,
    ) {
        match length {
            Length::Static(length) => {
                lines.colored(lines.palette.blue, "Static array");
                lines.push(" (Length ");
                lines.integer(i128::from(*length));
                lines.push(")");
            }
            Length::Dynamic(location) => {
                let target = self.locate(location);
                if target.is_seen() {
                    lines.colored(lines.palette.blue, "Dynamic array (with length field)");
                    lines.push(" (");
                    self.write_location(lines, "Length", &target);
                    lines.push(")");
                } else {
                    lines.colored(lines.palette.blue, "Dynamic array (no length field)");
                }
            }
        }
        self.begin_properties(lines, class);
        lines.property_line("Element");
        lines.push(" ");
        self.write(lines, element, name);
        lines.indent -= 2;
    }

    fn optional(
        &mut self,
        lines: &mut DetailsLines<'_>,
        class: &FieldClass,
        field: &'a FieldClass,
        target: &DisplayedTarget<'_>,
        ranges: Option<&RangeSet>,
        name: Option<&'a str>,
    ) {
        lines.colored(
            lines.palette.blue,
            match ranges {
                _ if !target.is_seen() => "Option (no selector)",
                None => "Option (boolean selector)",
                Some(_) if target.is_signed() => "Option (signed integer selector)",
                Some(_) => "Option (unsigned integer selector)",
            },
        );
        if target.is_seen() {
            lines.push(" (");
            self.write_location(lines, "Selector", target);
            lines.push(")");
        }
        self.begin_properties(lines, class);
        match ranges {
            _ if !target.is_seen() => {}
            None => lines.boolean_line("Selector is reversed", false),
            Some(ranges) => {
                lines.property_line("Selector ranges");
                write_ranges(lines, ranges.0.iter().copied());
                lines.push("\n");
            }
        }
        lines.property_line("Content");
        lines.push(" ");
        self.write(lines, field, name);
        lines.indent -= 2;
    }

    fn variant(
        &mut self,
        lines: &mut DetailsLines<'_>,
        class: &FieldClass,
        options: &'a [VariantOption],
        target: &DisplayedTarget<'_>,
        name: Option<&'a str>,
    ) {
        lines.colored(
            lines.palette.blue,
            match (target.is_seen(), target.is_signed()) {
                (false, _) => "Variant (no selector)",
                (true, false) => "Variant (unsigned integer selector)",
                (true, true) => "Variant (signed integer selector)",
            },
        );
        lines.push(" (");
        push_count(lines, options.len(), "option");
        if target.is_seen() {
            lines.push(", ");
            self.write_location(lines, "Selector", target);
        }
        lines.push(")");
        if options.is_empty() {
            self.attributes(lines, class);
            return;
        }
        let indent = self.begin_list(lines, class, "Options");
        for option in options {
            lines.push("\n");
            match &option.name {
                Some(name) => lines.member(name),
                None => {
                    lines.indent();
                    lines.none("Unnamed");
                    lines.push(":");
                }
            }
            if target.is_seen() {
                write_ranges(lines, option.ranges.0.iter().copied());
                lines.push(":");
            }
            self.described(lines, &option.class, &option.attributes, name, " ");
        }
        lines.indent -= indent;
    }
}
