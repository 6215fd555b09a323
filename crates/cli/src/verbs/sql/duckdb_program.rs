//! DuckDB that the user has installed.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use ichnos::export::TerminalText;
use ichnos::io::OutputFile;

use crate::args::SqlFormat;
use crate::exit::{Exit, Failure};
use crate::output::Destination;

/// DuckDB's program.
const PROGRAM: &str = "duckdb";

/// Variable that names Python, and its name otherwise.
const PYTHON_VARIABLE: &str = "ICHNOS_PYTHON";
const PYTHON: &str = "python3";

/// Runs a query in Python.
const SCRIPT: &str = include_str!("run.py");

/// Program that can run a query.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DuckDbProgram {
    /// DuckDB's own.
    Shell(PathBuf),
    /// Python with the package `duckdb`.
    Python(OsString),
}

impl DuckDbProgram {
    /// Finds `duckdb` on PATH, or else a Python that has the package.
    pub(super) fn find() -> Result<Self, Failure> {
        if let Some(path) = on_path(PROGRAM) {
            return Ok(Self::Shell(path));
        }
        let python = std::env::var_os(PYTHON_VARIABLE).unwrap_or_else(|| PYTHON.into());
        let mut probe = Command::new(&python);
        probe.args(["-c", "import duckdb"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if probe.status().is_ok_and(|status| status.success()) {
            return Ok(Self::Python(python));
        }
        let python = python.display();
        Err(Failure::new(format!("there is no `{PROGRAM}` on PATH, and `{python}` has no package `duckdb`")).help(
            "install DuckDB 1.2 or later (https://duckdb.org/install, or `pip install duckdb`), then run the query again",
        ))
    }

    /// Runs the statements and the query, or DuckDB's shell without a query.
    pub(super) fn run(
        &self,
        statements: &str,
        query: Option<&str>,
        format: SqlFormat,
    ) -> Result<Exit, Failure> {
        let (mut command, name) = match self {
            Self::Shell(program) => {
                let mut command = Command::new(program);
                command.arg("-unsigned");
                // DuckDB has its own table for people, which leaves out rows in the middle.
                if format != SqlFormat::Box {
                    command.arg(format!("-{}", format.name()));
                }
                command.arg("-cmd").arg(statements);
                if let Some(query) = query {
                    command.arg("-c").arg(query);
                }
                (command, program.as_os_str())
            }
            Self::Python(python) => {
                let Some(query) = query else {
                    return Err(Failure::new(format!(
                        "there is no query, and no `{PROGRAM}` on PATH whose shell could start"
                    ))
                    .help("ichnos sql TRACE 'SELECT ...'"));
                };
                let mut command = Command::new(python);
                command.args(["-c", SCRIPT, statements, query, format.name()]);
                (command, python.as_os_str())
            }
        };
        // The table for people is as wide as the terminal, and DuckDB escapes its texts. Its shell needs the terminal.
        let status = match query {
            Some(_) if format != SqlFormat::Box => printed(command, format)?,
            _ => command.status(),
        };
        ended(status, name)
    }
}

/// Runs a program, and prints its output. A terminal gets no escape sequences from a trace.
fn printed(mut command: Command, format: SqlFormat) -> io::Result<io::Result<ExitStatus>> {
    let mut child = match command.stdout(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => return Ok(Err(error)),
    };
    let text = match format {
        SqlFormat::Json | SqlFormat::JsonLines => TerminalText::Json,
        _ => TerminalText::Lines { colors: false },
    };
    let output = Destination::new(OutputFile::standard()?, text);
    let copied = match child.stdout.take() {
        Some(mut answer) => output.write_buffered(|output| io::copy(&mut answer, output).map(drop)),
        None => Ok(()),
    };
    let status = child.wait();
    copied.map(|()| status)
}

/// Returns the exit code. DuckDB has printed its error.
fn ended(status: io::Result<ExitStatus>, name: &OsStr) -> Result<Exit, Failure> {
    match status {
        Ok(status) if status.success() => Ok(Exit::Success),
        Ok(_) => Err(Failure::end(Exit::Failure)),
        Err(error) if error.kind() == ErrorKind::ArgumentListTooLong => {
            Err(Failure::new("the query and the paths are too long"))
        }
        Err(error) => Err(Failure::new(format!("{} cannot be run: {error}", name.display()))),
    }
}

/// Returns the program with this name on PATH.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|program| program.is_file())
}
