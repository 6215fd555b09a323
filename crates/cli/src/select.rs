//! Selection of data streams, events, times and fields.

mod around_option;
pub(crate) mod classes;
pub(crate) mod columns;
pub(crate) mod field_names;
pub(crate) mod filters;
pub(crate) mod no_match_help;
pub(crate) mod running_threads;
mod selection;
mod time_range;
mod trace_selection;
mod windows;

pub(crate) use self::around_option::AroundOption;
pub(crate) use self::selection::Selection;
pub(crate) use self::time_range::TimeRange;
pub(crate) use self::trace_selection::TraceSelection;
pub(crate) use self::windows::Windows;
pub(crate) use ichnos::query::{Patterns, TimeBounds, intersection};
