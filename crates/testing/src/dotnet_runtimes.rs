//! .NET runtimes, to record real programs.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Directory with .NET 10, .NET Core 3.1, and a program for both: the workload.
#[derive(Clone, Debug)]
pub struct DotnetRuntimes {
    directory: PathBuf,
}

impl DotnetRuntimes {
    /// Versions of the runtimes.
    pub const VERSIONS: [&str; 2] = ["10", "3.1"];

    /// Finds the directory that `ICHNOS_DOTNET` names. If there is none, prints that `test` is skipped.
    #[must_use]
    pub fn find(test: &str) -> Option<Self> {
        let directory = std::env::var_os("ICHNOS_DOTNET").map(PathBuf::from);
        let directory = directory.filter(|directory| directory.join("app/app.dll").is_file());
        if directory.is_none() {
            println!("skipped: {test}: ICHNOS_DOTNET names no directory with .NET runtimes");
        }
        Some(Self { directory: directory? })
    }

    /// Returns the program of .NET 10.
    #[must_use]
    pub fn host(&self) -> PathBuf {
        self.directory.join("net10/host")
    }

    /// Returns the command that runs the workload with a runtime. It prints a line with its process id, waits, and then
    /// emits `events` events of the provider `Toolkit-Test` on each of two threads, among others.
    #[must_use]
    pub fn workload(&self, version: &str, events: usize, wait: Duration) -> Command {
        let wait = wait.as_millis().to_string();
        let arguments = [&*events.to_string(), "2", "300", "5", &*wait];
        let mut command = match version {
            "3.1" => {
                let mut command = Command::new(self.directory.join("sdk31/dotnet"));
                command.arg(self.directory.join("app/app.dll")).args(arguments);
                command
            }
            _ => {
                let mut command = Command::new(self.host());
                command.arg("--version").env("HOOK_ARGS", arguments.join(" "));
                command.env("DOTNET_STARTUP_HOOKS", self.directory.join("app/hook.dll"));
                command
            }
        };
        command.env("LD_LIBRARY_PATH", self.directory.join("openssl11/lib"));
        command.env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1").env("DOTNET_NOLOGO", "1");
        command.stdout(Stdio::piped());
        command
    }
}
