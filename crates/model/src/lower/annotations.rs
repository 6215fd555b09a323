//! Annotations: class attributes that store a reader's knowledge beyond the classes themselves.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::class::{
    Attributes, BitField, ByteOrder, DataStreamClass, EventRecordClass, FieldClass, FieldKind,
    IntegerProperties, IntegerRange, Length, LocationStep, Mappings, MappingsBuilder, Member, Ranges, Scope,
    TraceClass, Value, VariableLengthValue,
};
use crate::clock::WallClock;
use crate::log::{LevelScale, LevelStep, LogLevel, LogRole, LogSeverity, LogText};
use crate::meaning::{ActivityPaths, EventDisplay, EventRole, Meaning};
use crate::plan::scope_class;
use crate::telemetry::ElementRole;

/// Attribute namespace of ichnos.
pub const NAMESPACE: &str = "ichnos";

/// Source name of a member.
const NAME: &str = "name";

/// Attributes in other namespaces, for a format without attributes.
const ATTRIBUTES: &str = "attributes";

/// Mark for event record classes whose name is not from the source.
const UNNAMED: &str = "unnamed";

/// Part of an OpenTelemetry element.
const ELEMENT: &str = "element";

/// Process for GUIDs that can encode activity paths.
const ACTIVITY_PROCESS: &str = "activity-process";

/// Maximum number of bits in an integer made of bytes: an annotation must not create numbers of unlimited length.
const MOST_WIDE_BITS: u64 = 1024;

const SCOPES: [Scope; 3] = [Scope::CommonContext, Scope::SpecificContext, Scope::Payload];

