//! `ichnos record` and `ichnos info dotnet:` with a runtime in a process of these tests, and with real runtimes.

use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ichnos::dotnet_diagnostics::messages::{self, Header, Reply};

use ichnos_testing::{DotnetRuntimes, TraceEventLibrary};

use crate::support::{Directory, Run, command, ichnos, root, text};

/// Environment variable that turns [`fake_runtime`] into a runtime.
const ROLE: &str = "ICHNOS_TEST_RUNTIME";

const SESSION: u64 = 7;

/// Returns a recorded file.
fn recording() -> Vec<u8> {
    let file = fs::read(root().join("examples/hello-dotnet/hello.nettrace.zst")).unwrap();
    zstd::decode_all(&*file).unwrap()
}

/// The program behind [`Runtime`]. As an ordinary test, it does nothing.
///
/// It sends the first half of a recorded file, and the second half after the stop request. In the role `hanging`, it
/// never ends the stream. In the role `ending`, it ends after the first half.
#[test]
fn fake_runtime() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let start = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().to_owned();
    let name = format!("dotnet-diagnostic-{}-{start}-socket", std::process::id());
    let path = std::env::temp_dir().join(name);
    let listener = UnixListener::bind(&path).unwrap();
    println!("\nready {}", path.display());
    static STOP: AtomicBool = AtomicBool::new(false);
    for stream in listener.incoming() {
        let (mut stream, role) = (stream.unwrap(), role.clone());
        thread::spawn(move || {
            let mut header = [0; Header::LENGTH];
            stream.read_exact(&mut header).unwrap();
            let header = Header::decode(&header).unwrap();
            let mut payload = vec![0; header.payload];
            stream.read_exact(&mut payload).unwrap();
            serve(&role, messages::Command::from_code(header.set, header.id).unwrap(), &mut stream, &STOP);
        });
    }
}

fn serve(role: &str, command: messages::Command, stream: &mut UnixStream, stop: &AtomicBool) {
    let reply = |payload: &[u8]| Reply::Ok(payload.to_vec()).encode().unwrap();
    match command {
        messages::Command::CollectTracing2 => {
            stream.write_all(&reply(&SESSION.to_le_bytes())).unwrap();
            let bytes = recording();
            let (first, second) = bytes.split_at(bytes.len() / 2);
            stream.write_all(first).unwrap();
            if role == "ending" {
                std::process::exit(0);
            }
            while !stop.load(Ordering::SeqCst) || role == "hanging" {
                thread::sleep(Duration::from_millis(5));
            }
            // The recorder may be gone.
            let _ = stream.write_all(second);
        }
        messages::Command::StopTracing => {
            stop.store(true, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(100));
            let _ = stream.write_all(&reply(&SESSION.to_le_bytes()));
        }
        _ => {
            let refused = Reply::Error(messages::HResult::UNKNOWN_COMMAND);
            let _ = stream.write_all(&refused.encode().unwrap());
        }
    }
}

/// Process with a fake runtime.
struct Runtime {
    child: Child,
    socket: PathBuf,
}

impl Runtime {
    fn start(role: &str) -> Self {
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.args(["--exact", "record::fake_runtime", "--nocapture", "--quiet"]).env(ROLE, role);
        let mut child = program.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut ready =
            lines.map_while(Result::ok).filter_map(|line| line.strip_prefix("ready ").map(PathBuf::from));
        let socket = ready.next().unwrap();
        Self { child, socket }
    }

    fn target(&self) -> String {
        format!("dotnet:{}", self.child.id())
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.socket);
    }
}

/// Events end a recording, too.
#[test]
fn until_an_event_is_recorded() {
    let directory = Directory::new("record-until");
    let whole = directory.join("whole.nettrace");
    fs::write(&whole, recording()).unwrap();
    let first = ichnos(["cat", "-n", "1", "-fjsonl", text(&whole)]).out;
    let first: serde_json::Value = serde_json::from_str(first.lines().last().unwrap()).unwrap();
    for (name, code) in [(first["name"].as_str().unwrap(), 0), ("nothing", 1)] {
        let (runtime, output) = (Runtime::start("plain"), directory.join(format!("{code}.nettrace")));
        let until = format!("event == '{name}'");
        let length = if code == 0 { "60s" } else { "200ms" };
        let words = ["record", &runtime.target(), "-o", text(&output), "--until", &until, "--for", length];
        ichnos(words).expect(code, &[]);
        assert_eq!(fs::read(&output).unwrap(), recording());
    }
}

