//! Sessions in real runtimes: .NET 10 and .NET Core 3.1, with the workload of the shared tools.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ichnos_dotnet_diagnostics::messages::SessionOptions;
use ichnos_dotnet_diagnostics::providers::{EventFilter, Providers, Rundown};
use ichnos_dotnet_diagnostics::{
    Adjustment, LaunchOptions, OtherRuntimes, Session, SessionEnd, Timeouts, launch, processes,
};
use ichnos_testing::{DotnetRuntimes, TraceEventLibrary};

const TIMEOUTS: Timeouts = Timeouts {
    reply: Duration::from_secs(20),
    rundown: Duration::from_mins(2),
    read: Duration::from_mins(2),
};

/// Number of `Tick` events per thread and kind of the workload.
const EVENTS: usize = 300;

/// Returns the command that runs the workload. `wait` is the time before the first event.
fn workload(runtimes: &DotnetRuntimes, version: &str, wait: Duration) -> Command {
    runtimes.workload(version, EVENTS, wait)
}

fn options(providers: &[&str]) -> SessionOptions {
    SessionOptions { providers: Providers::new(&[], providers).unwrap(), ..SessionOptions::default() }
}

fn app_options() -> SessionOptions {
    options(&["Toolkit-Test:ffffffffffffffff:5", "Microsoft-Windows-DotNETRuntime:gc+exception:4"])
}

/// Process that is killed when it is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the workload, and waits until its runtime runs.
fn start(runtimes: &DotnetRuntimes, version: &str, wait: Duration) -> Killed {
    let mut child = workload(runtimes, version, wait).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with(&format!("pid {}", child.id())), "{line}");
    Killed(child)
}

fn contains(trace: &[u8], text: &str) -> bool {
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    trace.windows(bytes.len()).any(|window| window == bytes)
}

/// Compares the trace with what the workload emitted.
fn check(trace: &[u8], what: &str) {
    assert!(trace.starts_with(b"Nettrace"), "{what}");
    // The end of a complete stream: a tag for no object.
    assert_eq!(trace.last(), Some(&1), "{what}");
    assert!(
        contains(trace, "Toolkit-Test") && contains(trace, "Microsoft-Windows-DotNETRuntimeRundown"),
        "{what}"
    );
    assert!(contains(trace, "Recurse"), "{what}: method names");
    let Some(library) = TraceEventLibrary::find(what) else { return };
    let directory = tempfile::tempdir().unwrap();
    let (file, output) = (directory.path().join("x.nettrace"), directory.path().join("x.jsonl"));
    fs::write(&file, trace).unwrap();
    let dump = library.dump(&file, &output).unwrap();
    assert_eq!((dump.lost, dump.error.as_str()), (0, ""), "{what}");
    let ticks = dump.rows.lines().filter(|row| row.contains("\"n\":\"Tick\"")).count();
    assert!(ticks >= EVENTS, "{what}: {ticks} of {EVENTS} events");
}

#[test]
fn processes_are_listed_and_recorded() {
    let test = "processes_are_listed_and_recorded";
    let Some(runtimes) = DotnetRuntimes::find(test) else { return };
    for (version, assembly) in [("10", ""), ("3.1", "app")] {
        let app = start(&runtimes, version, Duration::from_millis(1500));
        let pid = app.0.id();
        let all = processes::list(Duration::from_secs(5));
        let process = all.iter().find(|process| process.pid == pid).unwrap();
        assert!(process.runtime_version.starts_with(version), "{process:?}");
        assert!(process.assembly.contains(assembly) && process.problem.is_none(), "{process:?}");
        assert_eq!(process.cookie.is_some(), version == "10");
        let endpoint = processes::find(&pid.to_string(), TIMEOUTS.reply).unwrap().endpoint();
        if version == "10" {
            let environment = endpoint.environment(TIMEOUTS.reply).unwrap();
            assert!(environment.iter().any(|(name, _)| name == "HOOK_ARGS"));
            endpoint.set_environment_variable("ICHNOS", "1", TIMEOUTS.reply).unwrap();
            let environment = endpoint.environment(TIMEOUTS.reply).unwrap();
            assert!(environment.contains(&("ICHNOS".to_owned(), "1".to_owned())));
            endpoint.resume(TIMEOUTS.reply).unwrap();
        }
        let mut session = Session::start(&endpoint, &app_options(), TIMEOUTS).unwrap();
        thread::sleep(Duration::from_secs(3));
        session.stop().unwrap();
        let mut trace = Vec::new();
        session.read_to_end(&mut trace).unwrap();
        assert!(
            matches!(session.end(), Some(SessionEnd::Stopped | SessionEnd::Closed)),
            "{:?}",
            session.end()
        );
        check(&trace, &format!("{test}: {version}"));
    }
}

