//! Functions of the extension.

mod answers;
mod read_trace;

use std::ffi::CStr;

use answers::{AnswerFunction, Classes, Edges, Frames, Info, Losses, Spans, Stacks, Tasks};
use read_trace::{AllColumns, EventTable, Spine};

use crate::duckdb::{RegisterFunction, register};
use crate::paths;

/// Registers each function.
pub(crate) const ALL: [RegisterFunction; 10] = [
    register::<EventTable<AllColumns>>,
    register::<EventTable<Spine>>,
    register::<AnswerFunction<Classes>>,
    register::<AnswerFunction<Edges>>,
    register::<AnswerFunction<Frames>>,
    register::<AnswerFunction<Info>>,
    register::<AnswerFunction<Losses>>,
    register::<AnswerFunction<Spans>>,
    register::<AnswerFunction<Stacks>>,
    register::<AnswerFunction<Tasks>>,
];

/// Returns the function that reads a table name as a path.
pub(crate) fn replace(name: &str) -> Option<&'static CStr> {
    paths::is_trace(name).then_some(c"read_trace")
}
