//! Programs that are recorded from their start.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::endpoint::Endpoint;
use crate::error::DiagnosticsError;
use crate::messages::{Advertise, SessionOptions};
use crate::port::DiagnosticPort;
use crate::processes::find_in_tree;
use crate::session::Session;
use crate::timeouts::Timeouts;

/// Polling interval while a program starts.
const TICK: Duration = Duration::from_millis(100);

/// Longest time from the creation of a runtime's own socket to its connection to the port. .NET Core 3 never connects.
const GRACE: Duration = Duration::from_secs(1);

/// Options for [`launch`].
#[derive(Clone, Debug)]
pub struct LaunchOptions {
    /// Contents of the session.
    pub session: SessionOptions,
    /// Time limits for the runtime.
    pub timeouts: Timeouts,
    /// Time until a runtime must connect.
    pub patience: Duration,
    /// Handling of .NET programs that the program starts.
    pub others: OtherRuntimes,
    /// Set when the launch should end early.
    pub cancel: Option<&'static AtomicBool>,
}

impl Default for LaunchOptions {
    fn default() -> Self {
        Self {
            session: SessionOptions::default(),
            timeouts: Timeouts::default(),
            patience: Duration::from_secs(30),
            others: OtherRuntimes::default(),
            cancel: None,
        }
    }
}

/// Handling of .NET programs that the program starts. They wait until they are resumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OtherRuntimes {
    /// Resume them at once, without a session.
    #[default]
    Resume,
    /// Return them from [`Launched::next_runtime`]. The caller must resume each of them.
    HandOut,
}

/// Runtime of a launched program.
#[derive(Clone, Debug)]
pub struct Runtime {
    /// Process id in the process's own PID namespace.
    pub pid: u64,
    /// Endpoint of the runtime.
    pub endpoint: Endpoint,
    /// The runtime waits until it is resumed. .NET Core 3 never waits.
    pub is_suspended: bool,
}

impl Runtime {
    fn from_arrival(port: &DiagnosticPort, arrival: Advertise) -> Self {
        Self { pid: arrival.pid, endpoint: Endpoint::port(port, arrival.cookie), is_suspended: true }
    }
}

/// Launched program with a running session. Dropping it kills the program.
#[derive(Debug)]
pub struct Launched {
    // Dropped in this order: the session is stopped over the port.
    session: Session,
    program: Program,
    port: DiagnosticPort,
    runtime: Runtime,
}

/// Child process that is killed when it is dropped.
#[derive(Debug)]
struct Program(Child);

