//! The `ichnos` command.
//!
//! `args` declares the arguments, and `command_line` parses them. Each verb has a module in `verbs`. `input` opens
//! traces, `select` selects events, `progress` reports on standard error, and `output` prints data on standard output.
#![forbid(unsafe_code)]

mod args;
mod command_line;
mod exit;
mod input;
mod opened_run;
mod output;
mod progress;
mod select;
mod verbs;

use std::process::ExitCode;

use args::{Verb, time};
use exit::{Exit, Failure};
use ichnos::query::suggestions;
use input::event_map;
use progress::Console;
#[cfg(all(feature = "dotnet", target_os = "linux"))]
use verbs::record;
#[cfg(feature = "view")]
use verbs::view;
use verbs::{
    cat, check, collect, convert, formats, index, info, schema, split, sql, stacks, stats, task, threads,
};

fn main() -> ExitCode {
    // Not supported everywhere: files that do not shrink are read correctly without it.
    let _ = ichnos::io::handle_bus_errors();
    #[cfg(feature = "babeltrace2")]
    if let Some(arguments) = command_line::babeltrace2_arguments() {
        return ichnos_babeltrace2::run(arguments);
    }
    let mut args = match command_line::parse() {
        Ok(args) => args,
        Err(failure) => return end(Err(failure), Console::early()),
    };
    let console = Console::new(&args.global);
    time::warn_of_zone_by(move |text, help| {
        console.warning_with_help(text, &format!("{help}; `--clock-gmt` prints times in UTC"));
    });
    if let Verb::Task(task) = &mut args.verb {
        task.set_defaults();
    }
    let result = match &args.verb {
        Verb::Info(verb) => info::run(verb, console),
        Verb::Cat(verb) => cat::run(verb, console),
        Verb::Convert(verb) => convert::run(verb, console),
        Verb::Cut(verb) => convert::cut(verb, console),
        Verb::Filter(verb) => convert::filter(verb, console),
        Verb::Merge(verb) => convert::merge(verb, console),
        Verb::Split(verb) => split::run(verb, console),
        Verb::Repair(verb) => convert::repair(verb, console),
        Verb::Index(verb) => index::run(verb, console),
        Verb::Sql(verb) => sql::run(verb),
        Verb::Stacks(verb) => stacks::run(verb, console),
        Verb::Stats(verb) => stats::run(verb, console),
        Verb::Task(verb) => task::run(verb, console),
        Verb::Threads(verb) => threads::run(verb, console),
        #[cfg(feature = "view")]
        Verb::View(verb) => view::run(verb, console),
        Verb::Collect(verb) => collect::run(verb, console),
        #[cfg(all(feature = "dotnet", target_os = "linux"))]
        Verb::Record(verb) => record::run(verb, console),
        #[cfg(feature = "babeltrace2")]
        Verb::Babeltrace2(verb) => return ichnos_babeltrace2::run(verb.arguments.iter().cloned()),
        Verb::Check(verb) => check::run(verb, console),
        Verb::Schema(verb) => schema::run(verb, console),
        Verb::Formats(verb) => formats::run(verb, console),
        Verb::Completions(verb) => formats::completions(verb),
        Verb::Man(verb) => formats::man(verb),
    };
    let result = match result {
        Err(Failure { exit: Some(exit), .. }) => Ok(exit),
        result => result,
    };
    if result.is_ok() {
        event_map::report_problems(console);
    }
    end(result, console)
}

fn end(result: Result<Exit, Failure>, console: Console) -> ExitCode {
    match result {
        Ok(exit) => exit.into(),
        // A reader that closed the output needs no error message.
        Err(failure) if failure.broken_pipe => Exit::Success.into(),
        Err(failure) => {
            console.failure(&failure);
            Exit::Failure.into()
        }
    }
}
