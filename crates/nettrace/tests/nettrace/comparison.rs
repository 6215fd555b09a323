//! Compares events with the reference reader's output.

use std::collections::BTreeMap;

use ichnos_model::class::{Uuid, Value};
use ichnos_model::{Event, OpenedTrace as _, Scope};

use crate::differences::{DIFFERENCES, Difference, Kind};
use crate::reference::Element;
use crate::support::{Integer, Opened, Shown, fields, property};

/// Copy of an event, with its name in the reference.
#[derive(Clone, Debug)]
pub struct OwnEvent {
    /// Ticks since the start of the session.
    pub ticks: i128,
    /// Milliseconds in the reference's format.
    pub milliseconds: String,
    pub thread: u64,
    pub process: Option<u64>,
    pub provider: String,
    /// Name without the provider.
    pub name: String,
    /// Name in the reference.
    pub reference_name: String,
    pub activity: Option<Uuid>,
    pub related_activity: Option<Uuid>,
    pub fields: Vec<(String, Shown)>,
    pub head: OwnHead,
}

/// Event properties outside of its fields, which only TraceEvent itself shows.
#[derive(Clone, Debug)]
pub struct OwnHead {
    pub event_id: i128,
    pub version: i128,
    pub level: Option<i128>,
    /// Keywords in displayed form.
    pub keywords: u64,
    pub opcode: i128,
    pub processor: Option<u64>,
    /// `true` if another thread wrote the event.
    pub is_of_other_thread: bool,
    /// `true` for version 3.
    pub is_netperf: bool,
    /// Addresses, innermost first.
    pub stack: Vec<u64>,
}

impl OwnEvent {
    pub fn new(opened: &Opened, event: &Event<'_>) -> Self {
        let ticks = opened.since_begin(event);
        let context = fields(event, Scope::CommonContext);
        let resource = fields(event, Scope::Resource);
        let of = |fields: &[(String, Shown)], name: &str| {
            fields.iter().find(|field| field.0 == name).map(|field| field.1.clone())
        };
        let number = |value: Option<Shown>| Some(value?.integer()?.value as u64);
        let guid = |value: Option<Shown>| match value {
            Some(Shown::Guid(guid)) => Some(guid),
            _ => None,
        };
        let provider = text(event, "provider").unwrap_or_default();
        let name = event.name().strip_prefix(&format!("{provider}/")).unwrap_or_default().to_owned();
        let mut own = Self {
            ticks,
            milliseconds: milliseconds(ticks, opened.block.frequency),
            thread: number(of(&context, "thread")).unwrap(),
            process: number(of(&context, "process").or_else(|| of(&resource, "process"))),
            reference_name: String::new(),
            provider,
            name,
            activity: guid(of(&context, "activity")),
            related_activity: guid(of(&context, "related_activity")),
            fields: fields(event, Scope::Payload),
            head: OwnHead {
                event_id: integer(event, "event-id").unwrap(),
                version: integer(event, "version").unwrap(),
                level: integer(event, "level"),
                keywords: text(event, "keywords").map(|text| number_of(&text)).unwrap(),
                opcode: integer(event, "opcode").unwrap_or(0),
                processor: number(of(&context, "processor")),
                is_of_other_thread: of(&context, "capture_thread").is_some(),
                is_netperf: opened.file.path().ends_with(".netperf"),
                stack: stack(opened, number(of(&context, "stack"))),
            },
        };
        own.reference_name = own.reference_name(event);
        own
    }

    pub fn field(&self, name: &str) -> Option<&Shown> {
        self.fields.iter().find(|field| field.0 == name).map(|field| &field.1)
    }

