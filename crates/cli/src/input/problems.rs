//! Problems of traces that can be read all the same.

use ichnos::Session;
use ichnos::export::text::count;
use ichnos::model::{FileDiagnostic, FileRole, OpenedTrace, Severity};

use super::failure;
use crate::args::{format_flags, limits};
use crate::output::safe;
use crate::progress::Console;

/// Reports problems other than the traces; returns `true` if something is unreadable.
pub(crate) fn report_problems(session: &Session, console: Console) -> bool {
    for error in session.left_out() {
        console.failure(&failure(error));
    }
    print_notices(session, console);
    for problem in session.problems() {
        match limits::remedy_for_problem(problem) {
            Some(remedy) => console.warning(&format!("{problem}; {remedy}")),
            None if problem.leads_out => {
                console.warning(&format!("{problem}; `--follow-links` follows them"))
            }
            None => console.warning(&problem.message),
        }
    }
    for refused in session.refused() {
        console.error(&format!("{}: the trace is skipped: it cannot be read", refused.path));
        for diagnostic in &refused.diagnostics {
            console.answer(&format!("  {}", safe(&diagnostic.to_string())));
        }
        let at_limit =
            refused.diagnostics.iter().find_map(|problem| limits::remedy_for_diagnostic(&problem.diagnostic));
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

/// Returns the problems of paths, directories and archives, a sentence each.
pub(crate) fn problems(session: &Session) -> Vec<String> {
    session
        .left_out()
        .iter()
        .map(|error| failure(error).message)
        .chain(session.problems().iter().map(ToString::to_string))
        .collect()
}

/// Number of warnings printed for a trace by default; `ichnos check` shows all.
const MOST_WARNINGS: usize = 5;

/// Prints warnings about tolerated errors, and notes for the rest.
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

/// Reports traces without data streams, which are valid.
pub(crate) fn report_empty_traces(session: &Session, console: Console) {
    let is_empty = |trace: &dyn OpenedTrace| trace.data_streams().is_empty() && trace.damage().is_empty();
    for trace in session.traces().iter().filter(|trace| is_empty(trace.as_ref())) {
        console.notice(&format!("{}: no data streams, only metadata", trace.path()));
    }
}
