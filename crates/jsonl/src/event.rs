//! Reads event lines.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_json::read::{Raw, Reader};
use ichnos_model::class::{DynamicClass, EventRecordClass, FieldClass, FieldKind, Member, Value};
use ichnos_model::clock::{ClockArithmetic, ClockValue};
use ichnos_model::event::EventValues;
use ichnos_model::meaning::Meanings;
use ichnos_model::plan::scope_class;
use ichnos_model::{Scope, Window};

use crate::description::{self, MemberIndexes, log_level};
use crate::fault::{LineFault, ParseResult, end, fault, value};
use crate::field_class::{StreamScopes, scope_name};
use crate::line::{LineType, integer};
use crate::shape::ValueShape;
use crate::stacks::{StackNumberMap, frames};
use crate::stream::{DescribedClass, LineStream};
use crate::time;
use crate::values::ValueReader;

/// Class of the event.
#[derive(Clone, Debug)]
pub(crate) enum LineClass {
    None,
    Declared(usize),
    Dynamic(Arc<DynamicClass>),
}

/// Reads events into reused memory.
#[derive(Debug)]
pub(crate) struct EventReader {
    pub(crate) values_of: ValueReader,
    pub(crate) values: EventValues,
    pub(crate) class: LineClass,
    pub(crate) clock: Option<ClockValue>,
    pub(crate) other_clocks: Vec<(u16, u64)>,
    /// Unknown members of the event: offset in the file, and name.
    pub(crate) unknown: Vec<(usize, String)>,
    /// Latest undescribed class for each name.
    last: HashMap<String, ShapeClass>,
    key: Vec<u8>,
}

/// Class for events of one shape.
#[derive(Clone, Debug)]
struct ShapeClass {
    class: Arc<DynamicClass>,
    id: Option<u128>,
    /// Number of specific context members that belong to the common context.
    common: usize,
}

/// Parts of an event line.
#[derive(Default)]
struct EventLineParts<'a> {
    time: Option<i128>,
    date: Option<i128>,
    cycles: Option<u64>,
    id: Option<u128>,
    name: Option<Raw<'a>>,
    log_level: Option<Reader<'a>>,
    other_clocks: Option<Reader<'a>>,
    stacks: Option<Reader<'a>>,
    common: Option<Reader<'a>>,
    specific: Option<Reader<'a>>,
    payload: Option<Reader<'a>>,
}

impl<'a> EventLineParts<'a> {
    /// Reads the parts that determine the event's class. Returns `None` for other lines.
    fn parse(text: &'a str) -> ParseResult<Option<Self>> {
        let mut json = Reader::new(text);
        json.expect(b'{', "an object")?;
        let mut is_first = true;
        let mut parts = Self::default();
        while let Some(key) = json.key(&mut is_first)? {
            json.peek();
            // A name with escapes is an unknown name, because known names lack them.
            match key.plain().unwrap_or_default() {
                "type" => {
                    if LineType::from_name(&json.string()?.text()) != Some(LineType::Event) {
                        return Ok(None);
                    }
                }
                "ts" | "time" => {
                    time::read(&mut json)?;
                }
                "id" => parts.id = Some(description_id(&mut json)?),
                "name" => parts.name = Some(json.string()?),
                "log_level" => parts.log_level = Some(later(&mut json)?),
                "common_context" => parts.common = Some(later(&mut json)?),
                "specific_context" => parts.specific = Some(later(&mut json)?),
                "payload" => parts.payload = Some(later(&mut json)?),
                _ => {
                    json.skip()?;
                }
            }
        }
        end(&mut json)?;
        Ok(Some(parts))
    }

    /// Removes contexts and payloads that are null. Null is equal to a missing value.
    fn without_nulls(mut self) -> Self {
        for part in [&mut self.common, &mut self.specific, &mut self.payload] {
            part.take_if(|json| json.clone().literal("null"));
        }
        self
    }

    /// Returns the id of the described class with the event's name.
    fn id_of_name(&self, part: &LineStream) -> Option<u128> {
        *part.names.get(&*self.name?.text())?
    }
}

