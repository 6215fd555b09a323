//! Growing files that are opened while other inputs are read.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

use ichnos_model::class::{DataStreamClass, TraceClass};
use ichnos_model::clock::ClockClass;
use ichnos_model::live::{LiveFeed, LiveOptions, LivePoll, LiveTrace};
use ichnos_model::message::Message;
use ichnos_model::trace::Limits;
use ichnos_model::{DataStream, Trace};

use super::follow_error::FollowError;

/// Waits for a trace, and opens it.
pub(super) type Opening = Box<dyn FnOnce() -> Result<LiveTrace, FollowError> + Send>;

/// Feed of an input that another thread opens.
struct LaterFeed {
    opened: Receiver<Result<LiveTrace, FollowError>>,
    feed: Option<Box<dyn LiveFeed>>,
    /// Clock that the clock of the input must be related to. `None` for any clock.
    clock: Option<ClockClass>,
    name: String,
    live: LiveOptions,
    is_stopped: bool,
}

/// Returns a trace for an input that is opened on another thread. Until then it has an empty data stream, with a clock
/// that counts from 1970. If `is_related`, the clock of the input must be related to it.
pub(super) fn open(
    name: &str,
    opening: Opening,
    is_related: bool,
    live: &LiveOptions,
) -> Result<LiveTrace, FollowError> {
    let clock = ClockClass::since_unix_epoch("default");
    let class = TraceClass::new("", [clock.clone()], [DataStreamClass::new(Some(0), [])]);
    let trace = Trace::new(class, name, &Limits::default()).ok();
    let stream = trace.and_then(|trace| DataStream::new(Arc::new(trace), 0, None, ""));
    let stream = Arc::new(stream.ok_or(FollowError::Stopped)?);
    let (sender, opened) = sync_channel(1);
    let arrivals = live.arrivals.clone();
    let open = move || {
        // Nobody waits for it after the end.
        let _ = sender.send(opening());
        arrivals.notify();
    };
    std::thread::Builder::new().name("open".to_owned()).spawn(open).map_err(FollowError::Thread)?;
    let clock = is_related.then_some(clock);
    let feed =
        LaterFeed { opened, feed: None, clock, name: name.to_owned(), live: live.clone(), is_stopped: false };
    Ok(LiveTrace::new("", name, stream, Box::new(feed), live.clone()))
}

impl LaterFeed {
    /// Takes the opened input. Returns the reason if it cannot be read together with the other inputs.
    fn begin(&mut self, trace: LiveTrace) -> Option<String> {
        let (stream, feed) = trace.into_parts();
        if let Some((own, common)) = stream.clock().zip(self.clock.as_ref())
            && !own.correlates_with(common)
        {
            return Some(format!(
                "the clock `{}` does not count from 1970: its events cannot be ordered among the others",
                own.id
            ));
        }
        self.feed = feed;
        if let Some(feed) = self.feed.as_mut().filter(|_| self.is_stopped) {
            feed.stop();
        }
        None
    }
}

impl LiveFeed for LaterFeed {
    fn poll(&mut self) -> LivePoll {
        loop {
            if let Some(feed) = &mut self.feed {
                return feed.poll();
            }
            match self.opened.try_recv() {
                Ok(Ok(trace)) => {
                    if let Some(problem) = self.begin(trace) {
                        self.live.observer.unrelated(&self.name, &problem);
                        return LivePoll::End;
                    }
                }
                Ok(Err(FollowError::Stopped)) | Err(TryRecvError::Disconnected) => return LivePoll::End,
                Ok(Err(error)) => return LivePoll::Failed(error.to_string()),
                // The thread ends by the flag of all inputs only.
                Err(TryRecvError::Empty) if self.is_stopped && !self.live.is_stopped() => {
                    return LivePoll::End;
                }
                Err(TryRecvError::Empty) => return LivePoll::Pending(None),
            }
        }
    }

    fn current(&self) -> Option<Message<'_>> {
        self.feed.as_ref()?.current()
    }

    fn stop(&mut self) {
        self.is_stopped = true;
        if let Some(feed) = &mut self.feed {
            feed.stop();
        }
    }

    fn sign_interval(&self) -> std::time::Duration {
        self.feed.as_ref().map(|feed| feed.sign_interval()).unwrap_or_default()
    }
}
