//! Sweeps over recorded traces of CTF: each of many places is damaged in the same way, and what is read of it, or
//! repaired, is compared with the whole trace.
//!
//! By default, a sample of the places is tried; with `ICHNOS_SWEEPS=all`, all of them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use ichnos::OpenOptions;
use ichnos::convert::{ConvertOptions, common_target};
use ichnos_ctf::stream_input::StreamInput;
use ichnos_ctf::trace::{CtfTrace, OpenOptions as CtfOptions, open};
use ichnos_io::{Existing, IoLimits, Tree};
use ichnos_model::{ByteOrder, Cursor as _, Event, Field, FieldKind, Message, Role, Scope, Visitor, Window};
use tempfile::TempDir;

/// Number of damaged places that are tried of all traces.
const SAMPLE: usize = 40;

/// Maximum size of a trace in bytes: those of real programs are alike, whatever their size.
const LARGEST: usize = 3 << 20;

/// Files of a trace by their names, in memory.
pub(crate) struct Files {
    pub(crate) path: PathBuf,
    pub(crate) files: Vec<(String, Vec<u8>)>,
}

impl Files {
    /// Returns the recorded traces below a directory.
    pub(crate) fn recorded() -> Vec<Self> {
        let root = std::env::var_os("ICHNOS_TRACES").map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"),
            PathBuf::from,
        );
        let mut found = Vec::new();
        Self::find(&root.join("ctf/real"), &mut found);
        if found.is_empty() {
            println!("skipped: no recorded traces in {}", root.display());
        }
        found
    }

    fn find(directory: &Path, found: &mut Vec<Self>) {
        let Ok(items) = fs::read_dir(directory) else { return };
        let mut paths: Vec<PathBuf> = items.map(|item| item.unwrap().path()).collect();
        paths.sort();
        let files = paths.iter().filter(|path| path.is_file());
        let files = files
            .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap()));
        let files: Vec<(String, Vec<u8>)> = files.collect();
        let size: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
        if files.iter().any(|(name, _)| name == "metadata") && size <= LARGEST {
            found.push(Self { path: directory.to_owned(), files });
        }
        paths.iter().filter(|path| path.is_dir()).for_each(|path| Self::find(path, found));
    }

    pub(crate) fn write(&self) -> TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, bytes) in &self.files {
            fs::write(directory.path().join(name), bytes).unwrap();
        }
        directory
    }
}

/// Returns `true` if this one of `count` places is tried.
pub(crate) fn is_tried(number: usize, count: usize) -> bool {
    let wants_all = std::env::var_os("ICHNOS_SWEEPS").is_some_and(|wanted| wanted == "all");
    wants_all || count <= SAMPLE || number * SAMPLE / count != (number + 1) * SAMPLE / count
}

/// An event: its time in cycles, its class, and its bytes after the header.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ReadEvent {
    pub(crate) cycles: Option<u64>,
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

impl ReadEvent {
    pub(crate) fn of(event: &Event<'_>) -> Self {
        let begin = event.scopes.begins[Scope::CommonContext as usize].bit;
        let range = (begin / 8) as usize..(event.scopes.end / 8) as usize;
        let bytes = event.scopes.bits.data.get(range).unwrap_or_default().to_vec();
        let cycles = event.clock.map(|clock| clock.cycles);
        Self { cycles, name: event.name().to_owned(), bytes }
    }
}

pub(crate) fn read(path: &Path) -> Option<CtfTrace> {
    let tree = Tree::open(path, &IoLimits::default()).unwrap();
    open(&[&tree], &CtfOptions::default()).traces.pop()
}

/// The events of each data stream.
pub(crate) fn events(trace: &CtfTrace) -> Vec<Vec<ReadEvent>> {
    let streams = trace.streams.iter().map(|stream| {
        let mut events = Vec::new();
        let mut cursor = stream.cursor(Window::default());
        while cursor.advance() {
            let Some(Message::Event(event)) = cursor.current() else { continue };
            events.push(ReadEvent::of(&event));
        }
        events
    });
    streams.collect()
}

