//! Reads the records of a data stream.

use std::collections::VecDeque;
use std::sync::Arc;

use ichnos_model::clock::{ClockClass, ClockValue};
use ichnos_model::cursor::{Head, ResumePoint};
use ichnos_model::decode::PacketBits;
use ichnos_model::message::{BrokenRule, Damage, DamageKind, DataPosition};
use ichnos_model::source::{NextRecord, Record as CurrentRecord, StreamLoss};
use ichnos_model::{DataStream, Event, Scope, Source, Trace, Window};

use super::classes::{RecordNames, SourceClass, SourceClasses};
use super::file::FxtFile;
use super::index::{remedy, ticks_of};
use super::pending::Pending;
use super::tables::Tables;
use super::values::{NameCache, ValueWriter};
use crate::fxt::{
    Arguments, BUFFER_FULL, EventRecord, EventWords, FxtError, LocatedRecord, MetadataRecord, Record,
    Records, Rule, StringRecord, StringRef, ThreadRef, UnknownRecord, string_at,
};

/// Number of bytes to read before their memory is released.
const RELEASED: usize = 1 << 20;

/// Position in the sections of a data stream.
#[derive(Clone, Copy, Debug, Default)]
struct SectionPosition {
    section: usize,
    /// Offset of the next record.
    at: usize,
    /// End of the section of the next record.
    end: usize,
    /// Offset of the current record.
    begin: u64,
    /// Offset up to which memory is released.
    released: usize,
}

/// Place between two records.
#[derive(Debug)]
struct FxtPlace {
    trace: Arc<Trace>,
    number: usize,
    position: SectionPosition,
    tables: Tables,
    records: u64,
    clock: Option<ClockValue>,
}

/// Reads the records of a data stream.
#[derive(Debug)]
pub(super) struct FxtSource {
    file: Arc<FxtFile>,
    reader: RecordReader,
}

/// Reader state without the file, because records borrow the file.
#[derive(Debug)]
pub(super) struct RecordReader {
    pub(super) stream: Arc<DataStream>,
    /// Data stream index in the file.
    number: usize,
    position: SectionPosition,
    /// Records read ahead, if the file is not sorted by time.
    pending: Option<Pending>,
    pub(super) tables: Tables,
    pub(super) classes: SourceClasses,
    pub(super) object_names: NameCache,
    window: Window,
    faults: VecDeque<FxtError>,
    /// `true` if an event waits until its errors are reported.
    is_waiting: bool,
    /// Number of records read so far.
    records: u64,
    pub(super) clock: Option<ClockValue>,
    /// Clock class of the data stream.
    clock_class: Option<ClockClass>,
    is_loss_reported: bool,
    /// Addresses of the current call stack.
    pub(super) addresses: Vec<u64>,
}

impl FxtSource {
    pub(super) fn new(
        file: &Arc<FxtFile>,
        stream: &Arc<DataStream>,
        number: usize,
        window: Window,
        most_classes: usize,
    ) -> Self {
        let snapshot = file.index.streams.get(number).and_then(|stream| stream.tables.as_ref());
        let reader = RecordReader {
            stream: Arc::clone(stream),
            number,
            position: SectionPosition::default(),
            pending: None,
            tables: Tables::at(snapshot),
            classes: SourceClasses::new(stream, most_classes),
            object_names: NameCache::new(&file.index.names),
            window,
            faults: VecDeque::new(),
            is_waiting: false,
            records: 0,
            clock: None,
            clock_class: stream.clock().cloned(),
            is_loss_reported: false,
            addresses: Vec::new(),
        };
        Self { file: Arc::clone(file), reader }
    }

    /// Continues at a place in the same data stream.
    pub(super) fn resumed(mut self, place: &ResumePoint) -> Option<Self> {
        let place: &FxtPlace = place.get()?;
        let reader = &mut self.reader;
        if !Arc::ptr_eq(&place.trace, &reader.stream.trace) || place.number != reader.number {
            return None;
        }
        // Its section can be longer now, and the place can be behind the last one.
        let sections = self.file.index.streams.get(reader.number).map(|stream| &*stream.sections)?;
        let section = sections.partition_point(|section| section.end <= place.position.at);
        reader.position = SectionPosition { section, end: 0, ..place.position };
        reader.tables = place.tables.clone();
        (reader.records, reader.clock) = (place.records, place.clock);
        Some(self)
    }

