//! Reads the records of a data stream, one after the other.

use std::collections::VecDeque;
use std::sync::Arc;

use ichnos_model::{
    BrokenRule, ClockValue, Damage, DamageKind, DataStream, FieldValue, NextRecord, Record as CurrentRecord,
    Scope, Source, StreamLoss, Window,
};

use super::classes::{Classes, KnownClass, RecordNames};
use super::file::FxtFile;
use super::index::{StreamIndex, remedy, ticks_of};
use super::key::{RecordForm, RecordKind};
use super::pending::Pending;
use super::tables::Tables;
use super::values::{NameCache, ValueWriter};
use crate::fxt::{
    Arguments, BUFFER_FULL, Backtrace, EventRecord, FxtError, LargeBlob, Located, MetadataRecord, ProcessRef,
    Profiler, Record, Records, Rule, Scheduling, StringRecord, StringRef, ThreadRef, UnknownRecord,
    record_kind,
};

/// Bytes read before their memory is released.
const RELEASED: usize = 1 << 20;

/// SectionPosition of a source in the sections of its data stream.
#[derive(Clone, Copy, Debug, Default)]
struct SectionPosition {
    section: usize,
    /// Offset of the next record.
    at: usize,
    /// Offset of the current record.
    begin: u64,
    /// Offset up to which memory was released.
    released: usize,
}

