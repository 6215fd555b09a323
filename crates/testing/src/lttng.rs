//! LTTng's daemons, started for a test.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// User and group `nobody`. Tests that run as root change to this user, because every user sees root's LTTng daemons.
const NOBODY: u32 = 65534;

/// LTTng's daemons and a traced program in a temporary directory.
#[derive(Debug)]
pub struct Lttng {
    home: PathBuf,
    is_root: bool,
    ports: [u16; 3],
    relay: Option<Child>,
    daemon: Option<Child>,
}

impl Lttng {
    /// Starts a relay daemon and a session daemon. Prints a reason and returns `None` if this machine cannot.
    #[must_use]
    pub fn start() -> Option<Self> {
        if let Some(reason) = missing() {
            eprintln!("skipped: {reason}");
            return None;
        }
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let home = std::env::temp_dir().join(format!("ichnos-live-{}-{number}", std::process::id()));
        fs::create_dir_all(&home).unwrap();
        let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
        let mut this = Self { home, is_root, ports: [0; 3], relay: None, daemon: None };
        this.own(&this.home);
        this.compile();
        this.start_relay();
        this.daemon = Some(this.command("lttng-sessiond").arg("--no-kernel").spawn().unwrap());
        for _ in 0..200 {
            if this.command("lttng").args(["--no-sessiond", "list"]).status().unwrap().success() {
                return Some(this);
            }
            thread::sleep(Duration::from_millis(50));
        }
        // Some containers do not allow a session daemon.
        eprintln!("skipped: LTTng's session daemon does not start here");
        None
    }

    /// Gives a directory to the user of the daemons.
    pub fn own(&self, directory: &Path) {
        if self.is_root {
            chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    /// Starts the relay daemon. Another program may take a free port before it, so it tries others.
    fn start_relay(&mut self) {
        for _ in 0..5 {
            self.ports = free_ports();
            let [control, data, live] = self.ports.map(|port| format!("tcp://127.0.0.1:{port}"));
            let mut command = self.command("lttng-relayd");
            command.args(["-C", &control, "-D", &data, "-L", &live, "-o"]).arg(self.traces());
            let mut relay = command.spawn().unwrap();
            while relay.try_wait().unwrap().is_none() {
                if TcpStream::connect(("127.0.0.1", self.ports[2])).is_ok() {
                    self.relay = Some(relay);
                    return;
                }
                thread::sleep(Duration::from_millis(20));
            }
        }
        panic!("the relay daemon does not start");
    }

    fn compile(&self) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hello-lttng");
        let mut gcc = Command::new("gcc");
        gcc.arg("-O2")
            .arg("-I")
            .arg(&source)
            .arg("-o")
            .arg(self.home.join("hello"))
            .arg(source.join("hello.c"));
        let output = gcc.args(["-llttng-ust", "-ldl", "-lpthread"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(if self.is_root { "setpriv" } else { program });
        if self.is_root {
            let user =
                [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"), "--clear-groups".to_owned()];
            command.args(user).arg(program);
        }
        command.current_dir(&self.home).env("HOME", &self.home).env("LTTNG_HOME", &self.home);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Address of a session on the relay daemon.
    #[must_use]
    pub fn address(&self, session: &str) -> String {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        format!("net://127.0.0.1:{}/host/{}/{session}", self.ports[2], host.trim())
    }

    /// Directory in which the relay daemon writes traces.
    #[must_use]
    pub fn traces(&self) -> PathBuf {
        self.home.join("traces")
    }

    /// Runs `lttng`.
    pub fn lttng(&self, arguments: &str) {
        let mut command = self.command("lttng");
        command.arg("--no-sessiond").args(arguments.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped());
        expect_success(&command.output().unwrap(), arguments);
    }

    /// Creates a live session. Idle data streams report their time once per `live_timer`, in microseconds.
    pub fn create(&self, session: &str, live_timer: u32) {
        let [control, data, _] = self.ports.map(|port| format!("tcp://127.0.0.1:{port}"));
        self.lttng(&format!("create {session} --live={live_timer} -C {control} -D {data}"));
    }

    /// Creates a live session with the channels `small` and `large`, which lose nothing, and starts it. `options` are
    /// for both channels.
    pub fn start_session(&self, session: &str, options: &str) {
        self.create(session, 100_000);
        for (channel, size, events) in [("small", "4K", "hello:tick"), ("large", "64K", "hello:greeting")] {
            let buffers = format!("--blocking-timeout=inf --subbuf-size={size} --num-subbuf=8");
            self.lttng(&format!("enable-channel --userspace {options} {buffers} {channel}"));
            self.lttng(&format!("enable-event --userspace --channel={channel} {events}"));
        }
        self.lttng("start");
    }

    /// Runs the traced program: `events` events on each of its threads.
    pub fn hello(&self, events: u32, threads: u32) {
        let mut command = self.command("./hello");
        command.args([events.to_string(), threads.to_string()]);
        command.env("LTTNG_UST_ALLOW_BLOCKING", "1").env("LTTNG_UST_REGISTER_TIMEOUT", "10000");
        expect_success(&command.output().unwrap(), "hello");
    }

    /// Kills the relay daemon.
    pub fn kill_relay(&mut self) {
        if let Some(mut relay) = self.relay.take() {
            relay.kill().unwrap();
            relay.wait().unwrap();
        }
    }
}

impl Drop for Lttng {
    fn drop(&mut self) {
        for mut child in [self.daemon.take(), self.relay.take()].into_iter().flatten() {
            // A signal that lets a daemon end its children.
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            for _ in 0..100 {
                if matches!(child.try_wait(), Ok(Some(_))) {
                    break;
                }
                thread::sleep(Duration::from_millis(50));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.home);
    }
}

fn expect_success(output: &Output, name: &str) {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&text));
}

/// Returns a reason why LTTng cannot be used.
fn missing() -> Option<String> {
    let is_there = |program: &str| {
        let mut command = Command::new("sh");
        let command = command.args(["-c", "command -v \"$0\"", program]).stdout(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let programs = ["gcc", "setpriv", "lttng", "lttng-sessiond", "lttng-relayd"];
    if let Some(program) = programs.into_iter().find(|program| !is_there(program)) {
        return Some(format!("`{program}` is not installed"));
    }
    let header = Command::new("gcc")
        .args(["-include", "lttng/tracepoint.h", "-fsyntax-only", "-xc", "/dev/null"])
        .stderr(Stdio::null())
        .status();
    let has_header = header.is_ok_and(|status| status.success());
    (!has_header).then(|| "the headers of LTTng-UST (liblttng-ust-dev) are not installed".to_owned())
}

fn free_ports() -> [u16; 3] {
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}
