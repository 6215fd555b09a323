//! Columns of a table of events.

use std::collections::HashSet;

use ichnos::Session;
use ichnos::export::{CsvColumn, CsvColumns};
use ichnos::model::{DataStreamClass, EventRecordClass};

use crate::args::{Cat, CatFormat, Global};
use crate::classes;
use crate::exit::Failure;
use crate::report::Report;
use crate::selection::Selection;
use crate::suggest::{alternatives, nearest};

/// Returns `true` if a table is printed.
pub(crate) fn are_wanted(args: &Cat) -> bool {
    matches!(args.format(), CatFormat::Csv | CatFormat::Tsv)
}

/// Returns the named columns, or those of all fields of the selected classes. Reads all events first if the
/// classes are only known then and needed.
pub(crate) fn find(
    args: &Cat,
    session: &Session,
    selection: &Selection,
    global: &Global,
    report: Report,
) -> Result<Vec<CsvColumn>, Failure> {
    let is_dynamic = session.is_live() || session.traces().iter().any(|trace| trace.has_dynamic_classes());
    if args.fields.is_empty() {
        if session.is_live() {
            return Err(Failure::new("the fields of live events are not known in advance")
                .help("name the columns by `--fields time,event,FIELD,...`"));
        }
        classes::meet(session, global, report);
        let mut columns = CsvColumns::new(args.time.into());
        let mut last: Option<*const DataStreamClass> = None;
        for_each_class(session, Some(selection), |stream, record| {
            // Classes keep their addresses while the session is open.
            if last.replace(stream) != Some(std::ptr::from_ref(stream)) {
                columns.add_stream(stream);
            }
            columns.add(record);
        });
        return columns.columns().ok_or_else(|| {
            Failure::new(format!(
                "the selected events have more than {} fields, one column each",
                CsvColumns::MOST
            ))
            .help("name the columns by `--fields time,event,FIELD,...`, or select fewer events by `--event`")
        });
    }
    let columns: Vec<CsvColumn> = args.fields.iter().map(|name| CsvColumn::new(name.trim())).collect();
    let mut unknown = unknown(&columns, session, Some(selection));
    // Classes of live traces are known when their events arrive.
    if !unknown.is_empty() && is_dynamic && !session.is_live() {
        classes::meet(session, global, report);
        unknown = self::unknown(&columns, session, Some(selection));
    }
    if unknown.is_empty() || session.is_live() {
        return Ok(columns);
    }
    let mut known = HashSet::new();
    for_each_class(session, Some(selection), |stream, record| {
        known.extend(CsvColumn::names_in(stream, record))
    });
    // Also without their scopes.
    let bare = known.iter().filter_map(|name| name.split_once('.')).map(|(_, rest)| rest.to_owned());
    let bare: Vec<String> = bare.collect();
    known.extend(bare);
    // Sorted, so that the order does not depend on the set.
    let mut known: Vec<&str> = known.iter().map(String::as_str).collect();
    known.sort_unstable();
    let nowhere = self::unknown(&columns, session, None);
    let failures = unknown.into_iter().map(|name| {
        let near = nearest(name, known.iter().copied());
        let help = if !nowhere.contains(&name) {
            "only events excluded by --event or --stream have it".to_owned()
        } else if near.is_empty() {
            "`ichnos schema` lists the fields of each event".to_owned()
        } else {
            format!("did you mean {}?", alternatives(near))
        };
        Failure::new(format!("`--fields`: no selected event has a field `{name}`")).help(help)
    });
    Err(Failure::all(failures).unwrap_or_else(|| Failure::new("`--fields`: there is no such field")))
}

/// Returns the columns missing from all classes.
fn unknown<'c>(columns: &'c [CsvColumn], session: &Session, selection: Option<&Selection>) -> Vec<&'c str> {
    let mut unknown: Vec<&CsvColumn> = columns.iter().collect();
    for_each_class(session, selection, |stream, record| {
        CsvColumn::remove_known(&mut unknown, stream, record);
    });
    unknown.into_iter().map(CsvColumn::name).collect()
}

/// Calls `take` for each known class of selected events in selected data streams; without a selection, for
/// every class.
fn for_each_class(
    session: &Session,
    selection: Option<&Selection>,
    mut take: impl FnMut(&DataStreamClass, &EventRecordClass),
) {
    for trace in session.traces() {
        let streams = trace.data_streams();
        let streams = streams
            .iter()
            .filter(|stream| selection.is_none_or(|selection| selection.wants_file(&stream.name)));
        let classes: HashSet<usize> = streams.map(|stream| stream.class_index).collect();
        let trace = trace.trace();
        for (index, stream) in trace.class.data_streams.iter().enumerate() {
            if classes.contains(&index) {
                let records = trace.event_records(index);
                records
                    .filter(|record| selection.is_none_or(|selection| selection.wants_class(record)))
                    .for_each(|record| take(stream, &record));
            }
        }
    }
}
