//! Lines that describe traces, clocks, data streams and event record classes.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_export::documents::write_uuid;
use ichnos_export::parts::log_level_number;
use ichnos_json::read::Reader;
use ichnos_json::write::ValueWriter;
use ichnos_model::class::{EventRecordClass, FieldClass, FieldKind, Member, UuidOf, Value};
use ichnos_model::clock::{ClockClass, ClockOrigin};
use ichnos_model::log::{LevelScale, LevelStep, LogLevel, LogRole, LogSeverity, LogText, TRACER_NAMESPACES};
use ichnos_model::meaning::{EventDisplay, Meaning, Meanings};
use ichnos_model::telemetry::ElementRole;
use ichnos_model::{Scope, TraceClass};
use uuid::Uuid;

use crate::fault::ParseResult;
use crate::field_class::{FieldClassCodec, scope_name};
use crate::line::LineType;
use crate::members::{DescriptionResult, Members, attributes, integer_of, text};

/// Name of the resource member that contains the event's message.
pub(crate) const MESSAGE: &str = "message";

/// Known members of each description, with its name for messages.
const STREAM_BEGIN: (&str, &[&str]) =
    ("a line `stream-begin`", &["type", "stream", "name", "id", "class", "trace", "clock", "other_clocks"]);
const EVENT_CLASS: (&str, &[&str]) = (
    "a line `event-class`",
    &[
        "type",
        "stream",
        "id",
        "namespace",
        "name",
        "uid",
        "log_level",
        "emf_uri",
        "role",
        "display",
        "element",
        "meanings",
        "attributes",
        "log",
        "undescribed",
        "fields",
    ],
);
const STACK: (&str, &[&str]) = ("a line `stack`", &["type", "stream", "stack", "frames", "callers"]);
const TRACE: (&str, &[&str]) = (
    "`trace`",
    &[
        "path",
        "format",
        "namespace",
        "implied_namespace",
        "name",
        "uid",
        "uuid",
        "uuid_of",
        "environment",
        "attributes",
        "call_sites",
        "label",
    ],
);
const CLOCK: (&str, &[&str]) = (
    "`clock`",
    &[
        "id",
        "namespace",
        "name",
        "uid",
        "uuid",
        "description",
        "frequency",
        "precision",
        "accuracy",
        "offset_seconds",
        "offset_cycles",
        "origin",
        "attributes",
    ],
);

