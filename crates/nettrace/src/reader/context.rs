//! Writes the common context of events as values.

use ichnos_model::Scope;
use ichnos_model::class::Uuid;
use ichnos_model::event::EventValues;
use ichnos_model::field::FieldValue;

use super::pending::PendingEvent;
use super::trace_file::FileState;

/// Members in the previous event's common context. If the next event has the same members, only their values are
/// replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ContextMembers {
    is_written: bool,
    has_capture_thread: bool,
    has_processor: bool,
    has_stack: bool,
    has_activity: bool,
    has_related_activity: bool,
}

impl ContextMembers {
    /// Writes an event's common context up to version 5, and its resource. See `class::common_context`.
    #[inline(always)]
    pub(super) fn write(
        &mut self,
        values: &mut EventValues,
        file: &FileState,
        entry: &PendingEvent,
        stack: Option<u32>,
    ) {
        let shape = Self {
            is_written: true,
            has_capture_thread: entry.capture_thread != entry.thread,
            has_processor: entry.processor != u32::MAX,
            has_stack: stack.is_some(),
            has_activity: entry.activity != 0,
            has_related_activity: entry.related_activity != 0,
        };
        if *self == shape {
            shape.replace(values, file, entry, stack);
        } else {
            *self = shape;
            shape.write_all(values, file, entry, stack);
        }
    }

    #[inline(always)]
    fn replace(self, values: &mut EventValues, file: &FileState, entry: &PendingEvent, stack: Option<u32>) {
        const SCOPE: Scope = Scope::CommonContext;
        values.replace_unsigned(SCOPE, 0, entry.thread);
        // Each optional member follows its presence flag.
        let mut index = 1;
        if self.has_capture_thread {
            values.replace_unsigned(SCOPE, index + 1, entry.capture_thread);
            index += 1;
        }
        index += 1;
        if self.has_processor {
            values.replace_unsigned(SCOPE, index + 1, entry.processor.into());
            index += 1;
        }
        index += 1;
        if let Some(stack) = stack {
            values.replace_unsigned(SCOPE, index + 1, stack.into());
            index += 1;
        }
        index += 1;
        if self.has_activity {
            values.replace_guid(SCOPE, index + 1, guid_before(&file.bytes, entry.payload, entry.activity));
            index += 1;
        }
        index += 1;
        if self.has_related_activity {
            values.replace_guid(
                SCOPE,
                index + 1,
                guid_before(&file.bytes, entry.payload, entry.related_activity),
            );
        }
    }

    #[inline(never)]
    fn write_all(self, values: &mut EventValues, file: &FileState, entry: &PendingEvent, stack: Option<u32>) {
        let guid = |before: u32| FieldValue::Guid(guid_before(&file.bytes, entry.payload, before));
        values.clear();
        values.begin(Scope::CommonContext);
        values.push(entry.thread);
        push_optional(values, self.has_capture_thread.then_some(entry.capture_thread));
        push_optional(values, self.has_processor.then_some(entry.processor));
        push_optional(values, stack);
        push_optional(values, self.has_activity.then(|| guid(entry.activity)));
        push_optional(values, self.has_related_activity.then(|| guid(entry.related_activity)));
        values.begin(Scope::Resource);
        push_optional(values, file.index.trace.process_id);
    }
}

/// Appends an optional value.
#[inline(always)]
pub(super) fn push_optional<'v>(values: &mut EventValues, value: Option<impl Into<FieldValue<'v>>>) {
    values.push_optional(value.is_some());
    if let Some(value) = value {
        values.push(value);
    }
}

/// Appends an optional array of names and values. An empty array is absent.
pub(super) fn push_labels<'v>(
    values: &mut EventValues,
    labels: impl ExactSizeIterator<Item = (&'v str, FieldValue<'v>)>,
) {
    values.push_optional(labels.len() > 0);
    if labels.len() == 0 {
        return;
    }
    values.begin_array();
    for (name, value) in labels {
        values.begin_structure();
        values.push(FieldValue::Text(name.as_bytes()));
        values.push(value);
        values.end();
    }
    values.end();
}

/// Reads the GUID that starts `before` bytes before a payload.
#[inline(always)]
fn guid_before(bytes: &[u8], payload: u64, before: u32) -> Uuid {
    let at = payload.saturating_sub(before.into());
    let bytes = bytes.get(at as usize..).and_then(|bytes| bytes.first_chunk::<16>());
    bytes.map_or_else(Uuid::nil, |bytes| Uuid::from_bytes_le(*bytes))
}
