//! Event table columns.

use std::collections::HashSet;

use ichnos::Session;
use ichnos::export::{CsvColumn, CsvColumns};

use crate::args::TextOptions;
use crate::exit::Failure;
use crate::progress::Console;
use crate::select::{Selection, classes};
use crate::suggestions::did_you_mean;

/// Returns the named columns, or a column for each field of the selected classes. If the classes are only known after
/// reading, but needed, reads all events first.
pub(crate) fn find(
    options: &TextOptions,
    session: &Session,
    selection: &Selection,
    console: Console,
) -> Result<Vec<CsvColumn>, Failure> {
    let is_dynamic = session.is_live() || session.traces().iter().any(|trace| trace.has_dynamic_classes());
    if options.fields.is_empty() {
        if session.is_live() {
            return Err(Failure::new("the fields of live events are not known in advance")
                .help("name the columns with `--fields time,event,FIELD,...`"));
        }
        classes::read_dynamic(session, console);
        return selection.selected.csv_columns(session, options.time).ok_or_else(|| {
            Failure::new(format!(
                "the selected events have more than {} fields, one column each",
                CsvColumns::MOST
            ))
            .help(
                "name the columns with `--fields time,event,FIELD,...`, or select fewer events with \
                `--event`",
            )
        });
    }
    let columns: Vec<CsvColumn> = options.fields.iter().map(|name| CsvColumn::new(name.trim())).collect();
    let (own, all) = (&selection.selected, &ichnos::Selection::default());
    let mut unknown = unknown(&columns, session, own);
    // Classes in live traces are known when their events arrive.
    if !unknown.is_empty() && is_dynamic && !session.is_live() {
        classes::read_dynamic(session, console);
        unknown = self::unknown(&columns, session, own);
    }
    if unknown.is_empty() || session.is_live() {
        return Ok(columns);
    }
    let mut known = HashSet::new();
    own.for_each_class(session, |stream, record| known.extend(CsvColumn::names_in(stream, record)));
    // Names are also known without their scopes.
    let bare = known.iter().filter_map(|name| name.split_once('.')).map(|(_, rest)| rest.to_owned());
    let bare: Vec<String> = bare.collect();
    known.extend(bare);
    // Sorted, because the order in a set is random.
    let mut known: Vec<&str> = known.iter().map(String::as_str).collect();
    known.sort_unstable();
    let nowhere = self::unknown(&columns, session, all);
    let failures = unknown.into_iter().map(|name| {
        let failure = Failure::new(format!("`--fields`: no selected event has a field `{name}`"));
        if !nowhere.contains(&name) {
            return failure.help("only events that --event or --stream excludes have it");
        }
        failure
            .help("`ichnos schema` lists the fields of each event")
            .maybe_help(did_you_mean(name, known.iter().copied()))
    });
    Failure::check(failures)?;
    Ok(columns)
}

/// Returns the columns that all classes lack.
fn unknown<'c>(columns: &'c [CsvColumn], session: &Session, selection: &ichnos::Selection) -> Vec<&'c str> {
    let mut unknown: Vec<&CsvColumn> = columns.iter().collect();
    selection.for_each_class(session, |stream, record| {
        CsvColumn::remove_known(&mut unknown, stream, record);
    });
    unknown.into_iter().map(CsvColumn::name).collect()
}
