//! Field numbers of Perfetto messages (`protos/perfetto/trace` in its repository).

/// `Trace`
pub(super) mod trace {
    pub(crate) const PACKET: u32 = 1;
}

/// `TracePacket`
pub(super) mod packet {
    pub(crate) const FTRACE_EVENTS: u32 = 1;
    pub(crate) const PROCESS_TREE: u32 = 2;
    pub(crate) const CLOCK_SNAPSHOT: u32 = 6;
    pub(crate) const TIMESTAMP: u32 = 8;
    pub(crate) const SEQUENCE_ID: u32 = 10;
    pub(crate) const TRACK_EVENT: u32 = 11;
    pub(crate) const INTERNED_DATA: u32 = 12;
    pub(crate) const SEQUENCE_FLAGS: u32 = 13;
    pub(crate) const ANDROID_LOG: u32 = 39;
    pub(crate) const TRACK_DESCRIPTOR: u32 = 60;
    pub(crate) const PERF_SAMPLE: u32 = 66;
    pub(crate) const STACK_SAMPLE: u32 = 135;
    pub(crate) const MACHINE_ID: u32 = 98;
    pub(crate) const TASK_STATE: u32 = 117;
    /// Packet flag that clears all earlier names.
    pub(crate) const CLEARED: u64 = 1;
    /// Packet flag for use of earlier names.
    pub(crate) const NEEDS_NAMES: u64 = 2;
}

/// `ClockSnapshot` with `Clock`
pub(super) mod clock {
    pub(crate) const CLOCKS: u32 = 1;
    pub(crate) const ID: u32 = 1;
    pub(crate) const TIMESTAMP: u32 = 2;
    pub(crate) const REALTIME: u64 = 1;
    pub(crate) const BOOTTIME: u64 = 6;
}

/// `ProcessTree` with `Process` and `Thread`
pub(super) mod process_tree {
    pub(crate) const PROCESSES: u32 = 1;
    pub(crate) const THREADS: u32 = 2;
    pub(crate) const PROCESS_ID: u32 = 1;
    pub(crate) const COMMAND_LINE: u32 = 3;
    pub(crate) const THREAD_ID: u32 = 1;
    pub(crate) const THREAD_NAME: u32 = 2;
    pub(crate) const THREAD_PROCESS: u32 = 3;
}

/// `TrackDescriptor` with `ProcessDescriptor`, `ThreadDescriptor` and `CounterDescriptor`
pub(super) mod track {
    pub(crate) const ID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const PROCESS: u32 = 3;
    pub(crate) const THREAD: u32 = 4;
    pub(crate) const PARENT: u32 = 5;
    pub(crate) const COUNTER: u32 = 8;
    pub(crate) const PROCESS_ID: u32 = 1;
    pub(crate) const PROCESS_NAME: u32 = 6;
    pub(crate) const THREAD_PROCESS: u32 = 1;
    pub(crate) const THREAD_ID: u32 = 2;
    pub(crate) const THREAD_NAME: u32 = 5;
    pub(crate) const UNIT_NAME: u32 = 6;
}

/// `TrackEvent`
pub(super) mod event {
    pub(crate) const CATEGORY_IIDS: u32 = 3;
    pub(crate) const ANNOTATIONS: u32 = 4;
    pub(crate) const TYPE: u32 = 9;
    pub(crate) const NAME_IID: u32 = 10;
    pub(crate) const TRACK: u32 = 11;
    pub(crate) const NAME: u32 = 23;
    pub(crate) const COUNTER_VALUE: u32 = 30;
    pub(crate) const DOUBLE_COUNTER_VALUE: u32 = 44;
    pub(crate) const FLOWS: u32 = 47;
    pub(crate) const LAST_FLOWS: u32 = 48;
    pub(crate) const CALL_STACK: u32 = 56;
    pub(crate) const SLICE_BEGIN: u64 = 1;
    pub(crate) const SLICE_END: u64 = 2;
    pub(crate) const INSTANT: u64 = 3;
    pub(crate) const COUNTER: u64 = 4;
}

