//! DuckDB that the user has installed.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use ichnos::export::TerminalText;
use ichnos::io::OutputFile;
use ichnos::model::locks::IgnorePoison as _;

use crate::args::SqlFormat;
use crate::exit::{Exit, Failure};
use crate::output::Destination;
use crate::progress::interrupt;

/// DuckDB's program.
const PROGRAM: &str = "duckdb";

/// Variable that names Python, and its name otherwise.
const PYTHON_VARIABLE: &str = "ICHNOS_PYTHON";
const PYTHON: &str = "python3";

/// Time between two looks at the program, and time that it has to end after a signal.
const STEP: Duration = Duration::from_millis(10);
const GRACE: Duration = Duration::from_millis(500);

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
                // The program would write the text NULL, which is also a value.
                if format == SqlFormat::Csv {
                    command.args(["-nullvalue", ""]);
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
            None => become_shell(command),
            Some(_) => {
                interrupt::watch();
                if format == SqlFormat::Box {
                    command.spawn().and_then(watched)
                } else {
                    printed(command, format)?
                }
            }
        };
        ended(status, name)
    }
}

/// Makes a program take the place of this one: its shell handles Ctrl-C itself.
#[cfg(unix)]
fn become_shell(mut command: Command) -> io::Result<ExitStatus> {
    Err(std::os::unix::process::CommandExt::exec(&mut command))
}

#[cfg(not(unix))]
fn become_shell(mut command: Command) -> io::Result<ExitStatus> {
    command.status()
}

/// Waits for a program. It gets Ctrl-C, too, but DuckDB looks for it only between two chunks of rows. A filter that selects
/// nothing makes no rows.
fn watched(child: Child) -> io::Result<ExitStatus> {
    let child = Arc::new(Mutex::new(child));
    let of_second = Arc::clone(&child);
    interrupt::before_abort(move || drop(of_second.lock().ignore_poison().kill()));
    let mut deadline = None;
    loop {
        let mut child = child.lock().ignore_poison();
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if interrupt::is_requested()
            && Instant::now() >= *deadline.get_or_insert_with(|| Instant::now() + GRACE)
        {
            child.kill()?;
            return child.wait();
        }
        drop(child);
        thread::sleep(STEP);
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
    let answer = child.stdout.take();
    thread::scope(|scope| {
        let copying = scope.spawn(|| match answer {
            Some(mut answer) => output.write_buffered(|output| io::copy(&mut answer, output).map(drop)),
            None => Ok(()),
        });
        let status = watched(child);
        let copied = copying.join().unwrap_or_else(|_| Err(io::Error::other("the output cannot be copied")));
        copied.map(|()| status)
    })
}

/// Returns the exit code. DuckDB has printed its error.
fn ended(status: io::Result<ExitStatus>, name: &OsStr) -> Result<Exit, Failure> {
    match status {
        Ok(_) if interrupt::is_requested() => Err(interrupt::end()),
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
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|program| is_program(program))
}

/// Returns `true` for a file that someone may execute, as shells find programs.
#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}
