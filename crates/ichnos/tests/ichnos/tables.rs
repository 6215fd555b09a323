//! Events and answers as tables, selected by texts.

use std::path::PathBuf;
use std::sync::Arc;

use ichnos::model::running_thread::RunningParts;
use ichnos::query::{QueryTexts, TraceQuery};
use ichnos::table::TableOptions;
use ichnos::table::arrow_array::cast::AsArray as _;
use ichnos::table::arrow_array::types::Int64Type;
use ichnos::tables::{
    EventColumn, EventReader, EventScan, ReadBlock, TraceRows, TraceTable, all_columns, shared_columns,
};

fn example(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(path)
}

fn lttng() -> QueryTexts {
    QueryTexts::new([example("hello-lttng/trace")])
}

fn frames() -> QueryTexts {
    QueryTexts::new([example("hello-fxt/frames.fxt")])
}

fn error(texts: QueryTexts) -> String {
    TraceQuery::open(texts, RunningParts::Nothing).unwrap_err().to_string()
}

#[test]
fn wrong_texts_are_errors_that_name_the_parameter() {
    let with = |change: fn(&mut QueryTexts)| {
        let mut texts = lttng();
        change(&mut texts);
        error(texts)
    };
    for (found, expected) in [
        (with(|texts| texts.events = vec!["[".to_owned()]), "invalid pattern in event: "),
        (with(|texts| texts.filter = Some("a ==".to_owned())), "filter: "),
        (with(|texts| texts.filter = Some("nothing == 1".to_owned())), "filter: "),
        (with(|texts| texts.begin = Some("soon".to_owned())), "begin: `soon` is not a time"),
        (with(|texts| texts.end = Some("+1 parsec".to_owned())), "end: "),
        (with(|texts| texts.offsets = vec!["x=+1s".to_owned()]), "clock offset: no path matches `x`"),
        (with(|texts| texts.offsets = vec!["soon".to_owned()]), "clock offset: `soon` is not a time"),
        (with(|texts| texts.maps = vec!["/nonexistent.toml".into()]), "/nonexistent.toml: cannot be read"),
        (
            with(|texts| (texts.begin, texts.end) = (Some("2".to_owned()), Some("1".to_owned()))),
            "the begin time (2.000000000) is after the end time (1.000000000)",
        ),
        (error(QueryTexts::new([PathBuf::from("/nonexistent")])), "/nonexistent"),
        (error(QueryTexts::new([PathBuf::new()])), "the path of a trace is empty"),
    ] {
        assert!(found.starts_with(expected), "{found}\nexpected: {expected}");
    }
}

/// Unrelated clocks have no common table, as in a dataset that the command writes.
#[test]
fn unrelated_clocks_need_permission() {
    let mut texts = QueryTexts::new(["hello-lttng/trace", "hello-fxt/frames.fxt"].map(example));
    let scan = |texts: &QueryTexts| {
        let query = TraceQuery::open(texts.clone(), RunningParts::Nothing).unwrap();
        EventScan::new(&Arc::new(query), Vec::new(), &TableOptions::default()).map(drop)
    };
    let refused = scan(&texts).unwrap_err().to_string();
    let spans = TraceTable::Spans.open(texts.clone()).unwrap();
    let of_spans = TraceRows::new(Arc::new(spans), TraceTable::Spans).unwrap_err().to_string();
    assert_eq!(refused, of_spans);
    assert!(refused.contains("unrelated origins") && refused.contains("`assume_correlated`"), "{refused}");
    texts.events = vec!["nothing".to_owned()];
    texts.assume_correlated = true;
    scan(&texts).unwrap();
}

#[test]
fn tables_end_early_and_know_all_names_afterwards() {
    for table in TraceTable::ALL {
        let query = Arc::new(table.open(frames()).unwrap());
        let mut rows = TraceRows::new(query, table).unwrap();
        let error = rows.next_while(&mut || false).unwrap().unwrap_err();
        assert_eq!(error.to_string(), "interrupted", "{table:?}");
        assert!(rows.next().is_none());
    }
    // The classes of this trace are known once it was read.
    let mut texts = QueryTexts::new([example("hello-jsonl/requests.jsonl")]);
    texts.filter = Some("numbr == 1".to_owned());
    let query = Arc::new(TraceTable::Spans.open(texts).unwrap());
    let mut rows = TraceRows::new(query, TraceTable::Spans).unwrap();
    assert_eq!(rows.next().unwrap().unwrap_err().message, "filter: no event has a field `numbr`");
}

