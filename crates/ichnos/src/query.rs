//! Selection of events by texts: event names, an expression, times, clock offsets and event maps. For programs whose users
//! write these, such as the command, SQL and Python.
//!
//! ```no_run
//! # fn main() -> Result<(), ichnos::query::QueryError> {
//! use ichnos::model::running_thread::RunningParts;
//! use ichnos::query::{QueryTexts, TraceQuery};
//!
//! let mut texts = QueryTexts::new(["my-trace".into()]);
//! texts.events = vec!["sched_*".to_owned()];
//! texts.begin = Some("+5s".to_owned());
//! let query = TraceQuery::open(texts, RunningParts::Nothing)?;
//! let mut events = query.merged()?;
//! # Ok(())
//! # }
//! ```

mod error;
mod event_map;
mod patterns;
pub mod suggestions;
pub mod time;
mod time_bounds;
mod toml_text;
mod trace_query;

/// Questions about traces as table macros of DuckDB: `FROM slowest_spans('my-trace')`. `docs/sql-views.md` describes them.
pub const SQL_VIEWS: &str = include_str!("query/views.sql");

pub use error::QueryError;
pub use event_map::{EventMap, SHORT_MEANINGS};
pub use patterns::Patterns;
pub use time::{Offset, TimePoint};
pub use time_bounds::{TimeBounds, end, intersection, start, window_between};
pub use toml_text::{TomlText, TomlValue};
pub use trace_query::{QueryTexts, StreamPart, TraceQuery, path_offsets};
