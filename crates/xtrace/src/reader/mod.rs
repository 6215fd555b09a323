//! Reports behind the model of ichnos: files of reports as traces.
//!
//! | format | model |
//! |---|---|
//! | file of reports, as text or as JSON | data stream |
//! | directory or file that is opened | trace |
//! | report | event record |
//! | list of the distinct keys of a report | event record class, made when it is met first |
//! | task and operation of the metadata, edges, chain | common context |
//! | numbers of the process, the thread and the severity | specific context |
//! | lines | payload: texts; those of a key that repeats are an array |
//! | time | the clock, of 1 GHz, from 1970 on |
//!
//! All of an event is values, as the lines are text. The keys `Edge`, `Option` and `Tag` are arrays in any case, as
//! they may repeat. The payload has all lines as they were written; the contexts have what some of them say, in
//! the words of the model:
//!
//! | member | from | meaning |
//! |---|---|---|
//! | `task_id`, `operation_id` | `X-Trace` | task id, operation id: hexadecimal digits, upper case |
//! | `parents` | `Edge` of the kind `down` | causes that contain the operation |
//! | `predecessors` | `Edge` of the kind `next`, or without a kind | causes that it follows |
//! | `returns` | `Edge` of the kind `up` | causes that it contained |
//! | `chain_id` | `ChainId`, or the option of the metadata | - |
//! | `process_id` | `ProcessID`: the number at its beginning | process |
//! | `thread_id` | `ThreadID`, if it is a number | thread |
//! | `severity` | `Severity`: a level of syslog | severity |
//!
//! Lines have meanings, too: `Label` the message (else `Operation`, else `Title`), `Title` the title of the task, `Tag` and
//! `Class` tags, `Host` the machine, `Agent` the component, `ProcessName`, `ThreadName` and `Source`.
//!
//! An edge from an operation of zeros, by which the original libraries mark a root, is delivered like others. In JSON of servers that no longer have
//! metadata, `TaskID`, `EventID` and `ParentEventID` stand for them.
//!
//! When there are more classes than [`Limits::dynamic_event_record_classes`](ichnos_model::Limits) allows, and for
//! reports of very many lines, the payload is an array of keys and values.
//!
//! Reports need not be in the order of time, and are delivered as they lie: one whose time is before that of an
//! earlier one comes right behind that.

mod class;
mod collect;
mod event_maker;
mod format;
mod log_text;
mod reported_operations;
mod shape;
mod source;

pub use self::format::XTrace;