/// Unknown member of a description: the description's name, the member's offset, and the member's name.
pub(crate) type UnknownMember = (&'static str, (usize, String));

/// Returns the unknown members of a describing line at an offset, including its trace and clocks.
pub(crate) fn unknown_members(kind: LineType, line: &str, at: usize) -> ParseResult<Vec<UnknownMember>> {
    let known = match kind {
        LineType::StreamBegin => STREAM_BEGIN,
        LineType::EventClass => EVENT_CLASS,
        LineType::Stack => STACK,
        _ => return Ok(Vec::new()),
    };
    let mut unknown = Vec::new();
    let mut json = Reader::new(line);
    find_unknown(&mut json, known, at, &mut unknown)?;
    Ok(unknown)
}

fn find_unknown(
    json: &mut Reader<'_>,
    (of, known): (&'static str, &[&str]),
    offset: usize,
    unknown: &mut Vec<UnknownMember>,
) -> ParseResult<()> {
    /// Maximum number of reported members, and maximum length of their names in bytes.
    const MOST: usize = 64;
    const MOST_NAME: usize = 100;
    json.expect(b'{', "an object")?;
    let mut is_first = true;
    while let Some(key) = json.key(&mut is_first)? {
        let inner = match of {
            "a line `stream-begin`" if key.is("trace") => Some(TRACE),
            "a line `stream-begin`" if key.is("clock") => Some(CLOCK),
            _ => None,
        };
        if let Some(inner) = inner.filter(|_| json.peek() == Some(b'{')) {
            find_unknown(json, inner, offset, unknown)?;
            continue;
        }
        if !known.iter().any(|name| key.is(name)) && unknown.len() < MOST {
            let name = key.text();
            // A character starts there.
            let shown = name.get(..name.floor_char_boundary(MOST_NAME)).unwrap_or_default();
            unknown.push((of, (offset + json.offset(), shown.to_owned())));
        }
        json.skip()?;
    }
    Ok(())
}

/// Reads a trace without its clocks and data stream classes. Also returns its label.
pub(crate) fn trace_class(value: &Value) -> DescriptionResult<(TraceClass, String)> {
    let owned = |name: &str| text(value, name).map(str::to_owned);
    let class = TraceClass {
        dialect: owned("format").unwrap_or_else(|| "JSON Lines".to_owned()),
        namespace: owned("namespace"),
        implied_namespace: owned("implied_namespace"),
        name: owned("name"),
        uid: owned("uid"),
        uuid: uuid(value)?,
        // Omitted if the UUID identifies the trace. Unknown names count as omitted.
        uuid_of: text(value, "uuid_of").and_then(UuidOf::from_name).unwrap_or_default(),
        environment: match value.get("environment") {
            Some(Value::Map(entries)) => entries.clone(),
            _ => Vec::new(),
        },
        attributes: attributes(value.get("attributes")),
        call_sites: match value.get("call_sites") {
            Some(Value::Array(sites)) => sites.clone(),
            _ => Vec::new(),
        },
        ..TraceClass::default()
    };
    // Only traces without a name have a label.
    Ok((class, owned("label").unwrap_or_default()))
}

fn uuid(value: &Value) -> DescriptionResult<Option<Uuid>> {
    let uuid = text(value, "uuid").map(Uuid::parse_str).transpose();
    uuid.map_err(|_| "an invalid `uuid`".to_owned())
}

/// Reads a clock.
pub(crate) fn clock_class(value: &Value) -> DescriptionResult<ClockClass> {
    let mut clock = ClockClass::new("", 1);
    clock_members(&mut Members::Read(value), &mut clock)?;
    if clock.frequency == 0 {
        return Err("a clock with the frequency 0".to_owned());
    }
    Ok(clock)
}

/// Writes a clock as an object.
pub(crate) fn write_clock_class(place: ValueWriter<'_>, clock: &ClockClass) {
    let mut object = place.object();
    // Members only fail when reading.
    let _ = clock_members(&mut Members::Write(&mut object), &mut clock.clone());
    object.end();
}

fn clock_members(m: &mut Members<'_, '_>, clock: &mut ClockClass) -> DescriptionResult<()> {
    m.text("id", &mut clock.id, "default");
    m.optional_text("namespace", &mut clock.namespace);
    m.optional_text("name", &mut clock.name);
    m.optional_text("uid", &mut clock.uid);
    match m {
        Members::Read(value) => clock.uuid = uuid(value)?,
        Members::Write(object) => write_uuid(object, clock.uuid),
    }
    m.optional_text("description", &mut clock.description);
    m.number_or("frequency", &mut clock.frequency, 1_000_000_000)?;
    m.optional_number("precision", &mut clock.precision)?;
    m.optional_number("accuracy", &mut clock.accuracy)?;
    m.number_or("offset_seconds", &mut clock.offset_seconds, 0)?;
    m.number_or("offset_cycles", &mut clock.offset_cycles, 0)?;
    if let Some(value) = m.source() {
        clock.origin = match value.get("origin") {
            None | Some(Value::Null) => ClockOrigin::Unknown,
            Some(Value::Text(origin)) if origin == UNIX_EPOCH => ClockOrigin::UnixEpoch,
            Some(Value::Map(_)) => {
                ClockOrigin::Named { namespace: None, name: String::new(), uid: String::new() }
            }
            Some(_) => return Err("an unknown `origin` of a clock".to_owned()),
        };
    }
    match &mut clock.origin {
        ClockOrigin::UnixEpoch => m.constant("origin", UNIX_EPOCH),
        ClockOrigin::Named { namespace, name, uid } => m.object("origin", |m| {
            m.optional_text("namespace", namespace);
            m.text("name", name, "");
            m.text("uid", uid, "");
            Ok(())
        })?,
        ClockOrigin::Unknown => {}
    }
    m.attributes(&mut clock.attributes);
    Ok(())
}

/// Origin of clocks that count from 1970.
const UNIX_EPOCH: &str = "unix-epoch";

/// Reads an id.
pub(crate) fn id(value: &Value) -> DescriptionResult<Option<u128>> {
    let Some(id) = value.get("id") else { return Ok(None) };
    let wide = || match id {
        Value::Map(_) => id.get("$int")?.as_text()?.parse().ok(),
        Value::Text(digits) | Value::Number(digits) => digits.parse().ok(),
        _ => None,
    };
    let found = integer_of(id).and_then(|id| u128::try_from(id).ok()).or_else(wide);
    found.map(Some).ok_or_else(|| "an `id` that is not an integer of up to 128 bits".to_owned())
}

/// Reads a log level, given as number or name.
pub(crate) fn log_level(value: &Value) -> Option<i64> {
    let by_name = value.as_text().and_then(log_level_number);
    by_name.or_else(|| i64::try_from(integer_of(value)?).ok())
}

/// Reads an event record class without its scopes and meanings.
pub(crate) fn event_class(value: &Value) -> DescriptionResult<EventRecordClass> {
    let owned = |name: &str| text(value, name).map(str::to_owned);
    let attributes = attributes(value.get("attributes"));
    // The value can also be among the attributes.
    let attribute =
        |name: &str| TRACER_NAMESPACES.iter().find_map(|namespace| attributes.get(namespace)?.get(name));
    let recorded = |member, name| value.get(member).or_else(|| attribute(name));
    Ok(EventRecordClass {
        // If the line lacks an id, `add_class` assigns one.
        id: id(value)?.unwrap_or_default(),
        namespace: owned("namespace"),
        name: owned("name"),
        uid: owned("uid"),
        log_level: recorded("log_level", "log-level").and_then(log_level),
        // Omitted for instants. Unknown roles count as omitted.
        role: text(value, "role").and_then(|role| role.parse().ok()).unwrap_or_default(),
        element: value.get("element").and_then(ElementRole::from_value).map(Arc::new),
        display: value.get("display").map(|display| Arc::new(EventDisplay::from_value(display))),
        is_undescribed: matches!(value.get("undescribed"), Some(Value::Boolean(true))),
        emf_uri: recorded("emf_uri", "emf-uri").and_then(Value::as_text).map(str::to_owned),
        log: value.get("log").and_then(log_role).map(Into::into),
        attributes,
        ..EventRecordClass::default()
    })
}

/// Reads the class of a scope from a member `fields`.
pub(crate) fn scope_class(
    fields: &Value,
    scope: Scope,
    classes: FieldClassCodec<'_>,
) -> DescriptionResult<Option<FieldClass>> {
    let Some(value) = fields.get(scope_name(scope)) else { return Ok(None) };
    classes.read(value).map(Some)
}

/// Member indexes by name.
pub(crate) struct MemberIndexes<'m>(HashMap<&'m str, Vec<usize>>);

impl<'m> MemberIndexes<'m> {
    /// Indexes the members that can have a meaning.
    pub(crate) fn from_members(members: &'m [Member]) -> Self {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, member) in members.iter().enumerate() {
            if !matches!(member.class.kind, FieldKind::Padding(_)) {
                places.entry(&member.name).or_default().push(index);
            }
        }
        Self(places)
    }

    /// Returns the first member with a name from an index on. Otherwise returns the first member with this name.
    fn first_from(&self, name: &str, from: usize) -> Option<usize> {
        let places = self.0.get(name)?;
        places.get(places.partition_point(|place| *place < from)).or(places.first()).copied()
    }
}

