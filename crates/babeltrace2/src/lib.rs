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
mod paint;
mod parameter_check;
mod parameters;
mod query;
mod run;
mod run_args;
mod value;
mod value_text;

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use ichnos::export::{TerminalText, for_terminal};

use self::arguments::environment::Environment;
use self::arguments::{Refusal, parse};
use self::command::{Action, Failure};
use self::execute::execute;
use self::failure::error_stack;
use self::paint::Paint;

/// Runs the command with the arguments after the program's name. Prints its output and its failure.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let variable = |name: &str| std::env::var(name).ok();
    let are_terminals = io::stdout().is_terminal() && io::stderr().is_terminal();
    let paint = Paint::detect(&variable, are_terminals);
    let environment = Environment { variable: &variable, paint };
    match run_words(arguments, &environment) {
        Ok(code) => code,
        Err(Refusal { output, failure }) => {
            // The failure matters more than a print error.
            let _ = print(&output, paint);
            let text = error_stack(&failure, paint);
            let _ = io::stderr().write_all(printable(&text, io::stderr().is_terminal(), paint).as_bytes());
            ExitCode::from(failure.exit_code)
        }
    }
}

fn run_words(
    arguments: impl IntoIterator<Item = OsString>,
    environment: &Environment<'_>,
) -> Result<ExitCode, Refusal> {
    let mut words = Vec::new();
    for argument in arguments {
        let not_text = |argument: OsString| {
            let text = argument.to_string_lossy();
            Failure::from_cause(format!("Argument `{text}` is not valid UTF-8"))
        };
        words.push(argument.into_string().map_err(not_text)?);
    }
    let command = parse(&words, environment, &components::discovery::find_sources)?;
    if let Action::Print(text) = &command.action {
        return match print(text, environment.paint) {
            Ok(()) => Ok(ExitCode::SUCCESS),
            // A reader that closed the output needs no error message.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
            Err(error) => {
                Err(Failure::from_cause(format!("Cannot write to standard output: {error}")).into())
            }
        };
    }
    graph_check::check(&command)?;
    Ok(execute(command).map(ExitCode::from)?)
}

fn print(text: &str, paint: Paint) -> io::Result<()> {
    let mut output = io::stdout().lock();
    let text = printable(text, output.is_terminal(), paint);
    output.write_all(text.as_bytes())?;
    output.flush()
}

/// Returns a text without control characters for a terminal.
fn printable(text: &str, is_terminal: bool, paint: Paint) -> std::borrow::Cow<'_, str> {
    match is_terminal {
        true => for_terminal(text, TerminalText::Lines { colors: paint.is_on() }),
        false => text.into(),
    }
}
