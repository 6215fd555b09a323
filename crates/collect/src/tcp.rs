//! Receives reports over TCP.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError};
use std::time::{Duration, Instant};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

use crate::Notice;
use crate::batch::{Batch, ReportChecker, SyncQuestion};
use crate::connection::{Frames, ReportTarget};
use crate::shared::CollectorState;

/// Token that wakes the thread when answers are ready.
pub(crate) const WAKER: Token = Token(0);

/// Maximum number of events per system call.
const EVENTS: usize = 1_024;

/// Size of the read buffer shared by all connections, in bytes.
const BUFFER: usize = 256 << 10;

/// Maximum number of bytes read from a connection in one turn.
const TURN: usize = 512 << 10;

/// Maximum size for unsent answers, in bytes. Above it, the client must read answers before it can send more.
const ANSWERS: usize = 4 << 10;

/// Pause before the writer is offered received data again.
const RETRY: Duration = Duration::from_millis(10);

/// Number of files that the process needs for other purposes than connections.
const OWN_FILES: u64 = 64;

/// Interval between periodic checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Maximum time for reading pending data when stopping.
const LAST_READS: Duration = Duration::from_secs(1);

/// Maximum time for sending answers when stopping.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Receives reports over TCP.
#[derive(Debug)]
pub(crate) struct Tcp {
    shared: Arc<CollectorState>,
    checker: ReportChecker,
    poll: Poll,
    listeners: Vec<TcpListener>,
    /// `true` if connections may be waiting.
    waits: bool,
    /// `true` if the last attempt to accept a connection failed.
    cannot_accept: bool,
    connections: HashMap<usize, ClientConnection>,
    /// Maximum number of connections.
    max_connections: usize,
    next: usize,
    /// Connections that may have unread data.
    ready: VecDeque<usize>,
    buffer: Vec<u8>,
    batch: Batch,
    /// `None` after the last batch.
    batches: Option<SyncSender<Batch>>,
    done: Receiver<SyncQuestion>,
}

/// A connection.
#[derive(Debug)]
struct ClientConnection {
    stream: TcpStream,
    frames: Frames,
    answers: Answers,
    /// Number of unanswered questions.
    asked: u32,
    /// `true` if the connection is in the `ready` list.
    is_ready: bool,
    /// `true` if the client has stopped sending.
    has_ended: bool,
    last: Instant,
}

/// Unsent answers.
#[derive(Debug, Default)]
struct Answers {
    /// Answers, each with its number of repetitions.
    waiting: VecDeque<([u8; 16], u32)>,
    /// Total number of answers.
    count: u64,
    /// Next bytes to send.
    bytes: Vec<u8>,
}

impl Answers {
    fn add(&mut self, sync: &SyncQuestion) {
        let mut answer = [0; 16];
        answer[..8].copy_from_slice(&sync.reports.to_be_bytes());
        answer[8..].copy_from_slice(&sync.refused.to_be_bytes());
        self.waiting.push_back((answer, sync.count));
        self.count += u64::from(sync.count);
    }

    fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.count == 0
    }

    /// Returns the next bytes to send. Many answers take several calls.
    fn next(&mut self) -> &[u8] {
        while self.bytes.len() < ANSWERS
            && let Some((answer, count)) = self.waiting.front_mut()
        {
            self.bytes.extend_from_slice(answer);
            *count = count.saturating_sub(1);
            self.count = self.count.saturating_sub(1);
            if *count == 0 {
                self.waiting.pop_front();
            }
        }
        &self.bytes
    }

    /// Removes bytes that were sent.
    fn sent(&mut self, size: usize) {
        self.bytes.drain(..size.min(self.bytes.len()));
    }
}

/// Result of reading from a connection.
enum TurnResult {
    /// No data at the moment.
    Empty,
    /// There may be more data.
    More,
    /// The client must read its answers first.
    Blocked,
    /// The client has stopped sending.
    End,
    /// The connection is unusable.
    Broken,
}

/// Result of sending received data to the writer.
enum SendResult {
    /// Sent.
    Sent,
    /// The queue is full.
    QueueFull,
    /// The writer is gone.
    Closed,
}

