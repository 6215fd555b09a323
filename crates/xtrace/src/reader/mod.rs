//! Reads report files as ichnos traces.
//!
//! | format | model |
//! |---|---|
//! | report file, as text or JSON | data stream |
//! | opened directory or file | trace |
//! | report | event record |
//! | distinct keys of a report | event record class, created at its first report |
//! | task and operation of the metadata, edges, chain | common context |
//! | process, thread and severity numbers | specific context |
//! | lines | payload: texts. Repeated keys are arrays |
//! | time | clock with 1 GHz, since 1970 |
//!
//! All fields of an event are values, because the lines are text. The keys `Edge`, `Option` and `Tag` are always
//! arrays, because they can repeat. The payload contains all lines unchanged. The contexts contain the meaning of some
//! lines, in terms of the model:
//!
//! | member | from | meaning |
//! |---|---|---|
//! | `task_id`, `operation_id` | `X-Trace` | task id, operation id: uppercase hexadecimal digits |
//! | `parents` | `Edge` with kind `down` | causes that contain the operation |
//! | `predecessors` | `Edge` with kind `next`, or without a kind | causes that it follows |
//! | `returns` | `Edge` with kind `up` | causes that it contained |
//! | `chain_id` | `ChainId`, or the metadata option | - |
//! | `metadata_version`, `metadata_options`, `metadata_padding` | `X-Trace`: a version other than 1, options, number of bytes after them | - |
//! | `process_id` | `ProcessID`: the number at its start | process |
//! | `thread_id` | `ThreadID`, if it is a number | thread |
//! | `severity` | `Severity`: a syslog level | severity |
//!
//! Lines have meanings as well: `Label` is the message (else `Operation`, else `Title`), `Title` the task title, `Tag`
//! and `Class` are tags, `Host` is the machine, `Agent` the component. `ProcessName`, `ThreadName` and `Source` also
//! have a meaning.
//!
//! The original libraries mark a root with an edge from an all-zero operation. It is delivered like other edges. In
//! JSON from servers without metadata, `TaskID`, `EventID` and `ParentEventID` replace metadata and edges.
//!
//! Beyond [`Limits::dynamic_event_record_classes`](ichnos_model::trace::Limits), and for reports with very many lines,
//! the payload is an array of keys and values.
//!
//! Reports need not be sorted by time, and are delivered in file order.

pub(crate) mod class;
mod collect;
pub(crate) mod event_maker;
mod explain;
mod format;
pub(crate) mod line_ids;
mod log_text;
pub(crate) mod mentions;
pub(crate) mod recognition;
pub(crate) mod reported_operations;
mod shape;
mod source;

pub use self::format::XTrace;
