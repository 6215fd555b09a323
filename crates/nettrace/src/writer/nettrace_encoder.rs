//! Encodes messages as blocks.

mod segments;

use std::io;
use std::sync::Arc;

use ichnos_io::{ClassTreatment, EncoderRules, MessageEncoder, MessageOrder, encode_message};
use ichnos_model::digest::{ClassDigest, TraceDigest};
use ichnos_model::event::{ClassList, Packet, StreamTable};
use ichnos_model::lower::LossKind;
use ichnos_model::message::Discarded;
use ichnos_model::{DataStream, Event, Message};

use super::blocks::Blocks;
use super::clock::Ticks;
use super::copied_file::{FileCopy, check_copied};
use super::file_writer::FileWriter;
use super::foreign::{ForeignClass, WrittenFile};
use super::losses::{EventLoss, EventLossCounts, NettraceLoss};
use super::message_sorter::{MessageSorter, SortedMessages};
use super::own::{self, NativeClass};
use super::payload::PayloadWriter;
use super::rules::{NettraceRules, event_hash};
use super::rundown;
use super::segment_rules::SegmentCopier;
use super::stored_event::{EventStack, StoredMessage};
use super::written_class::NettraceClass;
use super::written_event::{NettraceEvent, metadata_hash};
use crate::reader::trace_file::FileState;

/// Maximum block size, and the space that is kept free in a block, in bytes. Readers refuse longer blocks up to
/// version 5. Version 6 blocks have less than 16 MiB.
const MOST_BLOCK: usize = 64 << 20;
const MOST_BLOCK_V6: usize = 16 << 20;
const FREE: usize = 1 << 16;

/// Maximum chunk size for copying a file, in bytes.
const MOST_PIECE: usize = 1 << 20;

/// Maximum size of the sequence points for losses: in bytes, and as a multiple of the rest of the file.
const MOST_POINTS: u64 = 16 << 20;
const POINT_SHARE: u64 = 4;

/// Written data stream.
#[derive(Clone, Copy, Debug)]
struct NettraceStream {
    ticks: Ticks,
    /// Source index, and the data stream's index in the source.
    source: Option<(usize, usize)>,
}

/// Encodes messages as a file.
#[derive(Debug)]
pub(super) struct NettraceEncoder {
    rules: Arc<NettraceRules>,
    /// Copies the whole file instead of encoding it.
    copy: Option<FileCopy>,
    /// Copies segments, if the only source has suitable segments.
    copier: Option<SegmentCopier>,
    is_v6: bool,
    file: FileWriter,
    blocks: Blocks,
    streams: StreamTable<NettraceStream, ClassList<NettraceClass>, ()>,
    next_metadata: u32,
    next_event: u32,
    parts: NettraceEvent,
    payload: PayloadWriter,
    scratch: Vec<u8>,
    /// Last event's time in ticks.
    last: u64,
    events: u64,
    digest: ClassDigest,
    /// Sorts messages, if they arrive in any order.
    sorter: Option<MessageSorter>,
    /// Sorted messages whose rows are not written yet.
    sorted: Option<SortedMessages>,
}

impl NettraceEncoder {
    /// Writes everything after the last event.
    fn end_file(&mut self) {
        self.write_rundown();
        self.close_blocks();
        self.blocks.write_point(&mut self.file, self.last, self.rules.dialect);
        self.file.end();
        self.move_losses();
    }

    #[cold]
    fn add_stream(&mut self, stream: &DataStream) {
        let source = self.rules.place(stream.key);
        let written = NettraceStream { ticks: self.rules.clock.ticks(stream), source };
        self.streams.insert(stream, written, ClassList::default);
    }