/// Reads the records of a data stream.
#[derive(Debug)]
pub(super) struct FxtSource {
    file: Arc<FxtFile>,
    stream: Arc<DataStream>,
    /// Index of the data stream in the file.
    number: usize,
    position: SectionPosition,
    /// Records read ahead, if the file has them in another order than that of time.
    pending: Option<Pending>,
    tables: Tables,
    classes: Classes,
    object_names: NameCache,
    window: Window,
    faults: VecDeque<FxtError>,
    /// `true` if an event waits until its errors are reported.
    is_waiting: bool,
    /// Number of records read.
    records: u64,
    clock: Option<ClockValue>,
    is_loss_reported: bool,
    /// Addresses of a call stack.
    addresses: Vec<u64>,
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
        Self {
            file: Arc::clone(file),
            stream: Arc::clone(stream),
            number,
            position: SectionPosition::default(),
            pending: None,
            tables: Tables::at(snapshot),
            classes: Classes::new(stream, most_classes),
            object_names: NameCache::new(&file.index.names),
            window,
            faults: VecDeque::new(),
            is_waiting: false,
            records: 0,
            clock: None,
            is_loss_reported: false,
            addresses: Vec::new(),
        }
    }

    /// Delivers records in order of time, with at most `most` of them read ahead.
    pub(super) fn sorted(self, most: usize) -> Self {
        Self { pending: Some(Pending::new(most)), ..self }
    }

    fn index(&self) -> Option<&StreamIndex> {
        self.file.index.streams.get(self.number)
    }

    /// Reads the next record; returns `None` at the end.
    #[inline(always)]
    fn read(&mut self, current: &mut CurrentRecord) -> Option<ReadResult> {
        if self.pending.is_some() {
            return self.read_sorted(current);
        }
        let file = Arc::clone(&self.file);
        let record = match self.step(&file)? {
            Ok(record) => record,
            Err(damage) => return Some(self.damaged(&damage)),
        };
        Some(self.record(&record, &file, current))
    }

    /// Reads the next record of the file; returns `None` at the end.
    #[inline(always)]
    fn step<'f>(&mut self, file: &'f FxtFile) -> Option<Result<Located<'f>, crate::fxt::SkippedBytes>> {
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
        self.position.at = records.offset();
        self.release();
        self.records += 1;
        Some(record)
    }

    fn damaged(&self, damage: &crate::fxt::SkippedBytes) -> ReadResult {
        ReadResult::Damage(self.damage(&damage.error, damage.offset).skipping(damage.skipped * 8))
    }

    /// Reads ahead, and then the earliest record.
    #[inline(never)]
    fn read_sorted(&mut self, current: &mut CurrentRecord) -> Option<ReadResult> {
        let file = Arc::clone(&self.file);
        while self.pending.as_ref().is_some_and(|pending| !pending.is_full()) {
            let (position, records) = (self.position, self.records);
            let located = match self.step(&file) {
                None => break,
                Some(Err(damage)) => return Some(self.damaged(&damage)),
                Some(Ok(located)) => located,
            };
            let is_change = match &located.record {
                Record::String(record) => self.tables.is_changed_by(record, &file.bytes),
                Record::Thread(record) => self.tables.is_changed_by_thread(record),
                _ => false,
            };
            let Some(pending) = &mut self.pending else { break };
            match &located.record {
                // Records before it have the string or thread of before.
                _ if is_change && !pending.is_empty() => {
                    (self.position, self.records) = (position, records);
                    break;
                }
                Record::String(_) | Record::Thread(_) | Record::Initialization(_) => {
                    self.record(&located, &file, current);
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
        Some(self.record(&record, &file, current))
    }

    #[inline(always)]
    fn add_string(&mut self, record: &StringRecord<'_>, offset: usize, file: &FxtFile) {
        if self.tables.is_changed_by(record, &file.bytes) {
            self.classes.forget_references();
        }
        self.tables.add_string(record, offset);
    }

    /// Releases memory of the file that was read.
    #[inline(always)]
    fn release(&mut self) {
        if self.position.at - self.position.released > RELEASED {
            // Other data streams have sections in between.
            if self.file.index.streams.len() == 1 {
                self.file.bytes.release_part(self.position.at - self.position.released);
            }
            self.position.released = self.position.at;
        }
    }

    /// Handles a record.
    #[inline(always)]
    fn record(&mut self, located: &Located<'_>, file: &FxtFile, current: &mut CurrentRecord) -> ReadResult {
        if file.check {
            Record::check(located.bytes, located.offset, &mut |error| self.faults.push_back(error));
        }
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
            _ => self.other(located, file, current),
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
        located: &Located<'_>,
        current: &mut CurrentRecord,
    ) -> ReadResult {
        match metadata {
            MetadataRecord::ProviderEvent { event: BUFFER_FULL, .. } => {
                current.time = self.clock.map(|clock| clock.nanoseconds);
                current.push_discarded_events(StreamLoss { begin: self.clock, ..StreamLoss::default() });
                ReadResult::Queued
            }
            MetadataRecord::ProviderEvent { .. } => {
                // It has no time of its own.
                current.set_clock(None);
                current.time = self.clock.map(|clock| clock.nanoseconds);
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

    /// Sets the time of the current event; returns `false` if it is outside the window.
    #[inline(always)]
    fn set_time(&mut self, ticks: u64, current: &mut CurrentRecord) -> bool {
        let clock = self.stream.clock();
        let value = clock.map(|clock| ClockValue { nanoseconds: clock.nanoseconds(ticks), cycles: ticks });
        self.clock = value;
        current.set_clock(value);
        let time = value.map(|value| value.nanoseconds);
        self.window.begin.is_none_or(|begin| time >= Some(begin))
            && self.window.end.is_none_or(|end| time <= Some(end))
    }

    /// Handles an event; returns `false` if it is outside the window, `None` if it has no class.
    #[inline(always)]
    fn event(
        &mut self,
        event: &EventRecord<'_>,
        file: &FxtFile,
        current: &mut CurrentRecord,
    ) -> Option<bool> {
        if !self.set_time(event.ticks, current) {
            return Some(false);
        }
        let (process, thread) = self.thread(event.thread);
        self.look_up(event.category);
        self.look_up(event.name);
        let is_whole = self.check_arguments(event.arguments);
        let names = RecordNames { tables: &self.tables, bytes: &file.bytes };
        let damaged;
        let KnownClass { class, is_any } = if is_whole {
            self.classes.of_event(event, &names)?
        } else {
            damaged = self.classes.of_damaged_event(event, &names)?;
            &damaged
        };
        current.set_dynamic_class(class);
        current.values.clear();
        let mut writer = ValueWriter { values: &mut current.values, names };
        writer.common(process, thread, &mut self.object_names);
        writer.event_context(event, thread, *is_any);
        if event.arguments.count_left() > 0 || *is_any {
            writer.values.begin(Scope::Payload);
            writer.arguments(event.arguments, *is_any);
        }
        Some(true)
    }

    /// Reports a string that is not registered.
    #[inline(always)]
    fn look_up(&mut self, reference: StringRef<'_>) {
        if let StringRef::Index(index) = reference
            && self.tables.string(reference, &self.file.bytes).is_none()
            && self.tables.report_string(index)
        {
            let at = self.position.begin;
            self.faults.push_back(FxtError::new(Rule::StringIndex, at, 0, index.into()));
        }
    }

    /// Reports arguments whose content does not fit, and strings that are not registered. Returns `true` if the
    /// content of all arguments fits.
    #[inline(always)]
    fn check_arguments(&mut self, arguments: Arguments<'_>) -> bool {
        let mut is_whole = true;
        for argument in arguments {
            match argument {
                Ok(argument) => {
                    self.look_up(argument.name);
                    if let crate::fxt::ArgumentValue::String(string) = argument.value {
                        self.look_up(string);
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

    /// Returns the ids of a process and a thread, and reports an index that is not registered.
    #[inline(always)]
    fn thread(&mut self, reference: ThreadRef) -> (Option<u64>, Option<u64>) {
        match (self.tables.thread(reference), reference) {
            (Some((process, thread)), _) => (Some(process), Some(thread)),
            (None, ThreadRef::Index(index)) => {
                self.no_thread(index);
                (None, None)
            }
            (None, ThreadRef::Inline { .. }) => (None, None),
        }
    }

    /// Returns the process and the thread of a module or a mapping. These are of all threads of a process, which
    /// Fuchsia's profiler writes as thread 0.
    fn module_thread(&mut self, reference: ThreadRef) -> (Option<u64>, Option<u64>) {
        let (process, thread) = self.thread(reference);
        (process, thread.filter(|thread| *thread != 0))
    }

    fn process(&mut self, reference: ProcessRef) -> Option<u64> {
        let process = self.tables.process(reference);
        if let (None, ProcessRef::Index(index)) = (process, reference) {
            self.no_thread(index);
        }
        process
    }

    #[cold]
    fn no_thread(&mut self, index: u8) {
        if self.tables.report_thread(index) {
            let at = self.position.begin;
            self.faults.push_back(FxtError::new(Rule::ThreadIndex, at, 0, index.into()));
        }
    }

    /// Handles a record that is not an event; returns the same as [`Self::event`].
    #[inline(never)]
    fn other(&mut self, located: &Located<'_>, file: &FxtFile, current: &mut CurrentRecord) -> Option<bool> {
        match ticks_of(&located.record) {
            Some(ticks) if !self.set_time(ticks, current) => return Some(false),
            Some(_) => {}
            None => {
                current.set_clock(None);
                // Messages stay in order.
                current.time = self.clock.map(|clock| clock.nanoseconds);
            }
        }
        current.values.clear();
        match &located.record {
            Record::Scheduling(scheduling) => self.scheduling(scheduling, file, current)?,
            Record::Profiler(profiler) => self.profiler(profiler, file, current)?,
            Record::LargeBlob(blob) => self.large_blob(blob, file, current)?,
            Record::Unknown(record) => self.unknown(record, current)?,
            record => self.object(record, file, current)?,
        }
        Some(true)
    }

    /// Sets the class of a record without arguments.
    fn set_form(&mut self, kind: RecordKind, current: &mut CurrentRecord) -> Option<()> {
        let known = self.classes.of_form(RecordForm::new(kind))?;
        current.set_dynamic_class(&known.class);
        Some(())
    }

    /// Sets the class of a record with arguments; returns `true` if they are an array.
    fn set_class(
        &mut self,
        kind: RecordKind,
        arguments: Arguments<'_>,
        file: &FxtFile,
        current: &mut CurrentRecord,
    ) -> Option<bool> {
        self.check_arguments(arguments);
        let names = RecordNames { tables: &self.tables, bytes: &file.bytes };
        let known = self.classes.find(RecordForm::new(kind), None, arguments, &names)?;
        current.set_dynamic_class(&known.class);
        Some(known.is_any)
    }

    fn object(&mut self, record: &Record<'_>, file: &FxtFile, current: &mut CurrentRecord) -> Option<()> {
        let mut process = None;
        let mut thread = None;
        let mut is_any = false;
        match record {
            Record::Blob(blob) => {
                self.look_up(blob.name);
                self.set_form(RecordKind::Blob, current)?;
            }
            Record::Log(log) => {
                (process, thread) = self.thread(log.thread);
                self.set_form(RecordKind::Log, current)?;
            }
            Record::UserspaceObject(object) => {
                process = self.process(object.process);
                self.look_up(object.name);
                is_any = self.set_class(RecordKind::UserspaceObject, object.arguments, file, current)?;
            }
            Record::KernelObject(object) => {
                self.look_up(object.name);
                is_any = self.set_class(RecordKind::KernelObject, object.arguments, file, current)?;
            }
            _ => return None,
        }
        let names = RecordNames { tables: &self.tables, bytes: &file.bytes };
        let mut writer = ValueWriter { values: &mut current.values, names };
        writer.common(process, thread, &mut self.object_names);
        match record {
            Record::Blob(blob) => {
                writer.values.begin(Scope::Payload);
                writer.string(blob.name);
                writer.values.push(u64::from(blob.kind));
                writer.values.push(FieldValue::Blob(blob.data));
            }
            Record::Log(log) => {
                writer.values.begin(Scope::Payload);
                writer.values.push(FieldValue::Text(log.message));
            }
            Record::UserspaceObject(object) => {
                writer.values.begin(Scope::SpecificContext);
                writer.values.push(object.pointer);
                writer.string(object.name);
                writer.values.begin(Scope::Payload);
                writer.arguments(object.arguments, is_any);
            }
            Record::KernelObject(object) => {
                writer.values.begin(Scope::SpecificContext);
                writer.values.push(object.koid);
                writer.values.push(u64::from(object.kind));
                writer.string(object.name);
                writer.values.begin(Scope::Payload);
                writer.arguments(object.arguments, is_any);
            }
            _ => {}
        }
        Some(())
    }

    fn scheduling(
        &mut self,
        scheduling: &Scheduling<'_>,
        file: &FxtFile,
        current: &mut CurrentRecord,
    ) -> Option<()> {
        match scheduling {
            Scheduling::LegacySwitch(switch) => {
                let (process, thread) = self.thread(switch.incoming);
                let (outgoing_process, outgoing) = self.thread(switch.outgoing);
                self.set_form(RecordKind::LegacySwitch, current)?;
                let mut writer = writer(&self.tables, file, current);
                writer.common(process, thread, &mut self.object_names);
                let values = &mut current.values;
                values.begin(Scope::Payload);
                values.push(u64::from(switch.processor));
                values.push(outgoing_process.unwrap_or(0));
                values.push(outgoing.unwrap_or(0));
                values.push(u64::from(switch.state));
                values.push(u64::from(switch.outgoing_priority));
                values.push(u64::from(switch.incoming_priority));
            }
            Scheduling::Switch(switch) => {
                let is_any = self.set_class(RecordKind::Switch, switch.arguments, file, current)?;
                let mut writer = writer(&self.tables, file, current);
                writer.common(None, Some(switch.incoming), &mut self.object_names);
                writer.values.begin(Scope::SpecificContext);
                writer.values.push(u64::from(switch.processor));
                writer.values.push(switch.outgoing);
                writer.values.push(u64::from(switch.state));
                writer.values.begin(Scope::Payload);
                writer.arguments(switch.arguments, is_any);
            }
            Scheduling::Wakeup(wakeup) => {
                let is_any = self.set_class(RecordKind::Wakeup, wakeup.arguments, file, current)?;
                let mut writer = writer(&self.tables, file, current);
                writer.common(None, Some(wakeup.thread), &mut self.object_names);
                writer.values.begin(Scope::SpecificContext);
                writer.values.push(u64::from(wakeup.processor));
                writer.values.begin(Scope::Payload);
                writer.arguments(wakeup.arguments, is_any);
            }
        }
        Some(())
    }

    fn profiler(
        &mut self,
        profiler: &Profiler<'_>,
        file: &FxtFile,
        current: &mut CurrentRecord,
    ) -> Option<()> {
        match profiler {
            Profiler::Module(module) => {
                let (process, thread) = self.module_thread(module.thread);
                self.set_form(RecordKind::Module, current)?;
                writer(&self.tables, file, current).common(process, thread, &mut self.object_names);
                let values = &mut current.values;
                values.begin(Scope::Payload);
                values.push(u64::from(module.id));
                values.push(FieldValue::Text(module.name));
                values.push(FieldValue::Blob(module.build_id));
            }
            Profiler::Mapping(mapping) => {
                let (process, thread) = self.module_thread(mapping.thread);
                self.set_form(RecordKind::Mapping, current)?;
                writer(&self.tables, file, current).common(process, thread, &mut self.object_names);
                let values = &mut current.values;
                values.begin(Scope::Payload);
                values.push(u64::from(mapping.module));
                values.push(u64::from(mapping.flags));
                values.push(mapping.begin);
                values.push(mapping.size);
                values.push(mapping.module_address);
            }
            Profiler::Backtrace(backtrace) => {
                let (process, thread) = self.thread(backtrace.thread);
                self.set_form(RecordKind::Backtrace, current)?;
                let stack = self.stack(backtrace, process);
                writer(&self.tables, file, current).common(process, thread, &mut self.object_names);
                let values = &mut current.values;
                values.begin(Scope::Payload);
                values.push_optional(stack.is_some());
                if let Some(stack) = stack {
                    values.push(stack);
                }
                values.push(backtrace.flags);
            }
        }
        Some(())
    }

    /// Returns the number of a call stack in the table of the trace.
    fn stack(&mut self, backtrace: &Backtrace<'_>, process: Option<u64>) -> Option<u32> {
        self.addresses.clear();
        self.addresses.extend(backtrace.addresses());
        let space = self.file.spaces.get(process.unwrap_or(0));
        self.stream.trace.stacks.intern_addresses(space, &self.addresses)
    }

    fn large_blob(
        &mut self,
        blob: &LargeBlob<'_>,
        file: &FxtFile,
        current: &mut CurrentRecord,
    ) -> Option<()> {
        self.look_up(blob.category);
        self.look_up(blob.name);
        let (mut thread, mut is_any) = ((None, None), false);
        match &blob.metadata {
            Some(metadata) => {
                thread = self.thread(metadata.thread);
                is_any = self.set_class(RecordKind::LargeBlob, metadata.arguments, file, current)?;
            }
            None => self.set_form(RecordKind::BareLargeBlob, current)?,
        }
        let mut writer = writer(&self.tables, file, current);
        writer.common(thread.0, thread.1, &mut self.object_names);
        writer.values.begin(Scope::SpecificContext);
        writer.string(blob.category);
        writer.string(blob.name);
        if let Some(metadata) = &blob.metadata {
            if !is_any {
                writer.values.begin_structure();
            }
            writer.arguments(metadata.arguments, is_any);
            if !is_any {
                writer.values.end();
            }
        }
        current.set_bits(Scope::Payload, blob.size_offset * 8);
        Some(())
    }

    fn unknown(&mut self, record: &UnknownRecord<'_>, current: &mut CurrentRecord) -> Option<()> {
        let is_large = u64::from(record.kind()) == record_kind::LARGE;
        let kind = if is_large { RecordKind::LargeUnknown } else { RecordKind::Unknown };
        self.set_form(kind, current)?;
        let values = &mut current.values;
        values.clear();
        values.begin(Scope::CommonContext);
        values.push_optional(false);
        values.push_optional(false);
        values.begin(Scope::Payload);
        values.push(u64::from(record.kind()));
        if is_large {
            // Its data can be very large.
            values.push(record.header());
            values.push(record.bytes.len() as u64);
        } else {
            values.push(FieldValue::Blob(record.bytes));
        }
        Some(())
    }

    #[cold]
    fn damage(&self, error: &FxtError, at: u64) -> Damage {
        let mut statement = error.statement().to_string();
        if error.at != at {
            statement += &format!(", at byte {}", error.at);
        }
        let rule = BrokenRule {
            name: error.rule.name(),
            statement,
            remedy: remedy(error.rule),
            // The number of a record that was read ahead is unknown.
            record: Some(self.records).filter(|_| self.pending.is_none()),
            fatal: error.rule.is_fatal(),
        };
        Damage::new(&*self.file.name, at * 8, rule.into()).in_stream(&*self.stream.name)
    }
}

fn writer<'v>(tables: &'v Tables, file: &'v FxtFile, current: &'v mut CurrentRecord) -> ValueWriter<'v, 'v> {
    let names = RecordNames { tables, bytes: &file.bytes };
    ValueWriter { values: &mut current.values, names }
}

/// Result of reading a record.
enum ReadResult {
    Nothing,
    Event,
    /// Messages are in the queue.
    Queued,
    Damage(Damage),
}

impl Source for FxtSource {
    #[inline(always)]
    fn next(&mut self, record: &mut CurrentRecord) -> NextRecord {
        loop {
            if let Some(error) = self.faults.pop_front() {
                return NextRecord::Damage(self.damage(&error, error.at));
            }
            if std::mem::take(&mut self.is_waiting) {
                return NextRecord::Event;
            }
            match self.read(record) {
                Some(ReadResult::Event) if self.faults.is_empty() => return NextRecord::Event,
                Some(ReadResult::Event) => self.is_waiting = true,
                Some(ReadResult::Nothing) => {
                    if self.is_after_window(record) {
                        break;
                    }
                }
                Some(ReadResult::Queued) => return NextRecord::Messages,
                Some(ReadResult::Damage(damage)) => return NextRecord::Damage(damage),
                None => break,
            }
        }
        self.end(record)
    }

    fn bytes(&self) -> &[u8] {
        &self.file.bytes
    }

    fn is_ordered(&self) -> bool {
        self.index().is_some_and(|stream| stream.is_ordered)
    }

    #[inline(always)]
    fn checks_events(&self) -> bool {
        true
    }
}

impl FxtSource {
    /// Returns `true` if no further event can be in the window.
    #[inline(always)]
    fn is_after_window(&self, record: &CurrentRecord) -> bool {
        let is_after =
            self.window.end.is_some_and(|end| record.clock.is_some_and(|clock| clock.nanoseconds > end));
        is_after && self.faults.is_empty() && self.is_ordered()
    }

    #[cold]
    fn end(&mut self, record: &mut CurrentRecord) -> NextRecord {
        record.time = self.clock.map(|clock| clock.nanoseconds);
        let lost = self.file.bytes.look_for_loss();
        if !lost.is_empty() && !std::mem::replace(&mut self.is_loss_reported, true) {
            let kind = DamageKind::Lost { reported: true };
            let damage = Damage::new(&*self.file.name, lost.start as u64 * 8, kind);
            let damage = damage.in_stream(&*self.stream.name).skipping(lost.len() as u64 * 8);
            return NextRecord::Damage(damage);
        }
        NextRecord::End
    }
}
