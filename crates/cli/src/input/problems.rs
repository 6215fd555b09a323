//! Reports problems that do not prevent reading.

use ichnos::Session;
use ichnos::export::text::count;
use ichnos::model::OpenedTrace;
use ichnos::model::trace::{FileDiagnostic, FileRole, Severity};

use super::failure;
use crate::args::{format_flags, limits};
use crate::output::safe;
use crate::progress::Console;

/// Reports all problems with the input. Returns `true` if some of it is unreadable.
pub(crate) fn report_problems(session: &Session, console: Console) -> bool {
    for error in session.left_out() {
        console.failure(&failure(error));
    }
    print_notices(session, console);
    for problem in session.problems() {
        match limits::io_remedy(problem.limit) {
            Some(remedy) => console.warning(&format!("{problem}; {remedy}")),
            None if problem.leads_out => {
                console.warning(&format!("{problem}; `--follow-links` follows them"))
            }
            None => console.warning(&problem.message),
        }
    }
    for refused in session.refused() {
        console.error(&format!("{}: the trace cannot be read and is skipped", refused.path));
        for diagnostic in &refused.diagnostics {
            console.print(&format!("  {}", safe(&diagnostic.to_string())));
        }
        let at_limit =
            refused.diagnostics.iter().find_map(|problem| limits::model_remedy(problem.diagnostic.limit));
        if let Some(remedy) = at_limit {
            console.help(remedy);
        }
    }
    for trace in session.traces() {
        print_warnings(trace.as_ref(), console);
        for quirk in trace.quirks() {
            console.note(&format!("{}: {quirk}", trace.path()));
        }
    }
    let is_problem = session.problems().iter().any(|problem| !problem.leads_out);
    is_problem || !session.refused().is_empty() || !session.left_out().is_empty()
}

/// Returns the problems with paths, directories and archives, one sentence each.
pub(crate) fn problems(session: &Session) -> Vec<String> {
    session
        .left_out()
        .iter()
        .map(|error| failure(error).message)
        .chain(session.problems().iter().map(ToString::to_string))
        .collect()
}

/// Maximum number of warnings per trace. `ichnos check` shows all.
const MOST_WARNINGS: usize = 5;

/// Prints warnings about tolerated errors in a trace. With `--verbose`, prints all diagnostics as notes.
fn print_warnings(trace: &dyn OpenedTrace, console: Console) {
    // An unused index does not change what is read.
    let is_warned_about = |problem: &&FileDiagnostic| {
        problem.diagnostic.severity >= Severity::Warning && problem.role != FileRole::Index
    };
    let warned = trace.diagnostics().iter().filter(is_warned_about);
    if console.verbose {
        trace.diagnostics().iter().for_each(|problem| console.note(&problem.to_string()));
        return;
    }
    for problem in warned.clone().take(MOST_WARNINGS) {
        console.warning(&format!("{}: {}", problem.location(), problem.diagnostic.statement()));
    }
    let more = warned.count().saturating_sub(MOST_WARNINGS) as u64;
    if more > 0 {
        let more = count(more, "more such problem");
        console.warning(&format!("{}: {more}; `ichnos check` shows all", trace.path()));
    }
}

/// Prints notices about valid but unexpected input.
pub(crate) fn print_notices(session: &Session, console: Console) {
    session.notices().iter().for_each(|notice| console.notice(&notice.describe(format_flags::written)));
}

/// Reports traces without data streams. Such traces are valid.
pub(crate) fn report_empty_traces(session: &Session, console: Console) {
    let is_empty = |trace: &dyn OpenedTrace| trace.data_streams().is_empty() && trace.damage().is_empty();
    for trace in session.traces().iter().filter(|trace| is_empty(trace.as_ref())) {
        console.notice(&format!("{}: no data streams, only metadata", trace.path()));
    }
}
