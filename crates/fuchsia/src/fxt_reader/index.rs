//! File index: byte ranges and clock of each provider.

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::ops::Range;
use std::sync::Arc;

use ichnos_model::key_hash::KeyState;
use ichnos_model::trace::Limits;

use super::class;
use super::flows::{FlowEvent, FlowNumbers, FlowStep, MOST_EVENTS};
use super::tables::{TableSnapshot, Tables};
use crate::fxt::{
    ArgumentValue, EventRecord, EventWords, Initialization, KernelObject, LocatedRecord, MAX_RECORD_WORDS,
    MetadataRecord, PROCESS, Profiler, Record, Records, Rule, Scheduling, THREAD, string_at,
};

/// Maximum number of data streams in a file. Each provider and each clock change adds one.
pub(crate) const MOST_STREAMS: usize = 1 << 10;

/// Maximum number of sections. Each takes 16 bytes.
const MOST_SECTIONS: u64 = 1 << 22;

/// Maximum number of process and thread names, and maximum length of a name in bytes.
const MOST_NAMES: usize = 1 << 16;
const MOST_NAME_BYTES: usize = 256;

/// Number of bytes after damage in a growing file with which it is certain how reading resumes: a record, and one word of
/// the next. Only the size of a large record can exceed it.
const CERTAIN: usize = (MAX_RECORD_WORDS + 1) * 8;

/// Clock of providers without an initialization record: one tick is one nanosecond.
const NANOSECONDS: Initialization = Initialization { ticks_per_second: 1_000_000_000, base: None };

/// Maximum number of strings and threads in table snapshots. Each takes 24 bytes.
const MOST_KEPT_ENTRIES: usize = 1 << 20;

/// Index of a data stream: the records of one provider by one clock.
#[derive(Clone, Debug)]
pub(super) struct StreamIndex {
    /// Provider id, or `None` for records before any provider.
    pub(super) provider: Option<u32>,
    /// Provider name.
    pub(super) name: Option<Box<[u8]>>,
    pub(super) clock: Initialization,
    /// Byte ranges in the file, in ascending order.
    pub(super) sections: Vec<Range<usize>>,
    /// Initial provider tables, for a data stream that starts at a clock change.
    pub(super) tables: Option<TableSnapshot>,
    /// First and last time, in ticks.
    pub(super) times: Option<(u64, u64)>,
    /// `true` if times never decrease.
    pub(super) is_ordered: bool,
    last: u64,
}

impl StreamIndex {
    /// Returns the total record size in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.sections.iter().map(|section| section.len() as u64).sum()
    }

    /// Adds the time of a record.
    #[inline(always)]
    fn add_time(&mut self, ticks: u64) {
        let (first, last) = self.times.unwrap_or((ticks, ticks));
        self.times = Some((first.min(ticks), last.max(ticks)));
        self.is_ordered &= self.last <= ticks;
        self.last = ticks;
    }
}

/// Process and thread names by id.
pub(super) type ObjectNames = HashMap<u64, Arc<str>, KeyState>;

/// Process of each thread by id. A process is its own process.
pub(super) type ObjectOwners = HashMap<u64, u64, KeyState>;

/// File index.
#[derive(Clone, Debug, Default)]
pub(super) struct FileIndex {
    pub(super) streams: Vec<StreamIndex>,
    pub(super) names: Arc<ObjectNames>,
    pub(super) owners: Arc<ObjectOwners>,
    pub(super) flows: FlowNumbers,
    /// `true` if the file has modules or mappings.
    pub(super) has_modules: bool,
    /// Number of records with reserved bits or with bytes after their known content. Events do not carry either.
    pub(super) extended: u64,
    /// File-level problems: byte offset and description.
    pub(super) problems: Vec<(u64, String)>,
    sections: u64,
}

/// Provider state during the scan.
#[derive(Debug, Default)]
struct ProviderScan {
    /// Latest data stream. `None` after a clock change beyond the limit.
    stream: Option<usize>,
    tables: Tables,
}