/// Reads all events, and returns their times.
fn times(texts: QueryTexts) -> Vec<i64> {
    times_beside(texts, &[]).into_iter().map(Option::unwrap_or_default).collect()
}

/// Reads the times of all events, and some other columns.
fn times_beside(texts: QueryTexts, others: &[&str]) -> Vec<Option<i64>> {
    let query = Arc::new(TraceQuery::open(texts, RunningParts::Nothing).unwrap());
    let options = TableOptions::default();
    let columns = shared_columns(&query, &options).unwrap();
    let column = |name: &str| columns.iter().find(|column| column.name() == name).cloned();
    let wanted = ["ts"].iter().chain(others).map(|name| column(name)).collect();
    let scan = EventScan::new(&query, wanted, &options).unwrap();
    let mut reader = EventReader::new(&scan);
    let mut times = Vec::new();
    while let Some(block) = reader.read(&scan).unwrap() {
        let rows = match block {
            ReadBlock::Rows(rows) => rows,
            ReadBlock::Times(found) => {
                assert!(others.is_empty());
                times.extend(&found);
                continue;
            }
            ReadBlock::Count(_) => panic!("only counted"),
        };
        let mut found = vec![None; rows.len()];
        for part in rows.parts() {
            let column = part.batch.batch.column(part.columns[0].unwrap()).as_primitive::<Int64Type>();
            part.rows.iter().zip(column).for_each(|(row, time)| found[*row as usize] = time);
        }
        times.extend(found);
    }
    times
}

#[test]
fn times_alone_are_those_beside_other_columns() {
    let mut with_times = 0;
    for trace in std::fs::read_dir(example("")).unwrap() {
        let trace = trace.unwrap().path();
        let texts = || QueryTexts::new([trace.clone()]);
        let is_trace = trace.file_name().unwrap().to_str().unwrap().starts_with("hello-");
        if !is_trace || TraceQuery::open(texts(), RunningParts::Nothing).is_err() {
            continue;
        }
        let times = times_beside(texts(), &[]);
        assert_eq!(times, times_beside(texts(), &["event"]), "{trace:?}");
        with_times += usize::from(times.iter().flatten().next().is_some());
    }
    assert!(with_times > 5, "{with_times}");
}

/// .NET programs write UTF-16.
#[test]
fn messages_are_texts_in_their_encoding() {
    let map = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&map, "[[event]]\nmatch = '*/Greeting'\nfields = { message = 'text' }\n").unwrap();
    let mut texts = QueryTexts::new([example("hello-dotnet")]);
    texts.events = vec!["*/Greeting".to_owned()];
    texts.maps = vec![map.path().to_owned()];
    let query = Arc::new(TraceQuery::open(texts, RunningParts::Nothing).unwrap());
    let scan = EventScan::new(&query, vec![Some(EventColumn::Message("message"))], &TableOptions::default());
    let scan = scan.unwrap();
    let mut reader = EventReader::new(&scan);
    let mut messages = Vec::new();
    while let Some(block) = reader.read(&scan).unwrap() {
        let ReadBlock::Rows(rows) = block else { panic!("no rows") };
        messages.extend((0..rows.len()).map(|row| rows.message(row).unwrap().to_owned()));
    }
    messages.sort();
    assert_eq!(messages, ["ade", "grüezi"]);
}

/// As in traces that declare their classes.
#[test]
fn a_filter_can_name_events_that_a_trace_lacks() {
    let selected = |filter: &str| {
        let mut texts = QueryTexts::new([example("hello-jsonl/requests.jsonl")]);
        texts.filter = Some(filter.to_owned());
        times(texts).len()
    };
    let requests = selected("event == \"request\"");
    assert_ne!(requests, 0);
    assert_eq!(selected("event in [\"rare\", \"rare2\"] or event == \"request\""), requests);
    assert_eq!(selected("event == \"rare\""), 0);
}

