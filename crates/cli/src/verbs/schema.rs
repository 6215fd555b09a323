//! `ichnos schema`: describes the event record classes of a trace.

mod language;
mod proposed_map;

use std::borrow::Cow;

use ichnos::analysis::schema::{trace_tree, write_trace_class};
use ichnos::model::TraceClass;

use crate::args;
use crate::exit::{Exit, Failure};
use crate::input::OpenRequest;
use crate::opened_run::OpenedRun;
use crate::output;
use crate::progress::Console;
use crate::select::{Selection, classes, no_match_help};

pub(crate) fn run(args: &args::Schema, console: Console) -> Result<Exit, Failure> {
    let selection = Selection::new(&args.selecting, None)?;
    let session = OpenRequest::new(&args.reading).open(console)?;
    let opened = OpenedRun::new(&args.reading, &session, selection, console)?;
    let selected = opened.trace_selection()?;
    let classes: Vec<Cow<'_, TraceClass>> = match selected.selection.is_some() {
        true => classes::selected_classes(&session, &selected, console),
        false => {
            classes::read_dynamic(&session, console);
            session.traces().iter().map(|trace| trace.trace().class_with_dynamic()).collect()
        }
    };
    let mut records =
        classes.iter().flat_map(|class| &class.data_streams).map(|class| class.event_records.len());
    let is_nothing = selected.selection.is_some() && records.all(|count| count == 0);
    no_match_help::explain(&session, &selected.selection, selected.window, u64::from(!is_nothing), console);
    if let Some(language) = &args.language {
        language::print(language, &session, &classes, args.reading.limits().model, console)?;
    } else if args.proposes_map {
        output::print_source(&proposed_map::propose(&classes))?;
    } else if args.report.json {
        output::print_document("schema", args.report.integers, |object| {
            let mut list = object.member("traces").array();
            for (trace, class) in session.traces().iter().zip(&classes) {
                let mut entry = list.element().object();
                entry.member("path").string(trace.path());
                entry.member("format").string(trace.format());
                write_trace_class(&mut entry, class);
                entry.end();
            }
            list.end();
        })?;
    } else {
        let paint = console.paint();
        let traces = session.traces().iter().zip(&classes);
        let trees = traces.map(|(trace, class)| trace_tree(class, trace.path(), paint));
        output::print_trees(trees, paint)?;
    }
    Ok(opened.exit(is_nothing))
}