fn sorted<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    items.sort();
    items
}

/// A time in the header of a packet.
#[derive(Clone, Copy, Debug)]
struct HeaderTime {
    role: Role,
    /// Offset in the packet, and size, in bytes.
    offset: usize,
    size: usize,
    order: ByteOrder,
    value: u64,
}

/// Times of a packet context in whole bytes.
struct HeaderTimes(Vec<HeaderTime>);

impl Visitor for HeaderTimes {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        let FieldKind::Integer { bits, .. } = &field.class().kind else { return };
        let role = [Role::Timestamp, Role::PacketEndTimestamp]
            .into_iter()
            .find(|role| field.class().roles.has(*role));
        if let Some(role) = role.filter(|_| field.length % 8 == 0 && field.offset % 8 == 0) {
            let (offset, size) = ((field.offset / 8) as usize, (field.length / 8) as usize);
            self.0.push(HeaderTime { role, offset, size, order: bits.byte_order, value });
        }
    }
}

/// A wrong time: the file, the offset in it, and the bytes.
struct WrongTime {
    file: String,
    offset: usize,
    bytes: Vec<u8>,
    what: String,
}

/// Each time of each packet header: 0, its twin, a second more and less.
fn wrong_times(trace: &CtfTrace) -> Vec<WrongTime> {
    let mut all = Vec::new();
    for stream in &trace.streams {
        let second = stream.stream.clock().map_or(0, |clock| clock.frequency);
        let mut cursor = stream.cursor(Window::default());
        while cursor.advance() {
            let Some(Message::PacketBegin(packet)) = cursor.current() else { continue };
            let mut times = HeaderTimes(Vec::new());
            packet.visit(Scope::PacketContext, &mut times).unwrap();
            let entry = &stream.packets[packet.index.unwrap() as usize];
            let file = stream.files[entry.file as usize].name.rsplit('/').next().unwrap().to_owned();
            let twin = |role: Role| times.0.iter().find(|other| other.role != role).map(|twin| twin.value);
            for time in &times.0 {
                let wrong = [
                    Some(0),
                    twin(time.role),
                    time.value.checked_add(second),
                    time.value.checked_sub(second),
                ];
                for value in wrong.into_iter().flatten().filter(|value| *value != time.value) {
                    let mut bytes = value.to_le_bytes()[..time.size].to_vec();
                    if time.order == ByteOrder::BigEndian {
                        bytes.reverse();
                    }
                    let offset = entry.offset as usize + time.offset;
                    let what = format!("{:?} {} -> {value} at {file}:{offset}", time.role, time.value);
                    all.push(WrongTime { file: file.clone(), offset, bytes, what });
                }
            }
        }
    }
    all
}

/// Repairs a trace. Returns `true` if events were changed.
pub(crate) fn repair(from: &Path, to: &Path) -> bool {
    let session = ichnos::open([from], &OpenOptions::default()).unwrap();
    let target = common_target(session.traces().iter().map(|trace| &**trace)).unwrap();
    let reader = session.stream_reader(Window::default(), |_| true);
    let mut options = ConvertOptions::default();
    options.write.repair = true;
    options.write.existing = Existing::Replace;
    options.write.dialect = target.dialect.map(str::to_owned);
    options.verify = true;
    reader.convert(target.writer, Some(to.to_owned()), &options).unwrap().losses.rounds_events()
}

/// Returns the damage of a trace.
pub(crate) fn damage(trace: &CtfTrace) -> Vec<String> {
    let mut all = Vec::new();
    for stream in &trace.streams {
        let mut cursor = stream.cursor(Window::default());
        while cursor.advance() {
            if let Some(Message::Damage(damage)) = cursor.current() {
                all.push(damage.to_string());
            }
        }
    }
    all
}