    #[inline(always)]
    fn write_event(
        &mut self,
        event: &Event<'_>,
        class: &mut NettraceClass,
        conversion: Ticks,
    ) -> io::Result<()> {
        let ticks = self.ticks(event, class, conversion);
        let Some(level) = class.read(event, ticks, &mut self.parts, &mut self.payload) else {
            class.losses.add(EventLoss::Event, 1);
            return Ok(());
        };
        let is_own = matches!(class.treatment, ClassTreatment::Own(_));
        let is_copied = is_own && !(self.rules.shared.repairs && self.repair_payload(event, class));
        let length = if is_copied { own::payload(event).len() } else { self.payload.bytes.len() };
        let is_v6 = self.is_v6;
        if length > self.most_payload() {
            class.losses.add(EventLoss::Payload, 1);
            return Ok(());
        }
        if self.sorter.is_none() {
            if self.rules.moves_late && self.parts.ticks < self.blocks.promised {
                self.parts.ticks = self.blocks.promised;
                class.losses.add(EventLoss::Late, 1);
            }
            self.blocks.check_order(self.parts.ticks)?;
            self.make_room(length);
        }
        let (id, hash) = self.metadata_id(class, level);
        let payload = if is_copied { own::payload(event) } else { &self.payload.bytes };
        let parts = &self.parts;
        // Only version 6 distinguishes processes.
        let process_of_names = parts.process.filter(|_| is_v6);
        if self.rules.names_functions
            && let ClassTreatment::Own(own) = &class.treatment
            && let Some(address) = own.naming.and_then(|naming| naming.address(payload))
        {
            self.blocks.stacks.record_named(process_of_names, address);
        }
        if !is_v6 {
            let has_process = class.lacks_process_field()
                && parts.process.is_some()
                && parts.process != self.rules.process();
            class.losses.add(EventLoss::Version, u64::from(has_process || parts.has_more()));
        }
        let needs_names = class.needs_names() || self.rules.names_functions;
        let names = needs_names.then_some((process_of_names, event.nanoseconds()));
        let stack = parts.stack.map(|number| EventStack { number, names });
        if self.rules.shared.is_compared {
            let stacks = &mut self.blocks.stacks;
            let frames = stack.map(|stack| stacks.frames(event.stream, stack.number)).unwrap_or_default();
            let is_described = class.is_described(event, payload);
            let hash = parts.hash(hash, is_described, payload, frames, is_v6);
            self.digest.add(Some(parts.ticks), hash);
        }
        if let Some(sorter) = &mut self.sorter {
            self.last = parts.ticks;
            let stored = StoredMessage::Event { metadata_id: id, stream: event.stream.key, stack, payload };
            sorter.push(&stored, parts)?;
            if self.blocks.is_full() {
                // Only metadata is pending, and it lacks times.
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

    /// Returns the time of an event in ticks. If the file cannot store it, returns the time of the previous event.
    #[inline(always)]
    fn ticks(&self, event: &Event<'_>, class: &mut NettraceClass, conversion: Ticks) -> u64 {
        let ticks = match event.clock {
            Some(clock) => self.rules.clock.convert(conversion, clock),
            None => {
                class.losses.add(EventLoss::Time, 1);
                Some(self.last)
            }
        };
        class.losses.add(EventLoss::Range, u64::from(ticks.is_none()));
        ticks.unwrap_or(self.last)
    }

    /// Repairs an event payload from an EventPipe file: drops the bytes after its last field, and makes its
    /// texts valid. Returns `false` if the payload is valid.
    fn repair_payload(&mut self, event: &Event<'_>, class: &mut NettraceClass) -> bool {
        let payload = own::payload(event);
        let file = event.stream.trace.reader_data::<FileState>();
        let rest = file.map_or(0, |file| file.bytes_behind(event)).min(payload.len());
        let payload = payload.get(..payload.len() - rest).unwrap_or(payload);
        let has_texts = own::repair_texts(event, payload, &mut self.payload.bytes);
        class.losses.add(EventLoss::Rest, u64::from(rest > 0));
        class.losses.add(EventLoss::Texts, u64::from(has_texts));
        if rest > 0 && !has_texts {
            self.payload.bytes.clear();
            self.payload.bytes.extend_from_slice(payload);
        }
        rest > 0 || has_texts
    }

    /// Returns the maximum payload size in bytes.
    fn most_payload(&self) -> usize {
        if self.is_v6 { MOST_BLOCK_V6 - FREE } else { MOST_BLOCK - FREE }
    }

    /// Closes the event block if the next event does not fit.
    #[inline(always)]
    fn make_room(&mut self, payload: usize) {
        if self.blocks.events.len() + payload > self.most_payload() || self.blocks.sequences.is_needed() {
            self.close_blocks();
        }
    }

    /// Writes sorted messages until a block is full. At the end, finishes the file and returns `true`.
    fn write_sorted(&mut self) -> bool {
        let Some(mut sorted) = self.sorted.take() else { return false };
        while self.file.waiting() < self.rules.shared.block_bytes {
            let Some((ticks, message)) = sorted.next(&mut self.parts) else {
                self.end_file();
                return true;
            };
            match message {
                Some(StoredMessage::Event { metadata_id, stream, stack, payload }) => {
                    self.make_room(payload.len());
                    self.last = ticks;
                    let place = self.streams.get(stream).and_then(|(stream, _)| stream.source);
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
                Some(StoredMessage::Loss { thread, count }) => self.add_missing(thread, count),
                None => self.rules.shared.record_loss(NettraceLoss::StoredEvent),
            }
        }
        self.sorted = Some(sorted);
        false
    }

    /// Returns the id and the hash of the metadata for events with a level. Writes new metadata.
    #[inline(always)]
    fn metadata_id(&mut self, class: &mut NettraceClass, level: Option<u8>) -> (u32, u64) {
        match class.ids.iter().find(|(of, _, _)| *of == level) {
            Some((_, id, hash)) => (*id, *hash),
            None => self.add_metadata(class, level),
        }
    }

    #[cold]
    fn add_metadata(&mut self, class: &mut NettraceClass, level: Option<u8>) -> (u32, u64) {
        let metadata = class.metadata(level);
        let of_source = match (&class.treatment, &mut self.copier) {
            // Copied segments use the source's ids.
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
        let (hash, dropped) = self.blocks.push_metadata(metadata, id, self.is_v6, &mut self.scratch);
        if let Some(parts) = dropped {
            self.drop_of_class(&class.name, &format!("{parts}: too long for version 6"));
        }
        class.ids.push((level, id, hash));
        (id, hash)
    }

    /// Records a dropped item in a class.
    fn drop_of_class(&self, class: &str, what: &str) {
        self.rules.shared.with_losses(|table| table.note(LossKind::Dropped, class, "", what));
    }

    /// Creates an event's class.
    #[cold]
    fn written_class(&mut self, event: &Event<'_>) -> NettraceClass {
        let treatment = match NativeClass::from_event(event, self.is_v6, self.rules.shared.repairs) {
            Some(own) => {
                if own.is_lossy {
                    self.drop_of_class(event.name(), "metadata that the version cannot store");
                }
                ClassTreatment::Own(own)
            }
            None => {
                let id = self.next_event;
                // Tools read 16-bit ids.
                self.next_event = if id >= u16::MAX.into() { 1 } else { id + 1 };
                let file = WrittenFile { is_v6: self.is_v6, process: self.rules.process() };
                let foreign =
                    self.rules.shared.with_losses(|table| ForeignClass::new(event, id, file, table));
                ClassTreatment::Foreign(Box::new(foreign))
            }
        };
        NettraceClass {
            name: event.name().to_owned(),
            treatment,
            ids: Vec::new(),
            losses: EventLossCounts::default(),
        }
    }

    /// Writes all blocks under construction.
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

    /// Adds a thread's missing events.
    fn add_missing(&mut self, thread: Option<u64>, count: Option<u64>) {
        let thread = thread.unwrap_or(0);
        let Blocks { threads, sequences, .. } = &mut self.blocks;
        let known = if self.is_v6 { threads.known(thread) } else { Some(thread) };
        // Consecutive losses in very many threads would each need a list of all threads.
        let needed = sequences.needed_bytes();
        let is_large = needed > MOST_POINTS + POINT_SHARE * (self.file.size().saturating_sub(needed))
            && !known.is_some_and(|thread| sequences.has(thread));
        if is_large && count.is_some() {
            self.rules.shared.record_loss(NettraceLoss::ManyThreads);
        }
        let Some(count) = count.filter(|_| !is_large) else {
            let is_written = match known {
                Some(thread) => sequences.add_unknown(thread),
                None => threads.add_unknown_loss(thread),
            };
            if !is_written {
                self.rules.shared.record_loss(NettraceLoss::UnknownCount);
            }
            return;
        };
        let thread = if self.is_v6 { threads.index_of_id(self.rules.process(), thread) } else { thread };
        // Readers treat larger numbers as a counter that wraps around.
        let most = u32::try_from(count).unwrap_or(u32::MAX).min(i32::MAX as u32);
        if count != most.into() {
            self.rules.shared.record_loss(NettraceLoss::LargeCount);
        }
        self.blocks.sequences.add_missing(thread, most);
    }

    /// Moves the class losses to the table.
    fn move_losses(&mut self) {
        for class in self.streams.classes_mut().flat_map(|classes| classes.values_mut()) {
            self.rules.shared.with_losses(|table| class.losses.move_to(&class.name, table));
        }
        if self.file.take_refused() > 0 {
            self.rules.shared.record_loss(NettraceLoss::LongBlock);
        }
        let Blocks { stacks, labels, threads, sequences, .. } = &mut self.blocks;
        let mut unknown = (threads.take_unknown() + sequences.take_unknown()) as u64;
        let counts = [
            (&mut unknown, NettraceLoss::UnknownCount),
            (&mut stacks.unnamed, NettraceLoss::UnnamedFunctions),
            (&mut stacks.ambiguous, NettraceLoss::AmbiguousFunctions),
            (&mut labels.dropped, NettraceLoss::LongLabels),
        ];
        for (count, loss) in counts {
            if std::mem::take(count) > 0 {
                self.rules.shared.record_loss(loss);
            }
        }
    }

    /// Writes function names, as the runtime does at the end of a session.
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
            if self.rules.shared.is_compared {
                let hash = self.parts.hash(hash, true, &event.payload, &[], is_v6);
                self.digest.add(Some(self.last), hash);
            }
            if self.blocks.is_full() {
                self.close_blocks();
            }
        }
    }

    /// Counts a copied event.
    #[inline(never)]
    fn compare_copied(&mut self, event: &Event<'_>) {
        if self.rules.shared.is_compared {
            let (ticks, hash) = event_hash(event);
            self.digest.add(ticks, hash);
        }
    }
}

impl MessageEncoder for NettraceEncoder {
    type Rules = NettraceRules;

    fn shared(rules: &NettraceRules) -> &EncoderRules {
        &rules.shared
    }

    fn new(rules: Arc<NettraceRules>) -> Self {
        let is_v6 = rules.dialect.is_v6();
        let blocks = Blocks::new(is_v6, rules.pointer_size());
        let copier = rules.segments.and_then(|segments| SegmentCopier::new(rules.file()?, segments));
        let next_metadata = copier.as_ref().map_or(1, |copier| copier.scanner.free_id());
        Self {
            copy: rules.copied.clone().map(FileCopy::new),
            copier,
            is_v6,
            file: FileWriter::new(rules.dialect),
            blocks,
            streams: StreamTable::default(),
            next_metadata,
            next_event: 1,
            parts: NettraceEvent::default(),
            payload: PayloadWriter::default(),
            scratch: Vec::new(),
            last: 0,
            events: 0,
            digest: ClassDigest::default(),
            sorter: rules
                .sorts
                .then(|| MessageSorter::new(rules.temp_dir.clone(), rules.sorter_memory.clone())),
            sorted: None,
            rules,
        }
    }

    fn order(rules: &NettraceRules) -> MessageOrder {
        if rules.segments.is_some() { MessageOrder::Segments } else { MessageOrder::Merged }
    }

    #[inline]
    fn message(&mut self, message: &Message<'_>, shared: &EncoderRules) -> io::Result<()> {
        let Some(copy) = &mut self.copy else { return encode_message(self, message, shared) };
        if let Message::Event(event) = message {
            copy.pass(u64::MAX);
            self.events += 1;
            self.compare_copied(event);
        }
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>, index: usize) -> io::Result<()> {
        if !self.streams.has(event.stream) {
            self.add_stream(event.stream);
        }
        let Some((stream, classes, _)) = self.streams.get_mut(event.stream) else { return Ok(()) };
        let (ticks, class) = (stream.ticks, classes.place(index).take());
        let mut class = class.unwrap_or_else(|| Box::new(self.written_class(event)));
        let written = self.write_event(event, &mut class, ticks);
        if let Some((_, classes, _)) = self.streams.get_mut(event.stream) {
            *classes.place(index) = Some(class);
        }
        written
    }

    fn discarded(&mut self, discarded: &Discarded<'_>, _: &EncoderRules) -> io::Result<()> {
        match &mut self.sorter {
            Some(sorter) => sorter.push_loss(self.last, discarded)?,
            None => self.add_missing(discarded.thread, discarded.count),
        }
        Ok(())
    }

    fn copy_packet(&mut self, packet: &Packet<'_>) -> bool {
        self.pass_segment(packet)
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
        // Readers hold back the last events of a block until nothing earlier can follow, and drop them at an early end.
        if self.blocks.since_point > 0 {
            self.blocks.write_point(&mut self.file, self.last, self.rules.dialect);
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        if let Some(copy) = &mut self.copy {
            copy.pass(u64::MAX);
            return copy.check();
        }
        if self.copier.as_ref().is_some_and(SegmentCopier::has_copied)
            && let Some(file) = self.rules.file()
        {
            check_copied(file.bytes())?;
        }
        match self.sorter.take() {
            Some(sorter) => {
                self.sorted = Some(sorter.finish()?);
                self.last = 0;
            }
            None => self.end_file(),
        }
        Ok(())
    }

    fn fill_block(&mut self) -> bool {
        self.write_sorted()
    }

    fn ready(&self) -> usize {
        self.file.waiting()
    }

    fn waiting(&self) -> usize {
        self.file.waiting() + self.blocks.events.len()
    }

    #[inline]
    fn is_full(&self, block_bytes: usize) -> bool {
        self.copy.as_ref().map_or(self.file.waiting() >= block_bytes, |copy| !copy.is_over())
    }

    fn has_rest(&self) -> bool {
        self.copy.as_ref().map_or(self.file.waiting() > 0, |copy| !copy.is_over() || self.events > 0)
    }

    fn take_bytes(&mut self) -> (Vec<u8>, u64) {
        let most = self.rules.shared.block_bytes.min(MOST_PIECE);
        let bytes = self.copy.as_mut().map(|copy| copy.next(most));
        (bytes.unwrap_or_else(|| self.file.take()), std::mem::take(&mut self.events))
    }

    fn take_digest(&mut self) -> TraceDigest {
        TraceDigest::from_hashed(event_hash, std::mem::take(&mut self.digest))
    }
}
