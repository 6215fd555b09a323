//! Accepts connections, and starts a thread for each.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use ichnos::model::locks::IgnorePoison as _;

/// Maximum number of connections.
const MOST_CONNECTIONS: usize = 128;

/// Interval at which the server checks whether it should stop.
pub(crate) const STEP: Duration = Duration::from_millis(50);

/// Service that answers the request of a connection.
///
/// # For implementations
/// `serve` runs on the connection's own thread, so it can be called several times at once.
pub(crate) trait Serve: Send + Sync + 'static {
    /// Answers the request. An error only affects this connection.
    fn serve(&self, stream: TcpStream, connection: &OpenConnection<'_>);
}

/// Connection whose request is being answered.
pub(crate) struct OpenConnection<'a> {
    id: u64,
    connections: &'a Mutex<Connections>,
    is_over: &'a AtomicBool,
}

impl OpenConnection<'_> {
    /// Marks the connection as trusted, because its request contains the token. It is no longer closed to make room for
    /// newer connections.
    pub(crate) fn admit(&self) {
        self.connections.lock().ignore_poison().strangers.retain(|(id, _)| *id != self.id);
    }

    /// Returns `true` if the server is stopping.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// Open connections.
#[derive(Debug, Default)]
struct Connections {
    count: usize,
    /// Identifier of the next connection.
    next: u64,
    /// Connections without a valid token so far, the oldest first.
    strangers: VecDeque<(u64, TcpStream)>,
}

/// Listener on a port of 127.0.0.1.
#[derive(Debug)]
pub(crate) struct Acceptor<S> {
    listener: TcpListener,
    accepted: Arc<Accepted<S>>,
}

#[derive(Debug)]
struct Accepted<S> {
    service: S,
    connections: Mutex<Connections>,
    is_free: Condvar,
    is_over: AtomicBool,
}

impl<S: Serve> Acceptor<S> {
    /// Binds a listener to a port. Port 0 selects a free port. `make` creates the service, given the port.
    pub(crate) fn bind(port: u16, make: impl FnOnce(u16) -> S) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        let service = make(listener.local_addr()?.port());
        let (connections, is_free, is_over) = (Mutex::default(), Condvar::new(), AtomicBool::new(false));
        Ok(Self { listener, accepted: Arc::new(Accepted { service, connections, is_free, is_over }) })
    }

    /// Returns the service.
    pub(crate) fn service(&self) -> &S {
        &self.accepted.service
    }

    /// Serves until `is_over` returns `true`. It is called with the service every 50 ms.
    pub(crate) fn run(self, mut is_over: impl FnMut(&S) -> bool) -> io::Result<()> {
        let Self { listener, accepted } = self;
        let port = listener.local_addr()?.port();
        let accepting = Arc::clone(&accepted);
        thread::Builder::new().name("accept".to_owned()).spawn(move || accept(&listener, &accepting))?;
        while !is_over(&accepted.service) {
            thread::sleep(STEP);
        }
        accepted.is_over.store(true, Ordering::Relaxed);
        // Wakes the accepting thread, so that it drops the listener.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, port)));
        Ok(())
    }
}

/// Accepts connections. If there are too many, the oldest connection without a valid token is closed, so that
/// strangers cannot lock the user out. If all connections have the token, newer connections wait.
fn accept<S: Serve>(listener: &TcpListener, accepted: &Arc<Accepted<S>>) {
    for stream in listener.incoming() {
        if accepted.is_over.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else {
            // For example, because too many files are open.
            thread::sleep(STEP);
            continue;
        };
        let Ok(handle) = stream.try_clone() else { continue };
        let mut connections = accepted.connections.lock().ignore_poison();
        if connections.count >= MOST_CONNECTIONS
            && let Some((_, oldest)) = connections.strangers.pop_front()
        {
            let _ = oldest.shutdown(Shutdown::Both);
        }
        let is_full = |connections: &mut Connections| connections.count >= MOST_CONNECTIONS;
        let free = accepted.is_free.wait_while(connections, is_full);
        let mut connections = free.ignore_poison();
        let id = connections.next;
        connections.next += 1;
        connections.count += 1;
        connections.strangers.push_back((id, handle));
        drop(connections);
        let connection = CountedConnection { id, accepted: Arc::clone(accepted) };
        let serve = move || connection.serve(stream);
        // If no thread can be started, the connection is closed.
        drop(thread::Builder::new().name("request".to_owned()).spawn(serve));
    }
}

/// Connection that counts towards the limit.
struct CountedConnection<S> {
    id: u64,
    accepted: Arc<Accepted<S>>,
}

impl<S: Serve> CountedConnection<S> {
    fn serve(&self, stream: TcpStream) {
        let Accepted { service, connections, is_over, .. } = &*self.accepted;
        service.serve(stream, &OpenConnection { id: self.id, connections, is_over });
    }
}

impl<S> Drop for CountedConnection<S> {
    fn drop(&mut self) {
        let mut connections = self.accepted.connections.lock().ignore_poison();
        connections.count -= 1;
        connections.strangers.retain(|(id, _)| *id != self.id);
        drop(connections);
        self.accepted.is_free.notify_one();
    }
}
