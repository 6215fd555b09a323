//! Server of the page and its API.

use std::io::{self, Write as _};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use ichnos::Session;
use ichnos::model::locks::IgnorePoison as _;

use crate::acceptor::{Acceptor, OpenConnection, Serve};
use crate::api;
use crate::app_state::AppState;
use crate::open_pages::OpenPages;
use crate::options::{ViewOptions, ViewSource};
use crate::page;
use crate::query::Query;
use crate::request::{Method, Request, RequestRefusal, is_loopback};
use crate::response::{ApiError, PATIENCE, Response, write_head};
use crate::timeline_builder::Status;
use crate::token::AddressToken;

/// Minimum interval between two progress messages, and maximum interval between two messages of any kind.
const NOTE: Duration = Duration::from_millis(200);
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Minimum pause between two checks whether traces have grown: a fixed time, and a multiple of the time that reading
/// took.
const FOLLOW: Duration = Duration::from_secs(1);
const FOLLOW_PAUSE: u32 = 4;

/// Interval at which a closed connection is detected.
const LOOK: Duration = Duration::from_secs(1);

/// Server on 127.0.0.1 for one user.
#[derive(Debug)]
pub struct ViewServer {
    acceptor: Acceptor<ServerState>,
}

/// Shared state of the server threads.
struct ServerState {
    shared: RwLock<Arc<AppState>>,
    pages: OpenPages,
    is_kept: bool,
    token: AddressToken,
    port: u16,
}

impl std::fmt::Debug for ServerState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerState").field("port", &self.port).finish_non_exhaustive()
    }
}

impl ViewServer {
    /// Binds the server to a port on 127.0.0.1.
    ///
    /// # Errors
    /// If the port is in use, or the system provides no random numbers.
    pub fn bind(session: Arc<Session>, options: ViewOptions) -> io::Result<Self> {
        let (port, token) = (options.port, AddressToken::random()?);
        let (is_kept, pages) = (options.keep, OpenPages::default());
        let shared = RwLock::new(Arc::new(AppState::new(session, options)));
        let state = |port| ServerState { shared, pages, is_kept, token, port };
        Ok(Self { acceptor: Acceptor::bind(port, state)? })
    }

    /// Returns the address of the page.
    #[must_use]
    pub fn address(&self) -> String {
        let ServerState { port, token, .. } = self.acceptor.service();
        format!("http://127.0.0.1:{port}/{}/", token.text())
    }

    /// Serves until the stop flag is set or the last page closes.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn run(self) -> io::Result<()> {
        self.run_following(|| None)
    }

    /// Serves like [`run`](Self::run), and follows growing traces. Calls `open_again` on this thread, at most once a
    /// second. It should return the traces if they have changed. They are then read again from the start, which takes
    /// at most about a fifth of the time. Until that is done, pages show the earlier state.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn run_following(self, mut open_again: impl FnMut() -> Option<ViewSource>) -> io::Result<()> {
        let state = self.acceptor.service();
        let stop = state.shared().options.stop;
        let exports = Arc::clone(&state.shared().exports);
        let exporting = Arc::clone(&exports);
        let mut reading = Some(ReadingThread::start(state.shared())?);
        let mut next = Instant::now();
        self.acceptor.run(move |service| {
            if let Some(done) = reading.take_if(|reading| reading.is_complete()) {
                let time = done.begun.elapsed();
                *service.shared.write().ignore_poison() = done.shared;
                next = Instant::now() + FOLLOW.max(FOLLOW_PAUSE * time);
            }
            if reading.is_none() && Instant::now() >= next {
                next = Instant::now() + FOLLOW;
                let again = open_again().map(|source| Arc::new(service.shared().reopened(source)));
                // If no thread can be started, try again later.
                reading = again.and_then(|shared| ReadingThread::start(shared).ok());
            }
            let are_left = service.pages.are_left() && !service.is_kept;
            stop.load(Ordering::Relaxed) || (are_left && !exporting.is_busy())
        })?;
        // Wait until the files of a download are removed.
        exports.wait(PATIENCE);
        Ok(())
    }
}

/// Thread that fills a timeline.
struct ReadingThread {
    shared: Arc<AppState>,
    begun: Instant,
}

