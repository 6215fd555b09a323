//! The thread that a processor runs, for events that do not name theirs: added if an option names it.

use std::ffi::OsStr;

use ichnos::Expression;
use ichnos::analysis::GroupBy;
use ichnos::model::running_thread::RunningParts;

use crate::args::{Convert, Reading, Selecting, SplitBy, Stats, Verb};

/// Names that ask for it: properties of events, and the scope that it is in.
const NAMES: [&str; 6] = ["thread", "thread_name", "tid", "comm", "procname", "resource"];

/// Names that ask for its process, too.
const PROCESS_NAMES: [&str; 2] = ["process", "pid"];

/// Adds the running thread to the events that a verb reads, if one of its options names it.
pub(crate) fn add_if_named(verb: &mut Verb) {
    match verb {
        Verb::Cat(cat) => {
            let around = cat.around.as_ref().and_then(|around| around.first());
            let fields = cat.fields.iter().map(String::as_str);
            add(&mut cat.reading, &cat.selecting, fields, around.map(String::as_str));
        }
        Verb::Stats(stats) => {
            let Stats { reading, selecting, by, key, histogram, pair, .. } = &mut **stats;
            let groups = by.iter().filter_map(|by| match by {
                GroupBy::Field(field) => Some(field.as_str()),
                _ => None,
            });
            let names = groups.chain(key.iter().chain(&*histogram).map(|name| name.trim()));
            // Pairs without a key are those of threads.
            let names = names.chain((pair.is_some() && key.is_empty()).then_some(NAMES[0]));
            add(reading, selecting, names, None);
        }
        Verb::Threads(threads) => add(&mut threads.reading, &threads.selecting, [], None),
        #[cfg(feature = "view")]
        Verb::View(view) => add(&mut view.reading, &view.selecting, [], None),
        Verb::Stacks(stacks) => add(&mut stacks.reading, &stacks.selecting, [], None),
        Verb::Convert(convert) => add_to_written(convert, None),
        Verb::Cut(cut) => {
            let around = cut.around.as_ref().and_then(|around| around.first());
            add_to_written(&mut cut.convert, around.map(String::as_str));
        }
        Verb::Split(split) => {
            // A name is an expression, too.
            let field = match &split.by {
                SplitBy::Field(name) => Some(name.as_str()),
                _ => None,
            };
            add_to_written(&mut split.convert, field);
        }
        Verb::Filter(filter) => add_to_written(&mut filter.convert, Some(&filter.expression)),
        _ => {}
    }
}

fn add_to_written(convert: &mut Convert, expression: Option<&str>) {
    let Convert { writing, reading, selecting } = convert;
    let fields = writing.writer_flags.value("fields").and_then(OsStr::to_str);
    let fields = fields.into_iter().flat_map(|fields| fields.split(',')).map(str::trim);
    // Tables have all columns, unless fields are named.
    let has_all = writing.is_table() && writing.writer_flags.value("fields").is_none();
    add(reading, selecting, fields.chain(has_all.then_some(PROCESS_NAMES[0])), expression);
}

fn add<'n>(
    reading: &mut Reading,
    selecting: &Selecting,
    fields: impl IntoIterator<Item = &'n str>,
    expression: Option<&str>,
) {
    let fields: Vec<&str> =
        fields.into_iter().map(|field| field.split('.').next().unwrap_or_default()).collect();
    let expressions = selecting.filter.as_deref().into_iter().chain(expression);
    // Errors are reported where the expression is used.
    let expressions: Vec<_> = expressions.filter_map(|text| Expression::parse(text).ok()).collect();
    let is_named = |names: &[&str]| {
        let is_mentioned = |name: &&str| expressions.iter().any(|expression| expression.mentions(name));
        names.iter().any(|name| fields.contains(name)) || names.iter().any(is_mentioned)
    };
    reading.running = match is_named(&PROCESS_NAMES) {
        true => Some(RunningParts::ThreadAndProcess),
        false => is_named(&NAMES).then_some(RunningParts::Thread),
    };
}
