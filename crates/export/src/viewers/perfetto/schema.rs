//! Numbers of the fields of Perfetto's messages (`protos/perfetto/trace` of its repository).

/// `Trace`
pub(super) mod trace {
    pub(in super::super) const PACKET: u32 = 1;
}

/// `TracePacket`
pub(super) mod packet {
    pub(in super::super) const CLOCK_SNAPSHOT: u32 = 6;
    pub(in super::super) const TIMESTAMP: u32 = 8;
    pub(in super::super) const SEQUENCE_ID: u32 = 10;
    pub(in super::super) const TRACK_EVENT: u32 = 11;
    pub(in super::super) const INTERNED_DATA: u32 = 12;
    pub(in super::super) const SEQUENCE_FLAGS: u32 = 13;
    pub(in super::super) const TRACK_DESCRIPTOR: u32 = 60;
    pub(in super::super) const PERF_SAMPLE: u32 = 66;
    /// Flag of a packet after which nothing is known of earlier names.
    pub(in super::super) const CLEARED: u64 = 1;
    /// Flag of a packet that needs names of earlier ones.
    pub(in super::super) const NEEDS_NAMES: u64 = 2;
}

/// `ClockSnapshot`, and `Clock` in it
pub(super) mod clock {
    pub(in super::super) const CLOCKS: u32 = 1;
    pub(in super::super) const ID: u32 = 1;
    pub(in super::super) const TIMESTAMP: u32 = 2;
    pub(in super::super) const REALTIME: u64 = 1;
    pub(in super::super) const BOOTTIME: u64 = 6;
}

/// `TrackDescriptor`, and `ProcessDescriptor` and `ThreadDescriptor` in it
pub(super) mod track {
    pub(in super::super) const ID: u32 = 1;
    pub(in super::super) const NAME: u32 = 2;
    pub(in super::super) const PROCESS: u32 = 3;
    pub(in super::super) const THREAD: u32 = 4;
    pub(in super::super) const PARENT: u32 = 5;
    pub(in super::super) const COUNTER: u32 = 8;
    pub(in super::super) const PROCESS_ID: u32 = 1;
    pub(in super::super) const PROCESS_NAME: u32 = 6;
    pub(in super::super) const THREAD_PROCESS: u32 = 1;
    pub(in super::super) const THREAD_ID: u32 = 2;
    pub(in super::super) const THREAD_NAME: u32 = 5;
}

/// `TrackEvent`
pub(super) mod event {
    pub(in super::super) const CATEGORY_IIDS: u32 = 3;
    pub(in super::super) const ANNOTATIONS: u32 = 4;
    pub(in super::super) const TYPE: u32 = 9;
    pub(in super::super) const NAME_IID: u32 = 10;
    pub(in super::super) const TRACK: u32 = 11;
    pub(in super::super) const NAME: u32 = 23;
    pub(in super::super) const COUNTER_VALUE: u32 = 30;
    pub(in super::super) const DOUBLE_COUNTER_VALUE: u32 = 44;
    pub(in super::super) const FLOWS: u32 = 47;
    pub(in super::super) const CALL_STACK: u32 = 56;
    pub(in super::super) const SLICE_BEGIN: u64 = 1;
    pub(in super::super) const SLICE_END: u64 = 2;
    pub(in super::super) const INSTANT: u64 = 3;
    pub(in super::super) const COUNTER: u64 = 4;
}

/// `DebugAnnotation`
pub(super) mod annotation {
    pub(in super::super) const NAME_IID: u32 = 1;
    pub(in super::super) const BOOLEAN: u32 = 2;
    pub(in super::super) const UNSIGNED: u32 = 3;
    pub(in super::super) const SIGNED: u32 = 4;
    pub(in super::super) const DOUBLE: u32 = 5;
    pub(in super::super) const STRING: u32 = 6;
    pub(in super::super) const NAME: u32 = 10;
    pub(in super::super) const DICTIONARY: u32 = 11;
    pub(in super::super) const ARRAY: u32 = 12;
}

/// `InternedData`, and the messages in it
pub(super) mod interned {
    pub(in super::super) const CATEGORIES: u32 = 1;
    pub(in super::super) const EVENT_NAMES: u32 = 2;
    pub(in super::super) const ANNOTATION_NAMES: u32 = 3;
    pub(in super::super) const FUNCTION_NAMES: u32 = 5;
    pub(in super::super) const FRAMES: u32 = 6;
    pub(in super::super) const CALL_STACKS: u32 = 7;
    pub(in super::super) const MAPPING_PATHS: u32 = 17;
    pub(in super::super) const MAPPINGS: u32 = 19;
    pub(in super::super) const IID: u32 = 1;
    pub(in super::super) const NAME: u32 = 2;
    pub(in super::super) const FRAME_FUNCTION: u32 = 2;
    pub(in super::super) const FRAME_MAPPING: u32 = 3;
    pub(in super::super) const FRAME_ADDRESS: u32 = 4;
    pub(in super::super) const STACK_FRAMES: u32 = 2;
    pub(in super::super) const MAPPING_PATH: u32 = 7;
}

/// `PerfSample`
pub(super) mod sample {
    pub(in super::super) const PROCESSOR: u32 = 1;
    pub(in super::super) const PROCESS: u32 = 2;
    pub(in super::super) const THREAD: u32 = 3;
    pub(in super::super) const CALL_STACK: u32 = 4;
}
