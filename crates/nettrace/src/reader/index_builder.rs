//! Builds a file index in one pass over the blocks.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use ichnos_io::Bytes;
use ichnos_model::memory::Budget;
use ichnos_model::trace::Limits;

use super::block_audit::find_damage;
use super::index::{Barrier, EventBlockHeader, MetadataAt, NettraceIndex, content, release};
use super::nettrace_options::NettraceOptions;
use super::override_reader;
use super::overrides::Overrides;
use super::tables::LabelTable;
use crate::{
    Block, BlockKind, Container, EventMetadata, EventRows, Fault, FileItem, PointHead, Refusal, RowEncoding,
    Rule, TraceBlock, Version, recognize,
};

/// Maximum number of metadata rows. Each row's event kind is kept in memory, and looked up for each event.
const MOST_ROWS: usize = 1 << 18;

/// Minimum distance between barriers in bytes. Limits the number of barriers.
const BETWEEN_BARRIERS: u64 = 64 << 10;

/// Ticks per second of a nanosecond clock.
const NANOSECONDS: u64 = 1_000_000_000;

impl NettraceIndex {
    /// Creates an empty index.
    fn new(version: Version) -> Self {
        Self {
            version,
            trace: TraceBlock::default(),
            missing: 0,
            classes: Vec::new(),
            metadata: Vec::new(),
            overridden: HashMap::default(),
            barriers: Vec::new(),
            times: None,
            blocks: 0,
            is_complete: false,
            is_trace_assumed: false,
            metadata_faults: Vec::new(),
            faults: Vec::new(),
            fault_count: 0,
        }
    }

    /// Reads a file's blocks. `first` is at the first block.
    pub(crate) fn read(bytes: &Bytes, first: &Container, options: &NettraceOptions) -> Result<Self, Refusal> {
        let (short, limits) = (Refusal::Short(bytes.len() as u64), &options.limits);
        let mut container = first.clone();
        let version = container.version();
        let mut index = Self { missing: container.missing(), ..Self::new(version) };
        let mut rows = MetadataRows::new(limits);
        let mut has_trace = false;
        let mut last_point = 0;
        loop {
            match container.next(bytes, 0, true) {
                FileItem::Block(block) => {
                    index.blocks += 1;
                    release(bytes, &block);
                    if block.kind == BlockKind::Trace && !has_trace {
                        has_trace = true;
                        let trace = TraceBlock::read(content(bytes, &block), version);
                        match trace.filter(|_| block.is_whole || matches!(version, Version::V6(_))) {
                            Some(trace) => index.trace = trace,
                            None => return Err(short),
                        }
                    } else {
                        index.add(bytes, &block, &mut rows);
                        index.check_block(content(bytes, &block), &block, &mut last_point);
                    }
                }
                FileItem::Fault(fault) => {
                    index.fault_count += 1;
                    if index.faults.len() < limits.diagnostics {
                        index.faults.push(fault);
                    }
                }
                FileItem::End | FileItem::More => break,
            }
        }
        if !has_trace && container.is_rest() {
            index.assume_trace(options);
        } else if !has_trace {
            let found = "another block".to_owned();
            return Err(if index.blocks == 0 { short } else { Refusal::NoTrace { offset: 20, found } });
        }
        index.is_complete = container.is_complete();
        index.check_end(bytes, &container);
        if rows.have_overrides {
            index.add_overridden(bytes, first, &mut rows);
        }
        if has_trace {
            index.check_trace();
        }
        Ok(index)
    }

    /// Creates an index for a stream that is still arriving.
    pub(super) fn begin(version: Version, trace: TraceBlock) -> Self {
        let mut index = Self { trace, ..Self::new(version) };
        index.check_trace();
        index
    }

    /// Reads the blocks that have arrived, which all start at `container`. The index keeps only what later events need.
    pub(super) fn extend(
        &mut self,
        bytes: &Bytes,
        container: &mut Container,
        is_all: bool,
        rows: &mut MetadataRows,
    ) {
        let mut last_point = 0;
        loop {
            match container.next(bytes, 0, is_all) {
                FileItem::Block(block) => {
                    self.add(bytes, &block, rows);
                    self.check_block(content(bytes, &block), &block, &mut last_point);
                }
                // It is found again when events are read.
                FileItem::Fault(_) => {}
                FileItem::End | FileItem::More => break,
            }
        }
        self.is_complete = container.is_complete();
        self.barriers.clear();
    }

