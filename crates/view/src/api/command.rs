//! Equivalent terminal commands.

use ichnos::json::write::ValueWriter;

use super::scan::window;
use crate::app_state::AppState;
use crate::options::ViewArguments;
use crate::query::Query;
use crate::response::ApiError;

/// Verbs that a request can name, with their commands.
const VERBS: [(&str, &str); 5] =
    [("cat", "cat"), ("log", "cat -f log"), ("cut", "cut -o OUT"), ("stats", "stats"), ("stacks", "stacks")];

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns the command of a verb with the filter of a request, for a range or for the whole timeline.
pub(super) fn command(shared: &AppState, verb: &str, query: &Query, range: Option<(u64, u64)>) -> String {
    let ViewArguments { traces, times, filter, .. } = &shared.options.arguments;
    let mut words = vec![format!("ichnos {verb}")];
    match range {
        Some((begin, end)) => {
            let window = shared.options.within(window(begin, end));
            words.extend(window.begin.map(|begin| format!("--begin @{begin}")));
            words.extend(window.end.map(|end| format!("--end @{end}")));
        }
        None => words.extend(Some(times.clone()).filter(|times| !times.is_empty())),
    }
    let filter = match (filter.as_deref(), query.text("filter")) {
        (Some(own), Some(requested)) => Some(format!("({own}) && ({requested})")),
        (own, requested) => own.or(requested).map(str::to_owned),
    };
    words.extend(filter.map(|filter| format!("--filter {}", quoted(&filter))));
    words.push(traces.clone());
    words.join(" ")
}

/// Answers with the command of a verb for a range.
pub(super) fn answer(shared: &AppState, query: &Query) -> Result<Vec<u8>, ApiError> {
    let range = query.range()?;
    let known = VERBS.iter().find(|(name, _)| query.text("verb") == Some(name));
    let (_, verb) = known.ok_or_else(|| ApiError::bad("verb: cat, log, cut, stats or stacks"))?;
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    object.member("command").string(&command(shared, verb, query, Some(range)));
    object.end();
    Ok(out)
}