    /// Delivers the remaining records sorted by time, reading at most `most` records ahead.
    pub(super) fn sort(&mut self, most: usize) {
        self.reader.pending = Some(Pending::new(most));
    }
}

impl RecordReader {
    /// Reads the next record. Returns `None` at the end.
    #[inline(always)]
    fn read(&mut self, file: &FxtFile, current: &mut CurrentRecord) -> Option<ReadResult> {
        if self.pending.is_some() {
            return self.read_sorted(file, current);
        }
        let record = match self.step(file)? {
            Ok(record) => record,
            Err(damage) => return Some(self.damaged(&damage, file)),
        };
        Some(self.record(&record, file, current))
    }

    /// Reads the next record in file order. Returns `None` at the end.
    #[inline(always)]
    fn step<'f>(&mut self, file: &'f FxtFile) -> Option<Result<LocatedRecord<'f>, crate::fxt::SkippedBytes>> {
        let stream = file.index.streams.get(self.number)?;
        let mut section = stream.sections.get(self.position.section)?;
        if self.position.at >= section.end {
            self.position.section += 1;
            section = stream.sections.get(self.position.section)?;
        }
        let at = self.position.at.max(section.start);
        self.position.begin = at as u64;
        let mut records = Records::starting_at(&file.bytes, at);
        let record = records.next()?;
        self.position.end = section.end;
        self.move_to(records.offset(), file);
        Some(record)
    }

    /// Moves after a record.
    #[inline(always)]
    fn move_to(&mut self, at: usize, file: &FxtFile) {
        self.position.at = at;
        self.release(file);
        self.records += 1;
    }

    /// Returns the next event in file order, if the next record is an event in the current section.
    #[inline(always)]
    fn event_here<'f>(&self, file: &'f FxtFile) -> Option<EventWords<'f>> {
        let at = self.position.at;
        // Other sections start elsewhere.
        if at < self.position.end { EventWords::at(&file.bytes, at) } else { None }
    }

    /// Reads events and strings ahead. Returns `false` before a record of another kind.
    #[inline(always)]
    fn read_events_ahead(&mut self, file: &FxtFile) -> bool {
        while let Some(pending) = &mut self.pending
            && pending.has_room()
        {
            let at = self.position.at;
            if let Some(event) = self.event_here(file)
                && let Some(extent) = event.extent()
                && let Some(pending) = &mut self.pending
            {
                pending.push(Some(extent.ticks), at);
                self.move_to(at + event.size(), file);
            } else if !self.read_string_ahead(file) {
                return false;
            }
        }
        true
    }

    /// Reads a string, or ends reading ahead before it. Returns `false` before a record of another kind.
    #[inline(never)]
    fn read_string_ahead(&mut self, file: &FxtFile) -> bool {
        let Some((record, size)) = self.string_here(file) else { return false };
        // Earlier records refer to the previous string.
        if let Some(pending) = &mut self.pending
            && !pending.is_empty()
            && self.tables.is_changed_by(&record, &file.bytes)
        {
            pending.close();
            return true;
        }
        let at = self.position.at;
        self.add_string(&record, at, file);
        self.move_to(at + size, file);
        true
    }

    /// Returns the next string in file order and its size, if the next record is a string in the current section.
    #[inline(always)]
    fn string_here<'f>(&self, file: &'f FxtFile) -> Option<(StringRecord<'f>, usize)> {
        let at = self.position.at;
        if at < self.position.end && !file.check { string_at(&file.bytes, at) } else { None }
    }

    fn damaged(&self, damage: &crate::fxt::SkippedBytes, file: &FxtFile) -> ReadResult {
        ReadResult::Damage(self.damage(&damage.error, damage.offset, file).skipping(damage.skipped * 8))
    }

    /// Reads ahead, then delivers the earliest record.
    #[inline(never)]
    fn read_sorted(&mut self, file: &FxtFile, current: &mut CurrentRecord) -> Option<ReadResult> {
        while !self.read_events_ahead(file) {
            let (position, records) = (self.position, self.records);
            let located = match self.step(file) {
                None => {
                    self.pending.as_mut()?.close();
                    break;
                }
                Some(Err(damage)) => return Some(self.damaged(&damage, file)),
                Some(Ok(located)) => located,
            };
            let is_change = match &located.record {
                Record::String(record) => self.tables.is_changed_by(record, &file.bytes),
                Record::Thread(record) => self.tables.is_changed_by_thread(record),
                _ => false,
            };
            let Some(pending) = &mut self.pending else { break };
            match &located.record {
                // Earlier records refer to the previous string or thread.
                _ if is_change && !pending.is_empty() => {
                    pending.close();
                    (self.position, self.records) = (position, records);
                    break;
                }
                Record::String(_) | Record::Thread(_) | Record::Initialization(_) => {
                    self.record(&located, file, current);
                    if !self.faults.is_empty() {
                        return Some(ReadResult::Nothing);
                    }
                }
                record => pending.push(ticks_of(record), located.offset as usize),
            }
        }
        let offset = self.pending.as_mut()?.pop()?;
        self.position.begin = offset as u64;
        let record = Records::starting_at(&file.bytes, offset).next()?.ok()?;
        Some(self.record(&record, file, current))
    }

    #[inline(always)]
    fn add_string(&mut self, record: &StringRecord<'_>, offset: usize, file: &FxtFile) {
        if self.classes.refers_to(record.index) && self.tables.is_changed_by(record, &file.bytes) {
            self.classes.forget_references();
        }
        self.tables.add_string(record, offset);
    }

    /// Releases memory of file bytes that were read.
    #[inline(always)]
    fn release(&mut self, file: &FxtFile) {
        if self.position.at - self.position.released > RELEASED {
            // With several data streams, other sections lie in between.
            if file.index.streams.len() == 1 {
                file.bytes.release_part(self.position.at - self.position.released);
            }
            self.position.released = self.position.at;
        }
    }

    /// Handles a record.
    #[inline(always)]
    fn record(
        &mut self,
        located: &LocatedRecord<'_>,
        file: &FxtFile,
        current: &mut CurrentRecord,
    ) -> ReadResult {
        if file.check {
            Record::check(located.bytes, located.offset, &mut |error| self.faults.push_back(error));
        }
        self.classes.leave();
        let is_event = match &located.record {
            Record::Event(event) => self.event(event, file, current),
            Record::String(record) => {
                self.add_string(record, located.offset as usize, file);
                return ReadResult::Nothing;
            }
            Record::Thread(record) => {
                self.tables.add_thread(record);
                return ReadResult::Nothing;
            }
            Record::Metadata(metadata) => return self.metadata(metadata, located, current),
            Record::Initialization(clock) => {
                if clock.ticks_per_second == 0 {
                    self.faults.push_back(FxtError::new(Rule::TicksPerSecond, located.offset + 8, 1, 0));
                }
                return ReadResult::Nothing;
            }
            _ => {
                self.object_names.forget_values();
                self.other(located, file, current)
            }
        };
        match is_event {
            Some(true) => ReadResult::Event,
            Some(false) => ReadResult::Nothing,
            None => {
                let problem = "the limits are too low for the class of this record".to_owned();
                let damage = Damage::new(&*file.name, located.offset * 8, DamageKind::Unreadable(problem));
                ReadResult::Damage(damage.in_stream(&*self.stream.name))
            }
        }
    }

    #[cold]
    fn metadata(
        &mut self,
        metadata: &MetadataRecord<'_>,
        located: &LocatedRecord<'_>,
        current: &mut CurrentRecord,
    ) -> ReadResult {
        match metadata {
            MetadataRecord::ProviderEvent { event: BUFFER_FULL, .. } => {
                current.time = self.clock.map(|clock| clock.nanoseconds);
                current.push_discarded_events(StreamLoss { begin: self.clock, ..StreamLoss::default() });
                ReadResult::Queued
            }
            MetadataRecord::ProviderEvent { .. } => {
                // It lacks a time.
                current.set_clock(None);
                current.time = self.clock.map(|clock| clock.nanoseconds);
                self.object_names.forget_values();
                let unknown = UnknownRecord { bytes: located.bytes };
                if self.unknown(&unknown, current).is_some() {
                    ReadResult::Event
                } else {
                    ReadResult::Nothing
                }
            }
            _ => ReadResult::Nothing,
        }
    }

    /// Sets the time of the current event. Returns `false` if the time is outside the window.
    #[inline(always)]
    pub(super) fn set_time(&mut self, ticks: u64, current: &mut CurrentRecord) -> bool {
        let value = self.clock_value(ticks);
        self.clock = value;
        current.set_clock(value);
        self.is_in_window(value)
    }

    #[inline(always)]
    fn clock_value(&self, ticks: u64) -> Option<ClockValue> {
        let clock = self.clock_class.as_ref();
        clock.map(|clock| ClockValue { nanoseconds: clock.nanoseconds(ticks), cycles: ticks })
    }

    #[inline(always)]
    fn is_in_window(&self, value: Option<ClockValue>) -> bool {
        let time = value.map(|value| value.nanoseconds);
        self.window.begin.is_none_or(|begin| time >= Some(begin))
            && self.window.end.is_none_or(|end| time <= Some(end))
    }

    /// Reads the next record if it is an event without errors that resembles earlier events. Otherwise reads nothing.
    ///
    /// Most records are such events. Without this path, reading takes 25 % longer.
    #[inline(always)]
    fn next_known_event(&mut self, file: &FxtFile, current: &mut CurrentRecord) -> bool {
        let is_quick = !self.is_waiting && self.faults.is_empty() && !file.check;
        if !is_quick {
            return false;
        }
        if self.pending.is_some() {
            return self.next_known_pending(file, current);
        }
        loop {
            let at = self.position.at;
            if let Some(event) = self.event_here(file) {
                if self.known_event(event, at, file, current).is_none() {
                    return false;
                }
                self.move_to(at + event.size(), file);
                return true;
            }
            let Some((record, size)) = self.string_here(file) else { return false };
            self.add_string(&record, at, file);
            self.move_to(at + size, file);
        }
    }

    /// Like [`Self::next_known_event`], but after reading ahead.
    #[inline(always)]
    fn next_known_pending(&mut self, file: &FxtFile, current: &mut CurrentRecord) -> bool {
        if !self.read_events_ahead(file) {
            return false;
        }
        let Some(offset) = self.pending.as_mut().and_then(Pending::pop) else { return false };
        if let Some(event) = EventWords::at(&file.bytes, offset)
            && self.known_event(event, offset, file, current).is_some()
        {
            return true;
        }
        if let Some(pending) = &mut self.pending {
            pending.put_back(offset);
        }
        false
    }

    /// Handles an event in the window that resembles earlier events. Returns `None` for all other events, and for
    /// events with errors.
    #[inline(always)]
    fn known_event(
        &mut self,
        event: EventWords<'_>,
        at: usize,
        file: &FxtFile,
        current: &mut CurrentRecord,
    ) -> Option<()> {
        let ticks = event.ticks()?;
        let time = self.clock_value(ticks);
        if !self.is_in_window(time) {
            return None;
        }
        let (index, shape) = self.classes.shape(event)?;
        if shape.known.is_any {
            return None;
        }
        let (process, thread) = self.tables.thread(event.thread()?)?;
        let (process, thread) = (Some(process), Some(thread));
        let names = RecordNames { tables: &self.tables, bytes: &file.bytes };
        let mut writer = ValueWriter { values: &mut current.values, names };
        writer.begin(process, thread, &mut self.object_names);
        let (mut arguments, shapes) = (event.arguments(), shape.arguments());
        if !shapes.is_empty() {
            writer.values.begin(Scope::Payload);
            writer.arguments_of(&mut arguments, shapes)?;
        }
        let kind = arguments.kind(event.header)?;
        writer.event_context((kind, ticks), thread, None, || file.index.flows.get(at as u64));
        current.reserve_slots(shape.known.class.slots);
        current.set_clock(time);
        self.position.begin = at as u64;
        self.classes.enter(index);
        Some(())
    }

    /// Handles an event. Returns `false` if it is outside the window, `None` if it lacks a class.
    #[inline(never)]
    fn event(
        &mut self,
        event: &EventRecord<'_>,
        file: &FxtFile,
        current: &mut CurrentRecord,
    ) -> Option<bool> {
        let begin = self.position.begin as usize;
        if file.check
            && let Some(words) = EventWords::at(&file.bytes, begin)
            && self.known_event(words, begin, file, current).is_some()
        {
            return Some(true);
        }
        if !self.set_time(event.ticks, current) {
            return Some(false);
        }
        self.other_event(event, file, current)
    }

    /// Handles an event that differs from earlier events.
    #[inline(never)]
    fn other_event(
        &mut self,
        event: &EventRecord<'_>,
        file: &FxtFile,
        current: &mut CurrentRecord,
    ) -> Option<bool> {
        let (process, thread) = self.thread(event.thread);
        let is_any = self.new_class(event, file, current)?;
        let names = RecordNames { tables: &self.tables, bytes: &file.bytes };
        let mut writer = ValueWriter { values: &mut current.values, names };
        writer.begin(process, thread, &mut self.object_names);
        let any = is_any.then_some(event);
        writer.event_context((event.kind, event.ticks), thread, any, || {
            file.index.flows.get(self.position.begin)
        });
        if event.arguments.count_left() > 0 || is_any {
            writer.values.begin(Scope::Payload);
            writer.arguments(event.arguments, is_any);
        }
        Some(true)
    }

    /// Sets the class of an event without a known shape, and reports errors in its names and arguments. Returns `true`
    /// if its arguments form an array.
    #[inline(never)]
    fn new_class(
        &mut self,
        event: &EventRecord<'_>,
        file: &FxtFile,
        current: &mut CurrentRecord,
    ) -> Option<bool> {
        self.look_up(event.category, file);
        self.look_up(event.name, file);
        let is_whole = self.check_arguments(event.arguments, file);
        let names = RecordNames { tables: &self.tables, bytes: &file.bytes };
        let SourceClass { class, is_any } = self.classes.for_event(event, &names, is_whole)?;
        current.set_dynamic_class(class);
        Some(*is_any)
    }

    /// Reports a string index that is not registered.
    #[inline(always)]
    pub(super) fn look_up(&mut self, reference: StringRef<'_>, file: &FxtFile) {
        if let StringRef::Index(index) = reference
            && self.tables.string(reference, &file.bytes).is_none()
            && self.tables.report_string(index)
        {
            let at = self.position.begin;
            self.faults.push_back(FxtError::new(Rule::StringIndex, at, 0, index.into()));
        }
    }

    /// Reports arguments whose content does not fit, and string indexes that are not registered. Returns `true` if the
    /// content of all arguments fits.
    #[inline(always)]
    pub(super) fn check_arguments(&mut self, arguments: Arguments<'_>, file: &FxtFile) -> bool {
        let mut is_whole = true;
        for argument in arguments {
            match argument {
                Ok(argument) => {
                    self.look_up(argument.name, file);
                    if let crate::fxt::ArgumentValue::String(string) = argument.value {
                        self.look_up(string, file);
                    }
                }
                Err(error) => {
                    is_whole = false;
                    self.faults.push_back(error);
                }
            }
        }
        is_whole
    }

    /// Returns the process id and the thread id, and reports an index that is not registered.
    #[inline(always)]
    pub(super) fn thread(&mut self, reference: ThreadRef) -> (Option<u64>, Option<u64>) {
        match (self.tables.thread(reference), reference) {
            (Some((process, thread)), _) => (Some(process), Some(thread)),
            (None, ThreadRef::Index(index)) => {
                self.no_thread(index);
                (None, None)
            }
            (None, ThreadRef::Inline { .. }) => (None, None),
        }
    }

    #[cold]
    pub(super) fn no_thread(&mut self, index: u8) {
        if self.tables.report_thread(index) {
            let at = self.position.begin;
            self.faults.push_back(FxtError::new(Rule::ThreadIndex, at, 0, index.into()));
        }
    }

    #[cold]
    fn damage(&self, error: &FxtError, at: u64, file: &FxtFile) -> Damage {
        let mut statement = error.statement().to_string();
        if error.at != at {
            statement += &format!(", at byte {}", error.at);
        }
        let rule = BrokenRule {
            name: error.rule.name(),
            statement,
            remedy: remedy(error.rule),
            // After reading ahead, the record number is unknown.
            record: Some(self.records).filter(|_| self.pending.is_none()),
            fatal: error.rule.is_fatal(),
        };
        Damage::new(&*file.name, at * 8, rule.into()).in_stream(&*self.stream.name)
    }
}

