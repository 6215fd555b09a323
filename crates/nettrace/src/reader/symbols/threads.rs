//! Thread names, from events that only threads with a certain purpose write.

/// Provider of the runtime's events.
pub(super) const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";

/// Maximum number of named threads. A thread takes 100 bytes.
pub(super) const MOST: usize = 1 << 16;

const FINALIZER: &str = ".NET Finalizer Thread";
const BACKGROUND_GC: &str = ".NET Background GC Thread";
const POOL: &str = ".NET ThreadPool";
const POOL_WORKER: &str = ".NET ThreadPool Worker";
const POOL_IO_WORKER: &str = ".NET IO ThreadPool Worker";

/// Returns the name of the threads that write an event. TraceEvent uses the same names.
pub(super) fn name_of(provider: &str, event_id: u32, name: &str) -> Option<&'static str> {
    Some(match (provider, event_id) {
        // GCFinalizersEnd, GCFinalizersBegin.
        (RUNTIME, 13 | 14) => FINALIZER,
        // ThreadPoolWorkerThreadStart, ThreadPoolWorkerThreadWait.
        (RUNTIME, 50 | 57) => POOL_WORKER,
        // ThreadPoolWorkerThreadAdjustmentSample.
        (RUNTIME, 54) => POOL,
        // ThreadPoolIODequeue.
        (RUNTIME, 64) => POOL_IO_WORKER,
        // BGCBegin, BGC1stConEnd, BGCDrainMark, BGCRevisit.
        ("Microsoft-Windows-DotNETRuntimePrivate", 11 | 13 | 20 | 21) => BACKGROUND_GC,
        ("System.Diagnostics.Eventing.FrameworkEventSource", _)
            if matches!(name, "ThreadPoolDequeueWork" | "ThreadTransferReceive") =>
        {
            POOL_WORKER
        }
        _ => return None,
    })
}
