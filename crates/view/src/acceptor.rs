//! Accepts connections, each with a thread of its own.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Maximum number of connections.
const MOST_CONNECTIONS: usize = 128;

/// Time between two looks at whether the server is to end.
pub(crate) const STEP: Duration = Duration::from_millis(50);

/// Answers the request of a connection.
pub(crate) trait Serve: Send + Sync + 'static {
    /// Answers it. Errors of the connection affect no other one. The flag is set when the server ends.
    fn serve(&self, stream: TcpStream, is_over: &AtomicBool);
}

/// Listens on a port of 127.0.0.1.
#[derive(Debug)]
pub(crate) struct Acceptor<S> {
    listener: TcpListener,
    accepted: Arc<Accepted<S>>,
}

#[derive(Debug)]
struct Accepted<S> {
    service: S,
    connections: Mutex<usize>,
    is_free: Condvar,
    is_over: AtomicBool,
}

impl<S: Serve> Acceptor<S> {
    /// Binds it to a port, 0 for a free one. `make` receives the port.
    pub(crate) fn bind(port: u16, make: impl FnOnce(u16) -> S) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        let service = make(listener.local_addr()?.port());
        let (connections, is_free, is_over) = (Mutex::new(0), Condvar::new(), AtomicBool::new(false));
        Ok(Self { listener, accepted: Arc::new(Accepted { service, connections, is_free, is_over }) })
    }

    /// Returns what answers.
    pub(crate) fn service(&self) -> &S {
        &self.accepted.service
    }

    /// Serves until `is_over` returns `true`, which is called again and again with what answers.
    pub(crate) fn run(self, mut is_over: impl FnMut(&S) -> bool) -> io::Result<()> {
        let Self { listener, accepted } = self;
        let port = listener.local_addr()?.port();
        let accepting = Arc::clone(&accepted);
        thread::Builder::new().name("accept".to_owned()).spawn(move || accept(&listener, &accepting))?;
        while !is_over(&accepted.service) {
            thread::sleep(STEP);
        }
        accepted.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts connections, which then drops the listener.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, port)));
        Ok(())
    }
}

/// Accepts connections. Where there are too many, further ones wait.
fn accept<S: Serve>(listener: &TcpListener, accepted: &Arc<Accepted<S>>) {
    for stream in listener.incoming() {
        if accepted.is_over.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else {
            // For instance, too many files are open.
            thread::sleep(STEP);
            continue;
        };
        let number = accepted.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let free = accepted.is_free.wait_while(number, |number| *number >= MOST_CONNECTIONS);
        *free.unwrap_or_else(PoisonError::into_inner) += 1;
        let connection = CountedConnection(Arc::clone(accepted));
        let serve = move || connection.serve(stream);
        // Without a thread, the connection is closed.
        drop(thread::Builder::new().name("request".to_owned()).spawn(serve));
    }
}

/// A connection, which is counted.
struct CountedConnection<S>(Arc<Accepted<S>>);

impl<S: Serve> CountedConnection<S> {
    fn serve(&self, stream: TcpStream) {
        self.0.service.serve(stream, &self.0.is_over);
    }
}

impl<S> Drop for CountedConnection<S> {
    fn drop(&mut self) {
        *self.0.connections.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.is_free.notify_one();
    }
}