/// Returns the class id in an event, unless a line describes the fields of this class.
pub(crate) fn undescribed_id(text: &str, part: &LineStream) -> Option<u128> {
    let parts = EventLineParts::parse(text).ok()??;
    let id = parts.id.or_else(|| parts.id_of_name(part))?;
    (!matches!(part.classes.get(&id), Some(DescribedClass::Declared { .. }))).then_some(id)
}

/// Returns the key of an event's undescribed class, or `None` if the line is unreadable or not an event.
pub(crate) fn key_of(text: &str, part: &LineStream) -> Option<Vec<u8>> {
    let mut parts = EventLineParts::parse(text).ok()??.without_nulls();
    parts.id = parts.id.or_else(|| parts.id_of_name(part));
    if part.stream.class().common_context.is_some() {
        parts.common = None;
    }
    let mut key = Vec::new();
    let is_named = parts.id.is_some_and(|id| part.classes.contains_key(&id));
    EventShape::from_parts(&parts, part).ok()?.push_key(&parts, is_named, &mut key);
    Some(key)
}

/// Shape of an event.
#[derive(Debug)]
struct EventShape {
    context: Option<ValueShape>,
    payload: Option<ValueShape>,
    /// Number of context members that belong to the common context.
    common: usize,
    log_level: Option<i64>,
}

impl EventShape {
    fn from_parts(parts: &EventLineParts<'_>, part: &LineStream) -> ParseResult<Self> {
        let mut left = part.file.limits.field_classes;
        let mut object = |json: &Option<Reader<'_>>| -> ParseResult<Option<Vec<(String, ValueShape)>>> {
            json.clone().map(|mut json| ValueShape::read_scope(&mut json, &mut left)).transpose()
        };
        let (common, specific) = (object(&parts.common)?, object(&parts.specific)?);
        let level = parts.log_level.clone().map(|mut level| value(&mut level)).transpose()?;
        Ok(Self {
            common: common.as_ref().map_or(0, Vec::len),
            context: match (common, specific) {
                (None, None) => None,
                (common, specific) => {
                    Some(ValueShape::Object([common, specific].into_iter().flatten().flatten().collect()))
                }
            },
            payload: object(&parts.payload)?.map(ValueShape::Object),
            log_level: level.as_ref().and_then(log_level),
        })
    }

    /// Appends a key that is unique to the event's class. `is_named` means that a line contains the name and log level
    /// of this class.
    fn push_key(&self, parts: &EventLineParts<'_>, is_named: bool, key: &mut Vec<u8>) {
        let name = parts.name.filter(|_| !is_named).map(Raw::text);
        let log_level = self.log_level.filter(|_| !is_named);
        // The flags after these values tell which of them are missing.
        let name_or_empty = name.as_deref().unwrap_or_default();
        key.extend_from_slice(&parts.id.unwrap_or_default().to_le_bytes());
        key.push(u8::from(parts.id.is_some()));
        key.extend_from_slice(&log_level.unwrap_or(i64::MIN).to_le_bytes());
        key.push(u8::from(name.is_some()));
        key.extend_from_slice(&(name_or_empty.len() as u64).to_le_bytes());
        key.extend_from_slice(name_or_empty.as_bytes());
        key.extend_from_slice(&(self.common as u64).to_le_bytes());
        for shape in [&self.context, &self.payload] {
            match shape {
                Some(shape) => shape.push_key(key),
                None => key.push(b'-'),
            }
        }
    }
}

/// Maximum number of names with a cached class.
const MOST_NAMES: usize = 4096;

/// Maximum length of such a name in bytes.
const LONGEST_NAME: usize = 4096;

impl EventReader {
    pub(crate) fn new(_: &Arc<LineStream>) -> Self {
        Self {
            values_of: ValueReader::default(),
            values: EventValues::default(),
            class: LineClass::None,
            clock: None,
            other_clocks: Vec::new(),
            unknown: Vec::new(),
            last: HashMap::new(),
            key: Vec::new(),
        }
    }

    /// Clears the previous event.
    pub(crate) fn begin(&mut self) {
        self.values.clear();
        self.class = LineClass::None;
        self.clock = None;
        self.other_clocks.clear();
        self.unknown.clear();
    }

