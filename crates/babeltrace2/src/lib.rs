//! Babeltrace 2's command line on ichnos.
//!
//! `arguments` turns a command line into a `Command`, and `execute` executes it.
#![forbid(unsafe_code)]

mod arguments;
mod command;
mod component_list;
mod components;
mod convert;
mod execute;
mod failure;
mod graph;
mod graph_check;
mod help;
mod list_plugins;
mod native_text;
mod paint;
mod parameter_check;
mod parameters;
mod query;
mod run;
mod run_args;
mod standard_output;
mod value;
mod value_text;

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use self::arguments::environment::Environment;
use self::arguments::{Refusal, parse};
use self::command::Action;
use self::execute::execute;
use self::failure::error_stack;
use self::native_text::{readable, text_of};
use self::paint::Paint;
use self::standard_output::{print, print_warning, printable};

/// Runs the command with the arguments after the program's name. Prints its output and its failure.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let variable = |name: &str| std::env::var(name).ok();
    let are_terminals = io::stdout().is_terminal() && io::stderr().is_terminal();
    let paint = Paint::detect(&variable, are_terminals);
    let environment = Environment { variable: &variable, paint, print_warning: &print_warning };
    match run_words(arguments, &environment) {
        Ok(code) => ExitCode::from(code),
        Err(Refusal { output, failure }) => {
            // The failure matters more than a print error.
            let _ = print(&output, paint);
            let text = error_stack(&failure, paint);
            let text = readable(&text);
            let text = printable(&text, io::stderr().is_terminal(), paint.is_on());
            let _ = io::stderr().write_all(text.as_bytes());
            ExitCode::from(failure.exit_code)
        }
    }
}

fn run_words(
    arguments: impl IntoIterator<Item = OsString>,
    environment: &Environment<'_>,
) -> Result<u8, Refusal> {
    let mut words = Vec::new();
    for argument in arguments {
        words.push(text_of(&argument));
    }
    let command = parse(&words, environment, &components::discovery::find_sources)?;
    if let Action::Print(text) = &command.action {
        return Ok(print(text, environment.paint)?);
    }
    graph_check::check(&command)?;
    Ok(execute(command, environment.paint)?)
}
