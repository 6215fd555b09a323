//! Diagnostic ports, and launched programs. The program is this test binary, which then behaves like a runtime.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{self, Command as Program};
use std::thread;
use std::time::{Duration, Instant};

use ichnos_dotnet_diagnostics::messages::{Advertise, Command, Header, RuntimeCookie};
use ichnos_dotnet_diagnostics::providers::Rundown;
use ichnos_dotnet_diagnostics::{
    DiagnosticPort, DiagnosticsError, Endpoint, LaunchOptions, Launched, OtherRuntimes, Session, SessionEnd,
    launch,
};

use crate::fake_runtime::{SESSION, TIMEOUTS, options, read_request, reply};

/// Makes this binary a runtime with a role.
const ROLE: &str = "ICHNOS_TEST_RUNTIME";

const LONG: Duration = Duration::from_secs(20);

/// Returns the socket in the environment variable.
fn port_path(variable: &str) -> PathBuf {
    let own = variable.rsplit(';').next().unwrap();
    PathBuf::from(own.strip_suffix(",connect,suspend").unwrap())
}

/// Connects and announces itself.
fn connect(path: &Path, cookie: u8, pid: u64) -> UnixStream {
    let mut stream = UnixStream::connect(path).unwrap();
    let advertise = Advertise { cookie: RuntimeCookie([cookie; 16]), pid };
    stream.write_all(&advertise.encode()).unwrap();
    stream
}

/// Waits for the resume command.
fn wait_for_resume(mut stream: UnixStream) {
    assert_eq!(read_request(&mut stream).unwrap().0, Command::ResumeRuntime);
    reply(&mut stream, &[]);
}

/// The program behind [`launched`]. As an ordinary test, it does nothing.
#[test]
fn child_runtime() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let path = port_path(&std::env::var(DiagnosticPort::VARIABLE).unwrap());
    let (cookie, pid) = (process::id() as u8, process::id().into());
    match role.as_str() {
        "silent" => thread::sleep(Duration::from_mins(5)),
        "grandchild" => wait_for_resume(connect(&path, cookie, pid)),
        _ => {
            let mut session = connect(&path, cookie, pid);
            assert!(read_request(&mut session).unwrap().0 == Command::CollectTracing2);
            reply(&mut session, &SESSION.to_le_bytes());
            wait_for_resume(connect(&path, cookie, pid));
            session.write_all(b"resumed").unwrap();
            if role == "parent" {
                assert_eq!(program("grandchild").status().unwrap().code(), Some(3));
                session.write_all(b" grandchild").unwrap();
            }
            if role == "endless" {
                let mut stop = connect(&path, cookie, pid);
                let (_, id) = read_request(&mut stop).unwrap();
                session.write_all(b" stopped").unwrap();
                drop(session);
                reply(&mut stop, &id);
                thread::sleep(Duration::from_mins(5));
            }
        }
    }
    process::exit(3);
}

fn program(role: &str) -> Program {
    let mut program = Program::new(std::env::current_exe().unwrap());
    program.args(["--exact", "launching::child_runtime", "--nocapture", "--quiet"]).env(ROLE, role);
    program.stdout(process::Stdio::null());
    program
}

fn launch_options(others: OtherRuntimes) -> LaunchOptions {
    let session = options(Rundown::Default, true);
    let timeouts = ichnos_dotnet_diagnostics::Timeouts { reply: LONG, read: LONG, ..TIMEOUTS };
    LaunchOptions { session, timeouts, patience: LONG, others, cancel: None }
}

fn launched(role: &str, others: OtherRuntimes) -> Launched {
    launch(&mut program(role), &launch_options(others)).unwrap()
}

fn read_all(launched: &mut Launched) -> String {
    let mut all = String::new();
    launched.session().read_to_string(&mut all).unwrap();
    all
}

/// Sources of a merge can run on other threads.
#[test]
fn programs_and_sessions_can_be_sent() {
    fn check<T: Send>() {}
    check::<Launched>();
    check::<Session>();
}

#[test]
fn a_program_is_resumed_after_the_session_has_started() {
    let mut app = launched("app", OtherRuntimes::Resume);
    let pid = app.child().id();
    assert_eq!(app.runtime().pid, u64::from(pid));
    assert!(app.runtime().is_suspended);
    assert_eq!(read_all(&mut app), "resumed");
    assert_eq!(app.session().end(), Some(&SessionEnd::Closed));
    assert_eq!(app.wait_program(LONG).unwrap().unwrap().code(), Some(3));
}

fn process_group(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(2)?.parse().ok()
}