    /// Reads a line at a file offset. Returns `false` if the event is outside of the time window.
    pub(crate) fn read(
        &mut self,
        text: &str,
        offset: usize,
        window: Window,
        part: &LineStream,
    ) -> ParseResult<bool> {
        let mut json = Reader::new(text);
        json.expect(b'{', "an object")?;
        let mut is_first = true;
        let mut parts = EventLineParts::default();
        let mut declared: Option<(usize, &[(Scope, u32)])> = None;
        while let Some(key) = json.key(&mut is_first)? {
            json.peek();
            let at = json.offset();
            // A name with escapes is an unknown name, because known names lack them.
            match key.plain().unwrap_or_default() {
                "type" | "stream" => {
                    json.skip()?;
                }
                "ts" => {
                    let time = time::read(&mut json)?;
                    parts.time = Some(time);
                    let time = time.saturating_add(part.clock_offset);
                    if window.begin.is_some_and(|begin| time < begin)
                        || window.end.is_some_and(|end| time > end)
                    {
                        return Ok(false);
                    }
                }
                "time" => parts.date = Some(time::read(&mut json)?),
                "cycles" => parts.cycles = Some(integer(&mut json)?),
                "id" => {
                    let id = description_id(&mut json)?;
                    parts.id = Some(id);
                    if let Some(DescribedClass::Declared { index, stacks }) = part.classes.get(&id) {
                        declared = Some((*index, stacks));
                    }
                }
                "name" => parts.name = Some(json.string()?),
                "log_level" => parts.log_level = Some(later(&mut json)?),
                "other_clocks" => parts.other_clocks = Some(later(&mut json)?),
                "header" | "common_context" | "specific_context" | "payload" | "resource" => {
                    self.read_scope(key, &mut json, offset, declared, &mut parts, part)?;
                }
                "stacks" => parts.stacks = Some(later(&mut json)?),
                _ => self.ignore(&mut json, offset + at, key)?,
            }
        }
        end(&mut json)?;
        self.clock = self.clock_value(parts.time.or(parts.date), parts.cycles, part);
        if let Some(clocks) = parts.other_clocks.take() {
            self.read_other_clocks(clocks, part)?;
        }
        if parts.id.is_none() {
            parts.id = parts.id_of_name(part);
            if let Some(DescribedClass::Declared { index, stacks }) =
                parts.id.and_then(|id| part.classes.get(&id))
            {
                declared = Some((*index, stacks));
            }
        }
        match declared {
            Some((index, stacks)) => self.read_declared(index, stacks, parts, &json, part)?,
            None => self.read_undeclared(parts, &json, part)?,
        }
        Ok(true)
    }

