//! Writes record values in class order.

use std::sync::Arc;

use ichnos_model::Scope;
use ichnos_model::event::{EventValues, ValuesMark};
use ichnos_model::field::FieldValue;

use super::class::option_of;
use super::classes::RecordNames;
use super::index::ObjectNames;
use crate::fxt::{
    Argument, ArgumentValue, ArgumentWords, Arguments, EventKind, EventRecord, MAX_RECORD_WORDS, StringRef,
};

/// Process and thread names, including the names of the last record.
#[derive(Debug)]
pub(super) struct NameCache {
    objects: Arc<ObjectNames>,
    ids: [Option<u64>; 2],
    names: [Option<Arc<str>>; 2],
    /// End of the process and thread values in the last record, if it has any.
    mark: Option<ValuesMark>,
}

impl NameCache {
    pub(super) fn new(objects: &Arc<ObjectNames>) -> Self {
        Self { objects: Arc::clone(objects), ids: [None; 2], names: [None, None], mark: None }
    }

    /// Forgets the values of the last record.
    #[inline(always)]
    pub(super) fn forget_values(&mut self) {
        self.mark = None;
    }

    #[inline(always)]
    fn get(&mut self, process: Option<u64>, thread: Option<u64>) -> &[Option<Arc<str>>; 2] {
        let ids = [process, thread];
        if self.ids != ids {
            self.ids = ids;
            self.names = ids.map(|id| id.and_then(|id| self.objects.get(&id).cloned()));
        }
        &self.names
    }
}

/// Writes the values of a record.
pub(super) struct ValueWriter<'v, 'a> {
    pub(super) values: &'v mut EventValues,
    pub(super) names: RecordNames<'a>,
}

impl ValueWriter<'_, '_> {
    /// Starts the values of an event with the common context, and the process and thread names if known. The values of
    /// the last record stay if they are equal.
    #[inline(always)]
    pub(super) fn begin(&mut self, process: Option<u64>, thread: Option<u64>, cache: &mut NameCache) {
        match cache.mark {
            Some(mark) if cache.ids == [process, thread] => self.values.keep(mark),
            _ => {
                self.values.clear();
                self.common(process, thread, cache);
                cache.ids = [process, thread];
                cache.mark = Some(self.values.mark());
            }
        }
    }

    /// Writes the common context, and the process and thread names if known.
    pub(super) fn common(&mut self, process: Option<u64>, thread: Option<u64>, cache: &mut NameCache) {
        self.values.begin(Scope::CommonContext);
        self.optional(process);
        self.optional(thread);
        if !cache.objects.is_empty() {
            self.resource(process, thread, cache);
        }
    }

    #[inline(always)]
    fn optional(&mut self, number: Option<u64>) {
        self.values.push_optional(number.is_some());
        if let Some(number) = number {
            self.values.push(number);
        }
    }

    fn resource(&mut self, process: Option<u64>, thread: Option<u64>, cache: &mut NameCache) {
        let names = cache.get(process, thread);
        if names.iter().all(Option::is_none) {
            return;
        }
        self.values.begin(Scope::Resource);
        for name in names {
            self.values.push_optional(name.is_some());
            if let Some(name) = name {
                self.values.push(&**name);
            }
        }
    }

    /// Writes a string.
    #[inline(always)]
    pub(super) fn string(&mut self, reference: StringRef<'_>) {
        let values = &mut *self.values;
        self.names.with(reference, |text| values.push(FieldValue::Text(text)));
    }

    /// Writes the specific context of an event with this type and time. `any` is the event if it is beyond the class
    /// limit. `flow` returns the flow number.
    #[inline(always)]
    pub(super) fn event_context(
        &mut self,
        (kind, ticks): (EventKind, u64),
        thread: Option<u64>,
        any: Option<&EventRecord<'_>>,
        flow: impl FnOnce() -> Option<u64>,
    ) {
        let has_context = !matches!(
            kind,
            EventKind::DurationBegin | EventKind::DurationEnd | EventKind::Instant { scope: None }
        );
        if has_context || any.is_some() {
            self.values.begin(Scope::SpecificContext);
        }
        match kind {
            EventKind::DurationComplete { end } => self.values.push(end.wrapping_sub(ticks) as i64),
            EventKind::FlowStep { id } | EventKind::FlowEnd { id } => {
                self.values.push(id);
                self.operation(id, thread);
                self.optional(flow());
            }
            EventKind::FlowBegin { id } => {
                self.values.push(id);
                self.optional(flow());
            }
            kind => {
                if let Some(word) = kind.word() {
                    self.values.push(word);
                }
            }
        }
        if let Some(event) = any {
            self.values.push(u64::from(kind.number()));
            self.string(event.category);
            self.string(event.name);
        }
    }