#[test]
fn commands_are_recorded_from_their_start() {
    let test = "commands_are_recorded_from_their_start";
    let Some(runtimes) = DotnetRuntimes::find(test) else { return };
    for (version, wait) in [("10", Duration::ZERO), ("3.1", Duration::from_secs(4))] {
        let options =
            LaunchOptions { session: app_options(), timeouts: TIMEOUTS, ..LaunchOptions::default() };
        let mut launched = launch(&mut workload(&runtimes, version, wait), &options).unwrap();
        assert_eq!(launched.runtime().is_suspended, version == "10");
        let mut trace = Vec::new();
        launched.session().read_to_end(&mut trace).unwrap();
        assert_eq!(launched.session().end(), Some(&SessionEnd::Closed));
        assert!(launched.child().wait().unwrap().success());
        check(&trace, &format!("{test}: {version}"));
    }
}

#[test]
fn further_programs_are_recorded() {
    let test = "further_programs_are_recorded";
    let Some(runtimes) = DotnetRuntimes::find(test) else { return };
    let host = runtimes.host();
    let script = format!("{0} --version && {0} --version", host.display());
    let mut command = Command::new("sh");
    command.args(["-c", &script]);
    for (name, value) in workload(&runtimes, "10", Duration::ZERO).get_envs() {
        command.env(name, value.unwrap());
    }
    command.stdout(Stdio::null());
    let session = app_options();
    let others = OtherRuntimes::HandOut;
    let options = LaunchOptions { session, timeouts: TIMEOUTS, others, ..LaunchOptions::default() };
    let mut launched = launch(&mut command, &options).unwrap();
    let mut first = Vec::new();
    launched.session().read_to_end(&mut first).unwrap();
    check(&first, test);
    let other = launched.next_runtime(Duration::from_secs(20)).unwrap();
    assert_ne!(other.pid, launched.runtime().pid);
    let mut session = Session::start(&other.endpoint, &options.session, TIMEOUTS).unwrap();
    other.endpoint.resume(TIMEOUTS.reply).unwrap();
    let mut second = Vec::new();
    session.read_to_end(&mut second).unwrap();
    check(&second, test);
    assert!(launched.wait_program(Duration::from_secs(20)).unwrap().unwrap().success());
}

#[test]
fn options_reach_the_runtime() {
    let Some(runtimes) = DotnetRuntimes::find("options_reach_the_runtime") else { return };
    let app = start(&runtimes, "10", Duration::from_secs(30));
    let endpoint = processes::find(&app.0.id().to_string(), TIMEOUTS.reply).unwrap().endpoint();
    let record = |options: &SessionOptions| {
        let mut session = Session::start(&endpoint, options, TIMEOUTS).unwrap();
        thread::sleep(Duration::from_millis(300));
        session.stop().unwrap();
        let mut trace = Vec::new();
        session.read_to_end(&mut trace).unwrap();
        assert_eq!((session.end(), session.adjustments()), (Some(&SessionEnd::Stopped), &[][..]));
        trace
    };
    let whole = record(&options(&["A"]));
    let mut small = options(&["A"]);
    small.providers.set_rundown(Rundown::Omitted);
    let small = record(&small);
    assert!(whole.len() > 10 * small.len(), "{} and {}", whole.len(), small.len());
    let mut gc = options(&["A"]);
    gc.providers.set_rundown(Rundown::Keywords(1));
    gc.stacks = false;
    assert!(record(&gc).len() < whole.len() / 2);
    let mut filtered = options(&["A"]);
    filtered.providers.iter_mut().for_each(|provider| {
        provider.event_filter = Some(EventFilter { is_enabling: false, ids: vec![7] });
    });
    assert!(record(&filtered).starts_with(b"Nettrace"));
}

#[test]
fn older_runtimes_adjust_options() {
    let Some(runtimes) = DotnetRuntimes::find("older_runtimes_adjust_options") else { return };
    let app = start(&runtimes, "3.1", Duration::from_secs(30));
    let endpoint = processes::find(&app.0.id().to_string(), TIMEOUTS.reply).unwrap().endpoint();
    let mut options = options(&["A"]);
    options.providers.set_rundown(Rundown::Keywords(1));
    options.stacks = false;
    let session = Session::start(&endpoint, &options, TIMEOUTS).unwrap();
    let used = Rundown::Omitted;
    assert_eq!(session.adjustments(), [Adjustment::Rundown { used }, Adjustment::Stacks]);
    drop(session);
    // The runtime still answers.
    let start = Instant::now();
    assert!(Session::start(&endpoint, &options, TIMEOUTS).is_ok());
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_killed_process_ends_the_session() {
    let Some(runtimes) = DotnetRuntimes::find("a_killed_process_ends_the_session") else { return };
    let mut app = start(&runtimes, "10", Duration::from_secs(30));
    let endpoint = processes::find(&app.0.id().to_string(), TIMEOUTS.reply).unwrap().endpoint();
    let mut session = Session::start(&endpoint, &app_options(), TIMEOUTS).unwrap();
    app.0.kill().unwrap();
    app.0.wait().unwrap();
    let mut trace = Vec::new();
    session.read_to_end(&mut trace).unwrap();
    assert!(matches!(session.end(), Some(SessionEnd::Closed | SessionEnd::Reset)));
    assert!(session.stop().is_ok());
    let pid = app.0.id().to_string();
    assert_eq!(
        processes::find(&pid, TIMEOUTS.reply).unwrap_err().to_string(),
        format!("process {pid} does not exist")
    );
}
