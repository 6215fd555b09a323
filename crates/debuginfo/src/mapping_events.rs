//! LTTng-UST and perf events that report binaries.

use std::sync::Arc;

use ichnos_model::class::EventRecordClass;
use ichnos_model::cursor::{BoxedCursor, ExcludedClasses};
use ichnos_model::field::{FieldRef, FieldValue};
use ichnos_model::{Event, Message, OpenedTrace, Scope, TraceClass, Window};

use crate::address_spaces::{AddressSpaceEvent, AddressSpaces, AddressSpacesBuilder, LoadedBinary};
use crate::binary_id::{MOST_BUILD_ID, MappingBase};
use crate::class::PROCESS;

/// Maximum number of events, and of text bytes in them. Later events are dropped.
const MOST_EVENTS: usize = 1 << 20;
const MOST_BYTES: usize = 256 << 20;

/// Maximum length of a text in bytes.
const MOST_TEXT: usize = 4096;

/// Event kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MappingEvent {
    /// A state dump starts.
    Start,
    /// A state dump lists a binary.
    BinaryInfo,
    /// A state dump of LTTng-UST 2.4 to 2.8 lists a library, or a library was loaded there.
    SharedObject,
    /// A library was loaded.
    Load,
    /// A library was unloaded.
    Unload,
    /// A library was closed, and perhaps unloaded.
    Close,
    BuildId,
    DebugLink,
    /// perf: code from a file was mapped.
    PerfMap,
    PerfFork,
    /// perf: a thread has a name.
    PerfName,
}

impl MappingEvent {
    fn new(class: &EventRecordClass) -> Option<Self> {
        Some(match class.name.as_deref()? {
            "lttng_ust_statedump:start" => Self::Start,
            "lttng_ust_statedump:bin_info" => Self::BinaryInfo,
            "lttng_ust_statedump:soinfo" | "ust_baddr_statedump:soinfo" | "ust_baddr:push" => {
                Self::SharedObject
            }
            "lttng_ust_lib:load" | "lttng_ust_dl:dlopen" | "lttng_ust_dl:dlmopen" => Self::Load,
            "lttng_ust_lib:unload" | "ust_baddr:pop" => Self::Unload,
            "lttng_ust_dl:dlclose" => Self::Close,
            "lttng_ust_statedump:build_id" | "lttng_ust_lib:build_id" | "lttng_ust_dl:build_id" => {
                Self::BuildId
            }
            "lttng_ust_statedump:debug_link" | "lttng_ust_lib:debug_link" | "lttng_ust_dl:debug_link" => {
                Self::DebugLink
            }
            "perf_mmap" | "perf_mmap2" => Self::PerfMap,
            "perf_fork" => Self::PerfFork,
            "perf_comm" => Self::PerfName,
            _ => return None,
        })
    }

    /// Returns the kind of an event class that Babeltrace knows, too.
    fn in_babeltrace(class: &EventRecordClass) -> Option<Self> {
        let is_known = match class.name.as_deref()? {
            "lttng_ust_dl:dlopen" => true,
            name => !["lttng_ust_dl:", "ust_baddr", "lttng_ust_lib:build_id", "lttng_ust_lib:debug_link"]
                .iter()
                .any(|start| name.starts_with(start)),
        };
        Self::new(class).filter(|kind| is_known && *kind != Self::SharedObject && !kind.is_from_perf())
    }

    fn is_from_perf(self) -> bool {
        matches!(self, Self::PerfMap | Self::PerfFork | Self::PerfName)
    }

    /// Returns the process whose address space changes.
    fn process(self, event: &Event<'_>) -> Option<i64> {
        if self.is_from_perf() {
            // The kernel has the number -1.
            let process = payload(event, "pid")?.as_i64()?;
            return Some(if process == i64::from(u32::MAX) { -1 } else { process });
        }
        event.get(&FieldRef::within(event, Scope::CommonContext, PROCESS)?)?.as_i64()
    }

    /// Returns the change that an event reports. `has_unload` is `true` if the trace has events for unloaded libraries.
    fn change(self, event: &Event<'_>, has_unload: bool) -> Option<AddressSpaceEvent> {
        let number = |name| payload(event, name)?.as_u64();
        let text = |names: &[&str]| names.iter().find_map(|name| text(&payload(event, name)?));
        let load = |kind| {
            Some(AddressSpaceEvent::Load(LoadedBinary {
                base: number("baddr")?,
                size: Some(number("memsz").or_else(|| number("size"))?),
                path: text(&["path", "sopath"])?,
                kind,
            }))
        };
        match self {
            Self::Start => Some(AddressSpaceEvent::Clear),
            Self::BinaryInfo => load(match number("is_pic") {
                Some(1) => MappingBase::PositionIndependent,
                Some(_) => MappingBase::Absolute,
                None => MappingBase::Binary,
            }),
            Self::SharedObject => load(MappingBase::Binary),
            Self::Load => load(MappingBase::PositionIndependent),
            Self::Close if has_unload => None,
            Self::Unload | Self::Close => Some(AddressSpaceEvent::Unload { base: number("baddr")? }),
            Self::BuildId => {
                Some(AddressSpaceEvent::BuildId { base: number("baddr")?, id: build_id(event)? })
            }
            Self::DebugLink => Some(AddressSpaceEvent::DebugLink {
                base: number("baddr")?,
                name: text(&["filename"])?,
                crc: u32::try_from(number("crc").or_else(|| number("crc32"))?).ok()?,
            }),
            Self::PerfMap => Some(AddressSpaceEvent::Load(LoadedBinary {
                base: number("start")?,
                size: None,
                path: file_name(text(&["filename"])?),
                kind: MappingBase::Code,
            })),
            Self::PerfFork => Some(AddressSpaceEvent::Fork { parent: payload(event, "ppid")?.as_i64()? }),
            Self::PerfName => {
                Some(AddressSpaceEvent::ThreadName { thread: number("tid")?, name: text(&["comm"])? })
            }
        }
    }
}