    /// Checks the order of sequence points, and that event blocks contain events.
    fn check_block(&mut self, content: &[u8], block: &Block, last_point: &mut u64) {
        match block.kind {
            BlockKind::SequencePoint => {
                let Some(PointHead { timestamp, .. }) = PointHead::read(content, self.version) else {
                    return;
                };
                if timestamp < *last_point {
                    let statement = format!("expected a time of {last_point} or later, found {timestamp}");
                    self.record(Fault::new(Rule::SequencePointOrder, block.begin, statement));
                }
                *last_point = (*last_point).max(timestamp);
            }
            BlockKind::Event if block.is_whole => {
                let rows = match self.version {
                    Version::V3 => 0,
                    _ => EventBlockHeader::read(content).map_or(0, |header| header.rows),
                };
                if rows == content.len() {
                    self.record(Fault::new(Rule::EmptyBlock, block.begin, "expected events, found none"));
                }
            }
            _ => {}
        }
    }

    /// Checks that nothing follows the end mark.
    fn check_end(&mut self, bytes: &[u8], container: &Container) {
        let end = container.position();
        let rest = usize::try_from(end).ok().and_then(|end| bytes.get(end..)).unwrap_or_default();
        if !self.is_complete || rest.is_empty() {
            return;
        }
        let is_recording = recognize(rest);
        let found = match is_recording {
            true => "another recording (not read)".to_owned(),
            false if rest.iter().all(|byte| *byte == 0) => format!("{} zeros", rest.len()),
            false => format!("{} bytes (not read)", rest.len()),
        };
        let statement = format!("expected the end of the file after the end mark, found {found}");
        let fault = Fault::new(Rule::AfterEnd, end, statement).skipping(rest.len() as u64);
        self.metadata_faults.push(fault);
    }

    /// Sets the properties of a trace if its trace block is missing.
    fn assume_trace(&mut self, options: &NettraceOptions) {
        let NettraceOptions { frequency, pointer_size, .. } = *options;
        self.is_trace_assumed = true;
        self.trace.frequency = frequency.unwrap_or(NANOSECONDS);
        self.trace.pointer_size = pointer_size.unwrap_or(8);
        let origin = |option: bool| if option { "given" } else { "assumed" };
        let statement = format!(
            "expected a trace block, found none: the date is unknown, the clock has {} ticks per second \
            ({}), addresses have {} bytes ({})",
            self.trace.frequency,
            origin(frequency.is_some()),
            self.trace.pointer_size,
            origin(pointer_size.is_some()),
        );
        self.metadata_faults.push(Fault::new(Rule::TraceBlock, 0, statement));
    }

    fn check_trace(&mut self) {
        let trace = &mut self.trace;
        if trace.frequency == 0 || trace.frequency > i64::MAX as u64 {
            let statement =
                format!("expected the number of ticks per second, found {}", trace.frequency as i64);
            trace.frequency = NANOSECONDS;
            self.metadata_faults.push(Fault::new(Rule::TraceBlock, 0, statement));
        }
        if !matches!(self.trace.pointer_size, 4 | 8) {
            let statement =
                format!("expected a pointer size of 4 or 8 bytes, found {}", self.trace.pointer_size);
            self.trace.pointer_size = 8;
            self.metadata_faults.push(Fault::new(Rule::TraceBlock, 0, statement));
        }
        if !self.trace.sync_time.is_valid() {
            let statement = format!("expected a valid date, found {}", self.trace.sync_time);
            self.metadata_faults.push(Fault::new(Rule::TraceBlock, 0, statement));
        }
    }

