//! Connections to relay daemons that answer, fall silent, or break off.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ichnos_lttng_live::{
    ConnectionError, ConnectionOptions, LiveEvent, ProtocolError, RelayAddress, RelayConnection, SeekPosition,
};

/// Starts a relay daemon with one connection. Returns its address.
fn relay(
    place: &str,
    talk: impl FnOnce(TcpStream) + Send + 'static,
) -> Option<(RelayAddress, JoinHandle<()>)> {
    let listener = TcpListener::bind((place, 0)).ok()?;
    let mut address: RelayAddress = "net://localhost".parse().unwrap();
    address.host = place.to_owned();
    address.port = listener.local_addr().unwrap().port();
    Some((address, thread::spawn(move || talk(listener.accept().unwrap().0))))
}

/// Options for relays that answer, which takes a while on a busy machine.
fn options() -> ConnectionOptions {
    let mut options = ConnectionOptions::default();
    options.reply_timeout = Duration::from_secs(20);
    options.tick = Duration::from_millis(5);
    options
}

/// Reads a request with a payload of `size` bytes.
fn request(socket: &mut TcpStream, size: usize) {
    socket.read_exact(&mut vec![0; 16 + size]).unwrap();
}

const CONNECTED: [u8; 20] = [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 13, 0, 0, 0, 1];

fn connect(socket: &mut TcpStream) {
    request(socket, 20);
    socket.write_all(&CONNECTED).unwrap();
}

#[test]
fn sessions_are_listed_over_both_ip_versions() {
    for place in ["127.0.0.1", "::1"] {
        let answer = |mut socket: TcpStream| {
            connect(&mut socket);
            request(&mut socket, 0);
            let mut reply = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9].to_vec();
            reply.extend([0, 7, 161, 32, 0, 0, 0, 0, 0, 0, 0, 4]);
            reply.extend(b"web-1".iter().chain(&[0; 59]).chain(b"auto").chain(&[0; 251]));
            // In pieces.
            for piece in reply.chunks(100) {
                socket.write_all(piece).unwrap();
                thread::sleep(Duration::from_millis(2));
            }
        };
        let Some((address, thread)) = relay(place, answer) else {
            eprintln!("skipped: {place} is not available");
            continue;
        };
        let address: RelayAddress = address.to_string().parse().unwrap();
        let mut connection = RelayConnection::open(&address, &options()).unwrap();
        assert_eq!(connection.version().to_string(), "2.13");
        let sessions = connection.sessions().unwrap();
        assert_eq!(sessions.len(), 1);
        let session = &sessions[0];
        assert_eq!((session.id, session.host.as_str(), session.name.as_str()), (9, "web-1", "auto"));
        assert_eq!((session.live_timer, session.streams), (500_000, 4));
        thread.join().unwrap();
    }
}

#[test]
fn the_family_of_an_address_is_respected() {
    let (mut address, thread) = relay("127.0.0.1", |_| ()).unwrap();
    address.family = "net6://h".parse::<RelayAddress>().unwrap().family;
    let error = RelayConnection::open(&address, &options()).unwrap_err();
    assert!(matches!(error, ConnectionError::Resolve(_)), "{error}");
    drop(TcpStream::connect((address.host.as_str(), address.port)));
    thread.join().unwrap();
    // Nothing listens on a port that is reserved for a forgotten service.
    address.port = 1;
    address.family = "net4://h".parse::<RelayAddress>().unwrap().family;
    let error = RelayConnection::open(&address, &options()).unwrap_err();
    assert!(matches!(error, ConnectionError::Connect(_)), "{error}");
}

#[test]
fn silent_relays() {
    let silent = |mut socket: TcpStream| {
        let _ = socket.read_to_end(&mut Vec::new());
    };
    let (address, thread) = relay("127.0.0.1", silent).unwrap();
    let begin = Instant::now();
    let mut options = options();
    options.reply_timeout = Duration::from_millis(300);
    let error = RelayConnection::open(&address, &options).unwrap_err();
    assert!(matches!(error, ConnectionError::Silent(_)), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(20));
    thread.join().unwrap();
    let silent_later = |mut socket: TcpStream| {
        connect(&mut socket);
        let _ = socket.read_to_end(&mut Vec::new());
    };
    let (address, thread) = relay("127.0.0.1", silent_later).unwrap();
    options.reply_timeout = Duration::from_secs(2);
    let mut connection = RelayConnection::open(&address, &options).unwrap();
    // Without a request, silence is no error.
    assert_eq!(connection.next_event(Duration::from_millis(2_100)).unwrap(), None);
    let error = connection.sessions().unwrap_err();
    assert!(matches!(error, ConnectionError::Silent(_)), "{error}");
    drop(connection);
    thread.join().unwrap();
}

