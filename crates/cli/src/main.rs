//! The `ichnos` command.
//!
//! `command_line` reads the arguments, which `args` declares. Each verb has a module in `verbs`. `input` opens traces,
//! `select` finds what is read, `progress` reports to standard error, and `output` prints data to standard output.
#![forbid(unsafe_code)]

mod args;
mod command_line;
mod exit;
mod input;
mod output;
mod progress;
mod select;
mod suggestions;
mod verbs;

use std::process::ExitCode;

use args::{Verb, time};
use exit::{Exit, Failure};
use input::event_map;
use progress::Report;
#[cfg(feature = "view")]
use verbs::view;
use verbs::{
    cat, check, collect, convert, formats, index, info, running_threads, schema, split, stacks, stats, task,
    threads,
};

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
    time::warn_of_zone_by(move |text, help| report.warning_with_help(text, help));
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