/// Finds the members with meanings. `places` indexes the members of a scope.
pub(crate) fn meanings<'m>(value: &Value, places: impl Fn(Scope) -> MemberIndexes<'m>) -> Meanings {
    let mut meanings = Meanings::default();
    for scope in Scope::ALL.into_iter().skip(1) {
        let Some(Value::Map(members)) = value.get(scope_name(scope)) else { continue };
        let places = places(scope);
        // Members with equal names follow class order. Different names may have any order.
        let mut next = 0;
        for (member, meaning) in members {
            let Some(meaning) = meaning.as_text().and_then(|meaning| meaning.parse::<Meaning>().ok()) else {
                continue;
            };
            if let Some(found) = places.first_from(member, next) {
                next = found + 1;
                meanings.insert(scope, found, meaning);
            }
        }
    }
    meanings
}

/// Reads the role of events that are log lines.
fn log_role(value: &Value) -> Option<LogRole> {
    let severity = match value.get("severity") {
        None => LogSeverity::Unknown,
        Some(Value::Text(member)) if member == "member" => LogSeverity::Member,
        Some(number) => LogSeverity::Constant(i64::try_from(integer_of(number)?).ok()?),
    };
    let Some(Value::Array(steps)) = value.get("scale") else { return None };
    let step = |step: &Value| {
        let Value::Array(parts) = step else { return None };
        let number = |part: &Value| i64::try_from(integer_of(part)?).ok();
        let up_to = number(parts.first()?)?;
        let name = parts.get(1)?.as_text()?;
        let level = LogLevel::from_name(name)?;
        let exact = match parts.get(2) {
            None => Some(up_to),
            Some(Value::Null) => None,
            Some(exact) => Some(number(exact)?),
        };
        Some(LevelStep { up_to, level, exact })
    };
    let scale = LevelScale::kept(steps.iter().map(step).collect::<Option<_>>()?)?;
    let mut role = LogRole::new(severity, scale);
    role.text = (text(value, "message") == Some("name")).then_some(LogText::NAME);
    Some(role)
}
