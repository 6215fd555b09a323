//! Encodes messages as blocks.

mod segments;

use std::io;
use std::sync::Arc;

use ichnos_io::{CreateError, OutputBlock, RecordSorter, SortedRecords, Worker, WorkerFlow};
use ichnos_model::lower::{LossEntry, LossKind};
use ichnos_model::{ClassDigest, DataStream, Event, Message, Packet};

use super::clock::Ticks;
use super::copied_file::{FileCopy, check_copied};
use super::dialect::Dialect;
use super::file_writer::FileWriter;
use super::foreign::{self, ForeignClass, WrittenFile};
use super::own::{self, OwnClass};
use super::payload::PayloadWriter;
use super::row_encoder::{RowEncoder, RowHeader};
use super::rules::{TraceRules, event_hash};
use super::rundown;
use super::segment_rules::SegmentCopier;
use super::stored_event::{EventStack, StoredMessage, load, store_loss};
use super::tables::{SequenceNumbers, WrittenLabels, WrittenStacks, WrittenThreads};
use super::written_event::{WrittenEvent, metadata_hash};
use crate::reader::trace_file::TraceFile;
use crate::wire_writer::push_u16;
use crate::{BlockKind, EventMetadata};

/// Size of the rows of a block in bytes: that of the runtime's blocks.
const ROWS: usize = 100 << 10;

/// Maximum size in bytes of the names of a provider and of an event whose description is too long.
const LONGEST_NAME: usize = 1_000;

/// Distance of sequence points in bytes of rows.
const BETWEEN_POINTS: usize = 1 << 20;

/// Maximum size of a block in bytes, and the room that is kept free in it: readers refuse longer blocks of versions 4 and
/// 5, and those of version 6 have less than 16 MiB.
const MOST_BLOCK: usize = 64 << 20;
const MOST_BLOCK_V6: usize = 16 << 20;
const FREE: usize = 1 << 16;

/// Size of metadata, threads, labels or stacks in bytes after which their block is written.
const MOST_ROWS: usize = 4 << 20;

/// Maximum size of the pieces in bytes in which a file is copied.
const MOST_PIECE: usize = 1 << 20;

/// Maximum size of the sequence points for losses: in bytes, and as a multiple of the size of the rest of the file.
const MOST_POINTS: u64 = 16 << 20;
const POINT_SHARE: u64 = 4;

/// Maximum size of sequence points, as a part of the rows between them.
const POINTS: usize = 16;

/// Treatment of a class of events.
#[derive(Debug)]
enum ClassTreatment {
    Own(OwnClass),
    Foreign(Box<ForeignClass>),
}

impl ClassTreatment {
    /// Returns `true` if the names of the functions in stacks are written at the end of the file.
    fn needs_names(&self) -> bool {
        match self {
            Self::Own(own) => own.needs_names,
            Self::Foreign(_) => true,
        }
    }

    /// Returns `true` if the process of events does not become a field of version 4.
    fn lacks_process_field(&self) -> bool {
        match self {
            Self::Own(_) => true,
            Self::Foreign(foreign) => foreign.takes_process,
        }
    }

    /// Returns `true` if the payload of an event is read as its metadata describe it.
    fn is_described(&self, event: &Event<'_>, payload: &[u8]) -> bool {
        match self {
            Self::Own(_) => !event.class.is_undescribed,
            Self::Foreign(foreign) => !foreign.is_raw || payload.is_empty(),
        }
    }
}

/// Kinds of losses that are counted by class.
const LOSSES: [(LossKind, &str); 14] = [
    (LossKind::Rounded, "no time: that of the event before, or 0"),
    (LossKind::Rounded, "time before the first tick, or of more than 64 bits"),
    (LossKind::Dropped, "fields of a scope that cannot be decoded"),
    (LossKind::Dropped, "event: its payload is too long for a block"),
    (LossKind::Dropped, "thread, as it is a text or negative"),
    (LossKind::Dropped, "process, thread name or labels: version 6 has them"),
    (LossKind::Dropped, "elements of an array or a BLOB after the first 65,535"),
    (LossKind::Rounded, "text that is not valid: U+FFFD"),
    (LossKind::Rounded, "number of more bits than its type"),
    (LossKind::Dropped, "text after U+0000"),
    (LossKind::Dropped, "event: its context cannot be decoded"),
    (LossKind::Dropped, "bytes of the payload after its last field"),
    (LossKind::Dropped, "processor, as it is a text, negative or of more than 32 bits"),
    (LossKind::Dropped, "process, as it is negative"),
];

