//! Running .NET processes.

mod proc_files;
mod socket_search;

use std::path::{Path, PathBuf};
use std::time::Duration;

use proc_files::ProcFiles;
use socket_search::SocketFile;
pub(crate) use socket_search::SocketSearch;

use crate::endpoint::Endpoint;
use crate::error::DiagnosticsError;
use crate::messages::{ProcessInfo, RuntimeCookie};

/// Running .NET process with a diagnostics socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Process id in our PID namespace.
    pub pid: u32,
    /// Process id in the process's own PID namespace.
    pub namespace_pid: u32,
    /// User id of the process.
    pub user: u32,
    /// Path of the diagnostics socket.
    pub socket: PathBuf,
    /// Executable and arguments.
    pub command_line: String,
    /// File name of the executable, for example `dotnet`.
    pub executable: String,
    /// Name of the assembly with the entry point, or empty.
    pub assembly: String,
    /// Runtime version, or empty.
    pub runtime_version: String,
    /// Architecture, for example `x64`, or empty.
    pub architecture: String,
    /// Runtime instance id. `None` for .NET Core 3.
    pub cookie: Option<RuntimeCookie>,
    /// Error if the runtime does not answer.
    pub problem: Option<String>,
}

impl Process {
    /// Describes a process from its files and the answer of its runtime.
    fn new(files: &ProcFiles, file: SocketFile, timeout: Duration) -> Self {
        let pid = file.pid;
        let mut process = Self {
            pid,
            namespace_pid: file.namespace_pid,
            user: file.user,
            command_line: files.arguments(pid).join(" "),
            executable: files.executable(pid),
            socket: file.path,
            ..Self::default()
        };
        match process.endpoint().process_info(timeout) {
            Ok(info) => process.fill(info),
            // .NET Core 3 has no such command.
            Err(error) if error.is_unknown_command() => {}
            Err(error) => process.problem = Some(error.to_string()),
        }
        if process.assembly.is_empty() {
            process.assembly = files.assembly(pid);
        }
        if process.runtime_version.is_empty() {
            process.runtime_version = files.runtime_version(pid);
        }
        if process.architecture.is_empty() {
            process.architecture = files.architecture(pid).to_owned();
        }
        process
    }

    fn fill(&mut self, info: ProcessInfo) {
        self.cookie = Some(info.cookie);
        self.assembly = info.assembly;
        self.runtime_version = info.runtime_version;
        self.architecture = info.architecture;
        if self.command_line.is_empty() {
            self.command_line = info.command_line;
        }
    }

    /// Returns the endpoint of the runtime.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        let own = rustix::process::geteuid();
        // Root may trace everybody, but the socket must belong to the process.
        let user = if own.is_root() { self.user } else { own.as_raw() };
        Endpoint::socket(&self.socket, user)
    }

    /// Returns `true` if a name is the assembly name or the executable name.
    #[must_use]
    pub fn has_name(&self, name: &str) -> bool {
        let assembly = name.strip_suffix(".dll").unwrap_or(name);
        name == self.executable || !assembly.is_empty() && assembly == self.assembly
    }
}

/// Returns all .NET processes, sorted by process id. Another user's process has a [`problem`](Process::problem).
/// `timeout` is for each process.
#[must_use]
pub fn list(timeout: Duration) -> Vec<Process> {
    let files = ProcFiles::new(Path::new("/proc"));
    let sockets = SocketSearch::new(&files).all();
    sockets.into_iter().map(|file| Process::new(&files, file, timeout)).collect()
}

/// Finds a .NET process by its process id or its name.
///
/// # Errors
/// If no process or several processes match.
pub fn find(target: &str, timeout: Duration) -> Result<Process, DiagnosticsError> {
    if let Ok(pid) = target.parse() {
        return find_pid(pid, timeout);
    }
    choose(list(timeout), target)
}

fn find_pid(pid: u32, timeout: Duration) -> Result<Process, DiagnosticsError> {
    let files = ProcFiles::new(Path::new("/proc"));
    if !files.exists(pid) {
        return Err(DiagnosticsError::NoProcess { pid });
    }
    let file = SocketSearch::new(&files).find(pid).ok_or(DiagnosticsError::NotDotnet { pid })?;
    Ok(Process::new(&files, file, timeout))
}

/// Returns the only process with a name.
fn choose(processes: Vec<Process>, name: &str) -> Result<Process, DiagnosticsError> {
    let mut matches: Vec<Process> = processes.into_iter().filter(|process| process.has_name(name)).collect();
    if matches.len() > 1 {
        let candidates = matches.into_iter().map(|process| (process.pid, process.command_line)).collect();
        return Err(DiagnosticsError::Ambiguous { name: name.to_owned(), candidates });
    }
    matches.pop().ok_or_else(|| DiagnosticsError::UnknownName { name: name.to_owned() })
}

/// Finds the diagnostics socket of a process or one of its descendants.
pub(crate) fn find_in_tree(root: u32) -> Option<Process> {
    let files = ProcFiles::new(Path::new("/proc"));
    let search = SocketSearch::new(&files);
    let sockets = files.tree(root).into_iter().filter_map(|pid| search.find(pid));
    let file = sockets.min_by_key(|file| file.pid != root)?;
    let (pid, user) = (file.pid, file.user);
    Some(Process { pid, user, namespace_pid: file.namespace_pid, socket: file.path, ..Process::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_choose_a_process() {
        let process = |pid, executable: &str, assembly: &str| Process {
            pid,
            executable: executable.to_owned(),
            assembly: assembly.to_owned(),
            command_line: format!("{executable} {assembly}.dll \u{1b}"),
            ..Process::default()
        };
        let all = [
            process(1, "dotnet", "shop"),
            process(2, "dotnet", "bank"),
            process(3, "tool", "tool"),
            process(4, "x", ""),
        ];
        for (name, expected) in [
            ("shop", "1"),
            ("bank.dll", "2"),
            ("tool", "3"),
            ("x", "4"),
            ("", "no .NET process is named ``"),
            ("nothing\u{7}", "no .NET process is named `nothing\\u{7}`"),
            (
                "dotnet",
                "`dotnet` names 2 .NET processes: 1 (dotnet shop.dll \\u{1b}), 2 (dotnet bank.dll \\u{1b})",
            ),
        ] {
            let shown = match choose(all.to_vec(), name) {
                Ok(process) => process.pid.to_string(),
                Err(error) => error.to_string(),
            };
            assert_eq!(shown, expected, "{name}");
        }
    }

    #[test]
    fn processes_without_runtime() {
        let own = find(&std::process::id().to_string(), Duration::from_secs(1)).unwrap_err();
        assert!(matches!(own, DiagnosticsError::NotDotnet { .. }), "{own}");
        let none = find("4194999", Duration::from_secs(1)).unwrap_err();
        assert_eq!(none.to_string(), "process 4194999 does not exist");
    }
}
