//! Sections of a file: which provider's records are where, and by which clock.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use ichnos_model::Limits;

use super::tables::Tables;
use crate::fxt::{
    Initialization, KernelObject, Located, MetadataRecord, PROCESS, Profiler, Record, Records, Rule,
    Scheduling, StringRecord, THREAD,
};

/// Maximum number of data streams of a file: of providers, and of changes of their clocks.
const MOST_STREAMS: usize = 1 << 10;

/// Maximum number of sections, of 16 bytes each.
const MOST_SECTIONS: u64 = 1 << 22;

/// Maximum number of names of processes and threads, and of bytes of each.
const MOST_NAMES: usize = 1 << 16;
const MOST_NAME_BYTES: usize = 256;

/// Clock of providers without an initialization record: a tick is a nanosecond.
const NANOSECONDS: Initialization = Initialization { ticks_per_second: 1_000_000_000, base: None };

/// Records of a provider by one clock: a data stream.
#[derive(Debug)]
pub(super) struct StreamIndex {
    /// Id of the provider, or `None` for records before any provider.
    pub(super) provider: Option<u32>,
    /// Name of the provider.
    pub(super) name: Option<String>,
    pub(super) clock: Initialization,
    /// Byte ranges of the file, in ascending order.
    pub(super) sections: Vec<Range<usize>>,
    /// Data stream of the same provider before its clock changed.
    pub(super) previous: Option<usize>,
    /// First and last time, in ticks.
    pub(super) times: Option<(u64, u64)>,
    /// `true` if times never go back.
    pub(super) is_ordered: bool,
    last: u64,
}

/// RecordNames of processes and threads by their ids.
pub(super) type ObjectNames = HashMap<u64, Arc<str>>;

/// Index of a file.
#[derive(Debug, Default)]
pub(super) struct FileIndex {
    pub(super) streams: Vec<StreamIndex>,
    pub(super) names: Arc<ObjectNames>,
    /// `true` if the file has modules or their places in memory.
    pub(super) has_modules: bool,
    /// Problems that are not those of a single record: their byte offset and description.
    pub(super) problems: Vec<(u64, String)>,
    sections: u64,
}

/// State of reading the file.
struct FileScan<'a> {
    bytes: &'a [u8],
    index: FileIndex,
    /// Latest data stream of each provider.
    by_provider: HashMap<Option<u32>, usize>,
    /// Tables by provider.
    tables: HashMap<Option<u32>, Tables>,
    provider: Option<u32>,
    most_sections: u64,
    names: ObjectNames,
    /// Providers beyond the limit: their records are skipped.
    has_too_many: bool,
}

impl FileIndex {
    /// Reads a file.
    pub(super) fn read(bytes: &[u8], limits: &Limits) -> Self {
        let mut scan = FileScan {
            bytes,
            index: Self::default(),
            by_provider: HashMap::new(),
            tables: HashMap::new(),
            provider: None,
            most_sections: limits.packets.min(MOST_SECTIONS),
            names: ObjectNames::new(),
            has_too_many: false,
        };
        let mut records = Records::new(bytes);
        loop {
            let begin = records.offset();
            let Some(record) = records.next() else { break };
            match record {
                Ok(record) => scan.record(&record, begin..records.offset()),
                // Belongs to the section around it, whose cursor reports it.
                Err(_) => scan.add(scan.provider, begin..records.offset()),
            }
            if scan.index.sections > scan.most_sections {
                let problem = format!("the file has more than {} sections, the limit", scan.most_sections);
                scan.index.problems.push((begin as u64, problem));
                break;
            }
        }
        scan.index.names = Arc::new(scan.names);
        scan.index
    }
}

/// Number of no data stream.
const NO_STREAM: usize = usize::MAX;

