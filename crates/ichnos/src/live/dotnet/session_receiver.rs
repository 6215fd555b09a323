//! Thread that receives the stream of a session.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ichnos_dotnet_diagnostics::{DiagnosticsError, Session, SessionChunk, SessionEnd};

use ichnos_model::live::Arrivals;

use super::inbox::{Inbox, InboxRequest};
use super::pause::{FLUSH_END, Pause};

/// Time between two looks at the inbox.
const LOOK: Duration = Duration::from_millis(10);

/// Size of the buffer for received bytes.
const BUFFER: usize = 256 << 10;

/// Receives the stream of a session.
pub(super) struct SessionReceiver {
    session: Session,
    inbox: Arc<Inbox>,
    arrivals: Arrivals,
}

impl SessionReceiver {
    pub(super) fn new(session: Session, inbox: Arc<Inbox>, arrivals: Arrivals) -> Self {
        Self { session, inbox, arrivals }
    }

    /// Receives until the stream ends or nobody reads it.
    pub(super) fn run(mut self) {
        let problem = match self.receive() {
            Ok(()) => match self.session.end() {
                Some(SessionEnd::Reset) => Some("the process broke the connection".to_owned()),
                _ => None,
            },
            Err(error) => Some(error.to_string()),
        };
        self.inbox.end(problem);
        self.arrivals.notify();
    }

    fn receive(&mut self) -> Result<(), DiagnosticsError> {
        let mut buffer = vec![0; BUFFER];
        let mut since = Instant::now();
        let mut is_flush_open = false;
        loop {
            match self.inbox.request() {
                InboxRequest::Receive => {}
                InboxRequest::Stop => self.session.stop()?,
                // Dropping the session stops it.
                InboxRequest::Close => return Ok(()),
            }
            let until = Instant::now();
            match self.session.read_chunk(&mut buffer, LOOK)? {
                SessionChunk::Data(count) => {
                    self.inbox.put(buffer.get(..count).unwrap_or_default());
                    since = Instant::now();
                    is_flush_open = true;
                    self.arrivals.notify();
                }
                // Nothing was there at `until`, so everything that was sent before has been received.
                SessionChunk::Nothing => {
                    let pause = Pause { since, until };
                    self.inbox.set_pause(pause);
                    if is_flush_open && pause.is_longer_than(FLUSH_END) {
                        is_flush_open = false;
                        self.arrivals.notify();
                    }
                }
                SessionChunk::End => return Ok(()),
            }
        }
    }
}