fn payload<'a>(event: &Event<'a>, name: &str) -> Option<FieldValue<'a>> {
    event.get(&FieldRef::within(event, Scope::Payload, name)?)
}

fn text(value: &FieldValue<'_>) -> Option<Arc<str>> {
    let bytes = value.as_bytes()?;
    Some(String::from_utf8_lossy(bytes.get(..MOST_TEXT).unwrap_or(bytes)).into())
}

/// Returns the file name in a mapping event. After the kernel's name, perf adds the symbol at its start.
fn file_name(name: Arc<str>) -> Arc<str> {
    match name.split_once(']') {
        Some((kernel, "_text" | "_stext")) => format!("{kernel}]").into(),
        _ => name,
    }
}

fn build_id(event: &Event<'_>) -> Option<Arc<[u8]>> {
    if let Some(bytes) = payload(event, "build_id").as_ref().and_then(FieldValue::as_bytes) {
        return Some(bytes.get(..MOST_BUILD_ID).unwrap_or(bytes).into());
    }
    let byte = |index| u8::try_from(payload(event, &format!("build_id.{index}"))?.as_u64()?).ok();
    let bytes: Vec<u8> = (0..MOST_BUILD_ID).map_while(byte).collect();
    (!bytes.is_empty()).then(|| bytes.into())
}

/// Returns `true` if a trace has perf events that report binaries or threads.
pub(crate) fn is_from_perf(trace: &TraceClass) -> bool {
    let mut classes = trace.data_streams.iter().flat_map(|stream| &stream.event_records);
    classes.any(|class| MappingEvent::new(class).is_some_and(MappingEvent::is_from_perf))
}

/// Rules for reading the events about binaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MappingRules {
    /// Maximum number of mappings.
    pub(crate) most: usize,
    /// Use only the events that Babeltrace uses. Binaries become known as it learns of them.
    pub(crate) as_babeltrace: bool,
    /// Time of the events.
    pub(crate) window: Window,
}

impl MappingRules {
    /// Returns the rules for all events, up to `most` mappings.
    pub(crate) fn all(most: usize) -> Self {
        Self { most, as_babeltrace: false, window: Window::default() }
    }
}

/// Reads the address spaces of all processes in a trace.
pub(crate) fn read(trace: &dyn OpenedTrace, rules: MappingRules) -> AddressSpaces {
    let streams = trace.data_streams();
    let kind_of = if rules.as_babeltrace { MappingEvent::in_babeltrace } else { MappingEvent::new };
    let kinds: Vec<Vec<_>> = streams
        .iter()
        .map(|stream| stream.plans().event_records.iter().map(|plans| kind_of(&plans.class)).collect())
        .collect();
    let has_unload = kinds.iter().flatten().any(|kind| *kind == Some(MappingEvent::Unload));
    let mut changes = Changes::default();
    for (index, kinds) in kinds.iter().enumerate() {
        if kinds.iter().any(Option::is_some) {
            let Some(cursor) = trace.cursor(index, rules.window) else { continue };
            read_stream(cursor, kinds, has_unload, &mut changes);
        }
    }
    changes.list.sort_by_key(|(time, ..)| *time);
    let builder = AddressSpacesBuilder::new(rules.most);
    let mut builder = if rules.as_babeltrace { builder.gradual() } else { builder };
    builder.set_incomplete(changes.is_incomplete);
    for (time, process, change) in changes.list {
        builder.add(time, process, change);
    }
    builder.build()
}

/// Changes by time and process.
#[derive(Default)]
struct Changes {
    list: Vec<(i128, i64, AddressSpaceEvent)>,
    /// Number of text bytes.
    bytes: usize,
    is_incomplete: bool,
}

impl Changes {
    /// Adds a change. Returns `false` if there are too many.
    fn push(&mut self, time: i128, process: i64, change: AddressSpaceEvent) -> bool {
        self.bytes += match &change {
            AddressSpaceEvent::Load(loaded) => loaded.path.len(),
            AddressSpaceEvent::DebugLink { name, .. } | AddressSpaceEvent::ThreadName { name, .. } => {
                name.len()
            }
            _ => 0,
        };
        self.is_incomplete |= self.list.len() >= MOST_EVENTS || self.bytes > MOST_BYTES;
        if !self.is_incomplete {
            self.list.push((time, process, change));
        }
        !self.is_incomplete
    }
}

fn read_stream(
    mut cursor: BoxedCursor,
    kinds: &[Option<MappingEvent>],
    has_unload: bool,
    changes: &mut Changes,
) {
    if let Some(others) = ExcludedClasses::new(kinds.iter().map(Option::is_none)) {
        cursor.exclude(&Arc::new(others));
    }
    while let Some(head) = cursor.next_head() {
        let kind = head.class_index().and_then(|class| kinds.get(class).copied().flatten());
        let Some(kind) = kind else { continue };
        let Some(Message::Event(event)) = cursor.current() else { continue };
        if let (Some(process), Some(change)) = (kind.process(&event), kind.change(&event, has_unload))
            && !changes.push(head.nanoseconds().unwrap_or_default(), process, change)
        {
            return;
        }
    }
}