    /// Returns the reference's name for an event. It names manifest events by task and opcode, and omits the opcode 0
    /// (Info).
    fn reference_name(&self, event: &Event<'_>) -> String {
        let opcode = property(event.class, "opcode").and_then(Value::as_integer).unwrap_or(0);
        let opcode_name = text(event, "opcode-name");
        match (text(event, "task"), &*self.name) {
            // Names for the garbage collector's own events.
            (_, "GCDynamicEvent") => {
                format!("GC/{}", self.field("Name").and_then(Shown::text).unwrap_or_default())
            }
            (Some(task), name) => match NAMES.iter().find(|other| other.0 == name) {
                Some((_, other)) => (*other).to_owned(),
                None => match opcode_name {
                    Some(opcode) => format!("{task}/{opcode}"),
                    None => task,
                },
            },
            (None, "ThreadSample") => "Thread/Sample".to_owned(),
            // Events from other providers have names. The opcode follows, unless the name ends with it.
            (None, name) => match opcode {
                0 => match (name.strip_suffix("Start"), name.strip_suffix("Stop")) {
                    // Before .NET 5, metadata lacks opcodes, and names imply them.
                    (Some(before), _) if text(event, "span").is_some() => format!("{before}/Start"),
                    (_, Some(before)) if text(event, "span").is_some() => format!("{before}/Stop"),
                    _ => name.to_owned(),
                },
                1 => format!("{}/Start", name.strip_suffix("Start").unwrap_or(name)),
                2 => format!("{}/Stop", name.strip_suffix("Stop").unwrap_or(name)),
                opcode => format!("{name}/{opcode}"),
            },
        }
    }
}

/// Events that the reference does not name by task and opcode: our name, and its name.
const NAMES: &[(&str, &str)] = &[
    // The version with the kind of the roots.
    ("GCMarkWithType", "GC/MarkWithType"),
    // TraceEvent has its own names for these events.
    ("ExecutionCheckpointDCEnd", "ExecutionCheckpointRundown/ExecutionCheckpointDCEnd"),
    ("MethodDCEndILToNativeMap", "Method/ILToNativeMapDCStop"),
    ("R2RGetEntryPoint", "Method/R2RGetEntryPoint"),
    ("TieredCompilationBackgroundJitStart", "TieredCompilation/BackgroundJitStart"),
    ("TieredCompilationBackgroundJitStop", "TieredCompilation/BackgroundJitStop"),
    ("IncreaseMemoryPressure", "EventID(200)"),
    ("DecreaseMemoryPressure", "EventID(201)"),
];

fn integer(event: &Event<'_>, name: &str) -> Option<i128> {
    property(event.class, name)?.as_integer()
}

fn number_of(text: &str) -> u64 {
    number(text).unwrap() as u64
}

fn stack(opened: &Opened, number: Option<u64>) -> Vec<u64> {
    let Some(number) = number else { return Vec::new() };
    let frames = opened.file.trace().stacks.frames(number as u32);
    frames.iter().map(|frame| frame.address.unwrap()).collect()
}

fn text(event: &Event<'_>, name: &str) -> Option<String> {
    Some(property(event.class, name)?.as_text()?.to_owned())
}

/// Formats milliseconds with four decimals. Uses the same floating-point number as the reference, so that both round
/// alike.
pub fn milliseconds(ticks: i128, frequency: u64) -> String {
    format!("{:.4}", ticks as f64 * 1_000.0 / frequency as f64)
}

/// Adds the type name to finalized objects. The reference does so if it has already read the name.
pub fn with_names_of_types(mut own: Vec<OwnEvent>) -> Vec<OwnEvent> {
    let mut names: BTreeMap<i128, String> = BTreeMap::new();
    let id = |fields: &[(String, Shown)]| {
        fields.iter().find(|field| field.0 == "TypeID").and_then(|field| field.1.integer()).unwrap().value
    };
    for event in &mut own {
        match &*event.name {
            "BulkType" => {
                for value in event.field("Values").unwrap().elements() {
                    let name = value.member("Name").and_then(Shown::text).unwrap();
                    names.insert(id(value.members()), name.to_owned());
                }
            }
            "FinalizeObject" => {
                let name = names.get(&id(&event.fields)).cloned().unwrap_or_default();
                event.fields.push(("TypeName".to_owned(), Shown::Text(name)));
            }
            _ => {}
        }
    }
    own
}

/// Compared values and differences.
#[derive(Debug, Default)]
pub struct Comparison {
    pub events: u64,
    pub values: u64,
    /// Number of events with the same tick in another order.
    pub reordered: u64,
    /// Number of occurrences of each known difference.
    pub explained: BTreeMap<usize, u64>,
    /// Unexplained differences, with their number.
    pub unexplained: BTreeMap<String, u64>,
}

/// Difference between two events.
#[derive(Default)]
pub struct EventDifference {
    pub values: u64,
    pub explained: Vec<usize>,
    pub unexplained: Vec<String>,
}