#[test]
fn a_program_is_stopped_over_the_port() {
    let mut app = launched("endless", OtherRuntimes::Resume);
    let mut first = [0; 7];
    app.session().read_exact(&mut first).unwrap();
    app.session().stop().unwrap();
    assert_eq!((&first, read_all(&mut app).as_str()), (b"resumed", " stopped"));
    assert_eq!(app.session().end(), Some(&SessionEnd::Stopped));
    // Ctrl-C in a terminal reaches the caller, but not the program.
    let pid = app.child().id();
    assert_eq!(process_group(pid), Some(pid));
    assert_ne!(process_group(process::id()), Some(pid));
    let status = app.end_program(LONG).unwrap();
    assert_eq!(status.signal(), Some(15), "{status}");
    drop(app);
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn further_runtimes_are_resumed_or_handed_out() {
    let mut app = launched("parent", OtherRuntimes::Resume);
    assert_eq!(read_all(&mut app), "resumed grandchild");
    let mut app = launched("parent", OtherRuntimes::HandOut);
    let grandchild = app.next_runtime(LONG).unwrap();
    assert_ne!(grandchild.pid, app.runtime().pid);
    grandchild.endpoint.resume(LONG).unwrap();
    assert_eq!(read_all(&mut app), "resumed grandchild");
}

#[test]
fn programs_without_runtime_are_explained() {
    let launch_with = |program: &mut Program| {
        let options =
            LaunchOptions { patience: Duration::from_millis(300), ..launch_options(OtherRuntimes::Resume) };
        launch(program, &options).unwrap_err()
    };
    for (script, expected) in [
        ("exit 0", "`sh` ended before a .NET runtime connected (exit status: 0)"),
        ("exit 7", "`sh` ended before a .NET runtime connected (exit status: 7)"),
        ("kill -9 $$", "`sh` ended before a .NET runtime connected (signal: 9 (SIGKILL))"),
        ("exec sleep 300", "`sh`: no .NET runtime connected within 0.3 s"),
    ] {
        let error = launch_with(Program::new("sh").args(["-c", script]));
        assert_eq!(error.to_string(), expected);
        assert!(error.help().unwrap().contains("DOTNET_EnableDiagnostics"));
    }
    let error = launch_with(&mut Program::new("/nowhere/app\n"));
    assert_eq!(error.to_string(), "`/nowhere/app\\n`: No such file or directory (os error 2)");
    assert!(matches!(launch_with(&mut program("silent")), DiagnosticsError::NoRuntime { .. }));
}

#[test]
fn a_port_is_private_and_removed() {
    let port = DiagnosticPort::create().unwrap();
    let path = port_path(port.variable(None).to_str().unwrap());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let inherited = port.variable(Some("/other,nosuspend".as_ref()));
    assert_eq!(inherited.to_str().unwrap(), format!("/other,nosuspend;{},connect,suspend", path.display()));
    drop(port);
    assert!(!path.parent().unwrap().exists());
}

#[test]
fn a_port_survives_hostile_connections() {
    let port = DiagnosticPort::create().unwrap();
    let path = port_path(port.variable(None).to_str().unwrap());
    // Incomplete, wrong, too many, closed at once.
    let mut open = Vec::new();
    for bytes in [&b""[..], b"ADVR_V1\0", b"GET / HTTP/1.1\r\n\r\n................"] {
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.write_all(bytes).unwrap();
        open.push(stream);
    }
    for _ in 0..20 {
        open.push(connect(&path, 7, 70));
    }
    drop(connect(&path, 8, 80));
    let runtime = connect(&path, 9, 90);
    let mut arrivals = Vec::new();
    let start = Instant::now();
    while !arrivals.contains(&90) && start.elapsed() < LONG {
        arrivals.extend(port.next_runtime(Duration::from_millis(100)).map(|arrival| arrival.pid));
    }
    arrivals.retain(|pid| *pid != 80);
    assert_eq!(arrivals, [70, 90], "each runtime arrives once");
    let thread = thread::spawn(move || wait_for_resume(runtime));
    Endpoint::port(&port, RuntimeCookie([9; 16])).resume(LONG).unwrap();
    thread.join().unwrap();
    // The connection was used, and there is no other.
    let error = Endpoint::port(&port, RuntimeCookie([9; 16])).resume(Duration::from_millis(100)).unwrap_err();
    assert!(matches!(error, DiagnosticsError::Timeout { .. }), "{error}");
}

#[test]
fn waiting_runtimes_are_resumed_when_the_port_is_dropped() {
    let port = DiagnosticPort::create().unwrap();
    let path = port_path(port.variable(None).to_str().unwrap());
    let mut waiting: Vec<UnixStream> = (1..9).map(|cookie| connect(&path, cookie, 1)).collect();
    drop(port);
    for stream in &mut waiting {
        let mut request = [0; Header::LENGTH];
        stream.read_exact(&mut request).unwrap();
        assert_eq!(&request[16..18], [4, 1]);
    }
}