    /// Reads a scope, or keeps it for later if its class is unknown. `declared` is set if a line describes the event's
    /// class. It has the class index, and the members that are call stacks.
    fn read_scope<'a>(
        &mut self,
        name: Raw<'_>,
        json: &mut Reader<'a>,
        offset: usize,
        declared: Option<(usize, &[(Scope, u32)])>,
        parts: &mut EventLineParts<'a>,
        part: &LineStream,
    ) -> ParseResult<()> {
        let stream_class = part.stream.class();
        // Contexts with call stacks are read later, because the stacks may be at the end of the line.
        let declared = declared.filter(|(_, stacks)| stacks.is_empty());
        let record = declared.and_then(|(index, _)| stream_class.event_records.get(index));
        let (scope, class, place) = match name.plain().unwrap_or_default() {
            "header" => (Scope::EventRecordHeader, stream_class.event_record_header.as_ref(), None),
            "resource" => (Scope::Resource, stream_class.resource.as_ref(), None),
            "common_context" => {
                let class = stream_class.common_context.as_ref().filter(|_| declared.is_some());
                (Scope::CommonContext, class, Some(&mut parts.common))
            }
            "specific_context" => {
                let class = record.and_then(|record| record.specific_context.as_ref());
                (Scope::SpecificContext, class, Some(&mut parts.specific))
            }
            _ => {
                let class = record.and_then(|record| record.payload.as_ref());
                (Scope::Payload, class, Some(&mut parts.payload))
            }
        };
        match (class, place) {
            (Some(class), _) => self.scope(json, scope, class)?,
            (None, Some(place)) => *place = Some(later(json)?),
            (None, None) => self.ignore(json, offset + json.offset(), name)?,
        }
        Ok(())
    }

    fn scope(&mut self, json: &mut Reader<'_>, scope: Scope, class: &FieldClass) -> ParseResult<()> {
        if self.values.has(scope) {
            return fault(json, "each scope once");
        }
        self.values_of.takes_json = false;
        self.values_of.is_strict = false;
        self.values_of.scope(json, scope, class, &[], &mut self.values)
    }

    fn ignore(&mut self, json: &mut Reader<'_>, at: usize, name: Raw<'_>) -> ParseResult<()> {
        /// Maximum number of reported members. All other unknown members of an event count as one.
        const MOST: usize = 64;
        /// Maximum length of their names, in bytes.
        const MOST_NAME: usize = 100;
        match self.unknown.len() {
            ..MOST => {
                let name = name.text();
                // A character starts there.
                let shown = name.get(..name.floor_char_boundary(MOST_NAME)).unwrap_or_default();
                self.unknown.push((at, shown.to_owned()));
            }
            MOST => self.unknown.push((at, "and others".to_owned())),
            _ => {}
        }
        json.skip()?;
        Ok(())
    }

    /// Reads the rest of an event whose class is described by a line.
    fn read_declared(
        &mut self,
        index: usize,
        stacks: &[(Scope, u32)],
        parts: EventLineParts<'_>,
        end: &Reader<'_>,
        part: &LineStream,
    ) -> ParseResult<()> {
        let stream_class = part.stream.class();
        let Some(class) = stream_class.event_records.get(index) else { return fault(end, "a known class") };
        let with_frames = parts.stacks.map(|mut stacks| value(&mut stacks)).transpose()?;
        let scopes = [
            (Scope::CommonContext, &stream_class.common_context, parts.common),
            (Scope::SpecificContext, &class.specific_context, parts.specific),
            (Scope::Payload, &class.payload, parts.payload),
        ];
        for (scope, class, json) in scopes {
            let name = scope_name(scope);
            let Some(class) = class else {
                if let Some(json) = json {
                    return fault(&json, format!("a member of the class, not `{name}`"));
                }
                continue;
            };
            if self.values.has(scope) {
                continue;
            }
            let numbers = stacks.iter().filter(|(of, _)| *of == scope).filter_map(|(_, member)| {
                let FieldKind::Structure { members, .. } = &class.kind else { return None };
                let name = &members.get(*member as usize)?.name;
                let known = with_frames.as_ref().and_then(|stacks| frames(stacks.get(name)?));
                let known =
                    known.and_then(|frames| part.stream.stacks().table.intern(frames.into_iter().rev()));
                Some((*member, known.map_or(StackNumberMap::Of(&part.stacks), StackNumberMap::Known)))
            });
            let numbers: Vec<_> = numbers.collect();
            self.values_of.takes_json = false;
            self.values_of.is_strict = false;
            let is_there = json.is_some();
            let mut json = json.unwrap_or_else(|| Reader::new("{}"));
            let read = self.values_of.scope(&mut json, scope, class, &numbers, &mut self.values);
            if !is_there && read.is_err() {
                return fault(end, format!("a member `{name}` before the end of the line"));
            }
            read?;
        }
        self.read_missing(end, part)?;
        self.class = LineClass::Declared(index);
        Ok(())
    }

    /// Checks the scopes that all events of the data stream must have.
    fn read_missing(&mut self, end: &Reader<'_>, part: &LineStream) -> ParseResult<()> {
        for scope in StreamScopes::all() {
            let class = scope_class(scope, Some(&part.stream.trace.class), part.stream.class(), None);
            if let Some(class) = class
                && !self.values.has(scope)
                && self.values_of.scope(&mut Reader::new("{}"), scope, class, &[], &mut self.values).is_err()
            {
                return fault(end, format!("`{}` before the end of the line", scope_name(scope)));
            }
        }
        Ok(())
    }

    /// Reads the rest of an event whose shape determines its class.
    fn read_undeclared(
        &mut self,
        parts: EventLineParts<'_>,
        end: &Reader<'_>,
        part: &LineStream,
    ) -> ParseResult<()> {
        let mut parts = parts.without_nulls();
        if let (Some(class), Some(mut json)) = (&part.stream.class().common_context, parts.common.clone()) {
            self.scope(&mut json, Scope::CommonContext, class)?;
            parts.common = None;
        }
        self.read_missing(end, part)?;
        let name = parts.name.map(Raw::text);
        let template = parts.id.and_then(|id| part.classes.get(&id));
        // Events without a name share the key of the empty name.
        let last = self.last.get(name.as_deref().unwrap_or_default());
        if let Some(last) = last.filter(|last| last.id == parts.id).cloned()
            && parts.log_level.is_none() | template.is_some()
            && self.read_members(&parts, &last, true).is_ok()
        {
            self.class = LineClass::Dynamic(last.class);
            return Ok(());
        }
        let found = self.class_of(&parts, name.as_deref(), template, part)?;
        self.read_members(&parts, &found, false)?;
        // The same key as above.
        let name = name.unwrap_or_default();
        if name.len() <= LONGEST_NAME && (self.last.len() < MOST_NAMES || self.last.contains_key(&*name)) {
            self.last.insert(name.into_owned(), found.clone());
        }
        self.class = LineClass::Dynamic(found.class);
        Ok(())
    }

    /// Reads an event's members. With `is_strict`, fails unless the event's shape gives exactly this class.
    fn read_members(
        &mut self,
        parts: &EventLineParts<'_>,
        last: &ShapeClass,
        is_strict: bool,
    ) -> ParseResult<()> {
        self.values_of.is_strict = is_strict;
        self.values_of.takes_json = !is_strict;
        let class = &last.class.plans.class;
        let specific = members(class.specific_context.as_deref());
        let payload = members(class.payload.as_deref());
        let Some((first, second)) = specific.split_at_checked(last.common) else { return Ok(()) };
        let empty = Reader::new("{}");
        if class.specific_context.is_some() {
            self.values.begin(Scope::SpecificContext);
            for (json, members) in [(&parts.common, first), (&parts.specific, second)] {
                let mut json = json.clone().unwrap_or_else(|| empty.clone());
                self.values_of.members_in_order(&mut json, members, &mut self.values)?;
            }
        } else if parts.common.is_some() || parts.specific.is_some() {
            return fault(&empty, "no context");
        }
        if class.payload.is_some() != parts.payload.is_some() {
            return fault(&empty, "a payload as in the previous event");
        }
        if let Some(mut json) = parts.payload.clone() {
            self.values.begin(Scope::Payload);
            self.values_of.members_in_order(&mut json, payload, &mut self.values)?;
        }
        Ok(())
    }

    /// Returns the class for an event's shape.
    fn class_of(
        &mut self,
        parts: &EventLineParts<'_>,
        name: Option<&str>,
        template: Option<&DescribedClass>,
        part: &LineStream,
    ) -> ParseResult<ShapeClass> {
        let event_shape = EventShape::from_parts(parts, part)?;
        self.key.clear();
        event_shape.push_key(parts, template.is_some(), &mut self.key);
        let key = &self.key;
        let make = || {
            let id = part.ids.allocate(parts.id, key, part);
            let (class, meanings) = match template {
                Some(DescribedClass::Template(template)) => (template.0.clone(), template.1.clone()),
                _ => {
                    let (name, log_level) = (name.map(str::to_owned), event_shape.log_level);
                    (EventRecordClass { name, log_level, ..EventRecordClass::default() }, Value::Null)
                }
            };
            let [specific_context, payload] = [&event_shape.context, &event_shape.payload]
                .map(|shape| shape.as_ref().map(ValueShape::class));
            let mut class = EventRecordClass { id, specific_context, payload, ..class };
            class.meanings = undescribed_meanings(&meanings, &class, event_shape.common);
            class
        };
        let Some(classes) = part.stream.trace.dynamic_classes(part.stream.class_index) else {
            return fault(&Reader::new(""), "a class");
        };
        let fault = || LineFault { at: 0, expected: "an event with a class within the limits".into() };
        let class = classes.intern(key, make).ok().flatten().ok_or_else(fault)?;
        Ok(ShapeClass { class, id: parts.id, common: event_shape.common })
    }

    fn read_other_clocks(&mut self, mut json: Reader<'_>, part: &LineStream) -> ParseResult<()> {
        let mut is_first = true;
        json.expect(b'{', "an object")?;
        while let Some(key) = json.key(&mut is_first)? {
            let clocks = &part.stream.trace.class.clocks;
            let index = clocks.iter().position(|clock| key.is(&clock.id));
            let cycles = integer(&mut json)?;
            if let Some(index) = index.and_then(|index| u16::try_from(index).ok()) {
                self.other_clocks.push((index, part.cycles(index, cycles)));
            }
        }
        Ok(())
    }

    /// Returns the value of the data stream's clock.
    pub(crate) fn clock_value(
        &self,
        nanoseconds: Option<i128>,
        cycles: Option<u64>,
        part: &LineStream,
    ) -> Option<ClockValue> {
        const BILLION: i128 = 1_000_000_000;
        let clock = part.stream.clock()?;
        let cycles = cycles.map(|cycles| match part.stream.class().default_clock {
            Some(index) => part.cycles(index, cycles),
            None => cycles,
        });
        Some(match (nanoseconds, cycles) {
            (None, None) => return None,
            (None, Some(cycles)) => {
                ClockValue { nanoseconds: clock.nanoseconds_in(part.file.clock_arithmetic, cycles), cycles }
            }
            (Some(_), Some(cycles)) if part.file.clock_arithmetic != ClockArithmetic::Exact => {
                ClockValue { nanoseconds: clock.nanoseconds_in(part.file.clock_arithmetic, cycles), cycles }
            }
            (Some(nanoseconds), cycles) => {
                let nanoseconds = nanoseconds.saturating_add(part.clock_offset);
                let of_time = || {
                    let since = nanoseconds.saturating_sub(i128::from(clock.offset_seconds) * BILLION);
                    // Smallest clock value with this time.
                    let cycles = -(-since.checked_mul(clock.frequency.into())?).div_euclid(BILLION);
                    let cycles = cycles.checked_sub(clock.offset_cycles.into())?;
                    // Times outside of the clock's range become its first or last value.
                    Some(u64::try_from(cycles.max(0)).unwrap_or(u64::MAX))
                };
                ClockValue { nanoseconds, cycles: cycles.or_else(of_time).unwrap_or_default() }
            }
        })
    }
}