impl Program {
    /// Returns the process group, which the program leads.
    fn group(&self) -> ProgramGroup {
        ProgramGroup(Pid::from_child(&self.0))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The id of a program that was waited for can belong to another process.
        if matches!(self.0.try_wait(), Ok(None)) {
            self.group().send(Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

/// Process group of a launched program: the program, and programs that it has started.
#[derive(Clone, Copy, Debug)]
pub struct ProgramGroup(Pid);

impl ProgramGroup {
    /// Asks the programs to end, with SIGTERM. The program must not have been waited for.
    pub fn terminate(self) {
        self.send(Signal::TERM);
    }

    fn send(self, signal: Signal) {
        // Fails if the processes have ended.
        let _ = kill_process_group(self.0, signal);
    }
}

/// Starts a program, and starts a session in its first .NET runtime before the program's code runs.
///
/// .NET Core 3 cannot wait: its session starts about a second after the program.
///
/// The program gets its own process group, so that Ctrl-C reaches only the caller, which can first stop the session. It
/// must not read from the terminal: the system would stop it.
///
/// # Errors
/// If the program cannot be started, ends early, starts no .NET runtime, or if the session fails. The program is killed
/// then. Also if the launch is [cancelled](LaunchOptions::cancel).
pub fn launch(command: &mut Command, options: &LaunchOptions) -> Result<Launched, DiagnosticsError> {
    let port = DiagnosticPort::create()?;
    let inherited = inherited_ports(command);
    command.env(DiagnosticPort::VARIABLE, port.variable(inherited.as_deref()));
    let name = command.get_program().to_string_lossy().into_owned();
    command.process_group(0);
    let child = command.spawn().map_err(|error| DiagnosticsError::Spawn { program: name.clone(), error })?;
    let mut program = Program(child);
    let runtime = first_runtime(&mut program.0, &name, &port, options)?;
    let session = Session::start(&runtime.endpoint, &options.session, options.timeouts)?;
    if runtime.is_suspended {
        runtime.endpoint.resume(options.timeouts.reply)?;
    }
    if options.others == OtherRuntimes::Resume {
        port.resume_all();
    }
    Ok(Launched { session, program, port, runtime })
}

/// Returns the ports that the command would have without ours.
fn inherited_ports(command: &Command) -> Option<std::ffi::OsString> {
    let variable = OsStr::new(DiagnosticPort::VARIABLE);
    let set = command.get_envs().find(|(name, _)| *name == variable);
    set.map_or_else(|| std::env::var_os(variable), |(_, value)| value.map(OsStr::to_owned))
}

/// Waits for the first runtime.
fn first_runtime(
    child: &mut Child,
    name: &str,
    port: &DiagnosticPort,
    options: &LaunchOptions,
) -> Result<Runtime, DiagnosticsError> {
    let patience = options.patience;
    let start = Instant::now();
    let mut socket_seen: Option<Instant> = None;
    loop {
        if options.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(DiagnosticsError::Cancelled);
        }
        // A program that has ended can have connected before.
        let ended = child.try_wait().map_err(|error| DiagnosticsError::System { action: "wait", error })?;
        if let Some(arrival) = port.next_runtime(TICK) {
            return Ok(Runtime::from_arrival(port, arrival));
        }
        if let Some(status) = ended {
            return Err(DiagnosticsError::Exited { program: name.to_owned(), status });
        }
        if let Some(process) = find_in_tree(child.id())
            && socket_seen.get_or_insert_with(Instant::now).elapsed() >= GRACE
        {
            let (pid, endpoint) = (process.namespace_pid.into(), process.endpoint());
            return Ok(Runtime { pid, endpoint, is_suspended: false });
        }
        if start.elapsed() >= patience {
            return Err(DiagnosticsError::NoRuntime { program: name.to_owned(), waited: patience });
        }
    }
}

impl Launched {
    /// Returns the session.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Returns the runtime of the session.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Returns the process group of the program.
    #[must_use]
    pub fn group(&self) -> ProgramGroup {
        self.program.group()
    }

    /// Returns the process of the program.
    pub fn child(&mut self) -> &mut Child {
        &mut self.program.0
    }

    /// Returns the next .NET runtime that the program has started, with [`OtherRuntimes::HandOut`]. Start a session with
    /// its endpoint, or none, and resume it.
    #[must_use]
    pub fn next_runtime(&self, timeout: Duration) -> Option<Runtime> {
        self.port.next_runtime(timeout).map(|arrival| Runtime::from_arrival(&self.port, arrival))
    }

    /// Waits for the end of the program, and returns its exit status, or `None` after the timeout.
    ///
    /// # Errors
    /// If the system call fails.
    pub fn wait_program(&mut self, timeout: Duration) -> io::Result<Option<ExitStatus>> {
        let child = &mut self.program.0;
        let start = Instant::now();
        loop {
            let status = child.try_wait()?;
            if status.is_some() || start.elapsed() >= timeout {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends the program and those that it has started: asks with SIGTERM, and kills them after some time. Returns the exit
    /// status of the program.
    ///
    /// # Errors
    /// If the system call fails.
    pub fn end_program(&mut self, patience: Duration) -> io::Result<ExitStatus> {
        if let Some(status) = self.program.0.try_wait()? {
            return Ok(status);
        }
        // The process was not waited for, so that its id is still its own.
        self.group().terminate();
        if let Some(status) = self.wait_program(patience)? {
            return Ok(status);
        }
        self.group().send(Signal::KILL);
        self.program.0.wait()
    }
}