impl Comparison {
    /// Compares all events of a file. Both lists are sorted by time. For events with the same tick, the reference lists
    /// one thread first, but not always the same thread. So these events are compared as a set.
    pub fn all(&mut self, own: &[OwnEvent], expected: &[Element]) {
        let own = &with_names_of_types(own.to_vec());
        let mut begin = 0;
        while let Some(first) = own.get(begin) {
            let end = begin + own[begin..].iter().take_while(|event| event.ticks == first.ticks).count();
            let mut left: Vec<&Element> = expected[begin..end].iter().collect();
            for event in &own[begin..end] {
                let found = left.iter().map(|expected| differences(event, expected));
                let best = found.enumerate().min_by_key(|(_, found)| found.unexplained.len());
                let (index, found) = best.expect("as many events");
                left.remove(index);
                self.reordered += u64::from(index > 0);
                self.note(found);
            }
            begin = end;
        }
    }

    /// Compares one event.
    pub fn one(&mut self, own: &OwnEvent, expected: &Element) {
        self.note(differences(own, expected));
    }

    /// Records a difference.
    pub fn add(&mut self, what: String) {
        *self.unexplained.entry(what).or_default() += 1;
    }

    pub fn note(&mut self, found: EventDifference) {
        self.events += 1;
        self.values += found.values;
        for index in found.explained {
            *self.explained.entry(index).or_default() += 1;
        }
        found.unexplained.into_iter().for_each(|what| self.add(what));
    }

    /// Prints the result. Fails if there are unexplained differences.
    pub fn report(&self, name: &str) {
        println!(
            "{name}: {} events with {} values are the same, {} of the same tick in another order",
            self.events, self.values, self.reordered
        );
        for (index, count) in &self.explained {
            let difference = &DIFFERENCES[*index];
            println!("  {count} times {:?} {}: {}", difference.kind, difference.field, difference.reason);
        }
        let unexplained: Vec<_> =
            self.unexplained.iter().map(|(what, count)| format!("{count} times {what}")).collect();
        assert!(unexplained.is_empty(), "{name}: differences:\n{}", unexplained.join("\n"));
    }
}

/// Attributes that are not fields.
const HEAD: &[&str] =
    &["MSec", "PID", "PName", "TID", "EventName", "ProviderName", "ActivityID", "RelatedActivityID"];

pub fn differences(own: &OwnEvent, expected: &Element) -> EventDifference {
    let mut found = EventDifference::default();
    let mut head = |name: &str, own: Option<String>| {
        let expected = expected.attribute(name).map(|text| text.trim().to_owned());
        if own != expected {
            found.unexplained.push(format!("{name}: {own:?} instead of {expected:?}"));
        }
    };
    head("MSec", Some(own.milliseconds.clone()));
    // A system-wide trace lacks a process for kernel events.
    head("PID", own.process.map(|process| process.to_string()));
    head("TID", Some((own.thread as u32).to_string()));
    head("EventName", Some(own.reference_name.clone()));
    head("ActivityID", own.activity.map(|id| id.simple().to_string()));
    // Its parsers for runtime events do not write the provider.
    if expected.attribute("ProviderName").is_some() {
        head("ProviderName", Some(own.provider.clone()));
    } else if !own.provider.starts_with("Microsoft-Windows-DotNETRuntime")
        && own.provider != "Microsoft-DotNETCore-SampleProfiler"
    {
        found.unexplained.push(format!("{}: the provider is not written", own.provider));
    }
    if own.related_activity.is_some() && expected.attribute("RelatedActivityID").is_none() {
        let index =
            DIFFERENCES.iter().position(|difference| matches!(difference.kind, Kind::NoRelatedActivity));
        found.explained.extend(index);
    }
    let mut fields = own.fields.clone();
    let attributes = expected.attributes.iter().filter(|attribute| !HEAD.contains(&&*attribute.0));
    let mut attributes: Vec<_> = attributes.cloned().collect();
    // Self-describing events: one unnamed attribute has all fields.
    if let [(name, text)] = &attributes[..]
        && name.is_empty()
        && text.starts_with("{ ")
    {
        found.values += fields.len() as u64;
        let own = json(&Shown::Structure(std::mem::take(&mut fields)));
        if own != *text {
            found.unexplained.push(format!("{}: {own} instead of {text}", expected.name));
        }
        attributes.clear();
    }
    for (index, difference) in DIFFERENCES.iter().enumerate() {
        if let Kind::Decodes(decode) = difference.kind
            && difference.is_of(own)
            && let Some(decoded) = decode(own)
        {
            found.explained.push(index);
            fields.retain(|field| field.0 != difference.field);
            fields.extend(decoded);
        }
    }
    let children = Children::of(expected);
    compare(own, &fields, &attributes, children, &mut found);
    for what in &mut found.unexplained {
        *what = format!("{}/{}: {what}", own.provider, own.name);
    }
    found
}