/// State of a file scan.
#[derive(Debug)]
pub(super) struct FileScan<'a> {
    bytes: &'a [u8],
    growing: bool,
    /// Offset of the next record.
    at: usize,
    index: FileIndex,
    providers: Vec<ProviderScan>,
    /// Provider indexes by id.
    by_id: HashMap<Option<u32>, usize>,
    /// Id of the current provider, and its index if it has records.
    id: Option<u32>,
    current: Option<usize>,
    most_sections: u64,
    names: ObjectNames,
    owners: ObjectOwners,
    flow_events: Vec<FlowEvent>,
    /// Hashes category and name of flows.
    hasher: KeyState,
    /// Number of table entries in snapshots.
    kept: usize,
    /// `true` after the limit of data streams was reported. Records beyond it are skipped.
    has_too_many: bool,
    has_too_many_flows: bool,
}

impl FileIndex {
    /// Scans a file. If it is growing, the scan ends where more bytes could change the result. Continues a scan of the
    /// beginning of the file. Also returns the scan.
    pub(super) fn read(
        bytes: &[u8],
        limits: &Limits,
        growing: bool,
        begun: Option<FileScan<'static>>,
    ) -> (Self, FileScan<'static>) {
        let mut scan = match begun {
            Some(begun) => begun.with_bytes(bytes, growing),
            None => FileScan::new(bytes, limits, growing),
        };
        scan.read();
        (scan.index(), scan.with_bytes(&[], growing))
    }
}

impl<'a> FileScan<'a> {
    fn new(bytes: &'a [u8], limits: &Limits, growing: bool) -> Self {
        Self {
            bytes,
            growing,
            at: 0,
            index: FileIndex::default(),
            providers: Vec::new(),
            by_id: HashMap::new(),
            id: None,
            current: None,
            most_sections: limits.packets.min(MOST_SECTIONS),
            names: ObjectNames::default(),
            owners: ObjectOwners::default(),
            flow_events: Vec::new(),
            hasher: KeyState::default(),
            kept: 0,
            has_too_many: false,
            has_too_many_flows: false,
        }
    }

    /// Continues the scan in other bytes, which begin with the scanned ones.
    fn with_bytes<'b>(self, bytes: &'b [u8], growing: bool) -> FileScan<'b> {
        let Self { at, index, providers, by_id, id, current, most_sections, names, .. } = self;
        let Self { owners, flow_events, hasher, kept, has_too_many, has_too_many_flows, .. } = self;
        FileScan {
            bytes,
            growing,
            at,
            index,
            providers,
            by_id,
            id,
            current,
            most_sections,
            names,
            owners,
            flow_events,
            hasher,
            kept,
            has_too_many,
            has_too_many_flows,
        }
    }

    /// Scans the rest of the bytes.
    fn read(&mut self) {
        let mut at = self.at;
        while let Some(end) = self.event(at).or_else(|| self.string(at)).or_else(|| self.any_record(at)) {
            if self.index.sections > self.most_sections {
                let problem = format!("the file has more than {} sections, the limit", self.most_sections);
                if self.index.problems.last().is_none_or(|(_, last)| *last != problem) {
                    self.index.problems.push((at as u64, problem));
                }
                break;
            }
            at = end;
        }
        self.at = at;
    }

    /// Returns the index of everything that was scanned.
    fn index(&self) -> FileIndex {
        let mut index = self.index.clone();
        if self.growing {
            leave_out_uncertain(&mut index);
        }
        let streams = index.streams.iter();
        let clocks: Vec<_> = streams.map(|stream| class::clock(String::new(), stream.clock, None)).collect();
        index.flows = FlowNumbers::new(self.flow_events.clone(), &clocks);
        index.names = Arc::new(self.names.clone());
        index.owners = Arc::new(self.owners.clone());
        index
    }
}

/// Leaves out what further records of a growing file can change: the number of records with more content, and before the
/// first event the data streams, since their clocks can follow.
fn leave_out_uncertain(index: &mut FileIndex) {
    index.extended = 0;
    if index.streams.iter().all(|stream| stream.times.is_none()) {
        index.streams.clear();
    }
}

