//! Search for an event in the stream of a .NET process, while something else keeps the stream.

use std::fmt;
use std::sync::Arc;

use ichnos_model::live::{LiveFeed, LiveOptions, LivePoll, LiveTrace};
use ichnos_model::{Event, Message, OpenedTrace};

use crate::nettrace::{LiveNettrace, NettraceOptions};
use crate::{OpenOptions, Session};

/// Search in the bytes that a process has sent so far.
pub struct DotnetSearch {
    live: LiveNettrace,
    session: Option<Session>,
}

impl DotnetSearch {
    /// Creates a search at the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        let live = LiveNettrace::new("dotnet", &NettraceOptions::default(), Vec::new());
        Self { live, session: None }
    }

    /// Adds bytes. [`find`](Self::find) reads them.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.live.feed(bytes);
    }

    /// Returns a session that describes the data stream, after the start of the stream has arrived. It has no events.
    pub fn session(&mut self) -> Option<&Session> {
        if self.session.is_none() && self.live.open() {
            let stream = Arc::clone(self.live.stream()?);
            let trace = LiveTrace::new("nettrace", "dotnet", stream, Box::new(Ended), LiveOptions::default());
            let traces = vec![Box::new(trace) as Box<dyn OpenedTrace>];
            self.session = Some(Session::of_live(traces, &OpenOptions::default()));
        }
        self.session.as_ref()
    }

    /// Reads the bytes so far, in any order, until a function returns `true` for an event. Returns `true` then.
    pub fn find(&mut self, wants: impl FnMut(&Event<'_>) -> bool) -> bool {
        self.live.find_event(wants)
    }
}

impl Default for DotnetSearch {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for DotnetSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DotnetSearch").field("live", &self.live).finish_non_exhaustive()
    }
}

/// Feed without messages.
struct Ended;

impl LiveFeed for Ended {
    fn poll(&mut self) -> LivePoll {
        LivePoll::End
    }

    fn current(&self) -> Option<Message<'_>> {
        None
    }

    fn stop(&mut self) {}
}
