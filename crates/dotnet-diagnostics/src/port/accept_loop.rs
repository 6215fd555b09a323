//! Thread that accepts connections.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::port_state::PortState;
use crate::connection::peer_user;
use crate::deadline::Deadline;
use crate::messages::{Advertise, Command, Request};

/// Maximum number of connections without announcement, or with a resume command that was not answered yet.
const MAX_OPEN: usize = 256;

/// Time limit for announcements and resume replies.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time limit for the last connections when the port is dropped.
const CLOSING: Duration = Duration::from_secs(1);

/// Maximum time between two reads of the port's flags.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

pub(super) struct AcceptLoop {
    listener: UnixListener,
    state: Arc<PortState>,
    announcing: Vec<Announcing>,
    resuming: Vec<Resuming>,
}

/// Connection before its announcement is complete.
struct Announcing {
    stream: UnixStream,
    bytes: [u8; Advertise::LENGTH],
    filled: usize,
    deadline: Deadline,
}

/// Connection with a resume command.
struct Resuming {
    stream: Arc<UnixStream>,
    deadline: Deadline,
}

/// Result of a read that does not wait.
enum Progress {
    Complete(Advertise),
    Waiting,
    Failed,
}

impl AcceptLoop {
    pub(super) fn new(listener: UnixListener, state: Arc<PortState>) -> Self {
        Self { listener, state, announcing: Vec::new(), resuming: Vec::new() }
    }

    /// Runs until the port is dropped.
    pub(super) fn run(mut self) {
        while !self.state.is_closing.load(Ordering::SeqCst) {
            if self.state.resume_arrivals.load(Ordering::SeqCst) {
                self.resume_arrivals();
            }
            self.turn();
        }
        // Runtimes that have just connected wait, too. Nobody else would resume them.
        let deadline = Deadline::after(CLOSING);
        while !deadline.is_over() && self.turn() {}
        self.resume_arrivals();
    }

    /// Waits for a change, and handles it. Returns `false` if nothing has changed.
    fn turn(&mut self) -> bool {
        let waiting = self.state.waiting();
        let mut polled = vec![PollFd::new(&self.listener, PollFlags::IN)];
        polled.extend(self.announcing.iter().map(|open| PollFd::new(&open.stream, PollFlags::IN)));
        polled.extend(self.resuming.iter().map(|open| PollFd::new(&*open.stream, PollFlags::IN)));
        polled.extend(waiting.iter().map(|(_, stream)| PollFd::new(&**stream, PollFlags::RDHUP)));
        if poll(&mut polled, Some(&TICK)).is_err() {
            // A signal, or too little memory.
            thread::sleep(Duration::from_millis(5));
            return true;
        }
        let ready: Vec<bool> = polled.iter().map(|entry| !entry.revents().is_empty()).collect();
        let has_changed = ready.contains(&true);
        let mut ready = ready.into_iter();
        let has_new = ready.next().unwrap_or_default();
        let announced: Vec<bool> = ready.by_ref().take(self.announcing.len()).collect();
        let resumed: Vec<bool> = ready.by_ref().take(self.resuming.len()).collect();
        for ((cookie, stream), is_closed) in waiting.iter().zip(ready) {
            if is_closed {
                self.state.remove(*cookie, stream);
            }
        }
        let mut resumed = resumed.into_iter();
        // A reply or the end: both say that the command has arrived.
        self.resuming.retain(|open| !resumed.next().unwrap_or_default() && !open.deadline.is_over());
        self.read_announcements(&announced);
        if has_new {
            self.accept();
        }
        has_changed
    }

    fn accept(&mut self) {
        match self.listener.accept() {
            Ok((stream, _)) => {
                if self.announcing.len() < MAX_OPEN
                    && stream.set_nonblocking(true).is_ok()
                    && is_welcome(&stream)
                {
                    let bytes = [0; Advertise::LENGTH];
                    let deadline = Deadline::after(PATIENCE);
                    self.announcing.push(Announcing { stream, bytes, filled: 0, deadline });
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // Too many open files, for example.
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    }

    fn read_announcements(&mut self, ready: &[bool]) {
        let mut ready = ready.iter();
        let all = std::mem::take(&mut self.announcing);
        for mut open in all {
            let is_ready = ready.next().copied().unwrap_or_default();
            match if is_ready { open.read() } else { Progress::Waiting } {
                Progress::Complete(advertise) => {
                    if open.stream.set_nonblocking(false).is_ok() {
                        self.state.add(advertise, open.stream);
                    }
                }
                Progress::Waiting if !open.deadline.is_over() => self.announcing.push(open),
                Progress::Waiting | Progress::Failed => {}
            }
        }
    }

    /// Resumes the runtimes that nobody has asked for.
    fn resume_arrivals(&mut self) {
        let now = || Deadline::after(Duration::ZERO);
        while self.resuming.len() < MAX_OPEN
            && let Some(arrival) = self.state.next_arrival(now())
        {
            if let Some(stream) = self.state.connection(arrival.cookie, now()) {
                self.resume(stream);
            }
        }
    }

    fn resume(&mut self, stream: Arc<UnixStream>) {
        let Ok(bytes) = Request::new(Command::ResumeRuntime).encode() else { return };
        // The buffer of a new connection has room for the message, so that this does not wait.
        if (&*stream).write_all(&bytes).is_ok() {
            self.resuming.push(Resuming { stream, deadline: Deadline::after(PATIENCE) });
        }
    }
}

impl Announcing {
    fn read(&mut self) -> Progress {
        let Some(rest) = self.bytes.get_mut(self.filled..) else { return Progress::Failed };
        match self.stream.read(rest) {
            Ok(0) => return Progress::Failed,
            Ok(count) => self.filled += count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => return Progress::Failed,
        }
        if self.filled < Advertise::LENGTH {
            return Progress::Waiting;
        }
        Advertise::decode(&self.bytes).map_or(Progress::Failed, Progress::Complete)
    }
}

/// Returns `true` for connections of the same user, and for all if that is root.
fn is_welcome(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid();
    own.is_root() || peer_user(stream).is_ok_and(|user| user == own.as_raw())
}