/// Loss of an unknown number of events of a thread.
const UNKNOWN_LOSS: &str = "loss of an unknown number of events";

/// Indexes of [`LOSSES`].
mod lost {
    pub(super) const TIME: usize = 0;
    pub(super) const RANGE: usize = 1;
    pub(super) const FIELDS: usize = 2;
    pub(super) const PAYLOAD: usize = 3;
    pub(super) const THREAD: usize = 4;
    pub(super) const VERSION: usize = 5;
    pub(super) const ELEMENTS: usize = 6;
    pub(super) const TEXTS: usize = 7;
    pub(super) const NUMBERS: usize = 8;
    pub(super) const ENDS: usize = 9;
    pub(super) const EVENT: usize = 10;
    pub(super) const REST: usize = 11;
    pub(super) const PROCESSOR: usize = 12;
    pub(super) const PROCESS: usize = 13;
}

/// A class of events, and the losses of its events.
#[derive(Debug)]
struct WrittenClass {
    name: String,
    treatment: ClassTreatment,
    /// Ids and hashes of its metadata, by the level of those that replace it.
    ids: Vec<(Option<u8>, u32, u64)>,
    losses: [u64; LOSSES.len()],
}

impl WrittenClass {
    /// Reads the parts of an event, and the payload of one of another format. Returns its level if that is a field; or
    /// `None` if the event cannot be decoded.
    #[inline(always)]
    fn read(
        &mut self,
        event: &Event<'_>,
        ticks: u64,
        parts: &mut WrittenEvent,
        payload: &mut PayloadWriter,
    ) -> Option<Option<u8>> {
        let foreign = match &self.treatment {
            ClassTreatment::Own(_) => return own::read(event, ticks, parts).then_some(None),
            ClassTreatment::Foreign(foreign) => foreign,
        };
        let lost = foreign::read(event, foreign, ticks, parts, payload);
        self.losses[lost::THREAD] += u64::from(lost.has_other_thread);
        self.losses[lost::PROCESSOR] += u64::from(lost.has_other_processor);
        self.losses[lost::PROCESS] += u64::from(lost.has_other_process);
        self.losses[lost::FIELDS] += u64::from(lost.is_undecodable);
        self.losses[lost::ELEMENTS] += payload.losses.cut;
        self.losses[lost::TEXTS] += payload.losses.texts;
        self.losses[lost::NUMBERS] += payload.losses.rounded;
        self.losses[lost::ENDS] += payload.losses.ends;
        Some(foreign.level(event))
    }

    /// Returns the metadata of events with a level.
    fn metadata(&self, level: Option<u8>) -> EventMetadata {
        match &self.treatment {
            ClassTreatment::Own(own) => own.metadata.clone(),
            ClassTreatment::Foreign(foreign) => {
                let own = foreign.metadata();
                EventMetadata { level: level.or(own.level), ..own.clone() }
            }
        }
    }
}

/// A data stream.
#[derive(Clone, Copy, Debug)]
struct WrittenStream {
    ticks: Ticks,
    /// Index of the classes of its data stream class.
    classes: usize,
    /// Indexes of its source and in the data streams of that.
    source: Option<(usize, usize)>,
}

/// Classes of events of a data stream class.
#[derive(Debug)]
struct WrittenClasses {
    /// Address of the trace, and index of the data stream class.
    of: (usize, usize),
    classes: Vec<Option<Box<WrittenClass>>>,
}

/// Blocks that are being filled.
#[derive(Debug)]
struct Blocks {
    events: RowEncoder,
    /// Rows of metadata that were not written yet: up to version 5 with headers, else as they are.
    metadata: RowEncoder,
    metadata_v6: Vec<u8>,
    threads: WrittenThreads,
    labels: WrittenLabels,
    stacks: WrittenStacks,
    sequences: SequenceNumbers,
    /// Size of the rows since the last sequence point in bytes.
    since_point: usize,
    /// Time in ticks of the last mark or sequence point: no later event may be earlier.
    promised: u64,
}

