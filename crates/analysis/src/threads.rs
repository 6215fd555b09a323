//! Thread reports: time in each state, longest waits, wakeup causes, and the critical path over wakeups.
//!
//! A [`ThreadCollector`] takes messages in any format whose events name the running thread of a processor, and creates
//! a [`ThreadReport`]. A [`ThreadStateReader`](crate::events::ThreadStateReader) finds the thread states.

mod collect;
mod csv;
mod json;
mod names_over_time;
mod path;
mod report;
mod waker;

pub use collect::{ThreadCollector, ThreadOptions};
pub use path::{PathOptions, PathStep, WakeupPath};
pub use report::{ProcessorUse, ThreadReport, ThreadTextOptions, ThreadUse, ThreadWait};
pub use waker::Waker;
