//! Filter expressions, with helpful errors.

use ichnos::{Expression, Filter, FilterError, FilterErrorKind, FilterWarning, KnownName, Session};

use crate::args::time::TimePoint;
use crate::args::until::UntilArgs;
use crate::exit::Failure;
use crate::progress::Console;
use crate::select::TimeBounds;
use crate::suggestions::{did_you_mean, list, nearest};

/// Checks an expression against the opened traces. If `gmt` is set, times of day are in GMT.
pub(crate) fn filter(
    expression: &Expression,
    session: &Session,
    option: &str,
    gmt: bool,
    console: Console,
) -> Result<Filter, Failure> {
    let bounds = TimeBounds::default();
    let resolve = |text: &str| resolve(text, &bounds, session, gmt);
    let filter = session.filter(expression, &resolve).map_err(|error| failure(&error, option))?;
    warn(filter.warnings(), option, console);
    Ok(filter)
}

fn resolve(text: &str, bounds: &TimeBounds, session: &Session, gmt: bool) -> Result<i128, String> {
    let point = text.parse::<TimePoint>().map_err(|error| error.to_string())?;
    bounds.resolve(point, session, gmt)
}

/// Converts a time in an expression to nanoseconds since the clock's origin.
#[cfg(feature = "view")]
pub(crate) fn resolve_time(text: &str, session: &Session, gmt: bool) -> Result<i128, String> {
    resolve(text, &TimeBounds::default(), session, gmt)
}

/// Reports names and types in the filter that all classes found while reading lack. Returns `true` if something was
/// reported.
pub(crate) fn review(filter: &Filter, option: &str, console: Console) -> bool {
    match filter.review() {
        Ok(warnings) => {
            warn(&warnings, option, console);
            !warnings.is_empty()
        }
        Err(error) => {
            console.warn_failure(&failure(&error, option));
            true
        }
    }
}

fn warn(warnings: &[FilterWarning], option: &str, console: Console) {
    for warning in warnings {
        let failure = Failure::new(format!("{option}: {}", warning.message));
        console.warn_failure(&failure.maybe_help(warning_help(warning)));
    }
}

/// Suggests replacements for a name that all classes lack.
pub(crate) fn warning_help(warning: &FilterWarning) -> Option<String> {
    let (name, names) = warning.unknown.as_ref()?;
    let plain: String = name.chars().filter(|c| *c != '*').collect();
    did_you_mean(&plain, names.iter().map(String::as_str))
}

/// Returns the selection of the events that match an expression.
pub(crate) fn selection(
    expression: &Expression,
    session: &Session,
    option: &str,
    gmt: bool,
    console: Console,
) -> Result<ichnos::Selection, Failure> {
    let filter = filter(expression, session, option, gmt, console)?;
    Ok(ichnos::Selection::default().filter(&filter))
}

/// Parses the expression of `--until`.
pub(crate) fn until(args: &UntilArgs) -> Result<Option<Expression>, Failure> {
    args.until.as_deref().map(|text| parse(text, "--until")).transpose()
}

/// Parses the expression in an option.
pub(crate) fn parse(text: &str, option: &str) -> Result<Expression, Failure> {
    Expression::parse(text).map_err(|error| failure(&error, option))
}

fn failure(error: &FilterError, option: &str) -> Failure {
    let failure = Failure::new(format!("{option}: {error}")).details(error.excerpt().into());
    failure.maybe_help(error_help(error))
}

/// Suggests a correction for an invalid expression.
pub(crate) fn error_help(error: &FilterError) -> Option<String> {
    let near = match &error.kind {
        FilterErrorKind::UnknownName { name, candidates } => near_names(name, candidates),
        FilterErrorKind::UnknownLabel { name, candidates } => {
            let names = || candidates.iter().map(String::as_str);
            let are_few = (1..=8).contains(&candidates.len());
            did_you_mean(name, names()).or_else(|| are_few.then(|| format!("there are {}", list(names()))))
        }
        _ => None,
    };
    error.help.clone().map(Into::into).or(near)
}

/// Suggests similar field names, with their scopes.
fn near_names(name: &str, candidates: &[KnownName]) -> Option<String> {
    let near = nearest(name, candidates.iter().map(|known| known.name.as_str()));
    let shown: Vec<String> = near
        .into_iter()
        .filter_map(|name| candidates.iter().find(|known| known.name == name))
        .map(|known| match known.place.as_str() {
            "" => format!("`{}`", known.name),
            place => format!("`{}` ({place})", known.name),
        })
        .collect();
    match shown.split_last() {
        None if candidates.is_empty() => None,
        None => Some("`ichnos schema` prints the fields of all events".to_owned()),
        Some((last, [])) => Some(format!("did you mean {last}?")),
        Some((last, before)) => Some(format!("did you mean {} or {last}?", before.join(", "))),
    }
}