/// Starts a recorder, and waits until it has written something.
fn record(runtime: &Runtime, output: &Path) -> Child {
    let mut command = command();
    command.args(["record", &runtime.target(), "-o", text(output)]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while fs::metadata(output).map_or(0, |metadata| metadata.len()) < recording().len() as u64 / 2 {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing is recorded");
        thread::sleep(Duration::from_millis(5));
    }
    child
}

fn signal(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

fn ended(child: Child) -> Run {
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    Run { code: output.status.code().unwrap_or(-1), out: String::new(), err }
}

#[test]
fn a_process_is_recorded_byte_by_byte() {
    let directory = Directory::new("record");
    let output = directory.join("x.nettrace");
    let runtime = Runtime::start("usual");
    let arguments = ["record", &runtime.target(), "-o", text(&output), "--for", "300ms"];
    ichnos(arguments).expect(0, &["note: recorded "]);
    assert!(fs::read(&output).unwrap() == recording());
    ichnos(arguments).expect(2, &["the file exists and is not empty", "--force"]);
    ichnos(["info", "--count", text(&output)]).expect(0, &[]).prints(&["1,099 events"]);
}

#[test]
fn a_failed_start_keeps_the_file() {
    let directory = Directory::new("record-kept");
    let (old, new) = (directory.join("old"), directory.join("new"));
    fs::write(&old, "old").unwrap();
    let missing = "dotnet:4194999";
    ichnos(["record", missing, "--force", "-o", text(&old)]).expect(2, &["process 4194999 does not exist"]);
    assert_eq!(fs::read(&old).unwrap(), b"old");
    ichnos(["record", missing, "-o", text(&new)]).expect(2, &["process 4194999 does not exist"]);
    assert!(!new.exists());
    let runtime = Runtime::start("usual");
    ichnos(["record", &runtime.target(), "--force", "-o", text(&old), "--for", "0.2"]).expect(0, &[]);
    assert!(fs::read(&old).unwrap() == recording());
}

#[test]
fn a_signal_ends_the_session_and_two_end_the_program() {
    let directory = Directory::new("record-signal");
    let output = directory.join("x.nettrace");
    let runtime = Runtime::start("usual");
    let recorder = record(&runtime, &output);
    signal(&recorder, "-INT");
    ended(recorder).expect(0, &["recorded"]);
    assert!(fs::read(&output).unwrap() == recording());
    let runtime = Runtime::start("hanging");
    let output = directory.join("y.nettrace");
    let recorder = record(&runtime, &output);
    signal(&recorder, "-INT");
    thread::sleep(Duration::from_millis(300));
    signal(&recorder, "-INT");
    ended(recorder).expect(130, &[]);
    assert!(output.exists());
}

#[test]
fn a_killed_recorder_leaves_a_file_that_repair_makes_whole() {
    let directory = Directory::new("record-killed");
    let (output, repaired) = (directory.join("x.nettrace"), directory.join("repaired.nettrace"));
    let runtime = Runtime::start("usual");
    let recorder = record(&runtime, &output);
    signal(&recorder, "-KILL");
    assert_eq!(ended(recorder).code, -1);
    let bytes = recording();
    assert!(fs::read(&output).unwrap() == bytes[..bytes.len() / 2]);
    ichnos(["check", text(&output)]).expect(1, &[]);
    ichnos(["repair", text(&output), "-o", text(&repaired)]).expect(0, &[]);
    ichnos(["check", text(&repaired)]).expect(0, &[]);
    let events = |path: &Path| ichnos(["info", "--count", "--json", text(path)]).json()["events"].clone();
    assert!(events(&repaired).as_u64().unwrap() > 100);
    assert_eq!(events(&repaired), events(&output));
}

#[test]
fn incomplete_recordings_are_reported() {
    let directory = Directory::new("record-incomplete");
    let output = directory.join("x.nettrace");
    let runtime = Runtime::start("ending");
    let help = "`ichnos repair` makes it whole";
    ichnos(["record", &runtime.target(), "-o", text(&output)]).expect(3, &["the process ", help]);
    let bytes = recording();
    assert!(fs::read(&output).unwrap() == bytes[..bytes.len() / 2]);
    let runtime = Runtime::start("usual");
    let full = ichnos(["record", &runtime.target(), "-o", "/dev/full"]);
    assert!(!full.expect(2, &["No space left on device"]).err.contains("keeps"));
}

#[test]
fn processes_are_listed() {
    let runtime = Runtime::start("usual");
    let pid = u64::from(runtime.child.id());
    let one = ichnos(["info", &runtime.target(), "--json"]).expect(0, &[]).json();
    let [process] = &**one["processes"].as_array().unwrap() else { panic!("{one}") };
    assert_eq!(process["pid"], pid);
    assert!(process["command_line"].as_str().unwrap().contains("record::fake_runtime"));
    let all = ichnos(["info", "dotnet:"]).expect(0, &[]).prints(&["pid", "command line"]);
    assert!(all.out.lines().any(|line| line.trim_start().starts_with(&pid.to_string())), "{}", all.out);
    let own = format!("dotnet:{}", std::process::id());
    ichnos(["info", &own]).expect(2, &["has no .NET diagnostics socket", "help: "]);
}

#[test]
fn wrong_arguments_are_explained() {
    for (arguments, part) in [
        (&["dotnet:1"][..], "--output <FILE>"),
        (&["-o", "x"], "<PROCESS>"),
        (&["-o", "x", "1"], "expected dotnet:PID or dotnet:NAME, found `1`"),
        (&["-o", "x", "dotnet:1", "--", "a"], "cannot be used with"),
        (&["-o", "x", "dotnet:1", "--profile", "cpus"], "[possible values: cpu, "),
        (&["-o", "x", "dotnet:1", "--providers", "A:1:high"], "unknown level `high`"),
        (&["-o", "x", "dotnet:1", "--for", "soon"], "expected a duration"),
        (&["-o", "no/x", "dotnet:1"], "the directory `no` does not exist"),
        (&["-o", "x", "--", "/nowhere/app"], "`/nowhere/app`: No such file or directory"),
        (&["-o", "x", "--", "true"], "ended before a .NET runtime connected"),
    ] {
        let all = ["record"].iter().chain(arguments);
        ichnos(all).expect(2, &[part]);
    }
    assert!(!Path::new("x").exists());
}

/// Returns a recorder for a command of a real runtime.
fn recorder_of(program: &Command, output: &Path) -> Command {
    let mut command = command();
    command.args(["record", "-o", text(output)]);
    command.args(["--providers", "Toolkit-Test:all:5,Microsoft-Windows-DotNETRuntime:gc+exception:4", "--"]);
    command.arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        command.env(name, value.unwrap());
    }
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Returns the number of events of the workload in a file.
fn workload_events(path: &Path) -> u64 {
    let run = ichnos(["stats", "--event", "Toolkit-Test/*", "--json", text(path)]).expect(0, &[]);
    run.json()["events"].as_u64().unwrap()
}

#[test]
fn real_programs_are_recorded() {
    let test = "real_programs_are_recorded";
    let Some(runtimes) = DotnetRuntimes::find(test) else { return };
    let directory = Directory::new("record-real");
    for (version, wait) in [("10", Duration::ZERO), ("3.1", Duration::from_secs(4))] {
        let output = directory.join(format!("{version}.nettrace"));
        let program = runtimes.workload(version, 500, wait);
        let recorder = recorder_of(&program, &output).spawn().unwrap();
        ended(recorder).expect(0, &["recorded "]);
        ichnos(["check", text(&output)]).expect(0, &[]);
        assert!(workload_events(&output) > 1_000, "{version}");
        ichnos(["info", text(&output)]).expect(0, &[]).prints(&["NetTrace 4", "session = \"complete\""]);
        let Some(library) = TraceEventLibrary::find(test) else { continue };
        let dump = library.dump(&output, &directory.join("dump")).unwrap();
        assert_eq!((dump.lost, dump.error.as_str()), (0, ""), "{version}");
        let count = |name: &str| dump.rows.lines().filter(|row| row.contains(name)).count() as u64;
        let own = ichnos(["stats", "--event", "Toolkit-Test/Tick", "--json", text(&output)]).json();
        assert_eq!(own["events"].as_u64(), Some(count("\"n\":\"Tick\"")), "{version}");
    }
}

/// The recorder ends the program, lists processes while it runs, and can be killed.
#[test]
fn real_programs_end_with_their_recorder() {
    let Some(runtimes) = DotnetRuntimes::find("real_programs_end_with_their_recorder") else { return };
    let directory = Directory::new("record-real-end");
    let (output, killed, repaired) = (
        directory.join("x.nettrace"),
        directory.join("killed.nettrace"),
        directory.join("repaired.nettrace"),
    );
    let program = runtimes.workload("10", 100_000, Duration::ZERO);
    let mut recorder = recorder_of(&program, &output);
    let start = Instant::now();
    let child = recorder.process_group(0).spawn().unwrap();
    while fs::metadata(&output).map_or(0, |metadata| metadata.len()) < 100_000 {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing is recorded");
        thread::sleep(Duration::from_millis(5));
    }
    ichnos(["info", "dotnet:"]).expect(0, &[]).prints(&["10.0"]);
    // Ctrl-C in a terminal goes to the whole process group.
    let group = format!("-{}", child.id());
    assert!(Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
    ended(child).expect(0, &["recorded "]);
    ichnos(["check", text(&output)]).expect(0, &[]);

    let mut app = runtimes.workload("10", 200_000, Duration::from_secs(1)).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(app.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let mut command = command();
    let target = format!("dotnet:{}", app.id());
    command.args(["record", &target, "--providers", "Toolkit-Test:all:5", "-o", text(&killed)]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while fs::metadata(&killed).map_or(0, |metadata| metadata.len()) < 100_000 {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing is recorded");
        thread::sleep(Duration::from_millis(5));
    }
    signal(&child, "-KILL");
    ended(child);
    app.kill().unwrap();
    app.wait().unwrap();
    ichnos(["repair", text(&killed), "-o", text(&repaired)]).expect(0, &[]);
    ichnos(["check", text(&repaired)]).expect(0, &[]);
    assert!(workload_events(&repaired) > 1_000);
}
