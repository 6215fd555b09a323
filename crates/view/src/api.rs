//! Answers to requests of the page. `docs/view-api.md` describes them.

mod command;
mod completions;
mod details;
mod download;
mod events;
mod flame_tree;
mod flows;
mod longest;
mod near;
mod overview;
mod program_spans;
mod range;
mod saved;
mod scan;
mod span_search;
mod span_tree;
mod statistics;
mod tasks;
mod thread_states;
mod tiles;
mod trace_file;

use std::sync::Arc;

pub(crate) use download::export;
pub(crate) use overview::write_status;
pub(crate) use saved::saved;

use crate::app_state::AppState;
use crate::query::Query;
use crate::response::{ApiError, Response};

/// Requests that apply clock offsets. The page itself moves tracks and their items.
const WITH_OFFSETS: [&str; 11] =
    ["events", "log", "near", "event", "search", "stats", "longest", "stacks", "tasks", "task", "command"];

/// Answers a request for `api/NAME`.
pub(crate) fn answer(shared: &Arc<AppState>, name: &str, query: &Query) -> Result<Response, ApiError> {
    let shared = &match WITH_OFFSETS.contains(&name) {
        true => shared.with_offsets(query)?,
        false => Arc::clone(shared),
    };
    let body = match name {
        "trace" => overview::trace(shared)?,
        "tracks" => overview::tracks(shared, query)?,
        "filled" => overview::filled(shared, query)?,
        "names" => overview::names(shared, query)?,
        "tiles" => tiles::tiles(shared, query)?,
        "events" => events::events(shared, query)?,
        "near" => near::near(shared, query)?,
        "event" => details::event(shared, query)?,
        "flows" => flows::flows(shared, query)?,
        "tasks" => tasks::tasks(shared, query)?,
        "task" => tasks::task(shared, query)?,
        "search" => events::search(shared, query)?,
        "thread" => thread_states::thread(shared, query)?,
        "path" => thread_states::path(shared, query)?,
        "waits" => thread_states::waits(shared, query)?,
        "longest" => longest::longest(shared, query)?,
        "stats" => statistics::stats(shared, query)?,
        "stacks" => statistics::stacks(shared, query)?,
        "completions" => completions::completions(shared, query)?,
        "log" => events::log(shared, query)?,
        "command" => command::answer(shared, query)?,
        "check" => overview::check(shared, query)?,
        _ => return Err(ApiError::missing(format!("unknown request: {name}"))),
    };
    Ok(Response::json(body))
}