#[test]
fn events_are_selected_and_moved() {
    let all = times(lttng());
    assert!(all.len() > 10);
    let mut texts = lttng();
    texts.begin = Some(format!("@{}", all[3]));
    texts.end = Some(format!("@{}", all[6]));
    texts.events = vec!["*".to_owned()];
    assert_eq!(
        times(texts),
        all.iter().copied().filter(|at| (all[3]..=all[6]).contains(at)).collect::<Vec<_>>()
    );
    let mut texts = lttng();
    texts.offsets = vec!["+2s".to_owned()];
    assert_eq!(times(texts), all.iter().map(|at| at + 2_000_000_000).collect::<Vec<_>>());
    let mut texts = lttng();
    texts.offsets = vec!["*trace=-1ns".to_owned()];
    assert_eq!(times(texts)[0], all[0] - 1);
}

/// Names of paths are bytes, and trees have texts.
#[cfg(unix)]
#[test]
fn an_offset_moves_a_path_that_is_not_utf_8() {
    use std::os::unix::ffi::OsStrExt as _;

    let directory = tempfile::tempdir().unwrap();
    let path = |name: &[u8]| directory.path().join(std::ffi::OsStr::from_bytes(name));
    let (file, other, inner) = (path(b"x\xff.jsonl"), path(b"x\xfe.jsonl"), path(b"d\xff/y\xff.jsonl"));
    std::fs::create_dir(path(b"d\xff")).unwrap();
    for path in [&file, &other, &inner] {
        std::fs::write(path, "{\"ts\":5,\"name\":\"n\"}\n").unwrap();
    }
    let moved = |paths: &[PathBuf], by_path: &PathBuf| {
        let mut texts = QueryTexts::new(paths.to_vec());
        texts.path_offsets = vec![(by_path.clone(), "1us".to_owned())];
        let mut times = times(texts);
        times.sort_unstable();
        times
    };
    assert_eq!(moved(&[file.clone(), other], &file), [5, 1005]);
    assert_eq!(moved(&[path(b"d\xff"), file.clone()], &path(b"d\xff")), [5, 1005]);
    let mut texts = QueryTexts::new([file]);
    texts.offsets = vec![format!("{}/x*=1us", directory.path().display())];
    assert_eq!(times(texts), [1005]);
}

/// A pattern that is the name of a path means only that path.
#[test]
fn an_offset_by_path_is_exact_first() {
    let directory = tempfile::tempdir().unwrap();
    let paths = ["a[1].jsonl", "a1.jsonl", "b[1.jsonl"].map(|name| directory.path().join(name));
    for path in &paths {
        std::fs::write(path, "{\"ts\":5,\"name\":\"n\"}\n").unwrap();
    }
    let moved = |change: &dyn Fn(&mut QueryTexts)| {
        let mut texts = QueryTexts::new(paths.clone());
        change(&mut texts);
        let mut times = times(texts);
        times.sort_unstable();
        times
    };
    let text = |path: &PathBuf, time: &str| format!("{}={time}", path.display());
    let [named, _, bracket] = &paths;
    assert_eq!(
        moved(&|texts| texts.offsets = vec![text(named, "1us"), text(bracket, "2us")]),
        [5, 1005, 2005]
    );
    assert_eq!(moved(&|texts| texts.path_offsets = vec![(named.clone(), "1us".to_owned())]), [5, 5, 1005]);
    let pattern = directory.path().join("a?.jsonl");
    assert_eq!(moved(&|texts| texts.offsets = vec![text(&pattern, "1us")]), [5, 5, 1005]);
    let mut texts = QueryTexts::new(paths.clone());
    texts.path_offsets = vec![(pattern, "1us".to_owned())];
    assert!(error(texts).starts_with("clock offset: no path matches `"));
}

