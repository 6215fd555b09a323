//! Accepts connections, and starts a thread for each.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use ichnos_model::locks::IgnorePoison as _;

use super::body::ReceiveBuffer;
use super::client_wait::ClientWait;
use super::connection::HttpConnection;
use super::receiver_options::ReceiverOptions;
use super::request_target::RequestTarget;

/// Stack size of a thread in bytes.
const STACK: usize = 512 << 10;

/// Wait after an error, for example too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// Longest wait for the thread that accepts connections to end.
const WAKE: Duration = Duration::from_millis(200);

/// An open connection.
#[derive(Debug)]
struct ConnectionEntry {
    id: u64,
    stream: TcpStream,
    wait: Arc<ClientWait>,
}

/// Open connections, the oldest first.
#[derive(Debug, Default)]
struct ConnectionTable {
    entries: VecDeque<ConnectionEntry>,
    next: u64,
}

#[derive(Debug)]
struct ListenerState {
    options: ReceiverOptions,
    target: Arc<dyn RequestTarget>,
    connections: Mutex<ConnectionTable>,
    /// Notified when a connection ends.
    ended: Condvar,
    is_over: AtomicBool,
}

/// Listener of a receiver.
#[derive(Debug)]
pub(super) struct HttpListener {
    address: SocketAddr,
    state: Arc<ListenerState>,
}

impl HttpListener {
    /// Binds the address, and starts to accept connections.
    pub(super) fn bind(options: &ReceiverOptions, target: &Arc<dyn RequestTarget>) -> io::Result<Self> {
        let listener = TcpListener::bind(options.address)?;
        let address = listener.local_addr()?;
        let state = Arc::new(ListenerState {
            options: options.clone(),
            target: Arc::clone(target),
            connections: Mutex::default(),
            ended: Condvar::new(),
            is_over: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&state);
        let name = "otlp accept".to_owned();
        thread::Builder::new().name(name).spawn(move || accepting.accept(&listener))?;
        Ok(Self { address, state })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until all connections have ended, but not longer than `timeout`.
    pub(super) fn wait(&self, timeout: Duration) {
        let connections = self.state.connections.lock().ignore_poison();
        let is_open = |table: &mut ConnectionTable| !table.entries.is_empty();
        drop(self.state.ended.wait_timeout_while(connections, timeout, is_open).ignore_poison());
    }

    /// Stops to listen, and closes connections that wait for a request. Others are answered.
    pub(super) fn stop(&self) {
        if self.state.is_over.swap(true, Ordering::Relaxed) {
            return;
        }
        let connections = self.state.connections.lock().ignore_poison();
        let idle = connections.entries.iter().filter(|entry| entry.wait.is_idle());
        idle.for_each(|entry| drop(entry.stream.shutdown(Shutdown::Both)));
        drop(connections);
        // Wakes the accepting thread, so that it drops the listener.
        let unspecified: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
        let mut own = self.address;
        if unspecified.contains(&own.ip()) {
            own.set_ip(if own.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
        }
        drop(TcpStream::connect_timeout(&own, WAKE));
    }
}

impl ListenerState {
    /// Accepts connections until the receiver ends.
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            let Ok(stream) = stream else {
                thread::sleep(PAUSE);
                continue;
            };
            let Some((id, wait)) = self.register(&stream) else { continue };
            let served = ServedConnection { id, state: Arc::clone(self) };
            let name = "otlp request".to_owned();
            let spawned = thread::Builder::new().name(name).stack_size(STACK).spawn(move || {
                let state = &*served.state;
                let (options, target) = (&state.options, &*state.target);
                let buffer = ReceiveBuffer::new(stream);
                HttpConnection { buffer, options, target, wait: &wait }.serve();
            });
            // Without a thread, the connection is closed.
            drop(spawned);
        }
    }

    /// Adds a connection. If there are too many, the one whose client has been waited for longest is closed.
    fn register(&self, stream: &TcpStream) -> Option<(u64, Arc<ClientWait>)> {
        let stream = stream.try_clone().ok()?;
        let mut connections = self.connections.lock().ignore_poison();
        while connections.entries.len() >= self.options.most_connections.max(1) {
            if self.is_over.load(Ordering::Relaxed) {
                return None;
            }
            let waiting = connections.entries.iter().filter_map(|entry| Some((entry.wait.since()?, entry)));
            if let Some((_, longest)) = waiting.min_by_key(|(since, _)| *since) {
                let _ = longest.stream.shutdown(Shutdown::Both);
            }
            let (waited, _) = self.ended.wait_timeout(connections, PAUSE).ignore_poison();
            connections = waited;
        }
        let id = connections.next;
        connections.next += 1;
        let wait = Arc::<ClientWait>::default();
        connections.entries.push_back(ConnectionEntry { id, stream, wait: Arc::clone(&wait) });
        Some((id, wait))
    }
}

/// Connection that counts towards the limit.
struct ServedConnection {
    id: u64,
    state: Arc<ListenerState>,
}

impl Drop for ServedConnection {
    fn drop(&mut self) {
        let mut connections = self.state.connections.lock().ignore_poison();
        connections.entries.retain(|entry| entry.id != self.id);
        drop(connections);
        self.state.ended.notify_all();
    }
}
