//! The `ichnos` command.
//!
//! `args` is the command line as it is written, one module per verb does the work, `input` opens
//! traces, `report` is the standard error output. Data go to the standard output only.
#![forbid(unsafe_code)]

mod args;
mod cat;
mod check;
mod damage;
mod exit;
mod formats;
mod info;
mod input;
mod interrupt;
mod json;
mod limits;
mod output;
mod parts;
mod pass;
mod progress;
mod report;
mod schema;
mod selection;
mod style;
mod time;
mod tree;

use std::process::ExitCode;

use args::Verb;
use exit::Exit;
use report::Report;

fn main() -> ExitCode {
    let args = args::parse();
    let report = Report::new(&args.global);
    let result = match &args.verb {
        Verb::Info(verb) => info::run(verb, &args.global, report),
        Verb::Cat(verb) => cat::run(verb, &args.global, report),
        Verb::Check(verb) => check::run(verb, &args.global, report),
        Verb::Schema(verb) => schema::run(verb, &args.global, report),
        Verb::Formats(verb) => formats::run(verb, &args.global),
        Verb::Completions(verb) => formats::completions(verb),
        Verb::Man(verb) => formats::man(verb),
    };
    match result {
        Ok(exit) => exit.into(),
        // Whoever reads the output has seen enough.
        Err(failure) if failure.broken_pipe => Exit::Success.into(),
        Err(failure) => {
            report.failure(&failure);
            Exit::Failure.into()
        }
    }
}
