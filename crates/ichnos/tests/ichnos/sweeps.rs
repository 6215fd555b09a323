//! Sweeps over recorded CTF traces: each of many places is damaged in the same way, and the damaged or repaired trace
//! is compared with the whole trace.
//!
//! By default, a sample of the places is tested. `ICHNOS_SWEEPS=all` tests all of them.

use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ichnos::OpenOptions;
use ichnos::convert::{ConvertOptions, common_target};
use ichnos_ctf::stream_input::StreamInput;
use ichnos_ctf::trace::{CtfOptions, CtfTrace, open};
use ichnos_io::{ExistingOutput, IoLimits, Tree};
use ichnos_model::class::{ByteOrder, FieldKind, Role};
use ichnos_model::field::Field;
use ichnos_model::{Cursor as _, Event, Message, Scope, Visitor, Window};
use ichnos_testing::{is_complete_sweep, is_like_another};
use tempfile::TempDir;

/// Number of damaged places to test, over all traces, without `ICHNOS_SWEEPS`.
pub(crate) const SAMPLE: usize = 40;

/// Maximum trace size in bytes: larger traces from real programs are similar to smaller traces.
const LARGEST: usize = 3 << 20;

/// Maximum trace size in bytes for overwritten blocks without `ICHNOS_SWEEPS`. Most blocks are in the few larger traces,
/// which come from the same tracer as smaller traces.
const LARGE: usize = 1 << 20;

/// Trace files by name, in memory.
pub(crate) struct Files {
    pub(crate) path: PathBuf,
    pub(crate) files: Vec<(String, Vec<u8>)>,
}

impl Files {
    /// Returns the recorded traces and the examples.
    pub(crate) fn recorded() -> Vec<Self> {
        let mut found = Vec::new();
        if let Some(traces) = ichnos_testing::recorded("ctf/real") {
            Self::find(&traces, &mut found);
            if found.is_empty() {
                println!("skipped: no recorded trace in {}", traces.display());
            }
        }
        Self::find(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"), &mut found);
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

    /// Returns `true` for a large trace, except in a complete sweep.
    fn are_large(&self) -> bool {
        let size: usize = self.files.iter().map(|(_, bytes)| bytes.len()).sum();
        size > LARGE && !is_complete_sweep()
    }

    /// Returns `true` if a smaller recorded trace resembles this one.
    fn are_like_others(&self) -> bool {
        let path = self.path.to_str().unwrap();
        path.split_once("ctf/real/").is_some_and(|(_, name)| is_like_another(name))
    }

    pub(crate) fn write(&self) -> TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, bytes) in &self.files {
            fs::write(directory.path().join(name), bytes).unwrap();
        }
        directory
    }
}

/// Changed bytes in a trace file.
pub(crate) struct Change<T> {
    pub(crate) file: String,
    pub(crate) offset: usize,
    pub(crate) bytes: Vec<u8>,
    pub(crate) what: String,
    /// Data for the test that expects the change.
    pub(crate) about: T,
}

/// Sweep that makes each change alone, in each recorded trace.
pub(crate) struct Sweep<'a> {
    /// Number of changes to test without `ICHNOS_SWEEPS`.
    pub(crate) sample: usize,
    /// Known faults: part of the description, and the reason.
    pub(crate) known: &'a [(&'a str, &'a str)],
}

impl Sweep<'_> {
    /// Makes the changes, and fails on unknown faults. `whole` is called once per trace. `fault` is called for each
    /// change, with the result of `whole`, the change, and the directory with the changed trace.
    pub(crate) fn run<T, W>(
        &self,
        whole: impl Fn(&CtfTrace) -> W,
        changes: impl Fn(&Files, &CtfTrace) -> Vec<Change<T>>,
        mut fault: impl FnMut(&W, &Change<T>, &Path) -> Option<String>,
    ) {
        let recorded = Files::recorded();
        let open = |files| Some((files, read(Files::write(files).path())?));
        let traces: Vec<(&Files, CtfTrace)> = recorded.iter().filter_map(open).collect();
        let all: Vec<Vec<Change<T>>> = traces.iter().map(|(files, trace)| changes(files, trace)).collect();
        let count = all.iter().map(Vec::len).sum();
        let (mut numbers, mut tried, mut faults) = (0.., 0, Vec::new());
        for ((files, trace), changes) in traces.iter().zip(&all) {
            let mut chosen = changes.iter().zip(numbers.by_ref()).collect::<Vec<_>>();
            chosen.retain(|(_, number)| self.is_tried(*number, count));
            if chosen.is_empty() {
                continue;
            }
            let (whole, directory) = (whole(trace), files.write());
            for (change, _) in chosen {
                tried += 1;
                let path = directory.path().join(&change.file);
                let (_, bytes) = files.files.iter().find(|(name, _)| *name == change.file).unwrap();
                let mut changed = bytes.clone();
                changed[change.offset..][..change.bytes.len()].copy_from_slice(&change.bytes);
                fs::write(&path, changed).unwrap();
                if let Some(fault) = fault(&whole, change, directory.path()) {
                    faults.push(format!("{}: {}: {fault}", files.path.display(), change.what));
                }
                fs::write(&path, bytes).unwrap();
            }
        }
        println!("{tried} of {count} changes");
        assert!(tried > 0);
        self.check(tried, faults);
    }

    /// Returns `true` if change `number` of `count` is tested.
    fn is_tried(&self, number: usize, count: usize) -> bool {
        let sample = self.sample;
        is_complete_sweep() || count <= sample || number * sample / count != (number + 1) * sample / count
    }

    fn check(&self, tried: usize, mut faults: Vec<String>) {
        for (known, why) in self.known {
            let is_found = faults.iter().any(|fault| fault.contains(known));
            assert!(is_found || !is_complete_sweep(), "no fault any more: {known} ({why})");
        }
        let is_known = |fault: &String| self.known.iter().any(|(known, _)| fault.contains(known));
        faults.iter().filter(|fault| is_known(fault)).for_each(|fault| println!("known: {fault}"));
        faults.retain(|fault| !is_known(fault));
        assert!(faults.is_empty(), "{} of {tried}:\n{}", faults.len(), faults.join("\n"));
    }
}