/// Returns the maximum number of connections: `wanted`, or fewer if the system limits open files.
#[cfg(unix)]
fn most_connections(wanted: usize) -> usize {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let mut limit = getrlimit(Resource::Nofile);
    let needed = OWN_FILES.saturating_add(wanted as u64);
    if limit.current.is_some_and(|current| current < needed) {
        let most = limit.maximum.map_or(needed, |maximum| maximum.min(needed));
        limit.current = limit.current.max(Some(most));
        // If this fails, the limit stays lower.
        let _ = setrlimit(Resource::Nofile, limit);
    }
    let current = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    wanted.min(usize::try_from(current.saturating_sub(OWN_FILES)).unwrap_or(usize::MAX)).max(1)
}

#[cfg(not(unix))]
fn most_connections(wanted: usize) -> usize {
    wanted
}

/// Opens a listener with the longest allowed queue of waiting connections. The system resets connections that do not
/// fit, some time after their clients have started sending.
pub(crate) fn bind(address: SocketAddr, connections: usize) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    #[cfg(unix)]
    rustix::net::listen(&listener, connections.clamp(128, 1 << 16) as i32)?;
    #[cfg(not(unix))]
    let _ = connections;
    Ok(listener)
}

impl Tcp {
    /// Creates a receiver. `poll` knows the listeners by tokens from 1 on.
    pub(crate) fn new(
        shared: Arc<CollectorState>,
        poll: Poll,
        listeners: Vec<TcpListener>,
        batches: SyncSender<Batch>,
        done: Receiver<SyncQuestion>,
    ) -> Self {
        Self {
            checker: shared.checker(),
            max_connections: most_connections(shared.options.connections),
            shared,
            poll,
            next: 1 + listeners.len(),
            listeners,
            waits: false,
            cannot_accept: false,
            connections: HashMap::new(),
            ready: VecDeque::new(),
            buffer: vec![0; BUFFER],
            batch: Batch::default(),
            batches: Some(batches),
            done,
        }
    }