/// Adds an attribute to an event record class, with the meanings of its members, its timeline role and its log role.
/// `stream` is the data stream class.
pub fn annotate(class: &mut EventRecordClass, stream: &DataStreamClass) {
    let mut entries = Vec::new();
    if class.role != EventRole::Instant {
        entries.push(("role", text(class.role.name())));
    }
    if let Some(display) = &class.display {
        entries.push(("display", display.to_value()));
    }
    if let Some(element) = &class.element {
        entries.push((ELEMENT, element.to_value()));
    }
    if class.is_undescribed {
        entries.push(("undescribed", Value::Boolean(true)));
    }
    let meanings: Vec<Value> = class
        .meanings
        .iter()
        .filter_map(|(member, meaning)| {
            let scope = Some(member.scope).filter(|scope| SCOPES.contains(scope))?;
            let root = scope_class(scope, None, stream, Some(class))?;
            let name = member_name(root, member.index as usize)?;
            let entries = [("scope", member.scope.name()), ("member", name), ("meaning", meaning.name())];
            Some(map(entries.map(|(key, value)| (key, text(value)))))
        })
        .collect();
    if !meanings.is_empty() {
        entries.push(("meanings", Value::Array(meanings)));
    }
    if let Some(log) = &class.log {
        entries.push(("log", log_value(log)));
    }
    if !entries.is_empty() {
        class.attributes.set(NAMESPACE, map(entries));
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn map<'k>(entries: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    Value::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// Marks that lowering named an event record class, because it lacked a name.
pub(super) fn annotate_unnamed(attributes: &mut Attributes) {
    add_annotation(UNNAMED, Value::Boolean(true), attributes);
}

/// Annotates the source name of a member that lowering renamed.
pub(super) fn annotate_name(name: &str, attributes: &mut Attributes) {
    add_annotation(NAME, text(name), attributes);
}

/// Returns the source name of the member with this class, if lowering renamed it.
pub(super) fn source_name(class: &FieldClass) -> Option<&str> {
    class.attributes.get(NAMESPACE)?.get(NAME)?.as_text()
}

/// Returns the attributes that an annotation must keep in a format without attributes: existing attributes, or all
/// attributes that `is_wanted` if lowering `annotates`.
pub(super) fn kept_attributes(
    attributes: &Attributes,
    annotates: bool,
    is_wanted: impl Fn(&(String, Value)) -> bool,
) -> Vec<(String, Value)> {
    let noted = attributes.get(NAMESPACE).and_then(|own| own.get(ATTRIBUTES));
    let is_noted = |(namespace, value): &(String, Value)| {
        noted.and_then(|noted| noted.get(namespace)).is_some_and(|noted| noted == value)
    };
    let is_kept =
        |entry: &&(String, Value)| entry.0 != NAMESPACE && (is_noted(entry) || annotates && is_wanted(entry));
    attributes.iter().filter(is_kept).cloned().collect()
}

/// Annotates attributes in other namespaces, for a format without attributes.
pub(super) fn annotate_attributes(kept: Vec<(String, Value)>, attributes: &mut Attributes) {
    if !kept.is_empty() {
        add_annotation(ATTRIBUTES, Value::Map(kept), attributes);
    }
}

/// Restores annotated attributes, unless the namespace has other attributes.
fn restore_attributes(attributes: &mut Attributes) {
    let noted = attributes.get(NAMESPACE).and_then(|own| own.get(ATTRIBUTES));
    let Some(Value::Map(noted)) = noted.cloned() else { return };
    for (namespace, value) in noted {
        if attributes.get(&namespace).is_none() {
            attributes.set(&namespace, value);
        }
    }
}

fn add_annotation(key: &str, value: Value, attributes: &mut Attributes) {
    let mut entries = match attributes.remove(NAMESPACE) {
        Some(Value::Map(entries)) => entries,
        _ => Vec::new(),
    };
    entries.retain(|(other, _)| other != key);
    entries.push((key.to_owned(), value));
    attributes.set(NAMESPACE, Value::Map(entries));
}

fn log_value(log: &LogRole) -> Value {
    let severity = match log.severity {
        LogSeverity::Unknown => Value::Null,
        LogSeverity::Constant(severity) => Value::Integer(severity.into()),
        LogSeverity::Member => text("member"),
    };
    let step = |step: &LevelStep| {
        map([
            ("up-to", Value::Integer(step.up_to.into())),
            ("level", Value::Text(step.level.name().to_lowercase())),
            ("exact", step.exact.map_or(Value::Null, |exact| Value::Integer(exact.into()))),
        ])
    };
    let scale = log.scale.0.iter().map(step).collect();
    let mut entries = vec![("severity", severity), ("scale", Value::Array(scale))];
    if log.text == Some(LogText::NAME) {
        entries.push(("message", text("name")));
    }
    map(entries)
}

fn member_name(root: &FieldClass, index: usize) -> Option<&str> {
    match &root.kind {
        FieldKind::Structure { members, .. } => members.get(index).map(|member| &*member.name),
        _ => None,
    }
}

/// Marks a field that lowering added. Readers then do not report it.
pub(super) fn annotate_added(what: &str, attributes: &mut Attributes) {
    attributes.set(NAMESPACE, map([("added", text(what))]));
}

/// Annotates the source class of a lowered field, if the lowered class does not contain all of it. Returns `true` if
/// annotated. `is_other` means another kind.
pub(super) fn annotate_field(source: &FieldClass, is_other: bool, attributes: &mut Attributes) -> bool {
    let mut entries = Vec::new();
    let kind = match &source.kind {
        FieldKind::Guid { .. } => Some("guid"),
        FieldKind::Boolean(_) => Some("boolean"),
        FieldKind::BitArray(_) => Some("bit-array"),
        FieldKind::BitMap { flags, .. } => {
            entries.push(("flags", mappings_value(flags)));
            Some("bit-map")
        }
        FieldKind::Blob { media_type, .. } => {
            entries.push(("media-type", text(media_type)));
            Some("blob")
        }
        FieldKind::Optional { .. } => Some("optional"),
        FieldKind::Integer { integer, .. } if is_other => {
            entries.push(("signed", Value::Boolean(integer.signed)));
            if let Some(mappings) = &integer.mappings {
                entries.push(("mappings", mappings_value(mappings)));
            }
            Some("integer")
        }
        _ => None,
    };
    if let Some(kind) = kind {
        entries.insert(0, ("type", text(kind)));
    }
    if let Some(clock) = source.integer().and_then(|integer| integer.wall_clock) {
        let epoch = ("epoch-seconds", Value::Integer(clock.epoch_seconds().into()));
        let frequency = ("frequency", Value::Integer(clock.frequency().into()));
        entries.push(("wall-clock", map([epoch, frequency])));
    }
    if let (FieldKind::Guid { .. }, Some(paths)) = (&source.kind, source.activity_paths) {
        entries.push((ACTIVITY_PROCESS, Value::Integer(paths.process.into())));
    }
    if source.is_shown_if_present() {
        entries.push(("absence", text("hidden")));
    }
    if entries.is_empty() {
        return false;
    }
    attributes.set(NAMESPACE, map(entries));
    true
}

fn mappings_value(mappings: &Mappings) -> Value {
    let range =
        |range: IntegerRange| Value::Array(vec![Value::Integer(range.lower), Value::Integer(range.upper)]);
    let ranges = |ranges: Ranges<'_>| Value::Array(ranges.iter().map(range).collect());
    Value::Map(mappings.iter().map(|one| (one.name.to_owned(), ranges(one.ranges))).collect())
}

/// Applies annotations from [`annotate`] to classes about which nothing else is known.
pub fn apply_annotations(class: &mut TraceClass) {
    let mut classes = AlignedClasses::default();
    for stream in &mut class.data_streams {
        let roots = [&mut stream.packet_context, &mut stream.event_record_header, &mut stream.common_context];
        roots.into_iter().flatten().for_each(|root| apply_to_fields(root, &mut classes));
        let mut records = std::mem::take(&mut stream.event_records);
        for record in annotated_records(&mut records) {
            let fields = [&mut record.specific_context, &mut record.payload];
            fields.into_iter().flatten().for_each(|root| apply_to_fields(root, &mut classes));
            apply(record, stream);
        }
        stream.event_records = records;
    }
    // Meanings refer to members by their lowered names.
    restore_names(class);
}

/// Restores the names of context and payload members that lowering renamed, unless locations refer to them.
fn restore_names(class: &mut TraceClass) {
    let mut needed = HashSet::new();
    for root in class.data_streams.iter().flat_map(DataStreamClass::roots) {
        root.exists(&mut |field| {
            let steps = field.needed_location().map_or(&[][..], |location| &location.path);
            needed.extend(steps.iter().filter_map(|step| match step {
                LocationStep::Member(name) => Some(name.clone()),
                LocationStep::Parent => None,
            }));
            false
        });
    }
    for stream in &mut class.data_streams {
        if let Some(root) = &mut stream.common_context {
            restore_names_in(root, &needed);
        }
        for record in annotated_records(&mut stream.event_records) {
            let roots = [&mut record.specific_context, &mut record.payload];
            roots.into_iter().flatten().for_each(|root| restore_names_in(root, &needed));
        }
    }
}

fn restore_names_in(class: &mut Arc<FieldClass>, needed: &HashSet<String>) {
    if !has_annotations(class) {
        return;
    }
    let known = Arc::make_mut(class);
    if let FieldKind::Structure { members, .. } = &mut known.kind {
        let mut names: HashSet<String> = members.iter().map(|member| member.name.clone()).collect();
        for member in members.iter_mut() {
            let Some(name) = source_name(&member.class).map(str::to_owned) else { continue };
            if !names.contains(&name) && !needed.contains(&*member.location_name()) {
                names.remove(&member.name);
                names.insert(name.clone());
                (member.name, member.has_underscore) = (name, false);
            }
        }
    }
    known.children_mut().for_each(|class| restore_names_in(class, needed));
}

/// Returns the event record classes with annotations on themselves or in their fields, for changes.
fn annotated_records(records: &mut [Arc<EventRecordClass>]) -> impl Iterator<Item = &mut EventRecordClass> {
    let is_annotated = |record: &&mut Arc<EventRecordClass>| {
        let mut fields = record.specific_context.iter().chain(&record.payload);
        record.attributes.get(NAMESPACE).is_some() || fields.any(|field| has_annotations(field))
    };
    records.iter_mut().filter(is_annotated).map(Arc::make_mut)
}

fn has_annotations(class: &FieldClass) -> bool {
    class.exists(&mut |class| class.attributes.get(NAMESPACE).is_some())
}

fn apply_to_fields(class: &mut Arc<FieldClass>, classes: &mut AlignedClasses) {
    if !has_annotations(class) {
        return;
    }
    let known = Arc::make_mut(class);
    if let Some(own) = known.attributes.get(NAMESPACE).cloned() {
        if let Some(kind) = annotated_kind(known, &own) {
            known.kind = kind;
        }
        let process = own.get(ACTIVITY_PROCESS).and_then(Value::as_integer);
        let process = process.and_then(|process| u32::try_from(process).ok());
        let process = process.filter(|_| matches!(known.kind, FieldKind::Guid { .. }));
        known.activity_paths = process.map(|process| ActivityPaths { process });
        let is_optional = matches!(known.kind, FieldKind::Optional { .. });
        let absence = own.get("absence").and_then(Value::as_text);
        known.hides_absence = is_optional && absence == Some("hidden");
        restore_attributes(&mut known.attributes);
    }
    if let FieldKind::Structure { members, .. } = &mut known.kind {
        join_alignments(members, classes);
    }
    known.children_mut().for_each(|class| apply_to_fields(class, classes));
}

/// Realigned classes by their original address and new alignment, with their original class. An alias that many members
/// use is copied once.
#[derive(Default)]
struct AlignedClasses(HashMap<(usize, u64), [Arc<FieldClass>; 2]>);

impl AlignedClasses {
    /// Returns the class with at least this alignment, or `None` for a kind whose alignment is never moved to another
    /// member.
    fn get(&mut self, class: &Arc<FieldClass>, alignment: u64) -> Option<Arc<FieldClass>> {
        let can_align = matches!(
            class.kind,
            FieldKind::String { .. }
                | FieldKind::Blob { .. }
                | FieldKind::VariableLength { .. }
                | FieldKind::Variant { .. }
                | FieldKind::Array { .. }
        );
        if !can_align || class.alignment() >= alignment {
            return can_align.then(|| Arc::clone(class));
        }
        let [_, aligned] = self.0.entry((Arc::as_ptr(class) as usize, alignment)).or_insert_with(|| {
            let mut known = FieldClass::clone(class);
            if let FieldKind::String { alignment: own, .. }
            | FieldKind::Blob { alignment: own, .. }
            | FieldKind::VariableLength { alignment: own, .. }
            | FieldKind::Variant { alignment: own, .. }
            | FieldKind::Array { minimum_alignment: own, .. } = &mut known.kind
            {
                *own = alignment;
            }
            [Arc::clone(class), Arc::new(known)]
        });
        Some(Arc::clone(aligned))
    }
}

/// Returns the alignment that an added member provides for the next member.
fn added_alignment(class: &FieldClass) -> Option<u64> {
    let own = class.attributes.get(NAMESPACE)?.get("added")?.as_text()?;
    match &class.kind {
        FieldKind::Structure { members, minimum_alignment } if members.is_empty() && own == "alignment" => {
            Some(*minimum_alignment)
        }
        _ => None,
    }
}

/// Moves the alignment of each added empty structure to the member after it, and removes the structure.
fn join_alignments(members: &mut Vec<Member>, classes: &mut AlignedClasses) {
    if !members.iter().any(|member| added_alignment(&member.class).is_some()) {
        return;
    }
    let mut is_joined = vec![false; members.len()];
    for (index, is_joined) in is_joined.iter_mut().enumerate() {
        if let Some([member, next, ..]) = members.get_mut(index..)
            && let Some(alignment) = added_alignment(&member.class)
            && let Some(class) = classes.get(&next.class, alignment)
        {
            next.class = class;
            *is_joined = true;
        }
    }
    let mut is_joined = is_joined.into_iter();
    members.retain(|_| is_joined.next() != Some(true));
}

/// Original kind of a lowered field, if its bits can be read as that kind.
fn annotated_kind(known: &FieldClass, own: &Value) -> Option<FieldKind> {
    let alignment = known.alignment();
    if own.get("added").is_some() {
        return match &known.kind {
            FieldKind::Integer { bits, integer } if !integer.signed && bits.length <= 64 => {
                Some(FieldKind::Padding(*bits))
            }
            FieldKind::Boolean(bits) if bits.length <= 64 => Some(FieldKind::Padding(*bits)),
            _ => None,
        };
    }
    if let (Some(clock), false) = (annotated_clock(own), matches!(known.kind, FieldKind::Array { .. })) {
        return dated_kind(&known.kind, clock);
    }
    let is_unsigned = |integer: &IntegerProperties| !integer.signed && integer.mappings.is_none();
    match (own.get("type")?.as_text()?, &known.kind) {
        ("guid", FieldKind::Blob { length: Length::Static(16), .. }) => Some(FieldKind::Guid { alignment }),
        ("guid", FieldKind::Array { element, length: Length::Static(16), .. }) if is_byte(element) => {
            Some(FieldKind::Guid { alignment })
        }
        ("boolean", FieldKind::Integer { bits, integer }) if is_unsigned(integer) => {
            Some(FieldKind::Boolean(*bits))
        }
        ("bit-array", FieldKind::Integer { bits, integer }) if is_unsigned(integer) => {
            Some(FieldKind::BitArray(*bits))
        }
        ("bit-map", FieldKind::Integer { bits, integer }) if is_unsigned(integer) => {
            Some(FieldKind::BitMap { bits: *bits, flags: flags(own.get("flags")?)? })
        }
        ("bit-map", FieldKind::BitArray(bits)) => {
            Some(FieldKind::BitMap { bits: *bits, flags: flags(own.get("flags")?)? })
        }
        (
            "integer" | "bit-array" | "bit-map",
            FieldKind::Array { element, length: Length::Static(bytes), .. },
        ) if is_byte(element) && alignment >= 8 && *bytes > 8 => {
            wide_kind(own, BitField::new(bytes.checked_mul(8)?, ByteOrder::LittleEndian, alignment))
        }
        ("blob", FieldKind::Array { element, length, .. }) if is_byte(element) && alignment >= 8 => {
            // The default for BLOBs without an annotated media type.
            let media_type = own.get("media-type").and_then(Value::as_text).unwrap_or_default().to_owned();
            Some(FieldKind::Blob { length: length.clone(), media_type, alignment })
        }
        ("optional", FieldKind::Variant { options, selector, alignment: 1 }) => match options.as_slice() {
            [none, some] if fixed_size_is_zero(&none.class) => Some(FieldKind::Optional {
                field: Arc::clone(&some.class),
                selector: selector.clone(),
                ranges: Some(some.ranges.clone()),
            }),
            _ => None,
        },
        _ => None,
    }
}

/// Returns `true` for an unaligned structure without members.
fn fixed_size_is_zero(class: &FieldClass) -> bool {
    matches!(&class.kind, FieldKind::Structure { members, minimum_alignment: 1 } if members.is_empty())
}

/// Clock of an integer date.
fn annotated_clock(own: &Value) -> Option<WallClock> {
    let clock = own.get("wall-clock")?;
    let number = |name: &str| clock.get(name)?.as_integer();
    let epoch = i64::try_from(number("epoch-seconds")?).ok()?;
    WallClock::new(epoch, u64::try_from(number("frequency")?).ok()?)
}

/// Kind of an integer date.
fn dated_kind(known: &FieldKind, clock: WallClock) -> Option<FieldKind> {
    let mut kind = known.clone();
    match &mut kind {
        FieldKind::Integer { integer, .. }
        | FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } => {
            integer.wall_clock = Some(clock);
        }
        _ => return None,
    }
    Some(kind)
}

/// Original kind of a field with more than 64 bits that another format stores as bytes.
fn wide_kind(own: &Value, bits: BitField) -> Option<FieldKind> {
    if bits.length > MOST_WIDE_BITS {
        return None;
    }
    Some(match own.get("type")?.as_text()? {
        "bit-array" => FieldKind::BitArray(bits),
        "bit-map" => FieldKind::BitMap { bits, flags: flags(own.get("flags")?)? },
        _ => {
            let signed = own.get("signed") == Some(&Value::Boolean(true));
            let mappings = match own.get("mappings") {
                Some(mappings) => Some(flags(mappings)?),
                None => None,
            };
            FieldKind::Integer { bits, integer: IntegerProperties { signed, mappings, ..Default::default() } }
        }
    })
}

fn flags(value: &Value) -> Option<Mappings> {
    let Value::Map(entries) = value else { return None };
    let mut flags = MappingsBuilder::default();
    for (name, ranges) in entries {
        let Value::Array(ranges) = ranges else { return None };
        flags.add_name(name);
        for range in ranges {
            let Value::Array(bounds) = range else { return None };
            let [lower, upper] = bounds.as_slice() else { return None };
            flags.add_range(IntegerRange { lower: lower.as_integer()?, upper: upper.as_integer()? });
        }
    }
    Some(flags.finish())
}

/// Returns `true` for an unaligned byte class.
fn is_byte(class: &FieldClass) -> bool {
    let is_byte = |bits: &BitField| bits.length == 8 && bits.alignment <= 8 && !bits.is_reversed();
    matches!(&class.kind, FieldKind::Integer { bits, .. } if is_byte(bits))
}

/// Removes all annotations from event record classes and their fields, for metadata without attributes, and returns
/// them; `None` if there are none.
pub fn take_annotations(class: &mut TraceClass) -> Option<Value> {
    let mut all = Vec::new();
    for stream in &mut class.data_streams {
        let stream_id = stream.id;
        let number = |id: u128| i128::try_from(id).map_or(Value::Null, Value::Integer);
        let mut take =
            |path: Vec<Value>, value: Value| all.push(map([("at", Value::Array(path)), ("is", value)]));
        let roots = [
            (Scope::PacketContext, &mut stream.packet_context),
            (Scope::EventRecordHeader, &mut stream.event_record_header),
            (Scope::CommonContext, &mut stream.common_context),
        ];
        for (scope, root) in roots {
            let path = vec![number(stream_id), Value::Null, text(scope.name())];
            if let Some(root) = root {
                take_from_fields(root, &path, &mut take);
            }
        }
        for record in annotated_records(&mut stream.event_records) {
            let path = vec![number(stream_id), number(record.id)];
            if let Some(value) = record.attributes.remove(NAMESPACE) {
                take(path.clone(), value);
            }
            let roots = [
                (Scope::SpecificContext, &mut record.specific_context),
                (Scope::Payload, &mut record.payload),
            ];
            for (scope, root) in roots {
                if let Some(root) = root {
                    take_from_fields(root, &[&path[..], &[text(scope.name())]].concat(), &mut take);
                }
            }
        }
    }
    (!all.is_empty()).then_some(Value::Array(all))
}

fn take_from_fields(class: &mut Arc<FieldClass>, path: &[Value], take: &mut dyn FnMut(Vec<Value>, Value)) {
    if !has_annotations(class) {
        return;
    }
    let known = Arc::make_mut(class);
    if let Some(value) = known.attributes.remove(NAMESPACE) {
        take(path.to_vec(), value);
    }
    for (index, class) in known.children_mut().enumerate() {
        take_from_fields(class, &[path, &[Value::Integer(index as i128)]].concat(), take);
    }
}

/// Restores annotations that [`take_annotations`] removed.
pub fn put_annotations(class: &mut TraceClass, annotations: &Value) {
    let Value::Array(all) = annotations else { return };
    for entry in all {
        let (Some(Value::Array(path)), Some(value)) = (entry.get("at"), entry.get("is")) else { continue };
        put(class, path, value.clone());
    }
}

fn put(class: &mut TraceClass, path: &[Value], value: Value) -> Option<()> {
    let number = |value: &Value| u128::try_from(value.as_integer()?).ok();
    let (stream, path) = path.split_first()?;
    let stream_id = number(stream)?;
    let stream = class.data_streams.iter_mut().find(|stream| stream.id == stream_id)?;
    let (record, path) = path.split_first()?;
    let mut record = match number(record) {
        Some(id) => Some(Arc::make_mut(stream.event_records.iter_mut().find(|record| record.id == id)?)),
        None => None,
    };
    let Some((scope, path)) = path.split_first() else {
        record?.attributes.set(NAMESPACE, value);
        return Some(());
    };
    let scope = Scope::from_name(scope.as_text()?)?;
    let mut field = match (scope, &mut record) {
        (Scope::PacketContext, None) => stream.packet_context.as_mut(),
        (Scope::EventRecordHeader, None) => stream.event_record_header.as_mut(),
        (Scope::CommonContext, None) => stream.common_context.as_mut(),
        (Scope::SpecificContext, Some(record)) => record.specific_context.as_mut(),
        (Scope::Payload, Some(record)) => record.payload.as_mut(),
        _ => None,
    }?;
    for index in path {
        let index = usize::try_from(index.as_integer()?).ok()?;
        field = Arc::make_mut(field).children_mut().nth(index)?;
    }
    Arc::make_mut(field).attributes.set(NAMESPACE, value);
    Some(())
}

fn apply(class: &mut EventRecordClass, stream: &DataStreamClass) {
    let attributes: Attributes = class.attributes.clone();
    let Some(own) = attributes.get(NAMESPACE) else { return };
    restore_attributes(&mut class.attributes);
    if let Some(name) = own.get("role").and_then(Value::as_text)
        && let Ok(role) = name.parse()
    {
        class.role = role;
    }
    if let Some(display) = own.get("display") {
        class.display = Some(Arc::new(EventDisplay::from_value(display)));
    }
    if let Some(element) = own.get(ELEMENT).and_then(ElementRole::from_value) {
        class.element = Some(Arc::new(element));
    }
    if own.get(UNNAMED) == Some(&Value::Boolean(true)) {
        class.name = None;
    }
    class.is_undescribed |= own.get("undescribed") == Some(&Value::Boolean(true));
    let meanings = match own.get("meanings") {
        Some(Value::Array(meanings)) => meanings.as_slice(),
        _ => &[],
    };
    for entry in meanings {
        let get = |key| entry.get(key).and_then(Value::as_text);
        let (Some(scope), Some(member), Some(meaning)) = (get("scope"), get("member"), get("meaning")) else {
            continue;
        };
        let Some(scope) = SCOPES.into_iter().find(|known| known.name() == scope) else { continue };
        let Ok(meaning) = meaning.parse::<Meaning>() else { continue };
        let members = match scope_class(scope, None, stream, Some(class)).map(|root| &root.kind) {
            Some(FieldKind::Structure { members, .. }) => members,
            _ => continue,
        };
        if let Some(index) = members.iter().position(|known| known.name == member) {
            class.meanings.insert(scope, index, meaning);
        }
    }
    if let (None, Some(log)) = (&class.log, own.get("log").and_then(log_role)) {
        class.log = Some(Arc::new(log));
    }
}

fn log_role(value: &Value) -> Option<LogRole> {
    let severity = match value.get("severity")? {
        Value::Null => LogSeverity::Unknown,
        Value::Text(text) if text == "member" => LogSeverity::Member,
        severity => LogSeverity::Constant(i64::try_from(severity.as_integer()?).ok()?),
    };
    let Value::Array(steps) = value.get("scale")? else { return None };
    let step = |step: &Value| {
        let name = step.get("level")?.as_text()?;
        let level = LogLevel::from_name(name)?;
        let up_to = i64::try_from(step.get("up-to")?.as_integer()?).ok()?;
        let exact = step.get("exact").and_then(Value::as_integer).and_then(|exact| i64::try_from(exact).ok());
        Some(LevelStep { up_to, level, exact })
    };
    let steps = steps.iter().map(step).collect::<Option<Vec<_>>>()?;
    let mut role = LogRole::new(severity, LevelScale::kept(steps)?);
    role.text = (value.get("message").and_then(Value::as_text) == Some("name")).then_some(LogText::NAME);
    Some(role)
}

/// Removes all attributes except those in the ichnos namespace. Returns `true` if there were any.
pub(super) fn strip(attributes: &mut Attributes) -> bool {
    let own = attributes.get(NAMESPACE).cloned();
    let had_others = attributes.iter().any(|(namespace, _)| namespace != NAMESPACE);
    *attributes = Attributes::default();
    if let Some(own) = own {
        attributes.set(NAMESPACE, own);
    }
    had_others
}
