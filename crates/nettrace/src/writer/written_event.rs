//! Parts of an event to write, besides its payload.

use std::hash::{DefaultHasher, Hash, Hasher};

use ichnos_model::ValueHash;

use crate::EventMetadata;

/// Maximum size of the name of a thread in bytes: its row has less than 64 KiB.
const LONGEST_NAME: usize = 32_000;

/// Parts of an event, besides its payload.
#[derive(Clone, Debug)]
pub(super) struct WrittenEvent {
    pub(super) ticks: u64,
    pub(super) thread: u64,
    /// Thread that made the event, if it is not `thread`.
    pub(super) capture_thread: Option<u64>,
    /// `u32::MAX` if unknown.
    pub(super) processor: u32,
    /// Number in the stack table of the trace.
    pub(super) stack: Option<u32>,
    /// All zeros without one.
    pub(super) activity: [u8; 16],
    pub(super) related_activity: [u8; 16],
    /// Version 6.
    pub(super) process: Option<u64>,
    /// Name of the thread (version 6).
    pub(super) thread_name: Option<String>,
    /// Trace of OpenTelemetry (version 6).
    pub(super) trace_id: Option<[u8; 16]>,
    /// Span of OpenTelemetry (version 6).
    pub(super) span_id: Option<u64>,
    /// Process of the thread that made the event (version 6).
    pub(super) capture_process: Option<u64>,
    /// Names and values of further labels (version 6).
    pub(super) labels: Vec<(String, String)>,
    pub(super) numeric_labels: Vec<(String, i64)>,
}

impl Default for WrittenEvent {
    fn default() -> Self {
        Self {
            ticks: 0,
            thread: 0,
            capture_thread: None,
            processor: u32::MAX,
            stack: None,
            activity: [0; 16],
            related_activity: [0; 16],
            process: None,
            thread_name: None,
            trace_id: None,
            span_id: None,
            capture_process: None,
            labels: Vec::new(),
            numeric_labels: Vec::new(),
        }
    }
}

impl WrittenEvent {
    /// Begins an event without parts.
    pub(super) fn begin(&mut self, ticks: u64) {
        let mut labels = std::mem::take(&mut self.labels);
        let mut numeric_labels = std::mem::take(&mut self.numeric_labels);
        labels.clear();
        numeric_labels.clear();
        *self = Self { ticks, labels, numeric_labels, ..Self::default() };
    }

    /// Sets the name of the thread; a very long one is cut.
    pub(super) fn set_thread_name(&mut self, name: &str) {
        let length = name.floor_char_boundary(LONGEST_NAME);
        self.thread_name = Some(name.get(..length).unwrap_or_default().to_owned());
    }

    /// Returns `true` if it has labels (version 6).
    pub(super) fn has_labels(&self) -> bool {
        self.activity != [0; 16]
            || self.related_activity != [0; 16]
            || self.trace_id.is_some()
            || self.span_id.is_some()
            || !self.labels.is_empty()
            || !self.numeric_labels.is_empty()
    }

    /// Returns `true` if it has parts besides the process that version 4 lacks.
    pub(super) fn has_more(&self) -> bool {
        self.thread_name.is_some()
            || self.trace_id.is_some()
            || self.span_id.is_some()
            || !self.labels.is_empty()
            || !self.numeric_labels.is_empty()
            || self.capture_process.is_some()
    }

    /// Returns a number that is equal for equal events: those with the same metadata, payload and frames. `is_described`:
    /// the payload fits its description.
    pub(super) fn hash(
        &self,
        metadata: u64,
        is_described: bool,
        payload: &[u8],
        frames: &[u64],
        is_v6: bool,
    ) -> u64 {
        let mut hash = ValueHash::new(metadata);
        hash.add(is_described.into());
        hash.add(self.thread);
        hash.add(self.capture_thread.unwrap_or(self.thread));
        hash.add(self.processor.into());
        hash.bytes(&self.activity);
        hash.bytes(&self.related_activity);
        if is_v6 {
            hash.add(self.process.map_or(0, |process| process.wrapping_add(1)));
            hash.bytes(self.thread_name.as_deref().unwrap_or_default().as_bytes());
            hash.bytes(self.trace_id.as_ref().map_or(&[], |id| &id[..]));
            hash.add(self.span_id.map_or(0, |span| span.wrapping_add(1)));
            hash.add(self.capture_process.map_or(0, |process| process.wrapping_add(1)));
            for (name, value) in &self.labels {
                hash.bytes(name.as_bytes());
                hash.bytes(value.as_bytes());
            }
            for (name, value) in &self.numeric_labels {
                hash.bytes(name.as_bytes());
                hash.add(value.cast_unsigned());
            }
        }
        frames.iter().for_each(|frame| hash.add(*frame));
        hash.bytes(payload);
        hash.finish()
    }
}

/// Returns the hash of a description of events, whatever its id.
pub(super) fn metadata_hash(metadata: &EventMetadata) -> u64 {
    // Its keys are constants.
    let mut hasher = DefaultHasher::new();
    let metadata = EventMetadata { id: 0, ..metadata.clone() };
    metadata.hash(&mut hasher);
    hasher.finish()
}