/// Event: time in cycles, class, and bytes after the header.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ReadEvent {
    pub(crate) cycles: Option<u64>,
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

impl ReadEvent {
    pub(crate) fn of(event: &Event<'_>) -> Self {
        let begin = event.scopes.begins()[Scope::CommonContext as usize].bit;
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

/// Returns the events in each data stream.
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

/// Time in a packet header.
#[derive(Clone, Copy, Debug)]
struct HeaderTime {
    role: Role,
    /// Offset in the packet and size, in bytes.
    offset: usize,
    size: usize,
    order: ByteOrder,
    value: u64,
}

/// Byte-aligned times in a packet context.
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

/// Wrong times for each packet header: 0, the other time, a second more and less.
fn wrong_times(trace: &CtfTrace) -> Vec<Change<()>> {
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
                    all.push(Change { file: file.clone(), offset, bytes, what, about: () });
                }
            }
        }
    }
    all
}

/// Repairs a trace. Returns `true` if events were changed. The error is the reason why nothing was written.
pub(crate) fn repair(from: &Path, to: &Path) -> Result<bool, String> {
    let session = ichnos::open([from], &OpenOptions::default()).map_err(|error| error.to_string())?;
    let target = common_target(session.traces().iter().map(|trace| &**trace)).unwrap();
    let reader = session.stream_reader();
    let mut options = ConvertOptions::default();
    options.write.repair = true;
    options.write.existing = ExistingOutput::Replace;
    options.write.dialect = target.dialect.map(str::to_owned);
    options.verify = true;
    let converted = reader.convert(target.writer, Some(to.to_owned()), &options);
    converted.map(|converted| converted.losses.rounds_events()).map_err(|error| error.to_string())
}

/// Returns the damage in a trace.
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

/// Trace with correct times.
struct WholeTimes {
    events: Vec<ReadEvent>,
    /// `true` if each event contains its complete time.
    are_whole: bool,
}

impl WholeTimes {
    fn of(trace: &CtfTrace) -> Self {
        let events = sorted(events(trace).into_iter().flatten());
        Self { events, are_whole: trace.streams.iter().all(|stream| has_whole_times(stream)) }
    }

    /// Returns the fault in a repaired trace that had a wrong time.
    fn fault_of_repair(&self, path: &Path) -> Option<String> {
        let output = tempfile::tempdir().unwrap();
        let output = output.path().join("out");
        let Some(damaged) = read(path) else { return Some("it cannot be read".to_owned()) };
        let damaged = events(&damaged);
        let rounds = match repair(path, &output) {
            Ok(rounds) => rounds,
            Err(error) => return Some(error),
        };
        let Some(repaired) = read(&output) else { return Some("the output cannot be read".to_owned()) };
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
        if (is_in_order || self.are_whole) && rounds {
            return Some("events are changed".to_owned());
        }
        if !rounds && all(&damaged) != all(&repaired) {
            return Some("times of events differ from those that are read".to_owned());
        }
        (self.are_whole && all(&repaired) != self.events)
            .then(|| "times of events differ from the recorded ones".to_owned())
    }
}

/// Returns `true` if each event in a data stream contains its complete time.
fn has_whole_times(stream: &StreamInput) -> bool {
    let (mut is_whole, mut count) = (true, 0);
    let header = stream.stream.class().event_record_header.as_ref();
    let mut classes: Vec<_> = header.into_iter().cloned().collect();
    while let Some(class) = classes.pop() {
        if let (FieldKind::Integer { bits, .. }, true) = (&class.kind, class.roles.has(Role::Timestamp)) {
            is_whole &= bits.length == 64;
            count += 1;
        }
        classes.extend(class.children().map(|child| child.class().clone()));
    }
    is_whole && count > 0
}

