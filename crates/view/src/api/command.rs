//! Commands that answer the same in a terminal.

use crate::query::Query;
use crate::shared::Shared;

/// Returns the command of a verb about a range, or about all of the traces, with the filter of a request.
pub(super) fn command(shared: &Shared, verb: &str, query: &Query, range: Option<(u64, u64)>) -> String {
    let range = range.map_or(String::new(), |(begin, end)| format!(" --begin @{begin} --end @{end}"));
    let quoted = |text: &str| format!(" --filter '{}'", text.replace('\'', r"'\''"));
    let filter = query.text("filter").map_or(String::new(), quoted);
    format!("ichnos {verb}{range}{filter} {}", shared.options.arguments)
}
