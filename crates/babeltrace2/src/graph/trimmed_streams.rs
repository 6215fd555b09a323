//! Data streams in time windows.
//!
//! A trimmer does more than drop events: a loss that begins before the window begins with it and has an unknown number,
//! packets and data streams begin and end with the window if it cuts them, and data streams that end before it are
//! not passed on.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos::export::{DetailsPart, StreamTimes};
use ichnos::model::clock::{ClockArithmetic, ClockValue};
use ichnos::model::cursor::MessageKind;
use ichnos::model::event::Packet;
use ichnos::model::message::Discarded;
use ichnos::model::{DataStream, OpenedTrace, Window};
use ichnos::{Pass, Session};

/// Data stream in a time window.
#[derive(Clone, Debug)]
pub(crate) struct TrimmedStream {
    pub(crate) stream: Arc<DataStream>,
    pub(crate) window: Window,
    /// Clock values at the bounds of the window.
    begin: Option<ClockValue>,
    end: Option<ClockValue>,
    /// First and last time of the whole data stream, if known.
    range: Option<(i128, i128)>,
}

/// Trimmed data streams. Others are whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrimmedStreams {
    /// By their keys.
    trimmed: Arc<HashMap<u32, TrimmedStream>>,
    /// Data streams that end before the window.
    early: Arc<[Arc<DataStream>]>,
}

impl TrimmedStreams {
    /// Finds the trimmed data streams of a session. Removes the windows of data streams that end before them.
    pub(crate) fn new(session: &Session, windows: &mut HashMap<u32, Window>) -> Self {
        let (mut found, mut early) = (HashMap::new(), Vec::new());
        if windows.values().all(|window| *window == Window::default()) {
            return Self::default();
        }
        for trace in session.traces() {
            let mut indexes = 0..;
            trace.for_each_stream(&mut |summary| {
                let index = indexes.next().unwrap_or(0);
                let key = summary.stream.key;
                let Some(window) = windows.get(&key).copied() else { return };
                if is_before(summary.time_range, window) && !has_event_in(trace.as_ref(), index, window) {
                    windows.remove(&key);
                    early.push(summary.stream);
                    return;
                }
                let at = |bound: Option<i128>| value_at(&summary.stream, bound?);
                let (begin, end) = (at(window.begin), at(window.end));
                let range = summary.time_range;
                found.insert(key, TrimmedStream { stream: summary.stream, window, begin, end, range });
            });
        }
        Self { trimmed: Arc::new(found), early: early.into() }
    }

    /// Returns `true` if all data streams are whole.
    pub(crate) fn is_empty(&self) -> bool {
        self.trimmed.is_empty()
    }

    /// Returns a trimmed data stream.
    pub(crate) fn get(&self, key: u32) -> Option<&TrimmedStream> {
        self.trimmed.get(&key)
    }

    /// Returns the times of the data streams that a window cuts, and the data streams without messages.
    pub(crate) fn part(&self) -> DetailsPart {
        let times = self.trimmed.iter().map(|(key, trimmed)| (*key, trimmed.times())).collect();
        DetailsPart { times, further_streams: self.early.to_vec() }
    }

    /// Trims the losses in a pass. Without `has_uncounted`, losses that are uncertain in the trace itself are dropped.
    pub(crate) fn trim(&self, pass: Pass, has_uncounted: bool) -> Pass {
        if self.is_empty() && has_uncounted {
            return pass;
        }
        let streams = self.clone();
        pass.map_losses(move |loss| {
            (has_uncounted || loss.count.is_some())
                && streams.get(loss.stream.key).is_none_or(|trimmed| trimmed.trim(loss))
        })
    }
}

impl TrimmedStream {
    /// Returns the times of the data stream, if the window cuts it.
    fn times(&self) -> StreamTimes {
        let mut times = StreamTimes::default();
        let Some((begin, end)) = self.range else { return times };
        times.begin = self.begin.filter(|_| self.window.begin.is_some_and(|first| begin < first));
        let is_cut = self.window.end.is_some_and(|last| begin <= last && last < end);
        times.end = self.end.filter(|_| is_cut);
        times
    }

    /// Returns `true` if the window ends before the data stream, so that it does not end by itself.
    pub(crate) fn ends_with_window(&self) -> bool {
        self.window.end.zip(self.range).is_some_and(|(last, (_, end))| last < end)
    }

    /// Moves the start of a packet, which does not end before the window, into the window. Returns `true` if it began
    /// before.
    pub(crate) fn trim_begin(&self, begin: &mut Option<ClockValue>) -> bool {
        let is_early = self.is_early(*begin);
        if is_early {
            *begin = self.begin;
        }
        is_early
    }

    /// Moves the end of a packet into the window. Returns `true` if it ended later.
    pub(crate) fn trim_end(&self, end: &mut Option<ClockValue>) -> bool {
        let is_late = self.is_late(*end);
        if is_late {
            *end = self.end;
        }
        is_late
    }

    /// Returns `true` for a known time before the window.
    pub(crate) fn is_early(&self, time: Option<ClockValue>) -> bool {
        time.zip(self.window.begin).is_some_and(|(time, first)| time.nanoseconds < first)
    }

    /// Returns `true` for a packet that ends before the window. A packet whose end time precedes its begin time has
    /// no known end.
    pub(crate) fn ends_early(&self, packet: &Packet<'_>) -> bool {
        let is_known =
            packet.begin.zip(packet.end).is_none_or(|(begin, end)| begin.nanoseconds <= end.nanoseconds);
        is_known && self.is_early(packet.end)
    }

    /// Returns `true` for a known time after the window.
    pub(crate) fn is_late(&self, time: Option<ClockValue>) -> bool {
        time.zip(self.window.end).is_some_and(|(time, last)| time.nanoseconds > last)
    }

    /// Returns `true` if a loss begins with the window.
    pub(crate) fn begins_with_window(&self, loss: &Discarded<'_>) -> bool {
        loss.begin.is_some() && loss.begin == self.begin
    }

    /// Trims a loss. Returns `false` if it is not in the window.
    fn trim(&self, loss: &mut Discarded<'_>) -> bool {
        if self.is_early(loss.end) || self.is_late(loss.begin) {
            return false;
        }
        if self.trim_begin(&mut loss.begin) {
            loss.count = None;
        }
        if self.trim_end(&mut loss.end) {
            loss.count = None;
        }
        true
    }
}

/// Returns `true` if a data stream has an event in a window. With a tracer bug, the last packet can end before its last
/// event.
fn has_event_in(trace: &dyn OpenedTrace, stream: usize, window: Window) -> bool {
    let Some(mut cursor) = trace.cursor(stream, window) else { return false };
    std::iter::from_fn(|| cursor.next_head()).any(|head| head.kind == MessageKind::Event)
}

/// Returns `true` if the packets of a data stream end before a window.
fn is_before(range: Option<(i128, i128)>, window: Window) -> bool {
    range.zip(window.begin).is_some_and(|((_, end), first)| end < first)
}

/// Returns the clock value of a data stream at a time, as Babeltrace computes it.
fn value_at(stream: &DataStream, nanoseconds: i128) -> Option<ClockValue> {
    let clock = stream.clock()?;
    let cycles = clock.cycles_at(nanoseconds)?;
    Some(ClockValue { nanoseconds: clock.nanoseconds_in(ClockArithmetic::Double, cycles), cycles })
}
