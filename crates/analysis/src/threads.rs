//! What threads did: how long they ran, could run, slept and waited, what ended their waits, and the critical path over
//! wake-ups.
//!
//! A [`ThreadCollector`] takes messages of any format whose events say which thread a processor runs, and makes a
//! [`ThreadReport`] of them. A [`ThreadStateReader`](crate::events::ThreadStateReader) finds the states.

mod collect;
mod csv;
mod json;
mod path;
mod report;
mod waker;

pub use collect::{ThreadCollector, ThreadOptions};
pub use path::{PathOptions, PathStep, WakeupPath};
pub use report::{ProcessorUse, ThreadReport, ThreadTextOptions, ThreadUse, ThreadWait};
pub use waker::Waker;