impl ReadingThread {
    fn start(shared: Arc<AppState>) -> io::Result<Self> {
        let filling = Arc::clone(&shared);
        thread::Builder::new().name("timeline".to_owned()).spawn(move || {
            filling.build.run_cached(&filling.session, &filling.options);
        })?;
        Ok(Self { shared, begun: Instant::now() })
    }

    fn is_complete(&self) -> bool {
        self.shared.build.status().is_complete
    }
}

impl Serve for ServerState {
    fn serve(&self, mut stream: TcpStream, connection: &OpenConnection<'_>) {
        let refused = |status, text: &str| Response::from(ApiError { status, ..ApiError::bad(text) });
        let response = match Request::read(&mut stream) {
            Ok(request) => match self.answer(&request, &mut stream, connection) {
                Some(response) => response,
                None => return,
            },
            Err(RequestRefusal::Gone) => return,
            Err(RequestRefusal::Malformed) => refused(400, "malformed request"),
            Err(RequestRefusal::TooLong) => refused(431, "too long"),
            Err(RequestRefusal::Method) => refused(405, "only GET and POST"),
            Err(RequestRefusal::Version) => refused(505, "only HTTP/1.1"),
        };
        let _ = response.send(&mut stream);
    }
}

impl ServerState {
    /// Returns the state of the current traces.
    fn shared(&self) -> Arc<AppState> {
        Arc::clone(&self.shared.read().ignore_poison())
    }

    /// Returns the response, or `None` if it was already sent.
    fn answer(
        &self,
        request: &Request,
        stream: &mut TcpStream,
        connection: &OpenConnection<'_>,
    ) -> Option<Response> {
        let Some(path) = self.permitted(request) else {
            return Some(ApiError { status: 403, ..ApiError::bad("forbidden") }.into());
        };
        connection.admit();
        match (path, request.method) {
            ("api/changes", Method::Get) => {
                let _ = self.send_changes(stream, connection);
                None
            }
            ("api/export", Method::Get) => {
                let query = Query::new(&request.query);
                let sent = query.and_then(|query| api::export(&self.shared(), &query, stream));
                sent.err().map(Response::from)
            }
            ("api/close", Method::Post) => {
                self.pages.close();
                Some(Response::json(b"{}".to_vec()))
            }
            (_, Method::Post | Method::Options) => {
                Some(ApiError { status: 405, ..ApiError::bad("only GET") }.into())
            }
            (path, Method::Get) => Some(match path.strip_prefix("api/") {
                Some(name) => {
                    let _working = self.pages.work();
                    let answer = Query::new(&request.query)
                        .and_then(|query| api::answer(&self.shared(), name, &query));
                    answer.unwrap_or_else(Response::from)
                }
                None => page::file(path).unwrap_or_else(|| ApiError::missing("no such page").into()),
            }),
        }
    }

    /// Returns the path after the token, if the request comes from our page or from someone who knows the address.
    fn permitted<'r>(&self, request: &'r Request) -> Option<&'r str> {
        let is_own = |host: &str| is_loopback(host, self.port);
        let is_origin = |origin: &str| origin.strip_prefix("http://").is_some_and(is_own);
        let (token, path) = request.path.strip_prefix('/')?.split_once('/')?;
        let is_permitted = request.is_for(self.port)
            && request.origin.as_deref().is_none_or(is_origin)
            && self.token.is(token);
        is_permitted.then_some(path)
    }

    /// Sends progress messages until the page disconnects.
    fn send_changes(&self, stream: &mut TcpStream, connection: &OpenConnection<'_>) -> io::Result<()> {
        let _page = self.pages.connect();
        write_head(stream, 200, "text/event-stream", None, "")?;
        let mut status = self.shared().build.status();
        stream.write_all(&progress_message(&status))?;
        let mut silent = Duration::ZERO;
        while !connection.is_over() {
            let next = self.shared().build.wait(status.generation, LOOK);
            if next.generation != status.generation {
                status = next;
                silent = Duration::ZERO;
                stream.write_all(&progress_message(&status))?;
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

/// Returns a progress message.
fn progress_message(status: &Status) -> Vec<u8> {
    let mut out = b"data: ".to_vec();
    api::write_status(&mut out, status);
    out.extend_from_slice(b"\n\n");
    out
}

/// Returns `true` if the client has closed the connection.
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