    fn add(&mut self, bytes: &[u8], block: &Block, rows: &mut MetadataRows) {
        let content = content(bytes, block);
        match (block.kind, self.version) {
            (BlockKind::Event, Version::V3) => {
                let mut events =
                    EventRows::new(RowEncoding::V3, 0..content.len(), block.content.start + self.missing);
                while let Some(row) = events.next(content) {
                    if row.metadata_id == 0 {
                        // Rows are within the content.
                        let payload = content.get(row.payload.clone()).unwrap_or_default();
                        let offset = block.content.start + row.payload.start as u64;
                        self.add_row(offset, payload, rows);
                    } else {
                        self.add_times((row.timestamp, row.timestamp));
                    }
                }
            }
            (BlockKind::Event, _) => {
                if let Some(header) = EventBlockHeader::read(content) {
                    self.add_times(header.times);
                }
            }
            (BlockKind::Metadata, Version::V6(_)) => {
                let begin = block.content.start;
                let rest = EventMetadata::read_block_v6(content, |at, metadata| {
                    self.add_metadata(begin + at as u64, metadata, rows);
                });
                if let Some(at) = rest.filter(|_| block.is_whole) {
                    self.metadata_fault(
                        begin + at as u64,
                        "expected a metadata row, found an incomplete row",
                    );
                }
            }
            (BlockKind::Metadata, _) => self.add_metadata_block(bytes, block, rows),
            (BlockKind::SequencePoint, version) => {
                if let Some(point) = PointHead::read(content, version) {
                    self.add_times((point.timestamp, point.timestamp));
                    if point.flushes_metadata {
                        rows.live.clear();
                    }
                    if self.barriers.last().is_none_or(|last| block.begin - last.offset >= BETWEEN_BARRIERS) {
                        self.barriers.push(Barrier { offset: block.begin, timestamp: point.timestamp });
                    }
                }
            }
            (BlockKind::LabelList, _) if !rows.have_overrides => {
                rows.have_overrides = LabelTable::has_overrides(content);
            }
            _ => {}
        }
    }

    /// Adds the rows of a metadata block up to version 5.
    fn add_metadata_block(&mut self, bytes: &[u8], block: &Block, rows: &mut MetadataRows) {
        let Some(header) = EventBlockHeader::read(content(bytes, block)) else {
            if block.is_whole {
                self.metadata_fault(block.content.start, "expected the header of a metadata block");
            }
            return;
        };
        let encoding = RowEncoding::new(self.version, header.flags);
        let range = block.content.start as usize + header.rows..block.content.end as usize;
        let mut events = EventRows::new(encoding, range.clone(), 0);
        if let Some(position) = find_damage(bytes, events.clone(), None, |id| id == 0) {
            events.end_at(position);
        }
        while let Some(row) = events.next(bytes) {
            // Rows are within the block.
            let payload = bytes.get(row.payload.clone()).unwrap_or_default();
            self.add_row(row.payload.start as u64, payload, rows);
        }
        if events.position() < range.end && block.is_whole {
            let statement = "expected a metadata row, found an incomplete row";
            self.metadata_fault(events.position() as u64, statement);
        }
    }

    /// Adds the event classes with labels that override metadata. `container` is at the first block.
    fn add_overridden(&mut self, bytes: &Bytes, container: &Container, rows: &mut MetadataRows) {
        let found = override_reader::find(bytes, container, self);
        self.add_pairs(found, rows);
    }

    /// Adds event classes with labels that override metadata, unless they are known. `is_full` means that there are more.
    pub(super) fn add_pairs(
        &mut self,
        (pairs, is_full): (Vec<(u32, Overrides)>, bool),
        rows: &mut MetadataRows,
    ) {
        if is_full {
            let statement = "too many different labels override metadata: some are ignored";
            self.record(Fault::new(Rule::MetadataRow, 0, statement));
        }
        let mut is_refused = false;
        for (class, labels) in pairs {
            if self.overridden.contains_key(&(class, labels)) {
                continue;
            }
            let Some(metadata) = self.classes.get(class as usize) else { continue };
            match rows.find_or_add(labels.apply(metadata), &mut self.classes) {
                Some(overridden) => drop(self.overridden.insert((class, labels), overridden)),
                // Already reported.
                None if is_refused => {}
                None => {
                    is_refused = true;
                    let consequence = "some labels do not override metadata";
                    let statement = rows.refusal(self.classes.len(), consequence);
                    self.record(Fault::new(Rule::MetadataRow, 0, statement));
                }
            }
        }
    }

    fn metadata_fault(&mut self, offset: u64, statement: &str) {
        self.record(Fault::new(Rule::MetadataRow, offset, statement));
    }