/// Encodes messages as a file.
#[derive(Debug)]
pub(super) struct TraceEncoder {
    rules: Arc<TraceRules>,
    /// Copy that replaces encoding.
    copy: Option<FileCopy>,
    /// Copies segments, if the only source has some that can be copied.
    copier: Option<SegmentCopier>,
    is_v6: bool,
    file: FileWriter,
    blocks: Blocks,
    /// By the key of the data stream.
    streams: Vec<Option<WrittenStream>>,
    classes: Vec<WrittenClasses>,
    next_metadata: u32,
    next_event: u32,
    parts: WrittenEvent,
    payload: PayloadWriter,
    scratch: Vec<u8>,
    /// Time of the last event in ticks.
    last: u64,
    events: u64,
    digest: ClassDigest,
    is_flushed: bool,
    /// Sorts messages, if they come in any order.
    sorter: Option<RecordSorter>,
    /// Sorted messages whose rows are not written yet.
    sorted: Option<SortedRecords>,
}

impl TraceEncoder {
    pub(super) fn new(rules: Arc<TraceRules>) -> Self {
        let is_v6 = rules.dialect.is_v6();
        let blocks = Blocks {
            events: RowEncoder::new(is_v6),
            metadata: RowEncoder::new(is_v6),
            metadata_v6: Vec::new(),
            threads: WrittenThreads::default(),
            labels: WrittenLabels::default(),
            stacks: WrittenStacks::new(rules.pointer_size()),
            sequences: SequenceNumbers::default(),
            since_point: 0,
            promised: 0,
        };
        let copier = rules.segments.and_then(|segments| SegmentCopier::new(rules.file()?, segments));
        let next_metadata = copier.as_ref().map_or(1, |copier| copier.scanner.free_id());
        Self {
            copy: rules.copied.clone().map(FileCopy::new),
            copier,
            is_v6,
            file: FileWriter::new(rules.dialect),
            blocks,
            streams: Vec::new(),
            classes: Vec::new(),
            next_metadata,
            next_event: 1,
            parts: WrittenEvent::default(),
            payload: PayloadWriter::default(),
            scratch: Vec::new(),
            last: 0,
            events: 0,
            digest: ClassDigest::default(),
            is_flushed: false,
            sorter: rules.sorts.then(|| RecordSorter::new(rules.temp_dir.clone())),
            sorted: None,
            rules,
        }
    }

    /// Returns the number of encoded bytes that were not taken yet.
    pub(super) fn waiting(&self) -> usize {
        self.file.waiting() + self.blocks.events.len()
    }

    /// Returns the digest of written events that are not counted elsewhere.
    pub(super) fn written(&self) -> ClassDigest {
        self.digest
    }

    /// Finishes a part, whose events are counted by [`Self::written`] and nowhere else.
    ///
    /// # Errors
    /// If the messages cannot be sorted.
    pub(super) fn finish_part(&mut self) -> io::Result<()> {
        let Some(sorter) = self.sorter.take() else {
            self.end_file();
            return Ok(());
        };
        self.sorted = Some(sorter.finish()?);
        self.last = 0;
        Ok(())
    }

    /// Writes what follows the last event.
    fn end_file(&mut self) {
        self.write_rundown();
        self.close_blocks();
        self.blocks.write_point(&mut self.file, self.last, self.rules.dialect);
        self.file.end();
        self.name_losses();
        self.is_flushed = true;
    }

    /// Returns the state of a data stream.
    #[inline(always)]
    fn stream(&mut self, stream: &DataStream) -> WrittenStream {
        match self.streams.get(stream.key as usize) {
            Some(Some(known)) => *known,
            _ => self.add_stream(stream),
        }
    }

    #[cold]
    fn add_stream(&mut self, stream: &DataStream) -> WrittenStream {
        let of = (Arc::as_ptr(&stream.trace).addr(), stream.class_index);
        let known = self.classes.iter().position(|classes| classes.of == of);
        let classes = known.unwrap_or_else(|| {
            self.classes.push(WrittenClasses { of, classes: Vec::new() });
            self.classes.len() - 1
        });
        let source = self.rules.place(stream.key);
        let written = WrittenStream { ticks: self.rules.clock.ticks(stream), classes, source };
        let key = stream.key as usize;
        if self.streams.len() <= key {
            self.streams.resize(key + 1, None);
        }
        if let Some(place) = self.streams.get_mut(key) {
            *place = Some(written);
        }
        written
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        let stream = self.stream(event.stream);
        let Some(index) = event.class_index() else {
            self.rules.lose(LossKind::Dropped, "", "event of an unknown class");
            return Ok(());
        };
        let place = self.classes.get_mut(stream.classes).and_then(|all| all.classes.get_mut(index));
        let class = place.and_then(Option::take);
        let mut class = class.unwrap_or_else(|| Box::new(self.written_class(event)));
        let written = self.write_event(event, &mut class, stream.ticks);
        let Some(all) = self.classes.get_mut(stream.classes) else { return written };
        if all.classes.len() <= index {
            all.classes.resize_with(index + 1, || None);
        }
        if let Some(place) = all.classes.get_mut(index) {
            *place = Some(class);
        }
        written
    }

