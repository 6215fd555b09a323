//! The server.

use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use ichnos::Session;

use crate::api;
use crate::build::Status;
use crate::options::ViewOptions;
use crate::page;
use crate::query::Query;
use crate::request::{Refusal, Request};
use crate::response::{ApiError, Response, write_head};
use crate::shared::Shared;
use crate::token::AddressToken;

/// Maximum number of connections.
const MOST_CONNECTIONS: usize = 128;

/// Time between two looks at whether the server is to end.
const STEP: Duration = Duration::from_millis(50);

/// Time between two notes of progress to a page, and after which one is sent anyway.
const NOTE: Duration = Duration::from_millis(200);
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Time after which a page that is gone is noticed.
const LOOK: Duration = Duration::from_secs(1);

/// Server of one user on loopback.
pub struct ViewServer {
    listener: TcpListener,
    state: Arc<ServerState>,
}

impl std::fmt::Debug for ViewServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ViewServer").field("listener", &self.listener).finish_non_exhaustive()
    }
}

/// State of the server that its threads share.
struct ServerState {
    shared: Arc<Shared>,
    token: AddressToken,
    port: u16,
    connections: Mutex<usize>,
    is_free: Condvar,
    is_over: AtomicBool,
}

impl ViewServer {
    /// Binds the server to a port on 127.0.0.1.
    ///
    /// # Errors
    /// If the port is in use, or the system has no random numbers.
    pub fn bind(session: Arc<Session>, options: ViewOptions) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, options.port)))?;
        let state = ServerState {
            port: listener.local_addr()?.port(),
            shared: Arc::new(Shared::new(session, options)),
            token: AddressToken::random()?,
            connections: Mutex::new(0),
            is_free: Condvar::new(),
            is_over: AtomicBool::new(false),
        };
        Ok(Self { listener, state: Arc::new(state) })
    }

    /// Returns the address of the page.
    #[must_use]
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.state.port, self.state.token.text())
    }

    /// Serves until the flag of the options is set or the last page was closed.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub fn run(self) -> io::Result<()> {
        let Self { listener, state } = self;
        let shared = Arc::clone(&state.shared);
        let filling = Arc::clone(&shared);
        thread::Builder::new().name("timeline".to_owned()).spawn(move || {
            filling.build.run(&filling.session, &filling.options, None);
        })?;
        let accepting = Arc::clone(&state);
        thread::Builder::new().name("accept".to_owned()).spawn(move || accept(&listener, &accepting))?;
        while !shared.options.stop.load(Ordering::Relaxed) && !shared.is_left() {
            thread::sleep(STEP);
        }
        state.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts connections, which then drops the listener.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, state.port)));
        Ok(())
    }
}

/// Accepts connections. Where there are too many, further ones wait.
fn accept(listener: &TcpListener, state: &Arc<ServerState>) {
    for stream in listener.incoming() {
        if state.is_over.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else {
            // For instance, too many files are open.
            thread::sleep(STEP);
            continue;
        };
        let number = state.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let free = state.is_free.wait_while(number, |number| *number >= MOST_CONNECTIONS);
        *free.unwrap_or_else(PoisonError::into_inner) += 1;
        let connection = RequestConnection(Arc::clone(state));
        let serve = move || connection.serve(stream);
        // Without a thread, the connection is closed.
        drop(thread::Builder::new().name("request".to_owned()).spawn(serve));
    }
}

/// A connection, which is counted.
struct RequestConnection(Arc<ServerState>);

impl Drop for RequestConnection {
    fn drop(&mut self) {
        *self.0.connections.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.is_free.notify_one();
    }
}

impl RequestConnection {
    /// Answers a request. Errors of the connection concern nobody else.
    fn serve(&self, mut stream: TcpStream) {
        let refused = |status, text: &str| Response::from(ApiError { status, ..ApiError::bad(text) });
        let response = match Request::read(&mut stream) {
            Ok(request) => match self.0.answer(&request, &mut stream) {
                Some(response) => response,
                None => return,
            },
            Err(Refusal::Gone) => return,
            Err(Refusal::Malformed) => refused(400, "malformed request"),
            Err(Refusal::TooLong) => refused(431, "too long"),
            Err(Refusal::Method) => refused(405, "only GET and POST"),
        };
        let _ = response.send(&mut stream);
    }
}

impl ServerState {
    /// Returns the answer, unless it was sent.
    fn answer(&self, request: &Request, stream: &mut TcpStream) -> Option<Response> {
        let Some(path) = self.permitted(request) else {
            return Some(ApiError { status: 403, ..ApiError::bad("forbidden") }.into());
        };
        match (path, request.is_post) {
            ("api/changes", false) => {
                let _ = self.send_changes(stream);
                None
            }
            ("api/export", false) => {
                let query = Query::new(&request.query);
                let sent = query.and_then(|query| api::export(&self.shared, &query, stream));
                sent.err().map(Response::from)
            }
            ("api/close", true) => {
                self.shared.close_page();
                Some(Response::json(b"{}".to_vec()))
            }
            (_, true) => Some(ApiError { status: 405, ..ApiError::bad("only GET") }.into()),
            (path, false) => Some(match path.strip_prefix("api/") {
                Some(name) => {
                    let _working = self.shared.work();
                    let answer =
                        Query::new(&request.query).and_then(|query| api::answer(&self.shared, name, &query));
                    answer.unwrap_or_else(Response::from)
                }
                None => page::file(path).unwrap_or_else(|| ApiError::missing("no such page").into()),
            }),
        }
    }

    /// Returns the path behind the token, if the request is one of our own page or of somebody who has the address.
    fn permitted<'r>(&self, request: &'r Request) -> Option<&'r str> {
        let hosts = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        let is_host = |host: &str| hosts.iter().any(|own| own.eq_ignore_ascii_case(host));
        let is_origin = |origin: &str| origin.strip_prefix("http://").is_some_and(is_host);
        let (token, path) = request.path.strip_prefix('/')?.split_once('/')?;
        let is_permitted = request.host.as_deref().is_some_and(is_host)
            && request.origin.as_deref().is_none_or(is_origin)
            && self.token.is(token);
        is_permitted.then_some(path)
    }

    /// Sends notes of progress until the page is gone.
    fn send_changes(&self, stream: &mut TcpStream) -> io::Result<()> {
        let _page = self.shared.connect_page();
        write_head(stream, 200, "text/event-stream", None, "")?;
        let mut status = self.shared.build.status();
        stream.write_all(&note(&status))?;
        let mut silent = Duration::ZERO;
        while !self.is_over.load(Ordering::Relaxed) {
            let next = self.shared.build.wait(status.generation, LOOK);
            if next.generation != status.generation {
                status = next;
                silent = Duration::ZERO;
                stream.write_all(&note(&status))?;
                thread::sleep(NOTE);
            } else {
                silent += LOOK;
            }
            if silent >= HEARTBEAT {
                silent = Duration::ZERO;
                stream.write_all(b": still here\n\n")?;
            }
            if is_gone(stream)? {
                break;
            }
        }
        Ok(())
    }
}

/// Returns the text of a note of progress.
fn note(status: &Status) -> Vec<u8> {
    let mut out = b"data: ".to_vec();
    api::write_status(&mut out, status);
    out.extend_from_slice(b"\n\n");
    out
}

/// Returns `true` if the other side has closed the connection.
fn is_gone(stream: &TcpStream) -> io::Result<bool> {
    stream.set_read_timeout(Some(Duration::from_millis(1)))?;
    match stream.peek(&mut [0]) {
        Ok(length) => Ok(length == 0),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
