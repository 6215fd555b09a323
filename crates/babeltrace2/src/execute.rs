//! Executes commands.

use std::io::{self, Write as _};
use std::path::Path;

use ichnos::io::ExistingOutput;

use crate::command::{Action, Command, Failure};
use crate::components::{self, ctf_fs, lttng_live, query};
use crate::graph;
use crate::paint::Paint;
use crate::standard_output::{exit_code, print, printable};
use crate::value_text::value_text;

/// Executes a command. Returns the exit code.
///
/// # Errors
/// If the command fails.
pub(crate) fn execute(command: Command, paint: Paint) -> Result<u8, Failure> {
    match command.action {
        Action::Print(text) => print(&text, paint),
        Action::Run(graph) => graph::run(&graph, command.log_level),
        Action::Query { class, object, parameters } => {
            let answer = query::query(&class, &object, &parameters)?;
            print(&value_text(&answer, 0, paint), paint)
        }
        Action::PrintMetadata { path, output } => print_metadata(Path::new(&path), output.as_deref()),
        Action::PrintLiveSessions { .. } => {
            Err(lttng_live::refusal().in_context("Failed to query `sessions` object"))
        }
    }
}

fn print_metadata(path: &Path, output: Option<&str>) -> Result<u8, Failure> {
    let metadata = components::metadata_text(&ctf_fs::normalized(path))
        .map_err(|failure| failure.in_context("Failed to query `metadata-info` object"))?;
    let output = output.map(Path::new);
    let cannot = |error: &dyn std::fmt::Display| {
        let output = output.unwrap_or(Path::new("")).display();
        Failure::from_cause(format!("Cannot open file for writing: path=\"{output}\": {error}"))
    };
    if let Some(output) = output {
        components::metadata_places(path).check(output, |_| true).map_err(|conflict| cannot(&conflict))?;
    }
    let opened = ichnos::io::create(output, ExistingOutput::Replace);
    let mut file = opened.map_err(|error: io::Error| cannot(&error))?;
    let text = printable(&metadata.text, file.is_terminal(), false);
    exit_code(writeln!(file, "{text}").and_then(|()| file.finish()))
}
