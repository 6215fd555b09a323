//! Microsoft's TraceEvent library, to read files that ichnos writes.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Microsoft's TraceEvent library, as a program on .NET.
#[derive(Debug)]
pub struct TraceEventLibrary {
    script: PathBuf,
    runtimes: PathBuf,
}

/// Events that TraceEvent found in a file.
#[derive(Debug)]
pub struct TraceEventDump {
    /// A JSON line per event, in TraceEvent's order.
    pub rows: String,
    /// Number of lost events.
    pub lost: u64,
    /// Reason why TraceEvent stopped before the end, or empty.
    pub error: String,
}

impl TraceEventLibrary {
    /// Returns the library from a directory with .NET tools. `runtimes` is a directory with .NET runtimes.
    #[must_use]
    pub fn new(tools: &Path, runtimes: &Path) -> Self {
        Self { script: tools.join("traceevent/dump.sh"), runtimes: runtimes.to_owned() }
    }

    /// Finds the library in the tool directory: `ICHNOS_TOOLS`, by default `../shared/tools` next to the repository.
    /// `ICHNOS_DOTNET` names the directory with .NET runtimes. If one is missing, prints that `test` is skipped.
    #[must_use]
    pub fn find(test: &str) -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let tools =
            std::env::var_os("ICHNOS_TOOLS").map_or_else(|| root.join("../shared/tools"), PathBuf::from);
        let runtimes = PathBuf::from(std::env::var_os("ICHNOS_DOTNET").unwrap_or_default());
        let library = Self::new(&tools.join("dotnet"), &runtimes);
        if !library.script.is_file() || !runtimes.join("net10/host").is_file() {
            println!(
                "skipped: {test}: TraceEvent is not installed, or ICHNOS_DOTNET names no runtimes for it"
            );
            return None;
        }
        Some(library)
    }

    /// Reads a file. `output` is a temporary file.
    ///
    /// # Errors
    /// If the program fails.
    ///
    /// # Panics
    /// If the program cannot be started.
    pub fn dump(&self, file: &Path, output: &Path) -> Result<TraceEventDump, String> {
        let mut command = Command::new("bash");
        let run = command.arg(&self.script).arg(&self.runtimes).arg(file).arg(output).output().unwrap();
        let message = String::from_utf8_lossy(&run.stderr).into_owned();
        // A line `dump FILE lost N err E`.
        let summary = message.lines().find_map(|line| line.strip_prefix("dump ")?.rsplit_once(" lost "));
        let numbers = summary.and_then(|(_, rest)| rest.split_once(" err"));
        let parsed = numbers.and_then(|(lost, error)| Some((lost.parse().ok()?, error.trim().to_owned())));
        match parsed.filter(|_| run.status.success()) {
            Some((lost, error)) => {
                Ok(TraceEventDump { rows: std::fs::read_to_string(output).unwrap(), lost, error })
            }
            None => Err(message),
        }
    }
}
