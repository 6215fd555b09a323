//! Live input from datagrams, for example of programs that log to a socket.

use std::sync::Arc;

use ichnos_io::{DatagramStop, Datagrams, Hint};
use ichnos_model::cursor::{BoxedCursor, MessageKind, StreamCursor as _};
use ichnos_model::live::{LiveFeed, LiveOptions, LivePoll, LiveTrace};
use ichnos_model::message::Message;
use ichnos_model::{Cursor as _, Window};

use crate::{NoTrace, OpenError, OpenOptions};

/// Reads datagrams as they arrive, in the format from the options, otherwise in the first format that is sent as
/// datagrams.
///
/// # Errors
/// If the format is not sent as datagrams.
pub fn open(datagrams: Datagrams, options: &OpenOptions, live: LiveOptions) -> Result<LiveTrace, OpenError> {
    let path = datagrams.name().to_owned();
    let no_trace = |hint: &str| {
        OpenError::NoTrace(Box::new(NoTrace {
            path: path.clone(),
            hint: Hint::new(hint),
            nearby: None,
            is_unknown: false,
            recognized: None,
        }))
    };
    let info = options.formats().map(|format| format.info()).find(|info| info.listen.is_some());
    let Some((info, listen)) = info.and_then(|info| Some((info, info.listen?))) else {
        return Err(no_trace("the format does not support datagrams"));
    };
    let mut read = options.reading();
    read.clock_offsets = options.reading_at(&path).clock_offsets;
    let stop = datagrams.stop();
    let trace = listen(datagrams.into_polled(), &read).map_err(|error| no_trace(&error.to_string()))?;
    let stream = trace.data_streams().first().map(Arc::clone);
    let (Some(stream), Some(cursor)) = (stream, trace.cursor(0, Window::default())) else {
        return Err(no_trace("the format has no data stream for datagrams"));
    };
    Ok(LiveTrace::new(info.name, path, stream, Box::new(DatagramFeed { cursor, stop }), live))
}

/// Messages of arriving datagrams.
struct DatagramFeed {
    cursor: BoxedCursor,
    stop: DatagramStop,
}

impl LiveFeed for DatagramFeed {
    fn poll(&mut self) -> LivePoll {
        match self.cursor.next_head() {
            // Senders promise nothing.
            Some(head) if head.kind == MessageKind::Inactivity => LivePoll::Pending(None),
            Some(head) => LivePoll::Message(head),
            None => LivePoll::End,
        }
    }

    fn current(&self) -> Option<Message<'_>> {
        self.cursor.current()
    }

    fn stop(&mut self) {
        self.stop.stop();
    }
}