    #[inline(always)]
    fn write_event(
        &mut self,
        event: &Event<'_>,
        class: &mut WrittenClass,
        conversion: Ticks,
    ) -> io::Result<()> {
        let ticks = self.ticks(event, class, conversion);
        let Some(level) = class.read(event, ticks, &mut self.parts, &mut self.payload) else {
            class.losses[lost::EVENT] += 1;
            return Ok(());
        };
        let is_own = matches!(class.treatment, ClassTreatment::Own(_));
        let is_copied = is_own && !(self.rules.repairs && self.repair_payload(event, class));
        let length = if is_copied { own::payload(event).len() } else { self.payload.bytes.len() };
        let is_v6 = self.is_v6;
        if length > self.most_payload() {
            class.losses[lost::PAYLOAD] += 1;
            return Ok(());
        }
        if self.sorter.is_none() {
            self.blocks.check_order(self.parts.ticks)?;
            self.make_room(length);
        }
        let (id, hash) = self.metadata_id(class, level);
        let payload = if is_copied { own::payload(event) } else { &self.payload.bytes };
        let parts = &self.parts;
        // Only version 6 tells processes apart.
        let process_of_names = parts.process.filter(|_| is_v6);
        if self.rules.names_functions
            && let ClassTreatment::Own(own) = &class.treatment
            && let Some(address) = own.naming.and_then(|naming| naming.address(payload))
        {
            self.blocks.stacks.note_named(process_of_names, address);
        }
        if !is_v6 {
            let has_process = class.treatment.lacks_process_field()
                && parts.process.is_some()
                && parts.process != self.rules.process();
            class.losses[lost::VERSION] += u64::from(has_process || parts.has_more());
        }
        let needs_names = class.treatment.needs_names() || self.rules.names_functions;
        let names = needs_names.then_some((process_of_names, event.nanoseconds()));
        let stack = parts.stack.map(|number| EventStack { number, names });
        if self.rules.is_compared {
            let stacks = &mut self.blocks.stacks;
            let frames = stack.map(|stack| stacks.frames(event.stream, stack.number)).unwrap_or_default();
            let is_described = class.treatment.is_described(event, payload);
            let hash = parts.hash(hash, is_described, payload, frames, is_v6);
            self.digest.add(Some(parts.ticks), hash);
        }
        if let Some(sorter) = &mut self.sorter {
            self.last = parts.ticks;
            self.scratch.clear();
            let stored = StoredMessage::Event { metadata_id: id, stream: event.stream.key, stack, payload };
            stored.store(parts, &mut self.scratch);
            sorter.push(parts.ticks, &self.scratch)?;
            if self.blocks.is_full() {
                // Only metadata wait, and they have no time.
                let last = std::mem::take(&mut self.last);
                self.close_blocks();
                self.last = last;
            }
            return Ok(());
        }
        self.last = self.last.max(parts.ticks);
        let stack = stack.map(|stack| self.blocks.stacks.id(event.stream, stack.number, stack.names));
        self.blocks.push_event(stack, parts, payload, id, is_v6);
        self.events += 1;
        if self.blocks.is_full() {
            self.close_blocks();
        }
        Ok(())
    }

    /// Returns the time of an event in ticks, or the one of the event before if the file cannot have it.
    #[inline(always)]
    fn ticks(&self, event: &Event<'_>, class: &mut WrittenClass, conversion: Ticks) -> u64 {
        let ticks = match event.clock {
            Some(clock) => self.rules.clock.convert(conversion, clock),
            None => {
                class.losses[lost::TIME] += 1;
                Some(self.last)
            }
        };
        class.losses[lost::RANGE] += u64::from(ticks.is_none());
        ticks.unwrap_or(self.last)
    }

    /// Makes the payload of an event that was read from a file of this format valid: without bytes after its last field, and
    /// with valid texts. Returns `false` if it is valid.
    fn repair_payload(&mut self, event: &Event<'_>, class: &mut WrittenClass) -> bool {
        let payload = own::payload(event);
        let file = event.stream.trace.reader_data::<TraceFile>();
        let rest = file.map_or(0, |file| file.bytes_behind(event)).min(payload.len());
        let payload = payload.get(..payload.len() - rest).unwrap_or(payload);
        let has_texts = own::repair_texts(event, payload, &mut self.payload.bytes);
        class.losses[lost::REST] += u64::from(rest > 0);
        class.losses[lost::TEXTS] += u64::from(has_texts);
        if rest > 0 && !has_texts {
            self.payload.bytes.clear();
            self.payload.bytes.extend_from_slice(payload);
        }
        rest > 0 || has_texts
    }