/// Skips a value that is read later.
fn later<'a>(json: &mut Reader<'a>) -> ParseResult<Reader<'a>> {
    let value = json.clone();
    json.skip()?;
    Ok(value)
}

/// Returns the members of a root field class.
pub(crate) fn members(class: Option<&FieldClass>) -> &[Member] {
    match class.map(|class| &class.kind) {
        Some(FieldKind::Structure { members, .. }) => members,
        _ => &[],
    }
}

/// Returns the meanings of the members in a class that was derived from event shapes.
fn undescribed_meanings(value: &Value, class: &EventRecordClass, common: usize) -> Meanings {
    let place = |scope: Scope| match scope {
        Scope::CommonContext => (members(class.specific_context.as_deref()).get(..common), 0),
        Scope::SpecificContext => (members(class.specific_context.as_deref()).get(common..), common),
        Scope::Payload => (Some(members(class.payload.as_deref())), 0),
        _ => (None, 0),
    };
    let mut all = Meanings::default();
    // Other scopes have no members.
    let found =
        description::meanings(value, |scope| MemberIndexes::from_members(place(scope).0.unwrap_or_default()));
    for (member, meaning) in found.iter() {
        let scope = if member.scope == Scope::CommonContext { Scope::SpecificContext } else { member.scope };
        all.insert(scope, place(member.scope).1 + member.index as usize, meaning);
    }
    all
}

/// Reads an id of any size.
fn description_id(json: &mut Reader<'_>) -> ParseResult<u128> {
    if json.peek() != Some(b'{') {
        return integer(json);
    }
    let at = json.offset();
    let value = Value::Map(vec![("id".to_owned(), value(json)?)]);
    match description::id(&value) {
        Ok(Some(id)) => Ok(id),
        _ => Err(LineFault { at, expected: "an id".into() }),
    }
}
