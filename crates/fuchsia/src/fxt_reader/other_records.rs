//! Handles records other than events.

use ichnos_model::Scope;
use ichnos_model::field::FieldValue;
use ichnos_model::source::Record as CurrentRecord;

use super::classes::RecordNames;
use super::file::FxtFile;
use super::index::ticks_of;
use super::key::{RecordForm, RecordKind};
use super::source::RecordReader;
use super::tables::Tables;
use super::values::ValueWriter;
use crate::fxt::{
    Arguments, Backtrace, LargeBlob, LocatedRecord, ProcessRef, Profiler, Record, Scheduling, ThreadRef,
    UnknownRecord, record_kind,
};

impl RecordReader {
    /// Returns the process and the thread of a module or a mapping. Fuchsia's profiler writes thread 0, which stands
    /// for all threads of the process.
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

    /// Handles a record that is not an event. The result is the same as for [`Self::event`].
    #[inline(never)]
    pub(super) fn other(
        &mut self,
        located: &LocatedRecord<'_>,
        file: &FxtFile,
        current: &mut CurrentRecord,
    ) -> Option<bool> {
        match ticks_of(&located.record) {
            Some(ticks) if !self.set_time(ticks, current) => return Some(false),
            Some(_) => {}
            None => {
                current.set_clock(None);
                // Messages keep their position.
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
        let known = self.classes.for_form(RecordForm::new(kind))?;
        current.set_dynamic_class(&known.class);
        Some(())
    }

    /// Sets the class of a record with arguments. Returns `true` if they form an array.
    fn set_class(
        &mut self,
        kind: RecordKind,
        arguments: Arguments<'_>,
        file: &FxtFile,
        current: &mut CurrentRecord,
    ) -> Option<bool> {
        self.check_arguments(arguments, file);
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
                self.look_up(blob.name, file);
                self.set_form(RecordKind::Blob, current)?;
            }
            Record::Log(log) => {
                (process, thread) = self.thread(log.thread);
                self.set_form(RecordKind::Log, current)?;
            }
            Record::UserspaceObject(object) => {
                process = self.process(object.process);
                self.look_up(object.name, file);
                is_any = self.set_class(RecordKind::UserspaceObject, object.arguments, file, current)?;
            }
            Record::KernelObject(object) => {
                self.look_up(object.name, file);
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
                let stack = self.stack(backtrace, process, file);
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

    /// Returns the index of a call stack in the trace's table.
    fn stack(&mut self, backtrace: &Backtrace<'_>, process: Option<u64>, file: &FxtFile) -> Option<u32> {
        self.addresses.clear();
        self.addresses.extend(backtrace.addresses());
        let space = file.spaces.get(process.unwrap_or(0));
        self.stream.trace.stacks.intern_addresses(space, &self.addresses)
    }

    fn large_blob(
        &mut self,
        blob: &LargeBlob<'_>,
        file: &FxtFile,
        current: &mut CurrentRecord,
    ) -> Option<()> {
        self.look_up(blob.category, file);
        self.look_up(blob.name, file);
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

    pub(super) fn unknown(&mut self, record: &UnknownRecord<'_>, current: &mut CurrentRecord) -> Option<()> {
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
            // The data can be very large.
            values.push(record.header());
            values.push(record.bytes.len() as u64);
        } else {
            values.push(FieldValue::Blob(record.bytes));
        }
        Some(())
    }
}

fn writer<'v>(tables: &'v Tables, file: &'v FxtFile, current: &'v mut CurrentRecord) -> ValueWriter<'v, 'v> {
    let names = RecordNames { tables, bytes: &file.bytes };
    ValueWriter { values: &mut current.values, names }
}
