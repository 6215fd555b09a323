//! Functions of the extension.

mod classes;
mod info;
mod losses;
mod read_trace;
mod spans;
mod stacks;
mod tasks;

use std::ffi::CStr;

use crate::paths;
use crate::rows::RowTable;

/// `read_trace`.
pub(crate) type ReadTrace = read_trace::EventTable<read_trace::AllColumns>;
/// `trace_events`.
pub(crate) type TraceEvents = read_trace::EventTable<read_trace::Spine>;
/// `trace_spans`.
pub(crate) type TraceSpans = RowTable<spans::Spans>;
/// `trace_classes`.
pub(crate) type TraceClasses = RowTable<classes::Classes>;
/// `trace_stacks`.
pub(crate) type TraceStacks = stacks::StackFunction<stacks::Callers>;
/// `trace_frames`.
pub(crate) type TraceFrames = stacks::StackFunction<stacks::Frames>;
/// `trace_tasks`.
pub(crate) type TraceTasks = RowTable<tasks::TaskRows>;
/// `trace_edges`.
pub(crate) type TraceEdges = RowTable<tasks::EdgeRows>;
/// `trace_info`.
pub(crate) type TraceInfo = RowTable<info::Info>;
/// `trace_losses`.
pub(crate) type TraceLosses = RowTable<losses::Losses>;

/// Returns the function that reads a table name as a path.
pub(crate) fn replace(name: &str) -> Option<&'static CStr> {
    paths::is_trace(name).then_some(c"read_trace")
}
