//! Reads files of reports as traces of the ichnos model.
//!
//! | format | model |
//! |---|---|
//! | file of reports, as text or as JSON | data stream |
//! | directory or file that is opened | trace |
//! | report | event record |
//! | distinct keys of a report | event record class, created at its first report |
//! | task and operation of the metadata, edges, chain | common context |
//! | numbers of the process, the thread and the severity | specific context |
//! | lines | payload: texts; repeated keys are arrays |
//! | time | clock of 1 GHz, since 1970 |
//!
//! All fields of an event are values, as the lines are text. The keys `Edge`, `Option` and `Tag` are always
//! arrays, as they may repeat. The payload contains all lines unchanged; the contexts contain the meaning of
//! some of them, in terms of the model:
//!
//! | member | from | meaning |
//! |---|---|---|
//! | `task_id`, `operation_id` | `X-Trace` | task id, operation id: hexadecimal digits, upper case |
//! | `parents` | `Edge` of the kind `down` | causes that contain the operation |
//! | `predecessors` | `Edge` of the kind `next`, or without a kind | causes that it follows |
//! | `returns` | `Edge` of the kind `up` | causes that it contained |
//! | `chain_id` | `ChainId`, or the option of the metadata | - |
//! | `metadata_version`, `metadata_options`, `metadata_padding` | `X-Trace`: a version other than 1, options, the number of bytes after them | - |
//! | `process_id` | `ProcessID`: the number at its beginning | process |
//! | `thread_id` | `ThreadID`, if it is a number | thread |
//! | `severity` | `Severity`: a level of syslog | severity |
//!
//! Lines have meanings, too: `Label` is the message (else `Operation`, else `Title`), `Title` the title of the
//! task, `Tag` and `Class` are tags, `Host` is the machine, `Agent` the component; also `ProcessName`,
//! `ThreadName` and `Source`.
//!
//! An edge from an operation of zeros, by which the original libraries mark a root, is delivered like others.
//! In JSON of servers without metadata, `TaskID`, `EventID` and `ParentEventID` replace them.
//!
//! Beyond [`Limits::dynamic_event_record_classes`](ichnos_model::Limits), and for reports of very many lines,
//! the payload is an array of keys and values.
//!
//! Reports need not be in the order of time, and are delivered in file order: a report older than an earlier
//! one comes right after it.

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
