//! Peers that lie, stop in the middle, never answer, or are somebody else.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use ichnos_dotnet_diagnostics::messages::{Command, Reply};
use ichnos_dotnet_diagnostics::providers::Rundown;
use ichnos_dotnet_diagnostics::{DiagnosticsError, Endpoint, Session, SessionChunk, SessionEnd};
use ichnos_testing::Random;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

use crate::fake_runtime::{FakeRuntime, SESSION, TIMEOUTS, options, reply};

fn start(endpoint: &Endpoint) -> Result<Session, DiagnosticsError> {
    Session::start(endpoint, &options(Rundown::Default, true), TIMEOUTS)
}

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn header(size: u16, set: u8, id: u8) -> Vec<u8> {
    let size = size.to_le_bytes();
    [b"DOTNET_IPC_V1\0", &size[..], &[set, id, 0, 0]].concat()
}

#[test]
fn invalid_replies_are_errors() {
    let whole = Reply::Ok(SESSION.to_le_bytes().to_vec()).encode().unwrap();
    for (bytes, expected) in [
        (vec![], "the .NET runtime closed the connection (CollectTracing2)"),
        (whole[..19].to_vec(), "the .NET runtime closed the connection (CollectTracing2)"),
        (whole[..27].to_vec(), "the .NET runtime closed the connection (CollectTracing2)"),
        (header(65_535, 0xff, 0), "the .NET runtime closed the connection (CollectTracing2)"),
        (header(19, 0xff, 0), "message size 19 is smaller than its header"),
        (header(0, 0xff, 0xff), "message size 0 is smaller than its header"),
        (header(20, 0xff, 0), "payload ends in `session id`: 8 bytes needed, 0 left"),
        (header(20, 0xff, 0xff), "payload ends in `error code`: 4 bytes needed, 0 left"),
        (header(20, 2, 3), "expected a reply, found command 0x0203"),
        (
            b"HTTP/1.1 400 Bad Request\r\n".to_vec(),
            "expected `DOTNET_IPC_V1`, found other bytes: the peer does not speak the .NET diagnostics protocol",
        ),
    ] {
        let runtime = FakeRuntime::start(move |_, _, stream| stream.write_all(&bytes).unwrap());
        assert_eq!(start(&runtime.endpoint()).unwrap_err().to_string(), expected);
    }
}

#[test]
fn random_replies_do_not_panic() {
    for seed in 0..200 {
        let runtime = FakeRuntime::start(move |_, _, stream| {
            let mut random = Random::new(seed);
            let mut bytes = Reply::Ok(vec![1; 40]).encode().unwrap();
            for _ in 0..=random.below(3) {
                let at = 14 + random.index(bytes.len() - 14);
                bytes[at] = random.byte();
            }
            let _ = stream.write_all(&bytes);
        });
        let endpoint = runtime.endpoint();
        let _ = start(&endpoint);
        let _ = endpoint.process_info(TIMEOUTS.reply);
        let _ = endpoint.environment(TIMEOUTS.reply);
    }
}

/// Runs `work`, which must end within the time limits of the tests and not before.
fn timed<T>(work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    let taken = start.elapsed();
    assert!(taken >= Duration::from_millis(350) && taken < Duration::from_secs(10), "{taken:?}");
    result
}

#[test]
fn slow_runtimes_time_out() {
    const NEVER: Duration = Duration::from_mins(5);
    let silent = FakeRuntime::start(|_, _, _| thread::sleep(NEVER));
    let half = FakeRuntime::start(|_, _, stream| {
        stream.write_all(&header(65_535, 0xff, 0)).unwrap();
        thread::sleep(NEVER);
    });
    // A byte now and then must not extend the time.
    let trickling = FakeRuntime::start(|_, _, stream| {
        for byte in header(65_535, 0xff, 0).into_iter().cycle() {
            if stream.write_all(&[byte]).is_err() {
                break;
            }
            thread::sleep(Duration::from_millis(30));
        }
    });
    for runtime in [&silent, &half, &trickling] {
        let error = timed(|| start(&runtime.endpoint()).unwrap_err());
        assert_eq!(error.to_string(), "the .NET runtime did not answer in time (CollectTracing2)");
    }
    let error = timed(|| silent.endpoint().environment(TIMEOUTS.reply).unwrap_err());
    assert!(matches!(error, DiagnosticsError::Timeout { .. }), "{error}");
}