#[test]
fn a_scan_by_time_is_sorted_and_can_be_ended() {
    let query = Arc::new(TraceQuery::open(lttng(), RunningParts::Nothing).unwrap());
    let options = TableOptions::default();
    let columns = shared_columns(&query, &options).unwrap();
    let wanted = columns.iter().filter(|column| ["ts", "trace"].contains(&column.name())).cloned().map(Some);
    let wanted: Vec<_> = wanted.collect();
    let scan = || EventScan::new(&query, wanted.clone(), &options).unwrap().by_time();
    let whole = scan();
    let mut reader = EventReader::new(&whole);
    let (mut found, mut blocks) = (Vec::new(), 0);
    while let Some(block) = reader.read_some(&whole, 7, &mut || Ok(())).unwrap() {
        let ReadBlock::Rows(rows) = block else { panic!("only counted") };
        assert!(rows.len() <= 7 && rows.path(0).contains("hello-lttng"), "{}", rows.path(0));
        let mut block = vec![0; rows.len()];
        for part in rows.parts() {
            let column = part.batch.batch.column(part.columns[0].unwrap()).as_primitive::<Int64Type>();
            part.rows.iter().zip(column.values()).for_each(|(row, time)| block[*row as usize] = *time);
        }
        found.extend(block);
        blocks += 1;
    }
    let mut all = times(lttng());
    all.sort_unstable();
    assert_eq!(found, all);
    assert!(blocks >= all.len() / 7, "{blocks}");
    let ended = scan();
    let mut reader = EventReader::new(&ended);
    let ended = reader.read_some(&ended, 7, &mut || Err(std::io::Error::other("enough")));
    assert_eq!(ended.unwrap_err().to_string(), "enough");
}

#[test]
fn opened_traces_can_be_selected_again() {
    let query = TraceQuery::open(lttng(), RunningParts::Nothing).unwrap();
    let mut texts = QueryTexts::default();
    texts.events = vec!["no such event".to_owned()];
    let none = query.select(texts.clone()).unwrap();
    assert!(std::ptr::eq(none.session(), query.session()));
    assert_eq!((&none.texts().paths, &none.texts().events), (&query.texts().paths, &texts.events));
    texts.filter = Some("a ==".to_owned());
    assert!(query.select(texts).unwrap_err().to_string().starts_with("filter: "));
}

#[test]
fn errors_have_their_places() {
    let missing = TraceQuery::open(QueryTexts::new(["/nonexistent".into()]), RunningParts::Nothing);
    assert_eq!(missing.unwrap_err().path.as_deref(), Some("/nonexistent"));
    let directory = tempfile::tempdir().unwrap();
    let metadata = directory.path().join("metadata");
    std::fs::write(&metadata, "/* CTF 1.8 */\ntrace { major = 1;\n").unwrap();
    let texts = QueryTexts::new([directory.path().to_owned()]);
    let error = TraceQuery::open(texts, RunningParts::Nothing).unwrap_err();
    assert!(error.path.as_deref().is_some_and(|path| path.ends_with("metadata")), "{error:?}");
    assert!(error.byte.is_some(), "{error:?}");
}

#[test]
fn a_scan_without_columns_counts() {
    let query = Arc::new(TraceQuery::open(lttng(), RunningParts::Nothing).unwrap());
    let scan = EventScan::new(&query, vec![None], &TableOptions::default()).unwrap();
    let mut reader = EventReader::new(&scan);
    let mut count = 0;
    while let Some(block) = reader.read(&scan).unwrap() {
        let ReadBlock::Count(found) = block else { panic!("rows without columns") };
        count += found;
    }
    assert_eq!(count as usize, times(lttng()).len());
    assert!(query.estimated_events() > 0);
}

#[test]
fn all_columns_have_fields() {
    let query = TraceQuery::open(frames(), RunningParts::Nothing).unwrap();
    let columns = all_columns(&query, &TableOptions::default()).unwrap();
    let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
    assert_eq!(names[..2], ["ts", "event"], "{names:?}");
    assert!(names.len() > 8, "{names:?}");
}

#[test]
fn each_table_has_its_columns() {
    for table in TraceTable::ALL {
        for texts in [lttng(), frames()] {
            let query = Arc::new(table.open(texts).unwrap());
            let mut rows = TraceRows::new(Arc::clone(&query), table).unwrap();
            assert_eq!(*rows.schema(), table.schema(), "{}", table.name());
            let all: usize = rows.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
            let last = |column| column == table.columns().len() - 1;
            let some = TraceRows::with_columns(query, table, last).unwrap();
            let batches: Vec<_> = some.map(Result::unwrap).collect();
            assert!(batches.iter().all(|batch| batch.num_columns() == 1), "{}", table.name());
            assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), all, "{}", table.name());
            assert!(all > 0 || !matches!(table, TraceTable::Info | TraceTable::Classes), "{}", table.name());
        }
    }
    let query = Arc::new(TraceTable::Spans.open(frames()).unwrap());
    let spans: usize =
        TraceRows::new(query, TraceTable::Spans).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert!(spans >= 8, "{spans}");
}