struct Children<'e> {
    elements: &'e [Element],
    arrows: &'e [(i64, i64)],
    is_cut: bool,
}

/// Compares fields with attributes.
fn compare(
    own: &OwnEvent,
    fields: &[(String, Shown)],
    attributes: &[(String, String)],
    mut children: Children<'_>,
    found: &mut EventDifference,
) {
    let rules = || DIFFERENCES.iter().enumerate().filter(|(_, difference)| difference.is_of(own));
    let mut left: Vec<_> = attributes.iter().collect();
    for (name, value) in fields {
        let of_field = || rules().filter(|(_, difference)| difference.field == name);
        let renamed = of_field().find_map(|(index, difference)| match difference.kind {
            Kind::Named(other) => Some((index, other)),
            _ => None,
        });
        let called = match renamed {
            Some((_, other)) => other,
            // Some events have a single unnamed field.
            None if name == "value" && attributes.iter().any(|attribute| attribute.0.is_empty()) => "",
            None => name,
        };
        let Some(at) = left.iter().position(|attribute| attribute.0 == called) else {
            if !children.take(own, name, value, found) {
                match of_field().find(|(_, difference)| difference.kind.drops(value)) {
                    Some((index, _)) => found.explained.push(index),
                    None => found.unexplained.push(format!("{name}: the reference does not have it")),
                }
            }
            continue;
        };
        let text = &left.remove(at).1;
        found.values += 1;
        found.explained.extend(renamed.map(|(index, _)| index));
        if is_same(value, text) {
            continue;
        }
        let written = of_field().find(|(_, difference)| match difference.kind {
            Kind::Writes(is_written) => is_written(value, text),
            Kind::WritesWith(is_written) => is_written(fields, text),
            _ => false,
        });
        let general = || {
            DIFFERENCES.iter().enumerate().find(|(_, difference)| match difference.kind {
                Kind::WritesAll(is_written) => is_written(value, text),
                _ => false,
            })
        };
        match written.or_else(general) {
            Some((index, _)) => found.explained.push(index),
            None => found.unexplained.push(format!("{name}: {value:?} instead of {text:?}")),
        }
    }
    for (name, text) in left {
        let computed = rules().find(|(_, difference)| match difference.kind {
            Kind::Computes(compute) => difference.field == name && compute(fields, text),
            _ => false,
        });
        match computed {
            Some((index, _)) => found.explained.push(index),
            None => found.unexplained.push(format!("{name}: missing: {text:?}")),
        }
    }
    if let Some(element) = children.elements.first() {
        found.unexplained.push(format!("{}: no field is compared with this", element.name));
    }
    if !children.arrows.is_empty() {
        found.unexplained.push("a map that no field is compared with".to_owned());
    }
}

impl<'e> Children<'e> {
    fn of(element: &'e Element) -> Self {
        Self { elements: &element.children, arrows: &element.arrows, is_cut: element.is_cut }
    }

    /// Returns `true` if the value is written as elements or lines within the event.
    fn take(&mut self, own: &OwnEvent, name: &str, value: &Shown, found: &mut EventDifference) -> bool {
        if matches!(name, "ILOffsets" | "NativeOffsets") {
            let of = |arrow: &(i64, i64)| if name == "ILOffsets" { arrow.0 } else { arrow.1 };
            let own: Vec<i64> =
                value.elements().iter().map(|offset| offset.integer().unwrap().value as i32 as i64).collect();
            let expected: Vec<i64> = self.arrows.iter().map(of).collect();
            if own != expected {
                found.unexplained.push(format!("{name}: {own:?} instead of {expected:?}"));
            }
            found.values += own.len() as u64;
            if name == "NativeOffsets" {
                self.arrows = &[];
            }
            return true;
        }
        let is_of_structures = matches!(value.elements(), [Shown::Structure(_), ..]);
        let is_as_long = match self.is_cut {
            true => self.elements.len() <= value.elements().len(),
            false => self.elements.len() == value.elements().len(),
        };
        if !is_of_structures || !is_as_long {
            // Empty arrays are not written.
            return matches!(value, Shown::Array(elements) if elements.is_empty() && self.elements.is_empty());
        }
        for (element, expected) in value.elements().iter().zip(self.elements) {
            compare(own, element.members(), &expected.attributes, Children::of(expected), found);
        }
        self.elements = &[];
        true
    }
}

