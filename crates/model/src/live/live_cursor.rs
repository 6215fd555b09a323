//! Cursor that waits for a live input.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::{LiveFeed, LiveOptions, LivePoll};
use crate::cursor::{Cursor, Head, MessageKind};
use crate::message::Message;
use crate::trace::Window;

/// Shortest time between two inactivity messages without new data. Other inputs wait at most this long for them.
const PAUSE: Duration = Duration::from_millis(10);

/// Position of the cursor.
#[derive(Clone, Copy, Debug)]
enum LivePosition {
    Begin,
    /// At the feed's current message.
    Message(Head),
    /// At an inactivity message.
    Inactivity,
    End,
}

/// Cursor over the messages of a live input.
pub(super) struct LiveCursor {
    name: String,
    feed: Box<dyn LiveFeed>,
    options: LiveOptions,
    window: Window,
    position: LivePosition,
    /// Time of the last inactivity message.
    inactive_until: Option<i128>,
    /// `true` if messages were delivered after the last inactivity message.
    has_news: bool,
    /// Number of [arrivals](super::Arrivals) at the last inactivity message.
    seen: u64,
    /// `true` if the input is no longer waited for.
    is_silent: bool,
    is_stopped: bool,
}

impl LiveCursor {
    pub(super) fn new(name: String, feed: Box<dyn LiveFeed>, options: LiveOptions, window: Window) -> Self {
        Self {
            name,
            feed,
            options,
            window,
            position: LivePosition::Begin,
            inactive_until: None,
            has_news: false,
            seen: 0,
            is_silent: false,
            is_stopped: false,
        }
    }

    /// Stops the feed, once.
    fn stop(&mut self) {
        if !std::mem::replace(&mut self.is_stopped, true) {
            self.feed.stop();
        }
    }

    /// Moves to a message of the feed. Returns `false` if it is outside the window.
    fn deliver(&mut self, head: Head) -> bool {
        if std::mem::take(&mut self.is_silent) {
            self.options.observer.resumed(&self.name);
        }
        if let Some(time) = head.nanoseconds().filter(|_| head.kind == MessageKind::Event) {
            if self.window.end.is_some_and(|end| time > end) {
                self.stop();
                return false;
            }
            if self.window.begin.is_some_and(|begin| time < begin) {
                return false;
            }
        }
        self.has_news = true;
        self.position = LivePosition::Message(head);
        true
    }

    /// Moves to an inactivity message.
    fn pause(&mut self, until: Option<i128>) {
        self.inactive_until = self.inactive_until.max(until);
        self.has_news = false;
        self.seen = self.options.arrivals.count();
        self.position = LivePosition::Inactivity;
    }
}

/// Returns the wall clock in nanoseconds from the Unix epoch.
fn wall_clock() -> Option<i128> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    i128::try_from(since.as_nanos()).ok()
}

impl Cursor for LiveCursor {
    fn advance(&mut self) -> bool {
        if matches!(self.position, LivePosition::End) {
            return false;
        }
        let patience = self.options.patience.saturating_add(self.feed.sign_interval());
        let begin = Instant::now();
        loop {
            let arrived = self.options.arrivals.count();
            if self.options.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                self.stop();
            }
            let until = match self.feed.poll() {
                LivePoll::Message(head) if self.deliver(head) => return true,
                LivePoll::Message(_) => continue,
                LivePoll::Pending(until) => until,
                LivePoll::End => {
                    self.position = LivePosition::End;
                    return false;
                }
                LivePoll::Failed(error) => {
                    self.options.observer.failed(&self.name, &error);
                    self.position = LivePosition::End;
                    return false;
                }
            };
            if self.has_news || (until > self.inactive_until && arrived != self.seen) {
                self.pause(until);
                return true;
            }
            // Only time has passed since the last inactivity message.
            let waited = self.options.arrivals.wait(arrived, PAUSE) != arrived;
            if !waited && until > self.inactive_until {
                self.pause(until);
                return true;
            }
            if !self.is_silent && begin.elapsed() >= patience {
                self.is_silent = true;
                self.options.observer.silent(&self.name);
            }
            if self.is_silent {
                self.pause(wall_clock());
                return true;
            }
        }
    }

    fn head(&self) -> Option<Head> {
        match self.position {
            LivePosition::Message(head) => Some(head),
            LivePosition::Inactivity => Some(Head::new(MessageKind::Inactivity, self.inactive_until)),
            LivePosition::Begin | LivePosition::End => None,
        }
    }

    fn current(&self) -> Option<Message<'_>> {
        match self.position {
            LivePosition::Message(_) => self.feed.current(),
            LivePosition::Inactivity => Some(Message::Inactivity(self.inactive_until)),
            LivePosition::Begin | LivePosition::End => None,
        }
    }
}