    /// Returns the maximum size of a payload in bytes.
    fn most_payload(&self) -> usize {
        if self.is_v6 { MOST_BLOCK_V6 - FREE } else { MOST_BLOCK - FREE }
    }

    /// Closes the block of events if the next event must be in another one.
    #[inline(always)]
    fn make_room(&mut self, payload: usize) {
        if self.blocks.events.len() + payload > self.most_payload() || self.blocks.sequences.is_needed() {
            self.close_blocks();
        }
    }

    /// Writes the rows of sorted messages until a block is full. At the end, finishes the file.
    fn write_sorted(&mut self) {
        let Some(mut sorted) = self.sorted.take() else { return };
        while self.file.waiting() < self.rules.block_bytes {
            let Some((ticks, record)) = sorted.next() else { return self.end_file() };
            match load(record, &mut self.parts) {
                Some(StoredMessage::Event { metadata_id, stream, stack, payload }) => {
                    self.make_room(payload.len());
                    self.last = ticks;
                    let place = self.streams.get(stream as usize).and_then(|stream| (*stream)?.source);
                    let stream = place.and_then(|place| self.rules.stream(place));
                    let stack = stream
                        .zip(stack)
                        .map(|(stream, stack)| self.blocks.stacks.id(stream, stack.number, stack.names));
                    self.blocks.push_event(stack, &self.parts, payload, metadata_id, self.is_v6);
                    self.events += 1;
                    if self.blocks.is_full() {
                        self.close_blocks();
                    }
                }
                Some(StoredMessage::Loss { thread, count }) => self.discarded(thread, count),
                None => self.rules.lose(LossKind::Dropped, "", "event that was stored in another form"),
            }
        }
        self.sorted = Some(sorted);
    }

    /// Returns the id and the hash of the metadata of events with a level, and writes them if they are new.
    #[inline(always)]
    fn metadata_id(&mut self, class: &mut WrittenClass, level: Option<u8>) -> (u32, u64) {
        match class.ids.iter().find(|(of, _, _)| *of == level) {
            Some((_, id, hash)) => (*id, *hash),
            None => self.add_metadata(class, level),
        }
    }

    #[cold]
    fn add_metadata(&mut self, class: &mut WrittenClass, level: Option<u8>) -> (u32, u64) {
        let metadata = class.metadata(level);
        let of_source = match (&class.treatment, &mut self.copier) {
            // Segments that are copied have the ids of the source.
            (ClassTreatment::Own(own), Some(copier)) => copier.take_id(own.kind),
            _ => None,
        };
        if let Some((id, false)) = of_source {
            let hash = metadata_hash(&metadata);
            class.ids.push((level, id, hash));
            return (id, hash);
        }
        let (id, _) = of_source.unwrap_or((self.next_metadata, true));
        self.next_metadata += u32::from(of_source.is_none());
        let (hash, is_whole) = self.blocks.push_metadata(metadata, id, self.is_v6, &mut self.scratch);
        if !is_whole {
            self.lose_of_class(&class.name, "descriptions of fields: too long for version 6");
        }
        class.ids.push((level, id, hash));
        (id, hash)
    }

    /// Notes a loss of a class.
    fn lose_of_class(&self, class: &str, what: &str) {
        let (class, field, what) = (class.to_owned(), String::new(), what.to_owned());
        let loss = LossEntry { kind: LossKind::Dropped, class, field, what };
        self.rules.with_losses(|table| table.add(loss, 1));
    }

    /// Makes the class of an event.
    #[cold]
    fn written_class(&mut self, event: &Event<'_>) -> WrittenClass {
        let treatment = match OwnClass::of(event, self.is_v6, self.rules.repairs) {
            Some(own) => {
                if own.is_lossy {
                    self.lose_of_class(event.name(), "metadata that the version has no place for");
                }
                ClassTreatment::Own(own)
            }
            None => {
                let id = self.next_event;
                // Tools read ids of 16 bits.
                self.next_event = if id >= u16::MAX.into() { 1 } else { id + 1 };
                let file = WrittenFile { is_v6: self.is_v6, process: self.rules.process() };
                let foreign = self.rules.with_losses(|table| ForeignClass::of(event, id, file, table));
                ClassTreatment::Foreign(Box::new(foreign))
            }
        };
        WrittenClass { name: event.name().to_owned(), treatment, ids: Vec::new(), losses: [0; LOSSES.len()] }
    }