impl Difference {
    fn is_of(&self, own: &OwnEvent) -> bool {
        self.events.is_empty() || self.events.contains(&&*own.name)
    }
}

/// Returns `true` if a text is equivalent to a value.
pub fn is_same(value: &Shown, text: &str) -> bool {
    match value {
        Shown::Integer(integer) => is_same_integer(integer, text),
        Shown::Boolean(value) => text == if *value { "True" } else { "False" },
        Shown::Real(value, is_single) => match text.parse::<f64>() {
            Ok(text) if *is_single => text as f32 == *value as f32,
            // .NET Framework writes 15 digits.
            Ok(text) => (text - value).abs() <= value.abs() * 5e-15,
            Err(_) => false,
        },
        Shown::Text(value) => value == text,
        Shown::Guid(value) => value.to_string() == text,
        Shown::Array(elements) => {
            let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) else {
                return false;
            };
            let texts: Vec<&str> = inner.split(',').filter(|text| !text.is_empty()).collect();
            elements.len() == texts.len()
                && elements.iter().zip(texts).all(|(element, text)| is_same(element, text))
        }
        // Only TraceEvent itself shows structures in events.
        Shown::Structure(_) => {
            let written = json(value);
            written == text || written.replace("{ ", "{").replace(" }", "}") == text
        }
        Shown::Blob(_) => false,
    }
}

fn is_same_integer(integer: &Integer, text: &str) -> bool {
    if let Some(date) = integer.date {
        return dates_and_times(date).iter().any(|date| date == text);
    }
    if let Some(flags) = &integer.flags {
        let names = if integer.value == 0 { "None".to_owned() } else { flags.join(", ") };
        let are_all_named = flags.len() as u32 == (integer.value as u64).count_ones();
        // If a bit lacks a name, .NET writes the number.
        return if are_all_named { names == text } else { number(text) == Some(integer.value) };
    }
    match &integer.name {
        Some(name) => name == text,
        None => number(text) == Some(integer.value),
    }
}

/// Parses a number: decimal with commas, or hexadecimal.
pub fn number(text: &str) -> Option<i128> {
    match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None => text.replace(',', "").parse().ok(),
    }
}

/// Formats nanoseconds since 1970 as `MM/dd/yyyy HH:mm:ss` and as `yyyy-MM-ddTHH:mm:ss.fffffffZ`.
fn dates_and_times(nanoseconds: i128) -> [String; 2] {
    let ticks = nanoseconds.rem_euclid(1_000_000_000) / 100;
    let seconds = nanoseconds.div_euclid(1_000_000_000) as i64;
    let (days, seconds) = (seconds.div_euclid(86_400) + 719_468, seconds.rem_euclid(86_400));
    let era = days.div_euclid(146_097);
    let day = days.rem_euclid(146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + i64::from(month <= 2);
    let time = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    [
        format!("{month:02}/{day:02}/{year:04} {time}"),
        format!("{year:04}-{month:02}-{day:02}T{time}.{ticks:07}Z"),
    ]
}

/// Formats an object like the reference.
fn json(value: &Shown) -> String {
    match value {
        Shown::Structure(members) => {
            let members: Vec<_> =
                members.iter().map(|(name, value)| format!("\"{name}\":{}", json(value))).collect();
            format!("{{ {} }}", members.join(", "))
        }
        Shown::Array(elements) => format!("[{}]", elements.iter().map(json).collect::<Vec<_>>().join(",")),
        Shown::Text(text) => format!("\"{text}\""),
        Shown::Integer(integer) => integer.value.to_string(),
        Shown::Real(value, true) => (*value as f32).to_string(),
        Shown::Real(value, false) => value.to_string(),
        Shown::Boolean(value) => value.to_string(),
        Shown::Guid(value) => value.to_string(),
        Shown::Blob(_) => String::new(),
    }
}
