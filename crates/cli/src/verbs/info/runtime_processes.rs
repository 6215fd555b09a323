//! `ichnos info dotnet:`: lists running .NET processes.

use std::path::PathBuf;
use std::time::Duration;

use ichnos::dotnet_diagnostics::DiagnosticsError;
use ichnos::dotnet_diagnostics::processes::{self, Process};
use ichnos::export::text::TextTable;
use ichnos::json::write::ObjectWriter;

use crate::args::Info;
use crate::exit::{Exit, Failure};
use crate::output::{self, line_width, safe};
use crate::progress::Console;

/// Time limit for the answer of a process.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns the part after `dotnet:` if this is the only path: a name, a process id, or nothing for all processes.
pub(super) fn target(paths: &[PathBuf]) -> Option<&str> {
    let [path] = paths else { return None };
    path.to_str()?.strip_prefix("dotnet:").filter(|_| !path.exists())
}

/// Prints one or all processes.
pub(super) fn run(target: &str, args: &Info, console: Console) -> Result<Exit, Failure> {
    let failure = |error: DiagnosticsError| Failure::new(safe(&error.to_string())).maybe_help(error.help());
    let found = match target {
        "" => processes::list(PATIENCE),
        target => vec![processes::find(target, PATIENCE).map_err(failure)?],
    };
    if args.report.json {
        output::print_document("info", args.report.integers, |object| write_json(object, &found))?;
    } else if found.is_empty() {
        let help =
            "other users' processes are found by root only, and DOTNET_EnableDiagnostics=0 hides a process";
        console.warning_with_help("no .NET process is running", help);
    } else {
        let mut text = String::new();
        table(&found).push(&mut text, line_width(), console.paint());
        output::print(&text, console.paint())?;
    }
    for process in &found {
        if let Some(problem) = &process.problem {
            console.warning(&format!("process {}: {}", process.pid, safe(problem)));
        }
    }
    Ok(if found.is_empty() { Exit::Nothing } else { Exit::Success })
}

fn table(processes: &[Process]) -> TextTable {
    let mut table = TextTable::new(&["pid", "runtime"], &["name", "command line"]);
    for process in processes {
        let name = if process.assembly.is_empty() { &process.executable } else { &process.assembly };
        let cells = [&process.pid.to_string(), &process.runtime_version, name, &process.command_line];
        table.rows.push(cells.map(|cell| safe(cell).into_owned()).to_vec());
    }
    table
}

fn write_json(object: &mut ObjectWriter<'_>, processes: &[Process]) {
    let mut list = object.member("processes").array();
    for process in processes {
        let mut entry = list.element().object();
        entry.member("pid").unsigned(process.pid.into());
        entry.member("namespace_pid").unsigned(process.namespace_pid.into());
        entry.member("user").unsigned(process.user.into());
        for (name, text) in [
            ("runtime_version", &process.runtime_version),
            ("architecture", &process.architecture),
            ("executable", &process.executable),
            ("assembly", &process.assembly),
            ("command_line", &process.command_line),
        ] {
            entry.string(name, Some(text.as_str()).filter(|text| !text.is_empty()));
        }
        entry.member("socket").string(&process.socket.to_string_lossy());
        entry.string("problem", process.problem.as_deref());
        entry.end();
    }
    list.end();
}
