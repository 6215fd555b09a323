//! Process and session information from events.

use std::collections::{BTreeMap, VecDeque};

use ichnos_io::Bytes;
use ichnos_model::class::Value;

use super::index::{EventBlockHeader, NettraceIndex, content, release};
use crate::wire::Wire;
use crate::{Block, BlockKind, Container, EventMetadata, EventRows, FileItem, RowEncoding, Version, known};

/// Number of bytes at the start and at the end of a file that are searched for events about the process. Runtimes write
/// them at startup, and when a session is stopped.
const LOOKED_THROUGH: u64 = 32 << 20;

/// Maximum number of blocks that are searched at the start, and at the end.
const MOST_BLOCKS: usize = 1 << 14;

/// Event about the process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProcessInfoEvent {
    /// `Microsoft-DotNETCore-EventPipe/ProcessInfo`.
    Process,
    /// `RuntimeInformationStart` and `RuntimeInformationDCStart`.
    Runtime,
}

impl ProcessInfoEvent {
    fn from_metadata(metadata: &EventMetadata) -> Option<Self> {
        match (&*metadata.provider, metadata.event_id) {
            ("Microsoft-DotNETCore-EventPipe", 1) => Some(Self::Process),
            ("Microsoft-Windows-DotNETRuntime" | "Microsoft-Windows-DotNETRuntimeRundown", 187) => {
                Some(Self::Runtime)
            }
            _ => None,
        }
    }

    /// Returns the texts in an event by name.
    fn read(self, payload: &[u8]) -> Option<Vec<(&'static str, String)>> {
        let mut wire = Wire::new(payload);
        match self {
            Self::Process => {
                let mut recorded = vec![("command_line", wire.utf16_string()?)];
                // Since version 1.
                for name in ["os", "architecture"] {
                    recorded.extend(wire.utf16_string().map(|value| (name, value)));
                }
                Some(recorded)
            }
            Self::Runtime => {
                let (_instance, sku) = (wire.u16()?, wire.u16()?);
                let _libraries = wire.take(8)?;
                let version = [wire.u16()?, wire.u16()?, wire.u16()?, wire.u16()?];
                let (_flags, _mode) = (wire.u32()?, wire.u8()?);
                let command_line = wire.utf16_string()?;
                let _object = wire.guid()?;
                let path = wire.utf16_string()?;
                let name = match sku {
                    1 => ".NET Framework",
                    2 => "CoreCLR",
                    _ => "runtime",
                };
                let [major, minor, build, revision] = version;
                Some(vec![
                    ("runtime", format!("{name} {major}.{minor}.{build}.{revision}")),
                    ("runtime_path", path),
                    ("command_line", command_line),
                ])
            }
        }
    }
}

/// Returns `true` for events about the process.
pub(super) fn is_about_process(metadata: &EventMetadata) -> bool {
    ProcessInfoEvent::from_metadata(metadata).is_some()
}

/// Returns process information from a file's events, as environment entries.
pub(super) fn process(bytes: &Bytes, start: &Container, index: &NettraceIndex) -> Vec<(String, Value)> {
    let about: Vec<_> = index.classes.iter().map(ProcessInfoEvent::from_metadata).collect();
    // By metadata id: for so few event kinds, reused ids do not matter.
    let mut ids: Vec<_> = index
        .metadata
        .iter()
        .filter_map(|row| Some((row.id, about.get(row.class as usize).copied().flatten()?)))
        .collect();
    // There can be one id per metadata row, and each event searches them.
    ids.sort_by_key(|(id, _)| *id);
    ids.dedup_by_key(|(id, _)| *id);
    if ids.is_empty() {
        return Vec::new();
    }
    // The last event with a value wins. Runtimes write these events at the end, so a few blocks are usually enough.
    let mut missing: Vec<_> = about.iter().flatten().copied().collect();
    let mut found: BTreeMap<&'static str, String> = BTreeMap::new();
    for block in blocks_to_look_through(bytes, start).into_iter().rev() {
        let mut facts = BTreeMap::new();
        for_each_event(bytes, &block, index, &ids, |about, payload| {
            // An unreadable payload is reported when its event is read.
            for (name, value) in about.read(payload).unwrap_or_default() {
                if !value.is_empty() {
                    missing.retain(|missing| *missing != about);
                    facts.insert(name, value);
                }
            }
        });
        facts.append(&mut found);
        found = facts;
        if missing.is_empty() {
            break;
        }
    }
    found.into_iter().map(|(name, value)| (name.to_owned(), Value::Text(value))).collect()
}