/// Returns what is wrong with the repair of a trace with a wrong time.
fn fault_of_repair(whole: &[ReadEvent], has_whole_times: bool, path: &Path) -> Option<String> {
    let output = tempfile::tempdir().unwrap();
    let output = output.path().join("out");
    let damaged = events(&read(path)?);
    let rounds = repair(path, &output);
    let repaired = read(&output)?;
    let found = damage(&repaired);
    if !found.is_empty() {
        return Some(format!("the output is damaged: {found:?}"));
    }
    let repaired = events(&repaired);
    let without_times = |streams: &[Vec<ReadEvent>]| {
        sorted(streams.iter().flatten().map(|event| ReadEvent { cycles: None, ..event.clone() }))
    };
    if without_times(&damaged) != without_times(&repaired) {
        return Some("other events".to_owned());
    }
    let all = |streams: &[Vec<ReadEvent>]| sorted(streams.iter().flatten().cloned());
    let is_in_order = damaged.iter().all(|events| events.is_sorted_by_key(|event| event.cycles));
    if (is_in_order || has_whole_times) && rounds {
        return Some("events are changed".to_owned());
    }
    if !rounds && all(&damaged) != all(&repaired) {
        return Some("times of events differ from those that are read".to_owned());
    }
    (has_whole_times && all(&repaired) != whole)
        .then(|| "times of events differ from the recorded ones".to_owned())
}

/// Known faults: what they are called, and why they are there.
const KNOWN: &[(&str, &str)] = &[
    ("no-lost-not-starting-at-0: Timestamp 0 -> 1000000000", "its only packet has few events, in few bits"),
    ("bandwidth_issue/2:8192: copy", "the copy is as likely as what it replaces"),
    ("mpi_allreduce/global_def:8192: copy", "time stands still there"),
];

/// Fails with the faults that are not known.
pub(crate) fn check(tried: usize, mut faults: Vec<String>) {
    let is_known = |fault: &String| KNOWN.iter().any(|(known, _)| fault.contains(known));
    faults.iter().filter(|fault| is_known(fault)).for_each(|fault| println!("known: {fault}"));
    faults.retain(|fault| !is_known(fault));
    assert!(faults.is_empty(), "{} of {tried}:\n{}", faults.len(), faults.join("\n"));
}

/// A wrong time in the header of a packet does not change the times of its events.
#[test]
fn times_of_events_outvote_those_of_packets() {
    let traces = Files::recorded();
    let traces: Vec<(&Files, CtfTrace, Vec<WrongTime>)> = traces
        .iter()
        .filter_map(|files| {
            let trace = read(files.write().path())?;
            let wrong = if damage(&trace).is_empty() { wrong_times(&trace) } else { Vec::new() };
            Some((files, trace, wrong))
        })
        .collect();
    let count: usize = traces.iter().map(|(.., wrong)| wrong.len()).sum();
    let (mut number, mut tried, mut faults) = (0, 0, Vec::new());
    for (files, trace, wrong) in &traces {
        let whole = sorted(events(trace).into_iter().flatten());
        let has_whole_times = |stream: &StreamInput| {
            let (mut is_whole, mut count) = (true, 0);
            let header = stream.stream.class().event_record_header.as_ref();
            let mut classes: Vec<_> = header.into_iter().cloned().collect();
            while let Some(class) = classes.pop() {
                if let (FieldKind::Integer { bits, .. }, true) =
                    (&class.kind, class.roles.has(Role::Timestamp))
                {
                    is_whole &= bits.length == 64;
                    count += 1;
                }
                classes.extend(class.children().map(|child| child.class().clone()));
            }
            is_whole && count > 0
        };
        let has_whole_times = trace.streams.iter().all(|stream| has_whole_times(stream));
        let directory = files.write();
        for wrong in wrong {
            number += 1;
            if !is_tried(number - 1, count) {
                continue;
            }
            tried += 1;
            let (_, bytes) = files.files.iter().find(|(name, _)| *name == wrong.file).unwrap();
            let mut damaged = bytes.clone();
            damaged[wrong.offset..wrong.offset + wrong.bytes.len()].copy_from_slice(&wrong.bytes);
            let path = directory.path().join(&wrong.file);
            fs::write(&path, damaged).unwrap();
            if let Some(fault) = fault_of_repair(&whole, has_whole_times, directory.path()) {
                faults.push(format!("{}: {}: {fault}", files.path.display(), wrong.what));
            }
            fs::write(&path, bytes).unwrap();
        }
    }
    println!("{tried} of {count} wrong times");
    check(tried, faults);
}

