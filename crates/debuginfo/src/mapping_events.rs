//! Events of LTTng-UST that report binaries.

use std::sync::Arc;

use ichnos_model::class::EventRecordClass;
use ichnos_model::cursor::ExcludedClasses;
use ichnos_model::field::{FieldRef, FieldValue};
use ichnos_model::{Event, Message, OpenedTrace, Scope, Window};

use crate::address_spaces::{AddressSpaceEvent, AddressSpaces, AddressSpacesBuilder, LoadedBinary};
use crate::class::PROCESS;

/// Maximum number of events. Later events are dropped.
const MOST_EVENTS: usize = 1 << 22;

/// Maximum number of bytes of a build id.
const MOST_BUILD_ID: usize = 64;

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UstEvent {
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
}

impl UstEvent {
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
            _ => return None,
        })
    }

    /// Returns the change that an event reports. `has_unload` is `true` if the trace has events for unloaded libraries.
    fn change(self, event: &Event<'_>, has_unload: bool) -> Option<AddressSpaceEvent> {
        let number = |name| payload(event, name)?.as_u64();
        let text = |names: &[&str]| names.iter().find_map(|name| text(&payload(event, name)?));
        let load = |is_position_independent| {
            Some(AddressSpaceEvent::Load(LoadedBinary {
                base: number("baddr")?,
                size: number("memsz").or_else(|| number("size"))?,
                path: text(&["path", "sopath"])?,
                is_position_independent,
            }))
        };
        match self {
            Self::Start => Some(AddressSpaceEvent::Clear),
            Self::BinaryInfo => load(number("is_pic").map(|is_pic| is_pic == 1)),
            Self::SharedObject => load(None),
            Self::Load => load(Some(true)),
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
        }
    }
}

fn payload<'a>(event: &Event<'a>, name: &str) -> Option<FieldValue<'a>> {
    event.get(&FieldRef::within(event, Scope::Payload, name)?)
}

fn text(value: &FieldValue<'_>) -> Option<Arc<str>> {
    Some(String::from_utf8_lossy(value.as_bytes()?).into())
}

fn build_id(event: &Event<'_>) -> Option<Arc<[u8]>> {
    if let Some(bytes) = payload(event, "build_id").as_ref().and_then(FieldValue::as_bytes) {
        return Some(bytes.get(..MOST_BUILD_ID).unwrap_or(bytes).into());
    }
    let byte = |index| u8::try_from(payload(event, &format!("build_id.{index}"))?.as_u64()?).ok();
    let bytes: Vec<u8> = (0..MOST_BUILD_ID).map_while(byte).collect();
    (!bytes.is_empty()).then(|| bytes.into())
}

/// Reads the address spaces of all processes in a trace.
pub(crate) fn read(trace: &dyn OpenedTrace) -> AddressSpaces {
    let streams = trace.data_streams();
    let kinds: Vec<Vec<_>> = streams
        .iter()
        .map(|stream| stream.plans().event_records.iter().map(|plans| UstEvent::new(&plans.class)).collect())
        .collect();
    let has_unload = kinds.iter().flatten().any(|kind| *kind == Some(UstEvent::Unload));
    let mut changes = Vec::new();
    for (index, kinds) in kinds.iter().enumerate() {
        if kinds.iter().any(Option::is_some) {
            read_stream(trace, index, kinds, has_unload, &mut changes);
        }
    }
    changes.sort_by_key(|(time, ..)| *time);
    let mut builder = AddressSpacesBuilder::default();
    for (time, process, change) in changes {
        builder.add(time, process, change);
    }
    builder.build()
}

type Change = (i128, i64, AddressSpaceEvent);

fn read_stream(
    trace: &dyn OpenedTrace,
    index: usize,
    kinds: &[Option<UstEvent>],
    has_unload: bool,
    changes: &mut Vec<Change>,
) {
    let Some(mut cursor) = trace.cursor(index, Window::default()) else { return };
    if let Some(others) = ExcludedClasses::new(kinds.iter().map(Option::is_none)) {
        cursor.exclude(&Arc::new(others));
    }
    while let Some(head) = cursor.next_head() {
        let kind = head.class_index().and_then(|class| kinds.get(class).copied().flatten());
        let Some(kind) = kind else { continue };
        let Some(Message::Event(event)) = cursor.current() else { continue };
        let process = FieldRef::within(&event, Scope::CommonContext, PROCESS);
        let process = process.and_then(|process| event.get(&process)?.as_i64());
        if let (Some(process), Some(change)) = (process, kind.change(&event, has_unload)) {
            if changes.len() >= MOST_EVENTS {
                return;
            }
            changes.push((head.nanoseconds().unwrap_or_default(), process, change));
        }
    }
}
