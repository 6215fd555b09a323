//! Executes commands.

use std::io::{self, IsTerminal as _, Write};
use std::path::Path;

use ichnos::export::printable;
use ichnos::io::ExistingOutput;

use crate::command::{Action, Command, Failure};
use crate::components::{self, ctf_fs, lttng_live, query};
use crate::graph;
use crate::paint::Paint;
use crate::value_text::value_text;

/// Exit code of a program that writes into a pipe which nobody reads any more, as a shell shows it.
const BROKEN_PIPE: u8 = 141;

/// Executes a command. Returns the exit code.
///
/// # Errors
/// If the command fails.
pub(crate) fn execute(command: Command) -> Result<u8, Failure> {
    match command.action {
        Action::Print(text) => print(&text),
        Action::Run(graph) => graph::run(&graph, command.log_level),
        Action::Query { class, object, parameters } => {
            let answer = query::query(&class, &object, &parameters)?;
            let is_terminal = io::stdout().is_terminal();
            let paint =
                Paint::detect(&|name| std::env::var(name).ok(), is_terminal && io::stderr().is_terminal());
            let text = value_text(&answer, 0, paint);
            print(&if is_terminal && !paint.is_on() { lines_for_terminal(&text) } else { text })
        }
        Action::PrintMetadata { path, output } => print_metadata(Path::new(&path), output.as_deref()),
        Action::PrintLiveSessions { .. } => {
            Err(lttng_live::refusal().in_context("Failed to query `sessions` object"))
        }
    }
}

fn print(text: &str) -> Result<u8, Failure> {
    let mut output = io::stdout().lock();
    exit_code(output.write_all(text.as_bytes()).and_then(|()| output.flush()))
}

fn exit_code(written: io::Result<()>) -> Result<u8, Failure> {
    match written {
        Ok(()) => Ok(0),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(BROKEN_PIPE),
        Err(error) => Err(Failure::from_cause(format!("Cannot write the output: {error}"))),
    }
}

/// Returns a text without characters that change a terminal.
fn lines_for_terminal(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

fn print_metadata(path: &Path, output: Option<&str>) -> Result<u8, Failure> {
    let metadata = components::metadata_text(&ctf_fs::normalized(path))
        .map_err(|failure| failure.in_context("Failed to query `metadata-info` object"))?;
    let cannot = |error: io::Error| {
        let output = output.unwrap_or_default();
        Failure::from_cause(format!("Cannot open file for writing: path=\"{output}\": {error}"))
    };
    let mut file = ichnos::io::create(output.map(Path::new), ExistingOutput::Replace).map_err(cannot)?;
    let text = match file.is_terminal() {
        true => lines_for_terminal(&metadata.text),
        false => metadata.text,
    };
    exit_code(writeln!(file, "{text}").and_then(|()| file.finish()))
}