#[test]
fn relays_that_break_off() {
    let ends: [(&[u8], &str); 3] = [
        (b"", "the relay daemon closed the connection instead of answering a request"),
        (&[0, 0, 0], "the relay daemon closed the connection instead of answering a request"),
        (&[255; 4], "the relay daemon announced 4294967295 sessions; the limit is 1024"),
    ];
    for (reply, text) in ends {
        let talk = |mut socket: TcpStream| {
            connect(&mut socket);
            request(&mut socket, 0);
            socket.write_all(reply).unwrap();
        };
        let (address, thread) = relay("127.0.0.1", talk).unwrap();
        let mut connection = RelayConnection::open(&address, &options()).unwrap();
        let error = connection.sessions().unwrap_err();
        assert!(matches!(error, ConnectionError::Protocol(_)), "{error:?}");
        assert_eq!(error.to_string(), text);
        thread.join().unwrap();
        let error = connection.next_event(Duration::from_secs(5)).unwrap_err();
        assert!(matches!(error, ConnectionError::Closed), "{error:?}");
    }
}

/// Events that arrived before an error are returned before it.
#[test]
fn events_before_an_error_are_kept() {
    let talk = |mut socket: TcpStream| {
        connect(&mut socket);
        request(&mut socket, 0);
        socket.write_all(&[0; 6]).unwrap();
    };
    let (address, thread) = relay("127.0.0.1", talk).unwrap();
    let mut connection = RelayConnection::open(&address, &options()).unwrap();
    connection.client().list_sessions();
    let event = connection.next_event(Duration::from_secs(5)).unwrap();
    assert_eq!(event, Some(LiveEvent::Sessions(Vec::new())));
    let error = connection.next_event(Duration::from_secs(5)).unwrap_err();
    assert!(matches!(error, ConnectionError::Protocol(ProtocolError::Unrequested(2))), "{error:?}");
    thread.join().unwrap();
}

/// Returns a stream in a list.
fn stream(id: u8, is_metadata: bool) -> Vec<u8> {
    let mut bytes = vec![0; 8 + 8 + 4 + 4096 + 255];
    bytes[7] = id;
    bytes[19] = is_metadata.into();
    bytes
}

/// A distant relay daemon is asked for several data streams at a time.
#[test]
fn distant_relays_are_asked_ahead() {
    let talk = |mut socket: TcpStream| {
        let attached = [vec![0, 0, 0, 1, 0, 0, 0, 3], stream(4, true), stream(5, false), stream(6, false)];
        // Sizes of requests, and their answers: connection, viewer session, streams, metadata.
        let answers: [(usize, Vec<u8>); 5] = [
            (20, CONNECTED.to_vec()),
            (0, vec![0, 0, 0, 1]),
            (20, attached.concat()),
            (8, vec![0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, b'm']),
            (8, vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]),
        ];
        for (size, answer) in answers {
            request(&mut socket, size);
            thread::sleep(Duration::from_millis(8));
            socket.write_all(&answer).unwrap();
        }
        // Two requests for index entries, without an answer to the first one.
        request(&mut socket, 8);
        request(&mut socket, 8);
    };
    let (address, thread) = relay("127.0.0.1", talk).unwrap();
    let mut options = options();
    options.reply_timeout = Duration::from_secs(10);
    options.tick = Duration::from_secs(100);
    let mut connection = RelayConnection::open(&address, &options).unwrap();
    connection.client().attach(7, SeekPosition::Beginning);
    let mut events = 0;
    // The relay daemon leaves at its end.
    while connection.next_event(Duration::from_secs(10)).is_ok_and(|event| event.is_some()) {
        events += 1;
    }
    assert_eq!(events, 5);
    thread.join().unwrap();
}