    /// Writes all blocks that are being filled.
    fn close_blocks(&mut self) {
        let Self { blocks, file, is_v6, rules, last, .. } = self;
        if file.is_new() {
            file.begin(&rules.trace_block(*last));
        }
        blocks.write(file, *is_v6);
        // Everything before a sequence point is earlier than everything after it.
        if blocks.is_point_due() {
            blocks.write_point(file, *last, rules.dialect);
        }
    }

    /// Adds missing events of a thread.
    fn discarded(&mut self, thread: Option<u64>, count: Option<u64>) {
        let thread = thread.unwrap_or(0);
        let Blocks { threads, sequences, .. } = &mut self.blocks;
        let known = if self.is_v6 { threads.known(thread) } else { Some(thread) };
        // Losses of very many threads, one after the other, would take as many lists of all threads.
        let needed = sequences.needed_bytes();
        let is_large = needed > MOST_POINTS + POINT_SHARE * (self.file.size().saturating_sub(needed))
            && !known.is_some_and(|thread| sequences.has(thread));
        if is_large && count.is_some() {
            self.rules.lose(LossKind::Dropped, "", "number of discarded events, of very many threads");
        }
        let Some(count) = count.filter(|_| !is_large) else {
            let is_written = match known {
                Some(thread) => sequences.add_unknown(thread),
                None => threads.add_unknown_loss(thread),
            };
            if !is_written {
                self.rules.lose(LossKind::Dropped, "", UNKNOWN_LOSS);
            }
            return;
        };
        let thread = if self.is_v6 { threads.index_of_id(self.rules.process(), thread) } else { thread };
        // More are not counted as missing, but as a number that wraps around.
        let most = u32::try_from(count).unwrap_or(u32::MAX).min(i32::MAX as u32);
        if count != most.into() {
            self.rules.lose(LossKind::Rounded, "", "number of discarded events: 2,147,483,647 at most");
        }
        self.blocks.sequences.add_missing(thread, most);
    }

    /// Moves the losses of all classes to the table.
    fn name_losses(&mut self) {
        let classes = self.classes.iter_mut().flat_map(|all| &mut all.classes);
        for class in classes.flatten() {
            for ((kind, what), count) in LOSSES.into_iter().zip(&mut class.losses) {
                if *count > 0 {
                    let (class, what) = (class.name.clone(), what.to_owned());
                    let loss = LossEntry { kind, class, field: String::new(), what };
                    self.rules.with_losses(|table| table.add(loss, *count));
                }
                *count = 0;
            }
        }
        if self.file.take_refused() > 0 {
            self.rules.lose(LossKind::Dropped, "", "block of 16 MiB or more");
        }
        let Blocks { stacks, labels, threads, sequences, .. } = &mut self.blocks;
        let mut unknown = (threads.take_unknown() + sequences.take_unknown()) as u64;
        let counts = [
            (&mut unknown, "", UNKNOWN_LOSS),
            (&mut stacks.unnamed, "stack", "names of functions beyond the limit"),
            (&mut stacks.ambiguous, "stack", "names of functions at the address of another one"),
            (&mut labels.dropped, "labels", "labels that are too long"),
        ];
        for (count, field, what) in counts {
            if std::mem::take(count) > 0 {
                self.rules.lose(LossKind::Dropped, field, what);
            }
        }
    }

    /// Writes the names of functions, as the runtime does at the end of a session.
    fn write_rundown(&mut self) {
        let functions = self.blocks.stacks.take_functions();
        if functions.is_empty() {
            return;
        }
        let is_v6 = self.is_v6;
        let ids = [false, true].map(|is_module| {
            let id = self.next_metadata;
            self.next_metadata += 1;
            let metadata = rundown::metadata(is_module, is_v6);
            (id, self.blocks.push_metadata(metadata, id, is_v6, &mut self.scratch).0)
        });
        for event in rundown::events(&functions) {
            let (id, hash) = ids[usize::from(event.is_module)];
            self.parts.begin(self.last);
            self.parts.process = event.process;
            self.blocks.push_event(None, &self.parts, &event.payload, id, is_v6);
            if self.rules.is_compared {
                let hash = self.parts.hash(hash, true, &event.payload, &[], is_v6);
                self.digest.add(Some(self.last), hash);
            }
            if self.blocks.is_full() {
                self.close_blocks();
            }
        }
    }
}

