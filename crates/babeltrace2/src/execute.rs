//! Executes commands.

use std::io::{self, Write as _};
use std::path::Path;

use ichnos::io::ExistingOutput;

use crate::command::{Action, Command, Failure};
use crate::components::{self, ctf_fs, lttng_live, query};
use crate::graph;
use crate::native_text::path_of;
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
        Action::PrintMetadata { path, output } => print_metadata(&path_of(&path), output.as_deref()),
        Action::PrintLiveSessions { url, output } => {
            let text = lttng_live::sessions_text(&url)
                .map_err(|failure| failure.in_context("Failed to query `sessions` object"))?;
            match output {
                Some(output) => write_text(&text, &path_of(&output)),
                None => print(&text, paint),
            }
        }
    }
}

/// Writes a text to a file.
fn write_text(text: &str, output: &Path) -> Result<u8, Failure> {
    let cannot = |error: io::Error| {
        Failure::from_cause(format!("Cannot open file for writing: path=\"{}\": {error}", output.display()))
    };
    let mut file = ichnos::io::create(Some(output), ExistingOutput::Replace).map_err(cannot)?;
    exit_code(file.write_all(text.as_bytes()).and_then(|()| file.finish()))
}

fn print_metadata(path: &Path, output: Option<&str>) -> Result<u8, Failure> {
    let metadata = components::metadata_text(&ctf_fs::normalized(path))
        .map_err(|failure| failure.in_context("Failed to query `metadata-info` object"))?;
    let output = output.map(path_of);
    let output = output.as_deref();
    let cannot = |error: &dyn std::fmt::Display| {
        let output = output.unwrap_or(Path::new("")).display();
        Failure::from_cause(format!("Cannot open file for writing: path=\"{output}\": {error}"))
    };
    if let Some(output) = output {
        components::metadata_places(path).check(output, |_| true).map_err(|conflict| cannot(&conflict))?;
    }
    let opened = ichnos::io::create(output, ExistingOutput::Replace);
    let mut file = opened.map_err(|error: io::Error| cannot(&error))?;
    let mut text = metadata.text;
    if file.is_terminal() {
        text = printable(&String::from_utf8_lossy(&text), true, false).into_owned().into_bytes();
    }
    text.push(b'\n');
    exit_code(file.write_all(&text).and_then(|()| file.finish()))
}