    /// Writes the operation of a thread that continues a flow, as two hexadecimal numbers.
    fn operation(&mut self, flow: u64, thread: Option<u64>) {
        let mut text = [0; 32];
        let mut rest = &mut text[..];
        let length = rest.len();
        // Cannot fail: the two numbers have 32 digits.
        let _ = std::io::Write::write_fmt(&mut rest, format_args!("{flow:016X}{:016X}", thread.unwrap_or(0)));
        let length = length - rest.len();
        self.values.push(FieldValue::Text(text.get(..length).unwrap_or_default()));
    }

    /// Writes arguments as members, or as an array for records beyond the class limit.
    #[inline(always)]
    pub(super) fn arguments(&mut self, arguments: Arguments<'_>, is_any: bool) {
        if is_any {
            return self.argument_array(arguments);
        }
        for Argument { value, .. } in arguments.map_while(Result::ok) {
            self.argument(&value);
        }
    }

    /// Writes arguments with these [shapes](Arguments::shapes). Returns `None` at an argument with a different shape, or
    /// with a string that is not registered.
    #[inline(always)]
    pub(super) fn arguments_of(&mut self, arguments: &mut ArgumentWords<'_>, shapes: &[u32]) -> Option<()> {
        for shape in shapes {
            match arguments.next_of(*shape)? {
                ArgumentValue::String(string) => {
                    let text = self.names.tables.string(string, self.names.bytes)?;
                    self.values.push(FieldValue::Text(text));
                }
                value => self.argument(&value),
            }
        }
        Some(())
    }

    #[cold]
    fn argument_array(&mut self, arguments: Arguments<'_>) {
        self.values.begin_array();
        for Argument { name, value } in arguments.map_while(Result::ok) {
            self.values.begin_structure();
            self.string(name);
            self.values.push_variant(option_of(value.kind()));
            self.argument(&value);
            self.values.end();
        }
        self.values.end();
    }

    #[inline(always)]
    fn argument(&mut self, value: &ArgumentValue<'_>) {
        let values = &mut *self.values;
        match *value {
            ArgumentValue::Null => values.push(FieldValue::Null),
            ArgumentValue::Int32(value) => values.push(value),
            ArgumentValue::Uint32(value) => values.push(value),
            ArgumentValue::Int64(value) => values.push(value),
            ArgumentValue::Uint64(value) | ArgumentValue::Pointer(value) | ArgumentValue::Koid(value) => {
                values.push(value);
            }
            ArgumentValue::Double(value) => values.push(value),
            ArgumentValue::String(string) => self.string(string),
            ArgumentValue::Boolean(value) => values.push(value),
            ArgumentValue::Blob(data) => values.push(FieldValue::Blob(data)),
            ArgumentValue::Unknown { low, bytes, .. } => push_unknown(values, low, bytes),
        }
    }
}

/// Writes the value of an unknown argument type, with the rest of the argument header.
#[inline(never)]
fn push_unknown(values: &mut EventValues, low: u32, bytes: &[u8]) {
    // Records cannot be longer than this.
    let mut all = [0; 4 + MAX_RECORD_WORDS * 8];
    let length = 4 + bytes.len();
    if let Some((rest, place)) = all.get_mut(..length).and_then(|all| all.split_first_chunk_mut()) {
        *rest = low.to_le_bytes();
        place.copy_from_slice(bytes);
    }
    // No argument is longer than the array.
    values.push(FieldValue::Blob(all.get(..length).unwrap_or_default()));
}