/// Result of reading a record.
enum ReadResult {
    Nothing,
    Event,
    /// Messages are in the event queue.
    Queued,
    Damage(Damage),
}

impl Source for FxtSource {
    #[inline(always)]
    fn next(&mut self, record: &mut CurrentRecord) -> NextRecord {
        self.reader.next(&self.file, record)
    }

    fn bytes(&self) -> &[u8] {
        &self.file.bytes
    }

    fn is_ordered(&self) -> bool {
        self.reader.is_ordered(&self.file)
    }

    #[inline(always)]
    fn checks_events(&self) -> bool {
        true
    }

    #[inline(always)]
    fn event<'e>(&'e self, record: &'e CurrentRecord) -> Option<Event<'e>> {
        let Some(class) = self.reader.classes.current() else { return record.event(&self.file.bytes) };
        // All scopes hold copied values.
        let scopes = record.scopes(PacketBits::whole(&[])).with_values(&record.values);
        Some(Event::new(&record.stream, &class.plans, record.clock.as_ref(), scopes))
    }

    #[inline(always)]
    fn event_head(&self, record: &CurrentRecord) -> Head {
        match self.reader.classes.current().and_then(|class| class.plans.index()) {
            Some(index) => Head::event(index, record.clock.map(|clock| clock.nanoseconds)),
            None => record.head(),
        }
    }

