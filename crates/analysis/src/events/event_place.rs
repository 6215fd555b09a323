//! Process, thread and processor for an event.

/// Process, thread and processor for an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventPlace<'e> {
    /// Process identifier.
    pub process: Option<u64>,
    /// Process name.
    pub process_name: Option<&'e str>,
    /// Thread identifier.
    pub thread: Option<u64>,
    /// Thread name.
    pub thread_name: Option<&'e str>,
    /// Processor on which the event happened.
    pub processor: Option<u64>,
}