    /// Receives until the collector stops.
    pub(crate) fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        let mut stopping: Option<Instant> = None;
        let mut looked = Instant::now();
        loop {
            let patience = match () {
                () if self.batch.is_full() => RETRY,
                () if !self.ready.is_empty() || self.waits => Duration::ZERO,
                () if !self.batch.is_empty() => RETRY,
                () => CHECK_INTERVAL,
            };
            if let Err(error) = self.wait(&mut events, patience) {
                self.shared.notice(&Notice::CannotReceive { error: error.to_string() });
                break;
            }
            if self.shared.is_stopping() {
                let since = *stopping.get_or_insert_with(|| {
                    // Connections in the queue may have sent reports.
                    self.waits = true;
                    Instant::now()
                });
                if self.waits {
                    self.accept();
                }
                // Pending data is read, but not data that keeps arriving.
                if (self.ready.is_empty() && events.is_empty()) || since.elapsed() >= LAST_READS {
                    break;
                }
            } else if self.waits {
                self.accept();
            }
            if !self.read() {
                break;
            }
            if looked.elapsed() >= CHECK_INTERVAL && events.iter().count() < EVENTS {
                looked = Instant::now();
                self.waits |= self.cannot_accept;
                self.close_idle();
            }
        }
        self.end(&mut events);
    }

    /// Waits for events.
    fn wait(&mut self, events: &mut Events, patience: Duration) -> io::Result<()> {
        match self.poll.poll(events, Some(patience)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => result?,
        }
        let mut writable = Vec::new();
        for event in events.iter() {
            match event.token() {
                WAKER => {}
                Token(token) if token <= self.listeners.len() => self.waits = true,
                Token(token) => {
                    if event.is_readable() || event.is_read_closed() || event.is_error() {
                        self.make_ready(token);
                    }
                    if event.is_writable() {
                        writable.push(token);
                    }
                }
            }
        }
        writable.into_iter().for_each(|token| self.send(token));
        self.answer();
        Ok(())
    }

    fn make_ready(&mut self, token: usize) {
        if let Some(connection) = self.connections.get_mut(&token)
            && !connection.is_ready
        {
            connection.is_ready = true;
            self.ready.push_back(token);
        }
    }

    fn accept(&mut self) {
        (self.waits, self.cannot_accept) = (false, false);
        for at in 0..self.listeners.len() {
            while let Some(listener) = self.listeners.get(at) {
                match listener.accept() {
                    Ok((stream, _)) => self.begin(stream),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // A connection failed, not the listener.
                    Err(error)
                        if matches!(
                            error.kind(),
                            io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
                        ) => {}
                    Err(error) => {
                        if !self.cannot_accept {
                            self.shared.notice(&Notice::CannotAccept { error: error.to_string() });
                        }
                        // The next check tries again.
                        self.cannot_accept = true;
                        break;
                    }
                }
            }
        }
    }

    fn begin(&mut self, mut stream: TcpStream) {
        let counters = &self.shared.counters;
        if self.connections.len() >= self.max_connections {
            counters.refused_connections.add(1);
            return;
        }
        let token = self.next;
        self.next += 1;
        let interest = Interest::READABLE | Interest::WRITABLE;
        if self.poll.registry().register(&mut stream, Token(token), interest).is_err() {
            counters.refused_connections.add(1);
            return;
        }
        // Answers are short, and clients wait for them.
        let _ = stream.set_nodelay(true);
        counters.connections.add(1);
        let connection = ClientConnection {
            stream,
            frames: Frames::default(),
            answers: Answers::default(),
            asked: 0,
            is_ready: false,
            has_ended: false,
            last: Instant::now(),
        };
        self.connections.insert(token, connection);
        counters.open_connections.set(self.connections.len() as u64);
    }

    /// Reads one turn from each ready connection, and sends the data to the writer while its queue has space. Returns
    /// `false` if the writer is gone.
    fn read(&mut self) -> bool {
        if self.batch.is_full() {
            match self.pass_on() {
                SendResult::Sent => {}
                SendResult::QueueFull => return true,
                SendResult::Closed => return false,
            }
        }
        for _ in 0..self.ready.len() {
            let Some(token) = self.ready.pop_front() else { break };
            match self.read_turn(token) {
                TurnResult::More => self.ready.push_back(token),
                // A blocked connection becomes ready again when its answers are sent.
                TurnResult::Empty | TurnResult::Blocked => {
                    if let Some(connection) = self.connections.get_mut(&token) {
                        connection.is_ready = false;
                    }
                }
                TurnResult::End => self.end_of_input(token),
                TurnResult::Broken => self.close(token),
            }
            if self.batch.is_full() {
                match self.pass_on() {
                    SendResult::Sent => {}
                    SendResult::QueueFull => return true,
                    SendResult::Closed => return false,
                }
            }
        }
        !matches!(self.pass_on(), SendResult::Closed)
    }

    fn read_turn(&mut self, token: usize) -> TurnResult {
        let Some(connection) = self.connections.get_mut(&token) else { return TurnResult::Empty };
        if connection.has_ended {
            return TurnResult::Empty;
        }
        let counters = &self.shared.counters;
        let mut read = 0;
        while read < TURN && !self.batch.is_full() {
            if !connection.answers.is_empty() || 16 * connection.asked as usize > ANSWERS {
                return TurnResult::Blocked;
            }
            let size = match connection.stream.read(&mut self.buffer) {
                Ok(0) => return TurnResult::End,
                Ok(size) => size,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return TurnResult::Empty,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => {
                    counters.cut_off.add(u64::from(connection.frames.is_within_report()));
                    return TurnResult::Broken;
                }
            };
            read += size;
            let whole = connection.frames.complete_reports();
            let mut target = ReportTarget {
                connection: token,
                longest: self.shared.options.longest,
                checker: &self.checker,
                counters,
                batch: &mut self.batch,
            };
            match connection.frames.take(self.buffer.get(..size).unwrap_or_default(), &mut target) {
                Ok(syncs) => {
                    connection.asked = connection.asked.saturating_add(syncs);
                    // Single bytes must not keep a connection open.
                    if syncs > 0 || connection.frames.complete_reports() > whole {
                        connection.last = Instant::now();
                    }
                }
                Err(_) => {
                    counters.bad_lengths.add(1);
                    return TurnResult::Broken;
                }
            }
        }
        TurnResult::More
    }

    /// Handles a client that has stopped sending, but may wait for answers.
    fn end_of_input(&mut self, token: usize) {
        let Some(connection) = self.connections.get_mut(&token) else { return };
        self.shared.counters.cut_off.add(u64::from(connection.frames.is_within_report()));
        connection.has_ended = true;
        connection.is_ready = false;
        if connection.asked == 0 && connection.answers.is_empty() {
            self.close(token);
        }
    }

    /// Sends received data to the writer if its queue has space. Does not wait, so that clients are still answered and
    /// closed while the disk is slow.
    fn pass_on(&mut self) -> SendResult {
        if self.batch.is_empty() {
            return SendResult::Sent;
        }
        let Some(batches) = &self.batches else { return SendResult::Closed };
        match batches.try_send(std::mem::take(&mut self.batch)) {
            Ok(()) => SendResult::Sent,
            Err(TrySendError::Full(batch)) => {
                self.batch = batch;
                SendResult::QueueFull
            }
            Err(TrySendError::Disconnected(_)) => SendResult::Closed,
        }
    }

    /// Sends answers to clients.
    fn answer(&mut self) {
        let mut answered = Vec::new();
        while let Ok(sync) = self.done.try_recv() {
            self.add_answer(sync);
            answered.push(sync.connection);
        }
        // One client's answers are sent together.
        answered.sort_unstable();
        answered.dedup();
        answered.into_iter().for_each(|token| self.send(token));
    }

    fn add_answer(&mut self, sync: SyncQuestion) {
        if let Some(connection) = self.connections.get_mut(&sync.connection) {
            connection.answers.add(&sync);
            connection.asked = connection.asked.saturating_sub(sync.count);
            connection.last = Instant::now();
        }
    }

    /// Sends answers until the client would block.
    fn send(&mut self, token: usize) {
        let Some(connection) = self.connections.get_mut(&token) else { return };
        if connection.answers.is_empty() {
            return;
        }
        while !connection.answers.is_empty() {
            match connection.stream.write(connection.answers.next()) {
                Ok(size) => connection.answers.sent(size),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return self.close(token),
            }
        }
        if connection.has_ended && connection.asked == 0 {
            self.close(token);
        } else {
            // The connection may have been blocked until now.
            self.make_ready(token);
        }
    }

    fn close_idle(&mut self) {
        let idle = self.shared.options.idle;
        // A client without an answer is waiting for the disk.
        let is_idle = |it: &ClientConnection| !it.is_ready && it.asked == 0 && it.last.elapsed() >= idle;
        let all = self.connections.iter();
        let closed: Vec<usize> = all.filter(|(_, it)| is_idle(it)).map(|(token, _)| *token).collect();
        for token in closed {
            self.shared.counters.idle_connections.add(1);
            self.close(token);
        }
    }

    fn close(&mut self, token: usize) {
        if let Some(mut connection) = self.connections.remove(&token) {
            let _ = self.poll.registry().deregister(&mut connection.stream);
        }
        self.shared.counters.open_connections.set(self.connections.len() as u64);
    }

    /// Stops receiving, and sends the last answers.
    fn end(mut self, events: &mut Events) {
        self.listeners.clear();
        if let (Some(batches), false) = (&self.batches, self.batch.is_empty()) {
            // Waiting for the disk is fine: nothing else is left to do.
            let _ = batches.send(std::mem::take(&mut self.batch));
        }
        // Now the writer can end. After that, there are no more answers.
        self.batches = None;
        let begun = Instant::now();
        while begun.elapsed() < LAST_ANSWERS {
            match self.done.try_recv() {
                Ok(sync) => {
                    let connection = sync.connection;
                    self.add_answer(sync);
                    self.send(connection);
                }
                Err(TryRecvError::Empty) => {
                    let _ = self.wait(events, CHECK_INTERVAL);
                }
                Err(TryRecvError::Disconnected) => {
                    if self.connections.values().all(|it| it.answers.is_empty()) {
                        break;
                    }
                    let _ = self.wait(events, CHECK_INTERVAL);
                }
            }
        }
        let open: Vec<usize> = self.connections.keys().copied().collect();
        open.into_iter().for_each(|token| self.close(token));
    }
}