impl Blocks {
    /// Checks that an event is not earlier than promised.
    #[inline(always)]
    fn check_order(&self, ticks: u64) -> io::Result<()> {
        match self.promised.checked_sub(ticks) {
            None | Some(0) => Ok(()),
            Some(back) => Err(io::Error::other(CreateError::Unsorted { back })),
        }
    }

    /// Adds a row of metadata. Returns the hash of the metadata as they are read, and `false` if parts that take too much
    /// room were dropped.
    fn push_metadata(
        &mut self,
        mut metadata: EventMetadata,
        id: u32,
        is_v6: bool,
        scratch: &mut Vec<u8>,
    ) -> (u64, bool) {
        if !is_v6 {
            scratch.clear();
            metadata.write(id, scratch);
            self.metadata.push(&RowHeader::default(), scratch);
            return (metadata_hash(&metadata), true);
        }
        if metadata.write_v6(id, &mut self.metadata_v6) {
            return (metadata_hash(&metadata), true);
        }
        metadata.fields.clear();
        if !metadata.write_v6(id, &mut self.metadata_v6) {
            (metadata.message_template, metadata.description) = (None, None);
            metadata.properties.clear();
            for text in [&mut metadata.provider, &mut metadata.name] {
                text.truncate(text.floor_char_boundary(LONGEST_NAME));
            }
            metadata.write_v6(id, &mut self.metadata_v6);
        }
        (metadata_hash(&metadata), false)
    }

    /// Returns `true` if a sequence point is due.
    fn is_point_due(&self) -> bool {
        self.since_point >= BETWEEN_POINTS.max(POINTS * self.sequences.point_size())
            || self.sequences.is_needed()
            || self.labels.is_full()
            || self.threads.is_full()
    }

    /// Adds the row of an event.
    #[inline(always)]
    fn push_event(&mut self, stack: Option<u32>, parts: &WrittenEvent, payload: &[u8], id: u32, is_v6: bool) {
        let (mut thread, mut capture_thread) = (parts.thread, parts.capture_thread.unwrap_or(parts.thread));
        let mut label_list = 0;
        if is_v6 {
            let name = parts.thread_name.as_deref();
            let index = self.threads.index(parts.process, thread, name);
            capture_thread = match parts.capture_thread {
                Some(capture) => self.threads.capture_index(parts.capture_process, capture),
                None => index,
            };
            if self.threads.take_unknown_loss(parts.capture_thread.unwrap_or(parts.thread)) {
                self.sequences.add_unknown(capture_thread);
            }
            thread = index;
            label_list = self.labels.index(parts);
        }
        let row = RowHeader {
            metadata_id: id,
            sequence: self.sequences.next(capture_thread),
            thread,
            capture_thread,
            processor: parts.processor,
            stack_id: stack.unwrap_or(0),
            timestamp: parts.ticks,
            activity: if is_v6 { [0; 16] } else { parts.activity },
            related_activity: if is_v6 { [0; 16] } else { parts.related_activity },
            label_list,
        };
        let before = self.events.len();
        if self.events.push(&row, payload) {
            self.promised = self.promised.max(parts.ticks);
        }
        self.since_point += self.events.len() - before;
    }

    fn is_full(&self) -> bool {
        let others = [
            self.metadata.len(),
            self.metadata_v6.len(),
            self.threads.rows.len(),
            self.labels.waiting(),
            self.stacks.waiting(),
        ];
        self.events.len() >= ROWS
            || self.labels.is_full()
            || self.threads.is_full()
            || others.into_iter().any(|size| size >= MOST_ROWS)
    }

    /// Writes the blocks: those that events need come first.
    fn write(&mut self, file: &mut FileWriter, is_v6: bool) {
        let mut content = Vec::new();
        if !self.metadata.is_empty() {
            self.metadata.finish(&mut content);
            file.block(BlockKind::Metadata, &content);
        }
        if !self.metadata_v6.is_empty() {
            content.clear();
            // The header is empty.
            push_u16(&mut content, 0);
            content.append(&mut self.metadata_v6);
            file.block(BlockKind::Metadata, &content);
        }
        if is_v6 && !self.threads.rows.is_empty() {
            file.block(BlockKind::Thread, &std::mem::take(&mut self.threads.rows));
        }
        if let Some(lists) = self.labels.take() {
            file.block(BlockKind::LabelList, &lists);
        }
        if let Some(stacks) = self.stacks.take() {
            file.block(BlockKind::Stack, &stacks);
        }
        if !self.events.is_empty() {
            content.clear();
            self.events.finish(&mut content);
            file.block(BlockKind::Event, &content);
        }
    }