impl FileScan<'_> {
    /// Returns the data stream of a provider, or `None` if there are too many.
    fn stream(&mut self, provider: Option<u32>, at: usize) -> Option<&mut StreamIndex> {
        let number = match self.by_provider.get(&provider) {
            Some(number) => *number,
            None => self.new_stream(provider, NANOSECONDS, None, at)?,
        };
        self.index.streams.get_mut(number)
    }

    fn new_stream(
        &mut self,
        provider: Option<u32>,
        clock: Initialization,
        previous: Option<usize>,
        at: usize,
    ) -> Option<usize> {
        let streams = &mut self.index.streams;
        if streams.len() >= MOST_STREAMS {
            if !std::mem::replace(&mut self.has_too_many, true) {
                let problem = format!(
                    "more than {MOST_STREAMS} providers and changes of their clocks, the limit: further ones are skipped"
                );
                self.index.problems.push((at as u64, problem));
            }
            return None;
        }
        let name = previous.and_then(|previous| streams.get(previous)?.name.clone());
        streams.push(StreamIndex {
            provider,
            name,
            clock,
            sections: Vec::new(),
            previous,
            times: None,
            is_ordered: true,
            last: 0,
        });
        self.by_provider.insert(provider, streams.len() - 1);
        Some(streams.len() - 1)
    }

    /// Adds the bytes of a record, or of damage, to the data stream of a provider.
    fn add(&mut self, provider: Option<u32>, range: Range<usize>) {
        let Some(stream) = self.stream(provider, range.start) else { return };
        match stream.sections.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => {
                stream.sections.push(range);
                self.index.sections += 1;
            }
        }
    }

    fn record(&mut self, located: &Located<'_>, range: Range<usize>) {
        let mut provider = self.provider;
        match &located.record {
            // Without a provider, there is nothing yet.
            Record::Metadata(MetadataRecord::Magic) if provider.is_none() => return,
            Record::Metadata(MetadataRecord::ProviderInfo { provider: id, name }) => {
                self.provider = Some(*id);
                provider = self.provider;
                let name = String::from_utf8_lossy(name).into_owned();
                if let Some(stream) = self.stream(provider, range.start) {
                    stream.name.get_or_insert(name);
                }
            }
            Record::Metadata(MetadataRecord::ProviderSection { provider: id }) => {
                self.provider = Some(*id);
                provider = self.provider;
            }
            // Belongs to its provider, wherever it is.
            Record::Metadata(MetadataRecord::ProviderEvent { provider: id, .. }) => provider = Some(*id),
            Record::Initialization(clock) => self.clock(*clock, range.start),
            Record::String(record) => self.string(record, range.start),
            Record::KernelObject(object) => self.object(object),
            Record::Profiler(Profiler::Module(_) | Profiler::Mapping(_)) => self.index.has_modules = true,
            _ => {}
        }
        self.add(provider, range.clone());
        if let Some(ticks) = ticks_of(&located.record)
            && let Some(stream) = self.stream(provider, range.start)
        {
            let (first, last) = stream.times.unwrap_or((ticks, ticks));
            stream.times = Some((first.min(ticks), last.max(ticks)));
            stream.is_ordered &= stream.last <= ticks;
            stream.last = ticks;
        }
    }

    /// Registers a string of the provider; providers beyond the limit have no tables.
    fn string(&mut self, record: &StringRecord<'_>, at: usize) {
        if self.stream(self.provider, at).is_some() {
            self.tables.entry(self.provider).or_default().add_string(record, at);
        }
    }

    /// Sets the clock of the provider. If it has events already, those that follow are another data stream.
    fn clock(&mut self, clock: Initialization, at: usize) {
        // A clock that stands still is reported by the cursor.
        if clock.ticks_per_second == 0 {
            return;
        }
        let provider = self.provider;
        let Some(stream) = self.stream(provider, at) else { return };
        if stream.times.is_none() {
            stream.clock = clock;
        } else if stream.clock != clock {
            let previous = self.by_provider.get(&provider).copied();
            if self.new_stream(provider, clock, previous, at).is_none() {
                // With the clock of before, its times would be wrong.
                self.by_provider.insert(provider, NO_STREAM);
            }
        }
    }

    /// Notes the name of a process or a thread; of several, the longest.
    fn object(&mut self, object: &KernelObject<'_>) {
        if !matches!(object.kind, PROCESS | THREAD) {
            return;
        }
        let Some(tables) = self.tables.get(&self.provider) else { return self.name(object, None) };
        let name = tables.string(object.name, self.bytes);
        let name = name.map(|name| String::from_utf8_lossy(name).into_owned());
        self.name(object, name);
    }

    fn name(&mut self, object: &KernelObject<'_>, name: Option<String>) {
        let name = name.or_else(|| match object.name {
            crate::fxt::StringRef::Inline(name) => Some(String::from_utf8_lossy(name).into_owned()),
            crate::fxt::StringRef::Index(_) => None,
        });
        let Some(mut name) = name.filter(|name| !name.is_empty()) else { return };
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

/// Returns the time of a record in ticks, if it has one.
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

/// Returns the remedy for a broken rule.
pub(super) fn remedy(rule: Rule) -> &'static str {
    match rule {
        Rule::StringIndex | Rule::ThreadIndex => {
            "the record that registers it is missing: the buffer of the tracer was too small, or the file is only a part \
             of the trace"
        }
        Rule::TicksPerSecond => {
            "the clock before is used; the program that wrote the record should be corrected"
        }
        rule if rule.is_fatal() => {
            "the program that wrote the record is faulty, or bytes were changed or are missing: get the file again from \
             where it was recorded"
        }
        _ => "it is read as if the rule were kept; the program that wrote it should be corrected",
    }
}