    fn resume_point(&self) -> Option<ResumePoint> {
        let RecordReader { stream, number, position, pending, tables, records, clock, .. } = &self.reader;
        if pending.is_some() || self.reader.is_waiting || !self.reader.faults.is_empty() {
            return None;
        }
        Some(ResumePoint::new(FxtPlace {
            trace: Arc::clone(&stream.trace),
            number: *number,
            position: *position,
            tables: tables.clone(),
            records: *records,
            clock: *clock,
        }))
    }

    fn position(&self) -> Option<DataPosition> {
        Some(DataPosition::at_byte(&*self.file.name, self.reader.position.begin))
    }
}

impl RecordReader {
    #[inline(always)]
    fn next(&mut self, file: &FxtFile, record: &mut CurrentRecord) -> NextRecord {
        if self.next_known_event(file, record) {
            return NextRecord::Event;
        }
        self.next_of_any_kind(file, record)
    }

    #[inline(never)]
    fn next_of_any_kind(&mut self, file: &FxtFile, record: &mut CurrentRecord) -> NextRecord {
        // Known events only set the time of the current record.
        self.clock = record.clock.or(self.clock);
        loop {
            if let Some(error) = self.faults.pop_front() {
                return NextRecord::Damage(self.damage(&error, error.at, file));
            }
            if std::mem::take(&mut self.is_waiting) {
                return NextRecord::Event;
            }
            if self.next_known_event(file, record) {
                return NextRecord::Event;
            }
            match self.read(file, record) {
                Some(ReadResult::Event) if self.faults.is_empty() => return NextRecord::Event,
                Some(ReadResult::Event) => self.is_waiting = true,
                Some(ReadResult::Nothing) => {
                    if self.is_after_window(file, record) {
                        break;
                    }
                }
                Some(ReadResult::Queued) => return NextRecord::Messages,
                Some(ReadResult::Damage(damage)) => return NextRecord::Damage(damage),
                None => break,
            }
        }
        self.end(file, record)
    }

    fn is_ordered(&self, file: &FxtFile) -> bool {
        file.index.streams.get(self.number).is_some_and(|stream| stream.is_ordered)
    }

    /// Returns `true` if all further events are after the window.
    #[inline(always)]
    fn is_after_window(&self, file: &FxtFile, record: &CurrentRecord) -> bool {
        let is_after =
            self.window.end.is_some_and(|end| record.clock.is_some_and(|clock| clock.nanoseconds > end));
        is_after && self.faults.is_empty() && self.is_ordered(file)
    }

    #[cold]
    fn end(&mut self, file: &FxtFile, record: &mut CurrentRecord) -> NextRecord {
        record.time = self.clock.map(|clock| clock.nanoseconds);
        let lost = file.bytes.look_for_loss();
        if !lost.is_empty() && !std::mem::replace(&mut self.is_loss_reported, true) {
            let kind = DamageKind::Lost { reported: true };
            let damage = Damage::new(&*file.name, lost.start as u64 * 8, kind);
            let damage = damage.in_stream(&*self.stream.name).skipping(lost.len() as u64 * 8);
            return NextRecord::Damage(damage);
        }
        NextRecord::End
    }
}