impl FileScan<'_> {
    /// Returns `true` if a growing file ends with a record that is not whole at this offset, or with damage.
    #[cold]
    fn is_uncertain(&self, at: usize, end: usize) -> bool {
        let frame = Record::frame(self.bytes.get(at..).unwrap_or_default(), at as u64);
        let is_cut = |rule| matches!(rule, Rule::RecordTruncated | Rule::RecordHeaderTruncated);
        frame.is_err_and(|error| is_cut(error.rule)) || end.saturating_add(CERTAIN) > self.bytes.len()
    }

    /// Makes a provider current.
    fn enter(&mut self, id: Option<u32>) {
        self.id = id;
        self.current = self.by_id.get(&id).copied();
    }

    /// Returns the current provider, creating a data stream for a new provider. `None` if there are too many.
    #[inline(always)]
    fn provider(&mut self, at: usize) -> Option<&mut ProviderScan> {
        let current = match self.current {
            Some(current) => current,
            None => self.new_provider(at)?,
        };
        self.providers.get_mut(current)
    }

    #[inline(never)]
    fn new_provider(&mut self, at: usize) -> Option<usize> {
        let stream = self.new_stream(NANOSECONDS, None, None, at)?;
        let number = self.providers.len();
        self.providers.push(ProviderScan { stream: Some(stream), tables: Tables::default() });
        self.by_id.insert(self.id, number);
        self.current = Some(number);
        Some(number)
    }

    /// Returns the data stream of the current provider, or `None` if there are too many.
    #[inline(always)]
    fn stream(&mut self, at: usize) -> Option<&mut StreamIndex> {
        let number = self.provider(at)?.stream?;
        self.index.streams.get_mut(number)
    }

    fn new_stream(
        &mut self,
        clock: Initialization,
        name: Option<Box<[u8]>>,
        tables: Option<TableSnapshot>,
        at: usize,
    ) -> Option<usize> {
        let kept = self.kept + tables.as_ref().map_or(0, TableSnapshot::count);
        let streams = &mut self.index.streams;
        if streams.len() >= MOST_STREAMS || kept > MOST_KEPT_ENTRIES {
            if !std::mem::replace(&mut self.has_too_many, true) {
                let problem = if streams.len() >= MOST_STREAMS {
                    format!(
                        "more than {MOST_STREAMS} providers and clock changes, the limit: the rest is skipped"
                    )
                } else {
                    format!(
                        "more than {MOST_KEPT_ENTRIES} strings and threads at clock changes, the limit: \
                        records after further changes are skipped"
                    )
                };
                self.index.problems.push((at as u64, problem));
            }
            return None;
        }
        self.kept = kept;
        streams.push(StreamIndex {
            provider: self.id,
            name,
            clock,
            sections: Vec::new(),
            tables,
            times: None,
            is_ordered: true,
            last: 0,
        });
        Some(streams.len() - 1)
    }

    /// Adds the bytes of a record or of damage to the current data stream, and returns this stream.
    #[inline(always)]
    fn add(&mut self, range: Range<usize>) -> Option<&mut StreamIndex> {
        let number = self.provider(range.start)?.stream?;
        let stream = self.index.streams.get_mut(number)?;
        match stream.sections.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => {
                stream.sections.push(range);
                self.index.sections += 1;
            }
        }
        Some(stream)
    }

    /// Adds an event at an offset, and returns its end. `None` for flows, inline names, and everything else.
    #[inline(always)]
    fn event(&mut self, at: usize) -> Option<usize> {
        let event = EventWords::at(self.bytes, at).filter(|event| !event.is_flow())?;
        let extent = event.extent()?;
        let end = at + event.size();
        self.index.extended += u64::from(extent.is_extended);
        if let Some(stream) = self.add(at..end) {
            stream.add_time(extent.ticks);
        }
        Some(end)
    }

    /// Adds a string record at an offset, and returns its end. `None` for everything else.
    #[inline(always)]
    fn string(&mut self, at: usize) -> Option<usize> {
        let (record, size) = string_at(self.bytes, at)?;
        if let Some(provider) = self.provider(at) {
            provider.tables.add_string(&record, at);
        }
        self.add(at..at + size);
        Some(at + size)
    }

    /// Adds the record or the damage at an offset, and returns its end. `None` at the end of the file.
    #[inline(never)]
    fn any_record(&mut self, at: usize) -> Option<usize> {
        let mut records = Records::starting_at(self.bytes, at);
        let record = records.next()?;
        let range = at..records.offset();
        match record {
            Ok(record) => self.record(&record, range),
            Err(_) if self.growing && self.is_uncertain(at, range.end) => return None,
            // The cursor of the surrounding section reports it.
            Err(_) => drop(self.add(range)),
        }
        Some(records.offset())
    }

    #[inline(always)]
    fn record(&mut self, located: &LocatedRecord<'_>, range: Range<usize>) {
        let begin = range.start;
        self.index.extended += u64::from(located.is_extended());
        match &located.record {
            Record::Event(event) => {
                if let Some((step, id)) = FlowStep::from_kind(event.kind) {
                    self.flow(event, step, id, begin);
                }
            }
            Record::String(record) => {
                if let Some(provider) = self.provider(begin) {
                    provider.tables.add_string(record, begin);
                }
            }
            Record::Metadata(metadata) => return self.metadata(metadata, range),
            record => self.other(record, begin),
        }
        let Some(stream) = self.add(range) else { return };
        if let Some(ticks) = ticks_of(&located.record) {
            stream.add_time(ticks);
        }
    }

    #[cold]
    fn metadata(&mut self, metadata: &MetadataRecord<'_>, range: Range<usize>) {
        match metadata {
            // No provider has started yet.
            MetadataRecord::Magic if self.id.is_none() => return,
            MetadataRecord::Magic => {}
            MetadataRecord::ProviderInfo { provider, name } => {
                self.enter(Some(*provider));
                if let Some(stream) = self.stream(range.start) {
                    stream.name.get_or_insert_with(|| (*name).into());
                }
            }
            MetadataRecord::ProviderSection { provider } => self.enter(Some(*provider)),
            // The record names its provider, independent of sections.
            MetadataRecord::ProviderEvent { provider, .. } => {
                let (id, current) = (self.id, self.current);
                self.enter(Some(*provider));
                self.add(range);
                (self.id, self.current) = (id, current);
                return;
            }
        }
        self.add(range);
    }

    /// Records a flow event.
    #[inline(never)]
    fn flow(&mut self, event: &EventRecord<'_>, step: FlowStep, id: u64, at: usize) {
        let offset = at as u64;
        if self.flow_events.len() >= MOST_EVENTS {
            if !std::mem::replace(&mut self.has_too_many_flows, true) {
                let problem = format!(
                    "more than {MOST_EVENTS} flow events, the limit: further flows with a reused id \
                    are not distinguished"
                );
                self.index.problems.push((offset, problem));
            }
            return;
        }
        let (bytes, hasher) = (self.bytes, self.hasher);
        let Some(ProviderScan { stream: Some(stream), tables }) = self.provider(at) else { return };
        let Ok(stream) = u32::try_from(*stream) else { return };
        let text = |name| tables.string(name, bytes);
        let names = hasher.hash_one((text(event.category), text(event.name)));
        let process = tables.thread(event.thread).map_or(0, |(process, _)| process);
        self.flow_events.push(FlowEvent { stream, step, ticks: event.ticks, offset, id, names, process });
    }

    /// Records another record.
    #[inline(never)]
    fn other(&mut self, record: &Record<'_>, at: usize) {
        match record {
            Record::Thread(record) => {
                self.own(record.thread, record.process);
                if let Some(provider) = self.provider(at) {
                    provider.tables.add_thread(record);
                }
            }
            Record::Initialization(clock) => self.clock(*clock, at),
            Record::KernelObject(object) => self.object(object),
            Record::Profiler(Profiler::Module(_) | Profiler::Mapping(_)) => self.index.has_modules = true,
            _ => {}
        }
    }

    /// Sets the provider clock. If the provider has events already, a new data stream starts.
    fn clock(&mut self, clock: Initialization, at: usize) {
        // The cursor reports a clock with frequency 0.
        if clock.ticks_per_second == 0 {
            return;
        }
        let Some(stream) = self.stream(at) else { return };
        if stream.times.is_none() {
            stream.clock = clock;
            return;
        }
        if stream.clock == clock {
            return;
        }
        let name = stream.name.clone();
        let Some(tables) = self.provider(at).map(|provider| provider.tables.snapshot()) else { return };
        let next = self.new_stream(clock, name, Some(tables), at);
        // With the previous clock, later times would be wrong.
        if let Some(provider) = self.provider(at) {
            provider.stream = next;
        }
    }

    /// Records the process of a thread.
    fn own(&mut self, thread: u64, process: u64) {
        if self.owners.len() < MOST_NAMES {
            self.owners.entry(thread).or_insert(process);
        }
    }

    /// Records the name of a process or a thread, and the process of a thread. The longest name wins.
    fn object(&mut self, object: &KernelObject<'_>) {
        if !matches!(object.kind, PROCESS | THREAD) {
            return;
        }
        let no_tables = Tables::default();
        let provider = self.current.and_then(|current| self.providers.get(current));
        let tables = provider.map_or(&no_tables, |provider| &provider.tables);
        let process = match object.kind {
            PROCESS => Some(object.koid),
            _ => object.arguments.map_while(Result::ok).find_map(|argument| match argument.value {
                ArgumentValue::Koid(id) if tables.string(argument.name, self.bytes) == Some(b"process") => {
                    Some(id)
                }
                _ => None,
            }),
        };
        // The cursor reports an unregistered string, so an empty name loses nothing here.
        let name = tables.string(object.name, self.bytes).unwrap_or_default();
        let mut name = String::from_utf8_lossy(name).into_owned();
        if let Some(process) = process {
            self.own(object.koid, process);
        }
        if name.is_empty() {
            return;
        }
        name.truncate(name.floor_char_boundary(MOST_NAME_BYTES));
        let names = &mut self.names;
        let is_full = names.len() >= MOST_NAMES;
        match names.get_mut(&object.koid) {
            Some(known) if known.len() < name.len() => *known = name.into(),
            None if !is_full => drop(names.insert(object.koid, name.into())),
            _ => {}
        }
    }
}