/// `DebugAnnotation`
pub(super) mod annotation {
    pub(crate) const NAME_IID: u32 = 1;
    pub(crate) const BOOLEAN: u32 = 2;
    pub(crate) const UNSIGNED: u32 = 3;
    pub(crate) const SIGNED: u32 = 4;
    pub(crate) const DOUBLE: u32 = 5;
    pub(crate) const STRING: u32 = 6;
    pub(crate) const NAME: u32 = 10;
    pub(crate) const DICTIONARY: u32 = 11;
    pub(crate) const ARRAY: u32 = 12;
}

/// `InternedData` and its messages
pub(super) mod interned {
    pub(crate) const CATEGORIES: u32 = 1;
    pub(crate) const EVENT_NAMES: u32 = 2;
    pub(crate) const ANNOTATION_NAMES: u32 = 3;
    pub(crate) const FUNCTION_NAMES: u32 = 5;
    pub(crate) const FRAMES: u32 = 6;
    pub(crate) const CALL_STACKS: u32 = 7;
    pub(crate) const MAPPING_PATHS: u32 = 17;
    pub(crate) const MAPPINGS: u32 = 19;
    pub(crate) const IID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const FRAME_FUNCTION: u32 = 2;
    pub(crate) const FRAME_MAPPING: u32 = 3;
    pub(crate) const FRAME_ADDRESS: u32 = 4;
    pub(crate) const STACK_FRAMES: u32 = 2;
    pub(crate) const MAPPING_PATH: u32 = 7;
}

/// `FtraceEventBundle` with `FtraceEvent`, `SchedSwitchFtraceEvent` and `SchedWakingFtraceEvent`
pub(super) mod ftrace {
    pub(crate) const PROCESSOR: u32 = 1;
    pub(crate) const EVENT: u32 = 2;
    pub(crate) const TIMESTAMP: u32 = 1;
    pub(crate) const THREAD: u32 = 2;
    pub(crate) const SWITCH: u32 = 4;
    pub(crate) const WAKING: u32 = 20;
    pub(crate) const PREVIOUS_NAME: u32 = 1;
    pub(crate) const PREVIOUS_THREAD: u32 = 2;
    pub(crate) const PREVIOUS_STATE: u32 = 4;
    pub(crate) const NEXT_NAME: u32 = 5;
    pub(crate) const NEXT_THREAD: u32 = 6;
    pub(crate) const NEXT_PRIORITY: u32 = 7;
    pub(crate) const WOKEN_NAME: u32 = 1;
    pub(crate) const WOKEN_THREAD: u32 = 2;
}

/// `GenericKernelTaskStateEvent`, and its `TaskStateEnum`
pub(super) mod task_state {
    pub(crate) const PROCESSOR: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const THREAD: u32 = 3;
    pub(crate) const STATE: u32 = 4;
    pub(crate) const RUNNABLE: u64 = 2;
    pub(crate) const RUNNING: u64 = 3;
    pub(crate) const INTERRUPTIBLE_SLEEP: u64 = 4;
    pub(crate) const UNINTERRUPTIBLE_SLEEP: u64 = 5;
    pub(crate) const STOPPED: u64 = 6;
    pub(crate) const DEAD: u64 = 7;
    pub(crate) const DESTROYED: u64 = 8;
}

/// `AndroidLogPacket`, and `LogEvent` in it
pub(super) mod android_log {
    pub(crate) const EVENTS: u32 = 1;
    pub(crate) const PROCESS: u32 = 2;
    pub(crate) const THREAD: u32 = 3;
    pub(crate) const TIME: u32 = 5;
    pub(crate) const TAG: u32 = 6;
    pub(crate) const PRIORITY: u32 = 7;
    pub(crate) const MESSAGE: u32 = 8;
}

/// `PerfSample`
pub(super) mod sample {
    pub(crate) const PROCESSOR: u32 = 1;
    pub(crate) const PROCESS: u32 = 2;
    pub(crate) const THREAD: u32 = 3;
    pub(crate) const CALL_STACK: u32 = 4;
}

/// `StackSample`
pub(super) mod stack_sample {
    pub(crate) const TASK: u32 = 1;
    pub(crate) const CALL_STACK: u32 = 6;
}

/// `StackSample.TaskContext`
pub(super) mod task_context {
    pub(crate) const PROCESS: u32 = 2;
    pub(crate) const THREAD: u32 = 3;
}