/// Size of the blocks that are overwritten, in bytes.
const BLOCK: usize = 4096;

/// Returns the events of a trace that another one does not have, of those with a time.
fn made_up(path: &Path, whole: &HashMap<ReadEvent, usize>) -> Vec<ReadEvent> {
    let Some(trace) = read(path) else { return Vec::new() };
    let mut counts: HashMap<ReadEvent, usize> = HashMap::new();
    let mut made_up = Vec::new();
    for event in events(&trace).into_iter().flatten() {
        let count = counts.entry(event.clone()).or_default();
        *count += 1;
        if *count > whole.get(&event).copied().unwrap_or(0) {
            made_up.push(event);
        }
    }
    made_up
}

/// Blocks of a file that are zeros, or 0xff, or a copy of the block before, are no events.
#[test]
fn overwritten_blocks_are_no_events() {
    let traces = Files::recorded();
    let blocks: Vec<(usize, usize, usize)> = traces
        .iter()
        .enumerate()
        .flat_map(|(trace, files)| files.files.iter().enumerate().map(move |(file, of)| (trace, file, of)))
        .filter(|(.., (name, _))| name != "metadata")
        .flat_map(|(trace, file, (_, bytes))| {
            (0..bytes.len()).step_by(BLOCK).map(move |at| (trace, file, at))
        })
        .collect();
    let (mut faults, mut tried) = (Vec::new(), 0);
    let mut open_trace: Option<(usize, TempDir, HashMap<ReadEvent, usize>)> = None;
    for (number, (index, file, begin)) in blocks.iter().copied().enumerate() {
        if !is_tried(number, blocks.len()) {
            continue;
        }
        let files = &traces[index];
        if open_trace.as_ref().is_none_or(|(open, ..)| *open != index) {
            let directory = files.write();
            let Some(trace) = read(directory.path()) else { continue };
            let mut whole: HashMap<ReadEvent, usize> = HashMap::new();
            events(&trace).into_iter().flatten().for_each(|event| *whole.entry(event).or_default() += 1);
            open_trace = Some((index, directory, whole));
        }
        let Some((_, directory, whole)) = &open_trace else { continue };
        // Without times, there is no evidence.
        if whole.keys().any(|event| event.cycles.is_none()) {
            continue;
        }
        let (name, bytes) = &files.files[file];
        let end = bytes.len().min(begin + BLOCK);
        let before = begin.checked_sub(BLOCK).map(|before| bytes[before..begin][..end - begin].to_vec());
        let contents = [
            ("zeros", Some(vec![0; end - begin])),
            ("0xff", Some(vec![0xff; end - begin])),
            ("copy", before),
        ];
        for (what, content) in contents {
            let Some(content) = content else { continue };
            tried += 1;
            let mut damaged = bytes.clone();
            damaged[begin..end].copy_from_slice(&content);
            fs::write(directory.path().join(name), damaged).unwrap();
            let found = made_up(directory.path(), whole);
            if let Some(first) = found.first() {
                let count = found.len();
                faults.push(format!("{}/{name}:{begin}: {what}: {count}, {first:?}", files.path.display()));
            }
        }
        fs::write(directory.path().join(name), bytes).unwrap();
    }
    println!("{tried} overwritten blocks");
    check(tried, faults);
}