    fn record(&mut self, fault: Fault) {
        if self.metadata_faults.len() < 100 {
            self.metadata_faults.push(fault);
        }
    }

    fn add_times(&mut self, (begin, end): (u64, u64)) {
        // Blocks without events lack times.
        if begin == 0 || begin > end {
            return;
        }
        self.times = Some(match self.times {
            Some((first, last)) => (first.min(begin), last.max(end)),
            None => (begin, end),
        });
    }

    /// Adds a metadata row up to version 5.
    fn add_row(&mut self, offset: u64, payload: &[u8], rows: &mut MetadataRows) {
        let (metadata, broken) = EventMetadata::read_tagged(payload).unzip();
        if let Some(statement) = broken.flatten() {
            self.record(Fault::new(Rule::MetadataTag, offset, statement));
        }
        self.add_metadata(offset, metadata, rows);
    }

    fn add_metadata(&mut self, offset: u64, metadata: Option<EventMetadata>, rows: &mut MetadataRows) {
        let Some(metadata) = metadata else {
            return self.metadata_fault(offset, "the metadata row is incomplete");
        };
        if metadata.has_unknown_fields {
            let statement = format!(
                "unknown description of the fields of `{}/{}`: its payload is shown as bytes",
                metadata.provider, metadata.name
            );
            self.metadata_fault(offset, &statement);
        }
        let id = metadata.id;
        if self.metadata.len() >= MOST_ROWS {
            return self.metadata_fault(
                offset,
                "there are too many metadata rows: events of this row are shown as bytes",
            );
        }
        match rows.find_or_add(metadata, &mut self.classes) {
            Some(class) => {
                self.metadata.push(MetadataAt { offset, id, class });
                if rows.live.insert(id, class).is_some_and(|before| before != class) {
                    let statement = format!("the metadata id {id} is redefined with other contents");
                    self.record(Fault::new(Rule::MetadataIdOnce, offset, statement));
                }
            }
            None => {
                let statement = rows.refusal(self.classes.len(), "events of this kind are shown as bytes");
                self.metadata_fault(offset, &statement);
            }
        }
    }
}

/// Known event kinds.
pub(super) struct MetadataRows {
    /// Maximum number of event kinds.
    most: u64,
    /// Memory budget for the classes derived from event kinds.
    memory: Budget,
    /// Event kinds by hash.
    kinds: hashbrown::HashMap<u64, Vec<u32>, RandomState>,
    hasher: RandomState,
    /// Current event kind of each id.
    live: hashbrown::HashMap<u32, u32, RandomState>,
    /// `true` if there are labels that override metadata.
    have_overrides: bool,
}

impl MetadataRows {
    /// Starts without event kinds.
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            most: limits.event_record_classes,
            memory: Budget::new(limits.few_description_bytes.min(limits.description_bytes)),
            kinds: Default::default(),
            hasher: RandomState::new(),
            live: Default::default(),
            have_overrides: false,
        }
    }

    /// Returns the reason for rejecting another event kind. `consequence` tells what happens to its events.
    fn refusal(&self, kinds: usize, consequence: &str) -> String {
        let limit = self.most;
        if kinds as u64 >= limit {
            return format!("there are more event kinds than the limit of {limit}: {consequence}");
        }
        let most = self.memory.most();
        format!("the event descriptions take more memory than the limit of {most} bytes: {consequence}")
    }

    /// Returns an event kind's index, or `None` above the limit.
    fn find_or_add(&mut self, mut metadata: EventMetadata, classes: &mut Vec<EventMetadata>) -> Option<u32> {
        // The same event may have several ids.
        metadata.id = 0;
        let hash = self.hasher.hash_one(&metadata);
        let mut known = self.kinds.get(&hash).into_iter().flatten();
        let same = known.find(|index| classes.get(**index as usize) == Some(&metadata));
        if let Some(index) = same {
            return Some(*index);
        }
        if classes.len() as u64 >= self.most || !self.memory.take(metadata.memory()) {
            return None;
        }
        let index = classes.len() as u32;
        self.kinds.entry(hash).or_default().push(index);
        classes.push(metadata);
        Some(index)
    }
}
