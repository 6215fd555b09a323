//! DuckDB that the user has installed.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use ichnos::export::text::{CharsetWriter, locale_is_ascii};
use ichnos::export::{TerminalText, TerminalWriter};
use ichnos::io::OutputFile;
use ichnos::model::locks::IgnorePoison as _;

use crate::args::SqlFormat;
use crate::exit::{Exit, Failure};
use crate::output::{Destination, line_width};
use crate::progress::interrupt;

/// DuckDB's program.
const PROGRAM: &str = "duckdb";

/// Program of the system that makes another program write each line at once.
const LINE_BUFFERING: &str = "stdbuf";

/// Variable that names Python, and its name otherwise.
const PYTHON_VARIABLE: &str = "ICHNOS_PYTHON";
const PYTHON: &str = "python3";

/// Time between two looks at the program, and time that it has to end after a signal.
const STEP: Duration = Duration::from_millis(10);
const GRACE: Duration = Duration::from_millis(500);

/// Time after a signal that the reader of the output has to take the rest.
const REST: Duration = Duration::from_millis(200);

/// Maximum length in bytes of an answer's part that is printed at once.
const PART: usize = 64 << 10;

/// Text for people, without colors.
const LINES: TerminalText = TerminalText::Lines { colors: false };

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
        let (command, name) = match self {
            Self::Shell(program) => {
                let mut command = match query {
                    Some(_) => writing_lines(program),
                    None => Command::new(program),
                };
                command.arg("-unsigned");
                // DuckDB has its own table for people, which leaves out rows in the middle.
                if format != SqlFormat::Box {
                    command.arg(format!("-{}", format.name()));
                } else if let Some(columns) = line_width().columns.filter(|_| query.is_some()) {
                    command.arg("-cmd").arg(format!(".maxwidth {columns}"));
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
                let columns = line_width().columns.unwrap_or(0).to_string();
                command.args(["-c", SCRIPT, statements, query, format.name(), &columns]);
                (command, python.as_os_str())
            }
        };
        // The shell needs the terminal.
        let status = match query {
            None => become_shell(command),
            Some(_) => {
                interrupt::watch();
                printed(command, format)?
            }
        };
        ended(status, name)
    }
}

/// Returns a command that runs DuckDB's program. Into a pipe, it would write large blocks: a terminal would not show the
/// first answer before the last one, and never after Ctrl-C.
fn writing_lines(program: &Path) -> Command {
    match on_path(LINE_BUFFERING).filter(|_| io::stdout().is_terminal()) {
        None => Command::new(program),
        Some(buffering) => {
            let mut command = Command::new(buffering);
            command.arg("-oL").arg(program);
            command
        }
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

/// Waits for a program. It gets Ctrl-C, too, but DuckDB looks for it only between two row chunks. A filter that selects
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

/// Runs a program, and prints its output and errors. A terminal gets no escape sequences from a trace.
fn printed(mut command: Command, format: SqlFormat) -> io::Result<io::Result<ExitStatus>> {
    // DuckDB escapes only some control characters in the table for people, and does not report all write errors.
    let text = match format {
        SqlFormat::Json | SqlFormat::JsonLines => TerminalText::Json,
        _ => LINES,
    };
    let output = Destination::new(OutputFile::standard()?, text);
    command.stdout(Stdio::piped());
    // Errors name columns.
    if io::stderr().is_terminal() {
        command.stderr(Stdio::piped());
    }
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ok(Err(error)),
    };
    let mut copies: Vec<Copy> = Vec::new();
    if let Some(answer) = child.stdout.take() {
        copies.push(Box::new(move || print_answer(answer, output)));
    }
    if let Some(errors) = child.stderr.take() {
        copies.push(Box::new(move || print_errors(errors)));
    }
    let count = copies.len();
    let results = match start(copies) {
        Ok(results) => results,
        Err(error) => {
            child.kill()?;
            child.wait()?;
            return Err(error);
        }
    };
    let status = watched(child);
    wait_for(count, &results)?;
    Ok(status)
}

/// Work of a thread that copies.
type Copy = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// Prints each part of the answers when it arrives.
fn print_answer(mut answer: ChildStdout, mut output: Destination) -> io::Result<()> {
    let mut part = vec![0; PART];
    loop {
        match answer.read(&mut part) {
            Ok(0) => return output.finish(),
            Ok(length) => {
                output.write_all(part.get(..length).unwrap_or_default())?;
                output.flush()?;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Prints errors on a terminal.
fn print_errors(mut errors: ChildStderr) -> io::Result<()> {
    let charset = CharsetWriter::new(io::stderr(), LINES, locale_is_ascii());
    let mut writer = TerminalWriter::new(charset, LINES);
    io::copy(&mut errors, &mut writer)?;
    writer.finish()?.finish().map(drop)
}

/// Starts a thread for each copy. Returns where their results arrive.
fn start(copies: Vec<Copy>) -> io::Result<Receiver<io::Result<()>>> {
    let (sender, results) = channel();
    for copy in copies {
        let sender = sender.clone();
        thread::Builder::new().spawn(move || drop(sender.send(copy())))?;
    }
    Ok(results)
}

/// Waits until copies end. After Ctrl-C, a copy is left if nobody reads the output.
fn wait_for(count: usize, results: &Receiver<io::Result<()>>) -> io::Result<()> {
    let mut deadline = None;
    let mut left = count;
    while left > 0 {
        match results.recv_timeout(STEP) {
            Ok(result) => {
                result?;
                left -= 1;
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(io::Error::other("the output cannot be copied"));
            }
            Err(RecvTimeoutError::Timeout) => {
                if interrupt::is_requested()
                    && Instant::now() >= *deadline.get_or_insert_with(|| Instant::now() + REST)
                {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
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