#[test]
fn a_full_queue_times_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    rustix::net::listen(&socket, 0).unwrap();
    let _first = UnixStream::connect(&path).unwrap();
    let error = timed(|| start(&Endpoint::socket(&path, own_user())).unwrap_err());
    assert_eq!(error.to_string(), "the .NET runtime did not answer in time (connection)");
}

#[test]
fn a_runtime_that_sends_nothing_can_be_left() {
    let runtime = FakeRuntime::start(|command, _, stream| {
        if command != Command::StopTracing {
            reply(stream, &SESSION.to_le_bytes());
        }
        thread::sleep(Duration::from_mins(5));
    });
    let mut session = start(&runtime.endpoint()).unwrap();
    let mut buffer = [0; 10];
    assert_eq!(session.read_chunk(&mut buffer, Duration::from_millis(1)).unwrap(), SessionChunk::Nothing);
    let error = timed(|| session.read(&mut buffer).unwrap_err());
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    session.stop().unwrap();
    let error = timed(|| read_to_error(&mut session));
    assert_eq!(error.to_string(), "the .NET runtime did not answer in time (rundown)");
}

/// Reads until an error.
fn read_to_error(session: &mut Session) -> DiagnosticsError {
    let mut buffer = [0; 4096];
    loop {
        if let Err(error) = session.read_chunk(&mut buffer, Duration::from_millis(20)) {
            return error;
        }
    }
}

#[test]
fn an_endless_rundown_ends() {
    let runtime = FakeRuntime::start(|command, _, stream| {
        reply(stream, &SESSION.to_le_bytes());
        while command != Command::StopTracing && stream.write_all(&[0; 4096]).is_ok() {}
    });
    let mut session = start(&runtime.endpoint()).unwrap();
    session.stop().unwrap();
    let error = timed(|| read_to_error(&mut session));
    assert_eq!(error.to_string(), "the .NET runtime did not answer in time (rundown)");
}

#[test]
fn a_wrong_confirmation_is_reported() {
    let runtime = FakeRuntime::start(|command, _, stream| match command {
        Command::StopTracing => reply(stream, &7_u64.to_le_bytes()),
        _ => {
            reply(stream, &SESSION.to_le_bytes());
            thread::sleep(Duration::from_millis(100));
        }
    });
    let mut session = start(&runtime.endpoint()).unwrap();
    session.stop().unwrap();
    assert_eq!(session.read_to_end(&mut Vec::new()).unwrap(), 0);
    let problem = format!("`session id` is 7, not {SESSION}");
    assert_eq!(session.end(), Some(&SessionEnd::Unconfirmed { problem }));
}

#[test]
fn a_large_environment_is_refused() {
    let runtime = FakeRuntime::start(|_, _, stream| reply(stream, &[0xff, 0xff, 0xff, 0xff, 0, 0]));
    let error = runtime.endpoint().environment(TIMEOUTS.reply).unwrap_err();
    assert_eq!(error.to_string(), "`environment` has 4294967295 bytes: the limit is 16777216");
}

#[test]
fn sockets_of_others_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    let expected = own_user() + 1;
    let error = start(&Endpoint::socket(&path, expected)).unwrap_err();
    let shown = format!(
        "{}: the socket belongs to the user with the id {}, not {expected}",
        path.display(),
        own_user()
    );
    assert_eq!(error.to_string(), shown);
    // A link to another socket.
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let error = start(&Endpoint::socket(&link, own_user())).unwrap_err().to_string();
    assert!(error.ends_with("link: not a socket"), "{error}");
    let error = start(&Endpoint::socket(Path::new("/nowhere"), own_user())).unwrap_err().to_string();
    assert!(error.starts_with("/nowhere: No such file"), "{error}");
}

#[test]
fn paths_can_be_longer_than_socket_addresses() {
    let directory = tempfile::tempdir().unwrap();
    let long = directory.path().join("x".repeat(200));
    fs::create_dir(&long).unwrap();
    let short = directory.path().join("short");
    let listener = UnixListener::bind(&short).unwrap();
    fs::rename(&short, long.join("socket")).unwrap();
    let thread = thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        stream.read_exact(&mut [0; 20]).unwrap();
        reply(&mut stream, &[]);
    });
    Endpoint::socket(&long.join("socket"), own_user()).resume(Duration::from_secs(5)).unwrap();
    thread.join().unwrap();
}