    /// Writes a sequence point, after which stacks and label lists are written again.
    fn write_point(&mut self, file: &mut FileWriter, time: u64, dialect: Dialect) {
        let flushes_threads = dialect.is_v6() && self.threads.is_full();
        if flushes_threads {
            self.threads.clear();
        }
        self.promised = self.promised.max(time);
        file.block(BlockKind::SequencePoint, &self.sequences.point(time, dialect, flushes_threads));
        self.forget();
    }

    /// Forgets everything that events behind a sequence point cannot refer to.
    fn forget(&mut self) {
        self.since_point = 0;
        self.stacks.clear();
        self.labels.clear();
    }
}

impl TraceEncoder {
    /// Counts an event that is copied.
    #[inline(never)]
    fn compare_copied(&mut self, event: &Event<'_>) {
        if self.rules.is_compared {
            let (ticks, hash) = event_hash(event);
            self.digest.add(ticks, hash);
        }
    }
}

impl Worker for TraceEncoder {
    fn message(&mut self, message: &Message<'_>) -> io::Result<WorkerFlow> {
        if let Some(copy) = &mut self.copy {
            let Message::Event(event) = message else { return Ok(WorkerFlow::Continue) };
            copy.pass(u64::MAX);
            let is_over = copy.is_over();
            self.events += 1;
            self.compare_copied(event);
            return Ok(if is_over { WorkerFlow::Continue } else { WorkerFlow::Block });
        }
        match message {
            Message::Event(event) => self.event(event)?,
            Message::DiscardedEvents(discarded) => match &mut self.sorter {
                Some(sorter) => {
                    self.scratch.clear();
                    store_loss(discarded, &mut self.scratch);
                    sorter.push(self.last, &self.scratch)?;
                }
                None => self.discarded(discarded.thread, discarded.count),
            },
            Message::DiscardedPackets(_) => self.rules.lose(LossKind::Dropped, "", "loss of packets"),
            Message::Damage(damage) => {
                self.rules.lose(LossKind::Dropped, "", &format!("damaged data: {}", damage.kind));
            }
            _ => {}
        }
        let is_full = self.file.waiting() >= self.rules.block_bytes;
        Ok(if is_full { WorkerFlow::Block } else { WorkerFlow::Continue })
    }

    fn copy_packet(&mut self, packet: &Packet<'_>) -> io::Result<bool> {
        Ok(self.pass_segment(packet))
    }

    fn copied_message(&mut self, message: &Message<'_>) {
        if let (Message::Event(event), Some(copier)) = (message, &self.copier)
            && copier.counts
        {
            self.compare_copied(event);
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.copy.is_some() || self.sorter.is_some() {
            return Ok(());
        }
        self.close_blocks();
        // Readers keep the last events of a block until nothing earlier can follow, and drop them at an early end.
        if self.blocks.since_point > 0 {
            self.blocks.write_point(&mut self.file, self.last, self.rules.dialect);
        }
        self.is_flushed = true;
        Ok(())
    }

    fn take(&mut self) -> Option<OutputBlock> {
        if let Some(copy) = &mut self.copy {
            let (bytes, events) =
                (copy.next(self.rules.block_bytes.min(MOST_PIECE)), std::mem::take(&mut self.events));
            let is_empty = bytes.is_empty() && events == 0;
            return (!is_empty).then(|| OutputBlock { bytes, events, ..OutputBlock::default() });
        }
        self.write_sorted();
        let is_flushed = std::mem::take(&mut self.is_flushed);
        let waiting = self.file.waiting();
        if waiting == 0 || !(is_flushed || waiting >= self.rules.block_bytes) {
            return None;
        }
        let events = std::mem::take(&mut self.events);
        Some(OutputBlock { bytes: self.file.take(), events, ..OutputBlock::default() })
    }

    fn finish(&mut self) -> io::Result<()> {
        match &mut self.copy {
            Some(copy) => {
                copy.pass(u64::MAX);
                copy.check()?;
            }
            None => {
                if self.copier.as_ref().is_some_and(SegmentCopier::has_copied)
                    && let Some(file) = self.rules.file()
                {
                    check_copied(file.bytes())?;
                }
                self.finish_part()?;
            }
        }
        self.rules.add_events(std::mem::take(&mut self.digest));
        Ok(())
    }
}