/// Returns the record time in ticks, if the record has a time.
#[inline(always)]
pub(super) fn ticks_of(record: &Record<'_>) -> Option<u64> {
    Some(match record {
        Record::Event(event) => event.ticks,
        Record::Scheduling(Scheduling::LegacySwitch(switch)) => switch.ticks,
        Record::Scheduling(Scheduling::Switch(switch)) => switch.ticks,
        Record::Scheduling(Scheduling::Wakeup(wakeup)) => wakeup.ticks,
        Record::Log(log) => log.ticks,
        Record::Profiler(Profiler::Module(module)) => module.ticks,
        Record::Profiler(Profiler::Mapping(mapping)) => mapping.ticks,
        Record::Profiler(Profiler::Backtrace(backtrace)) => backtrace.ticks,
        Record::LargeBlob(blob) => blob.metadata?.ticks,
        _ => return None,
    })
}

/// Returns the help text for a broken rule.
pub(super) fn remedy(rule: Rule) -> &'static str {
    match rule {
        Rule::StringIndex | Rule::ThreadIndex => {
            "the record that registers it is missing: the tracer's buffer was too small, or the file is only \
            part of the trace"
        }
        Rule::TicksPerSecond => "the previous clock is used; fix the program that wrote the record",
        rule if rule.is_fatal() => {
            "the program that wrote the record is faulty, or bytes were changed or are missing: copy the \
            file again from its source"
        }
        _ => "it is read as if it followed the rule; fix the program that wrote it",
    }
}