/// Returns event blocks at the start and at the end of a file, in file order.
fn blocks_to_look_through(bytes: &Bytes, start: &Container) -> Vec<Block> {
    let (mut first, mut last) = (Vec::new(), VecDeque::new());
    let mut container = start.clone();
    loop {
        let block = match container.next(bytes, 0, true) {
            FileItem::Block(block) if block.kind == BlockKind::Event => block,
            FileItem::Block(_) | FileItem::Fault(_) => continue,
            FileItem::More | FileItem::End => break,
        };
        if block.begin <= LOOKED_THROUGH && first.len() < MOST_BLOCKS {
            first.push(block);
        } else if block.content.end + LOOKED_THROUGH >= bytes.len() as u64 {
            if last.len() == MOST_BLOCKS {
                last.pop_front();
            }
            last.push_back(block);
        }
    }
    first.extend(last);
    first
}

/// Passes the payloads of a block's events about the process to `take`. `ids` has their metadata ids.
fn for_each_event(
    bytes: &Bytes,
    block: &Block,
    index: &NettraceIndex,
    ids: &[(u32, ProcessInfoEvent)],
    mut take: impl FnMut(ProcessInfoEvent, &[u8]),
) {
    release(bytes, block);
    let content = content(bytes, block);
    let (encoding, begin) = match (index.version, EventBlockHeader::read(content)) {
        (Version::V3, _) => (RowEncoding::V3, 0),
        (version, Some(header)) => (RowEncoding::new(version, header.flags), header.rows),
        _ => return,
    };
    let mut rows = EventRows::new(encoding, begin..content.len(), block.content.start + index.missing);
    while let Some(row) = rows.next(content) {
        let known = ids.binary_search_by_key(&row.metadata_id, |(id, _)| *id);
        if let Some((_, about)) = known.ok().and_then(|at| ids.get(at)) {
            // Rows are within the content.
            take(*about, content.get(row.payload.clone()).unwrap_or_default());
        }
    }
}

/// Returns the providers and the selection of their events, as environment entries.
pub(super) fn providers(index: &NettraceIndex) -> Vec<(String, Value)> {
    let mut providers: BTreeMap<&str, (Option<u8>, u64)> = BTreeMap::new();
    for metadata in &index.classes {
        let known = known::find(&metadata.provider, metadata.event_id, metadata.version, &metadata.name);
        let level = super::class::level(metadata, known.as_ref());
        let provider = providers.entry(&metadata.provider).or_default();
        *provider = (provider.0.max(level), provider.1 | super::class::own_keywords(metadata));
    }
    let describe = |(name, (level, keywords)): (&str, (Option<u8>, u64))| {
        let names = known::keyword_names(name).into_iter().filter(|(mask, _)| keywords & mask != 0);
        let names: Vec<_> = names.map(|(_, name)| name).collect();
        let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
        let level =
            level.map_or_else(|| "without a level".to_owned(), |level| format!("up to level {level}"));
        let text = format!("events {level}, of keywords {keywords:#x}{names}");
        (format!("provider {name}"), Value::Text(text))
    };
    providers.into_iter().map(describe).collect()
}

/// Returns how the session ended, as an environment entry.
pub(super) fn end(index: &NettraceIndex, bytes: &Bytes) -> (String, Value) {
    let text = match index.is_complete {
        true => "complete".to_owned(),
        false => format!("not stopped: the file has {} bytes and no mark of its end", bytes.len()),
    };
    ("session".to_owned(), Value::Text(text))
}
