//! The `ichnos` command.
//!
//! `command_line` reads the arguments, which `args` declares; one module for each verb resolves and executes
//! them. `input` opens traces, `report` writes to standard error. Data only go to standard output.
#![forbid(unsafe_code)]

mod args;
mod around;
mod babeltrace_compat;
#[cfg(feature = "view")]
mod browser;
mod cat;
mod charset;
mod check;
mod check_args;
mod classes;
mod collect;
mod collecting;
mod columns;
mod command_line;
mod convert;
mod damage;
mod event_map;
mod exit;
mod field_names;
mod filtering;
mod format_flags;
mod formats;
mod index;
mod info;
mod input;
#[cfg(feature = "view")]
mod input_state;
mod interrupt;
mod job;
mod json;
mod limits;
mod manifest;
mod no_match_help;
mod outcome;
mod output;
mod output_path;
mod partial_open;
mod pass;
mod printer;
mod progress;
mod proposed_map;
mod report;
mod running_threads;
mod scan;
mod schema;
mod selected;
mod selection;
mod size;
mod split;
mod stacks;
mod stats;
mod style;
mod suggest;
mod task;
mod text_check;
mod text_target;
mod threads;
mod time;
mod time_range;
mod toml_text;
#[cfg(feature = "view")]
mod view;
#[cfg(feature = "view")]
mod view_in;
#[cfg(feature = "view")]
mod view_traces;
mod windows;
mod write_progress;
mod write_report;
mod written_schema;

use std::process::ExitCode;

use args::Verb;
use exit::{Exit, Failure};
use report::Report;

fn main() -> ExitCode {
    // Not supported everywhere: files that do not shrink are read correctly without it.
    let _ = ichnos::io::handle_bus_errors();
    let mut args = match command_line::parse() {
        Ok(args) => args,
        Err(failure) => return end(Err(failure), Report::early()),
    };
    let report = Report::new(args.global.color, args.global.quiet, args.global.verbose);
    if args.global.quiet && args.global.progress == args::Progress::Plain {
        args.global.progress = args::Progress::Never;
    }
    time::report_zone_to(report);
    if let Verb::Task(task) = &mut args.verb {
        task.set_defaults();
    }
    running_threads::add_if_named(&mut args.verb);
    let result = match &args.verb {
        Verb::Info(verb) => info::run(verb, &args.global, report),
        Verb::Cat(verb) => cat::run(verb, &args.global, report),
        Verb::Convert(verb) => convert::run(verb, &args.global, report),
        Verb::Cut(verb) => convert::cut(verb, &args.global, report),
        Verb::Filter(verb) => convert::filter(verb, &args.global, report),
        Verb::Merge(verb) => convert::merge(verb, &args.global, report),
        Verb::Split(verb) => split::run(verb, &args.global, report),
        Verb::Repair(verb) => convert::repair(verb, &args.global, report),
        Verb::Index(verb) => index::run(verb, report),
        Verb::Stacks(verb) => stacks::run(verb, &args.global, report),
        Verb::Stats(verb) => stats::run(verb, &args.global, report),
        Verb::Task(verb) => task::run(verb, &args.global, report),
        Verb::Threads(verb) => threads::run(verb, &args.global, report),
        #[cfg(feature = "view")]
        Verb::View(verb) => view::run(verb, &args.global, report),
        Verb::Collect(verb) => collect::run(verb, report),
        Verb::Check(verb) => check::run(verb, &args.global, report),
        Verb::Schema(verb) => schema::run(verb, &args.global, report),
        Verb::Formats(verb) => formats::run(verb, &args.global),
        Verb::Completions(verb) => formats::completions(verb),
        Verb::Man(verb) => formats::man(verb),
    };
    if result.is_ok() {
        event_map::report_problems(report);
    }
    end(result, report)
}

fn end(result: Result<Exit, Failure>, report: Report) -> ExitCode {
    match result {
        Ok(exit) => exit.into(),
        // The reader of the output has closed it.
        Err(failure) if failure.broken_pipe => Exit::Success.into(),
        Err(failure) => {
            report.failure(&failure);
            Exit::Failure.into()
        }
    }
}