/// A wrong time in a packet header does not change event times.
#[test]
fn times_of_events_outvote_those_of_packets() {
    Sweep { sample: SAMPLE, known: &[] }.run(
        WholeTimes::of,
        |_, trace| if damage(trace).is_empty() { wrong_times(trace) } else { Vec::new() },
        |whole, _, path| whole.fault_of_repair(path),
    );
}

/// Size of an overwritten block, in bytes.
const BLOCK: usize = 4096;

/// Events in a trace, and the number of events in each packet, by file and position.
struct WholeBlocks {
    events: HashMap<ReadEvent, usize>,
    packets: Vec<(String, Range<usize>, usize)>,
}

impl WholeBlocks {
    fn of(trace: &CtfTrace) -> Self {
        let (mut all, mut packets) = (HashMap::new(), Vec::new());
        for stream in &trace.streams {
            let mut cursor = stream.cursor(Window::default());
            while cursor.advance() {
                match cursor.current() {
                    Some(Message::PacketBegin(packet)) => {
                        let entry = &stream.packets[packet.index.unwrap() as usize];
                        let (begin, file) = (entry.offset as usize, &stream.files[entry.file as usize]);
                        let size = entry.available(file.bytes.len() as u64) as usize;
                        let name = file.name.rsplit('/').next().unwrap().to_owned();
                        packets.push((name, begin..begin + size, 0));
                    }
                    Some(Message::Event(event)) => {
                        *all.entry(ReadEvent::of(&event)).or_default() += 1;
                        packets.last_mut().unwrap().2 += 1;
                    }
                    _ => {}
                }
            }
        }
        Self { events: all, packets }
    }

    /// Returns the fault if some bytes in a file are overwritten: events are made up, or missing from intact packets.
    fn fault(&self, change: &Change<()>, path: &Path) -> Option<String> {
        let mut found: HashMap<ReadEvent, usize> = HashMap::new();
        if let Some(trace) = read(path) {
            events(&trace).into_iter().flatten().for_each(|event| *found.entry(event).or_default() += 1);
        }
        let made_up = found.iter().map(|(event, count)| {
            (count.saturating_sub(self.events.get(event).copied().unwrap_or(0)), event)
        });
        let made_up: Vec<_> = made_up.filter(|(count, _)| *count > 0).collect();
        if let Some((_, first)) = made_up.iter().min_by_key(|(_, event)| *event) {
            let count: usize = made_up.iter().map(|(count, _)| count).sum();
            return Some(format!("{count} events are made up, {first:?}"));
        }
        let end = change.offset + change.bytes.len();
        let is_changed = |(file, range, _): &&(String, Range<usize>, usize)| {
            *file == change.file && range.start < end && change.offset < range.end
        };
        let own: usize = self.packets.iter().filter(is_changed).map(|(.., events)| events).sum();
        let count = |events: &HashMap<ReadEvent, usize>| events.values().sum::<usize>();
        let missing = count(&self.events) - count(&found);
        (missing > own).then(|| format!("{missing} events are missing, of {own} in its packets"))
    }
}

/// Overwrites each block in a trace's files with zeros, 0xff, and the previous block.
fn overwritten_blocks(files: &Files) -> Vec<Change<()>> {
    let mut all = Vec::new();
    for (file, bytes) in files.files.iter().filter(|(name, _)| name != "metadata") {
        for begin in (0..bytes.len()).step_by(BLOCK) {
            let size = BLOCK.min(bytes.len() - begin);
            let before = begin.checked_sub(BLOCK).map(|before| bytes[before..begin][..size].to_vec());
            let contents =
                [("zeros", Some(vec![0; size])), ("0xff", Some(vec![0xff; size])), ("copy", before)];
            for (what, content) in contents {
                let Some(bytes) = content else { continue };
                let what = format!("{file}:{begin}: {what}");
                all.push(Change { file: file.clone(), offset: begin, bytes, what, about: () });
            }
        }
    }
    all
}

/// Returns `true` if all events have times. Without times, damage cannot be recognized.
fn has_times(trace: &CtfTrace) -> bool {
    trace.streams.iter().all(|stream| {
        let mut cursor = stream.cursor(Window::default());
        while cursor.advance() {
            if matches!(cursor.current(), Some(Message::Event(event)) if event.clock.is_none()) {
                return false;
            }
        }
        true
    })
}

/// Blocks that are zeros, 0xff, or a copy of the previous block must not become events.
#[test]
fn overwritten_blocks_do_not_become_events() {
    let known = [
        "bandwidth_issue: global_def:8192: copy",
        "bandwidth_issue: global_def:16384: copy",
        "double_counters: global_def:8192: copy",
        "double_counters: global_def:20480: copy",
        "mpi_allreduce: global_def:8192: copy",
        "mpi_ssend_irecv: global_def:8192: copy",
    ]
    .map(|known| {
        (known, "time stands still there, and events begin at the same places as in the block before")
    });
    Sweep { sample: 2 * SAMPLE, known: &known }.run(
        WholeBlocks::of,
        |files, trace| match files.are_like_others() || files.are_large() || !has_times(trace) {
            true => Vec::new(),
            false => overwritten_blocks(files),
        },
        WholeBlocks::fault,
    );
}
