//! Events that end a recording.

use std::sync::Arc;

use ichnos::model::live::{LiveFeed, LiveOptions, LivePoll, LiveTrace};
use ichnos::model::{DataStream, Message, OpenedTrace};
use ichnos::nettrace::{LiveNettrace, NettraceOptions};
use ichnos::{Expression, OpenOptions, Selection, Session};

use crate::exit::Failure;
use crate::progress::Console;
use crate::select::filters;

/// Search for the event that ends a recording.
pub(super) struct LastEvent {
    expression: Expression,
    live: LiveNettrace,
    /// Events that end the recording, after the start of the stream.
    selection: Option<Selection>,
    console: Console,
    has_come: bool,
}

impl LastEvent {
    pub(super) fn new(expression: Expression, console: Console) -> Self {
        let live = LiveNettrace::new("dotnet", &NettraceOptions::default(), Vec::new());
        Self { expression, live, selection: None, console, has_come: false }
    }

    /// Returns `true` if the event has come.
    pub(super) fn has_come(&self) -> bool {
        self.has_come
    }

    /// Reads the next bytes of the stream.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.has_come {
            return Ok(());
        }
        self.live.feed(bytes);
        if self.selection.is_none()
            && self.live.open()
            && let Some(stream) = self.live.stream()
        {
            let session = session(stream);
            self.selection =
                Some(filters::selection(&self.expression, &session, "--until", false, self.console)?);
        }
        if let Some(selection) = &mut self.selection {
            self.has_come = self.live.find_event(|event| selection.wants_event(event));
        }
        Ok(())
    }

    /// Reports that the event has not come.
    pub(super) fn report(&self) {
        self.console.notice("--until: no event matched");
        if let Some(selector) = self.selection.as_ref().and_then(Selection::selector) {
            filters::review(&selector.filter(), "--until", self.console);
        }
    }
}

/// Returns a session that describes a data stream, but cannot be read.
fn session(stream: &Arc<DataStream>) -> Session {
    let trace =
        LiveTrace::new("nettrace", "dotnet", Arc::clone(stream), Box::new(Ended), LiveOptions::default());
    Session::of_live(vec![Box::new(trace) as Box<dyn OpenedTrace>], &OpenOptions::default())
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
