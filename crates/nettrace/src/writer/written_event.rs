//! Parts of an event to write, except its payload.

use std::hash::{DefaultHasher, Hash, Hasher};

use ichnos_model::digest::ValueHash;

use crate::EventMetadata;

/// Maximum thread name size in bytes, because its row must be shorter than 64 KiB.
const LONGEST_NAME: usize = 32_000;

/// Parts of an event, except its payload.
#[derive(Clone, Debug)]
pub(super) struct NettraceEvent {
    pub(super) ticks: u64,
    pub(super) thread: u64,
    /// Thread that emitted the event, if it is not `thread`.
    pub(super) capture_thread: Option<u64>,
    /// Processor. `u32::MAX` if unknown.
    pub(super) processor: u32,
    /// Number in the trace's stack table.
    pub(super) stack: Option<u32>,
    /// All zeros without an activity.
    pub(super) activity: [u8; 16],
    pub(super) related_activity: [u8; 16],
    /// Process (version 6).
    pub(super) process: Option<u64>,
    /// Thread name (version 6).
    pub(super) thread_name: Option<String>,
    /// OpenTelemetry trace id (version 6).
    pub(super) trace_id: Option<[u8; 16]>,
    /// OpenTelemetry span id (version 6).
    pub(super) span_id: Option<u64>,
    /// Capture thread's process (version 6).
    pub(super) capture_process: Option<u64>,
    /// Other labels: names and values (version 6).
    pub(super) labels: Vec<(String, String)>,
    pub(super) numeric_labels: Vec<(String, i64)>,
}

impl Default for NettraceEvent {
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

impl NettraceEvent {
    /// Starts an event without parts.
    pub(super) fn begin(&mut self, ticks: u64) {
        let mut labels = std::mem::take(&mut self.labels);
        let mut numeric_labels = std::mem::take(&mut self.numeric_labels);
        labels.clear();
        numeric_labels.clear();
        *self = Self { ticks, labels, numeric_labels, ..Self::default() };
    }

    /// Sets the thread name. A very long name is cut.
    pub(super) fn set_thread_name(&mut self, name: &str) {
        let length = name.floor_char_boundary(LONGEST_NAME);
        self.thread_name = Some(name.get(..length).unwrap_or_default().to_owned());
    }

    /// Returns `true` if the event has labels (version 6).
    pub(super) fn has_labels(&self) -> bool {
        self.activity != [0; 16]
            || self.related_activity != [0; 16]
            || self.trace_id.is_some()
            || self.span_id.is_some()
            || !self.labels.is_empty()
            || !self.numeric_labels.is_empty()
    }

    /// Returns `true` if the event has parts that version 4 lacks, except the process.
    pub(super) fn has_more(&self) -> bool {
        self.thread_name.is_some()
            || self.trace_id.is_some()
            || self.span_id.is_some()
            || !self.labels.is_empty()
            || !self.numeric_labels.is_empty()
            || self.capture_process.is_some()
    }

    /// Returns a hash that is equal for events with equal metadata, payload and frames. `is_described` means that the
    /// payload matches its description.
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

/// Returns the hash of an event description, without its id.
pub(super) fn metadata_hash(metadata: &EventMetadata) -> u64 {
    // Uses constant keys.
    let mut hasher = DefaultHasher::new();
    let metadata = EventMetadata { id: 0, ..metadata.clone() };
    metadata.hash(&mut hasher);
    hasher.finish()
}
