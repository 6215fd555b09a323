//! Cursor over the messages of a live input.

use std::time::Instant;

use super::{LiveFeed, LiveOptions, LivePoll, PAUSE, SILENT};
use crate::cursor::{Cursor, Head, MessageKind};
use crate::message::Message;
use crate::trace::Window;

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
    /// Time before which no message follows.
    promised: Option<i128>,
    /// Time of the last sign of life: a message or a later promise.
    alive: Instant,
    /// `true` if the input is no longer waited for.
    is_silent: bool,
    is_stopped: bool,
    /// `true` if messages were delivered after the last inactivity message.
    has_news: bool,
}

impl LiveCursor {
    pub(super) fn new(name: String, feed: Box<dyn LiveFeed>, options: LiveOptions, window: Window) -> Self {
        Self {
            name,
            feed,
            options,
            window,
            position: LivePosition::Begin,
            promised: None,
            alive: Instant::now(),
            is_silent: false,
            is_stopped: false,
            has_news: false,
        }
    }

    /// Stops the feed, once.
    fn stop(&mut self) {
        if !std::mem::replace(&mut self.is_stopped, true) {
            self.feed.stop();
        }
    }

    /// Notes a sign of life.
    fn resume(&mut self) {
        self.alive = Instant::now();
        if std::mem::take(&mut self.is_silent) {
            self.options.observer.resumed(&self.name);
        }
    }

    /// Moves to a message of the feed. Returns `false` if it is outside the window.
    fn deliver(&mut self, head: Head) -> bool {
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

    /// Notes that no message is ready.
    fn wait(&mut self, until: Option<i128>) {
        if until > self.promised {
            self.promised = until;
            self.resume();
        }
        // Messages are timed only while nobody waits for them.
        let was_busy = matches!(self.position, LivePosition::Message(_));
        if was_busy {
            self.alive = Instant::now();
        }
        let patience = self.options.patience.saturating_add(self.feed.sign_interval());
        if !self.is_silent && self.alive.elapsed() >= patience {
            self.is_silent = true;
            self.options.observer.silent(&self.name, patience);
        }
        self.position = LivePosition::Inactivity;
    }
}

impl Cursor for LiveCursor {
    fn advance(&mut self) -> bool {
        if matches!(self.position, LivePosition::End) {
            return false;
        }
        loop {
            let arrived = self.options.arrivals.count();
            if self.options.is_stopped() {
                self.stop();
            }
            match self.feed.poll() {
                LivePoll::Message(head) => {
                    if self.is_silent {
                        self.resume();
                    }
                    if self.deliver(head) {
                        return true;
                    }
                    continue;
                }
                LivePoll::Pending(until) => self.wait(until),
                LivePoll::End => {
                    self.position = LivePosition::End;
                    return false;
                }
                LivePoll::Failed(error) => {
                    self.options.observer.failed(&self.name, &error);
                    self.position = LivePosition::End;
                    return false;
                }
            }
            if std::mem::take(&mut self.has_news) || self.options.waits_elsewhere() {
                return true;
            }
            let _ = self.options.arrivals.wait(arrived, PAUSE);
            self.has_news = true;
        }
    }

    fn head(&self) -> Option<Head> {
        match self.position {
            LivePosition::Message(head) => Some(head),
            LivePosition::Inactivity => {
                let until = if self.is_silent { Some(SILENT) } else { self.promised };
                Some(Head::new(MessageKind::Inactivity, until))
            }
            LivePosition::Begin | LivePosition::End => None,
        }
    }

    fn current(&self) -> Option<Message<'_>> {
        match self.position {
            LivePosition::Message(_) => self.feed.current(),
            LivePosition::Inactivity => Some(Message::Inactivity(self.promised)),
            LivePosition::Begin | LivePosition::End => None,
        }
    }
}
