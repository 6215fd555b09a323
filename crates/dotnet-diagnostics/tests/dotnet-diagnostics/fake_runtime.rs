//! Runtime in a thread.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ichnos_dotnet_diagnostics::messages::{Command, HResult, Header, Reply, SessionOptions};
use ichnos_dotnet_diagnostics::providers::{Providers, Rundown};
use ichnos_dotnet_diagnostics::{Endpoint, Timeouts};
use tempfile::TempDir;

/// Id of the session in fake runtimes.
pub const SESSION: u64 = 0x1122_3344_5566_7788;

/// Short time limits.
pub const TIMEOUTS: Timeouts = Timeouts {
    reply: Duration::from_millis(400),
    rundown: Duration::from_millis(600),
    read: Duration::from_millis(400),
};

/// Socket of a fake runtime. Each connection runs on its own thread.
pub struct FakeRuntime {
    directory: TempDir,
    is_closing: Arc<AtomicBool>,
    requests: Arc<Requests>,
    thread: Option<JoinHandle<()>>,
}

impl FakeRuntime {
    /// Starts a runtime that answers each request with `answer`.
    pub fn start(answer: impl Fn(Command, &[u8], &mut UnixStream) + Send + Sync + 'static) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("socket")).unwrap();
        let (is_closing, requests) = (Arc::new(AtomicBool::new(false)), Arc::new(Requests::default()));
        let (flag, log, answer) = (Arc::clone(&is_closing), Arc::clone(&requests), Arc::new(answer));
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if flag.load(Ordering::SeqCst) {
                    break;
                }
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                thread::spawn(move || serve(stream.unwrap(), &log, &*answer));
            }
        });
        Self { directory, is_closing, requests, thread: Some(thread) }
    }

    pub fn endpoint(&self) -> Endpoint {
        Endpoint::socket(&self.directory.path().join("socket"), rustix::process::geteuid().as_raw())
    }

    /// Returns the requests until now.
    pub fn requests(&self) -> Vec<(Command, Vec<u8>)> {
        self.requests.lock().unwrap().clone()
    }

    pub fn commands(&self) -> Vec<Command> {
        self.requests().into_iter().map(|(command, _)| command).collect()
    }
}

impl Drop for FakeRuntime {
    fn drop(&mut self) {
        self.is_closing.store(true, Ordering::SeqCst);
        let _ = UnixStream::connect(self.directory.path().join("socket"));
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Commands and payloads until now.
type Requests = Mutex<Vec<(Command, Vec<u8>)>>;

type Answer = dyn Fn(Command, &[u8], &mut UnixStream) + Send + Sync;

fn serve(mut stream: UnixStream, log: &Requests, answer: &Answer) {
    if let Some((command, payload)) = read_request(&mut stream) {
        log.lock().unwrap().push((command, payload.clone()));
        answer(command, &payload, &mut stream);
    }
}

pub fn read_request(stream: &mut UnixStream) -> Option<(Command, Vec<u8>)> {
    let mut header = [0; Header::LENGTH];
    stream.read_exact(&mut header).ok()?;
    let header = Header::decode(&header).unwrap();
    let mut payload = vec![0; header.payload];
    stream.read_exact(&mut payload).ok()?;
    Some((Command::from_code(header.set, header.id).unwrap(), payload))
}

pub fn reply(stream: &mut UnixStream, payload: &[u8]) {
    let _ = stream.write_all(&Reply::Ok(payload.to_vec()).encode().unwrap());
}

pub fn refuse(stream: &mut UnixStream, code: HResult) {
    let _ = stream.write_all(&Reply::Error(code).encode().unwrap());
}

/// Returns what a well-behaved runtime answers to session commands: data every 10 ms until the stop request, then a
/// rundown that is larger than socket buffers, and only then the reply to the stop request.
pub fn tracing_runtime() -> impl Fn(Command, &[u8], &mut UnixStream) + Send + Sync + 'static {
    let (stop, is_complete) = (AtomicBool::new(false), AtomicBool::new(false));
    move |command, payload, stream| match command {
        Command::StopTracing => {
            assert_eq!(payload, SESSION.to_le_bytes());
            stop.store(true, Ordering::SeqCst);
            while !is_complete.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
            reply(stream, payload);
        }
        _ => {
            reply(stream, &SESSION.to_le_bytes());
            let _ = stream.write_all(b"Nettrace");
            while !stop.load(Ordering::SeqCst) {
                if stream.write_all(b"events").is_err() {
                    break;
                }
                thread::sleep(Duration::from_millis(10));
            }
            let _ = stream.write_all(&vec![b'r'; RUNDOWN]);
            is_complete.store(true, Ordering::SeqCst);
        }
    }
}

/// Length of a fake rundown.
pub const RUNDOWN: usize = 3 << 20;

/// Returns session options with a provider.
pub fn options(rundown: Rundown, stacks: bool) -> SessionOptions {
    let mut providers = Providers::new(&[], &["A:ff:5"]).unwrap();
    providers.set_rundown(rundown);
    SessionOptions { providers, stacks, ..SessionOptions::default() }
}
