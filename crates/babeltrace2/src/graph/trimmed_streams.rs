//! Data streams in time windows.
//!
//! A trimmer does more than drop events: a loss that begins before the window begins with it and has an unknown number,
//! packets and data streams begin and end with the window if it cuts them, and data streams that end before it are
//! not passed on.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ichnos::export::{DetailsPart, StreamTimes};
use ichnos::model::clock::{ClockArithmetic, ClockValue};
use ichnos::model::event::Packet;
use ichnos::model::message::Discarded;
use ichnos::model::{DataStream, Window};
use ichnos::{Pass, Session};

use crate::command::Failure;

const BILLION: i128 = 1_000_000_000;

/// Data stream in a time window.
#[derive(Clone, Debug)]
pub(crate) struct TrimmedStream {
    pub(crate) stream: Arc<DataStream>,
    pub(crate) window: Window,
    /// Clock values at the bounds of the window.
    pub(crate) begin: Option<ClockValue>,
    pub(crate) end: Option<ClockValue>,
    /// First and last time of the whole data stream, if known.
    range: Option<(i128, i128)>,
}

/// Trimmed data streams. Others are whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrimmedStreams {
    /// By their keys.
    trimmed: Arc<HashMap<u32, TrimmedStream>>,
    /// Data streams that end before the window, by their keys.
    early: Arc<BTreeMap<u32, Arc<DataStream>>>,
    /// Numbers of data streams without an id in their trace, by their keys.
    numbers: Arc<HashMap<u32, u128>>,
}

impl TrimmedStreams {
    /// Finds the trimmed data streams of a session. Removes the windows of data streams that end before them.
    ///
    /// # Errors
    /// If a trimmed data stream has no clock.
    pub(crate) fn new(session: &Session, windows: &mut HashMap<u32, Window>) -> Result<Self, Failure> {
        let (mut found, mut early) = (HashMap::new(), BTreeMap::new());
        if windows.values().all(|window| *window == Window::default()) {
            return Ok(Self::default());
        }
        let mut without_clock = None;
        let mut numbers = HashMap::new();
        for trace in session.traces() {
            let without_id = trace.data_streams().into_iter().filter(|stream| stream.id.is_none());
            numbers.extend(without_id.map(|stream| stream.key).zip(0..));
            trace.for_each_stream(&mut |summary| {
                let key = summary.stream.key;
                let Some(window) = windows.get(&key).copied() else { return };
                if summary.stream.clock().is_none() && window != Window::default() && !session.is_live() {
                    without_clock = Some(window);
                }
                if is_before(summary.time_range, window) {
                    windows.remove(&key);
                    early.insert(key, summary.stream);
                    return;
                }
                let at = |bound: Option<i128>| value_at(&summary.stream, bound?);
                let (begin, end) = (at(window.begin), at(window.end));
                let range = summary.active_range.zip(summary.time_range);
                let range = range.map(|((begin, _), (_, end))| (begin, end));
                found.insert(key, TrimmedStream { stream: summary.stream, window, begin, end, range });
            });
        }
        if let Some(window) = without_clock {
            return Err(Failure::from_cause(match window.begin {
                Some(begin) => {
                    format!(
                        "Cannot make upstream message iterator initially seek: seek-ns-from-origin={begin}"
                    )
                }
                None => "Unsupported stream: stream class does not have a default clock class".to_owned(),
            }));
        }
        Ok(Self { trimmed: Arc::new(found), early: Arc::new(early), numbers: Arc::new(numbers) })
    }

    /// Returns `true` if all data streams are whole.
    pub(crate) fn is_empty(&self) -> bool {
        self.trimmed.is_empty()
    }

    /// Returns `true` if the data streams have different windows.
    pub(crate) fn have_several_windows(&self) -> bool {
        let mut windows = self.trimmed.values().map(|trimmed| trimmed.window);
        windows.next().is_some_and(|first| windows.any(|other| other != first))
    }

    /// Returns a trimmed data stream.
    pub(crate) fn get(&self, key: u32) -> Option<&TrimmedStream> {
        self.trimmed.get(&key)
    }

    /// Returns `true` for a data stream with a window, also if it ends before.
    pub(crate) fn contains(&self, key: u32) -> bool {
        self.trimmed.contains_key(&key) || self.is_early(key)
    }

    /// Returns `true` for a data stream that ends before its window.
    pub(crate) fn is_early(&self, key: u32) -> bool {
        self.early.contains_key(&key)
    }

    /// Returns the start time of the window, which is the same for all data streams behind one trimmer.
    pub(crate) fn window_begin(&self) -> Option<i128> {
        self.trimmed.values().find_map(|trimmed| trimmed.window.begin)
    }

    /// Returns the times of the data streams that a window cuts, and all data streams.
    pub(crate) fn part(&self) -> DetailsPart {
        let times = self.trimmed.iter().map(|(key, trimmed)| (*key, trimmed.times())).collect();
        let mut streams = (*self.early).clone();
        streams.extend(self.trimmed.iter().map(|(key, trimmed)| (*key, Arc::clone(&trimmed.stream))));
        DetailsPart { times, streams, numbers: (*self.numbers).clone() }
    }

    /// Trims the losses in a pass. Drops losses of which the trace knows neither the number nor the extent.
    pub(crate) fn trim(&self, pass: Pass) -> Pass {
        let streams = self.clone();
        pass.map_losses(move |loss| {
            loss.count.is_some() && streams.get(loss.stream.key).is_none_or(|trimmed| trimmed.trim(loss))
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

    /// Returns `true` if the window begins after the data stream's begin, as far as is known.
    pub(crate) fn begins_with_window(&self) -> bool {
        self.window.begin.is_some_and(|first| self.range.is_none_or(|(begin, _)| begin < first))
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

    /// Returns `true` for a packet that ends before the window, as far as its context shows. A packet whose end time
    /// precedes its begin time can end at any later time.
    pub(crate) fn ends_early(&self, packet: &Packet<'_>) -> bool {
        self.is_early(packet.begin) && self.is_early(packet.end)
    }

    /// Returns `true` for a known time after the window.
    pub(crate) fn is_late(&self, time: Option<ClockValue>) -> bool {
        time.zip(self.window.end).is_some_and(|(time, last)| time.nanoseconds > last)
    }

    /// Returns `true` if a loss begins with the window.
    pub(crate) fn starts_window(&self, loss: &Discarded<'_>) -> bool {
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

/// Returns `true` if the packets of a data stream end before a window.
fn is_before(range: Option<(i128, i128)>, window: Window) -> bool {
    range.zip(window.begin).is_some_and(|((_, end), first)| end < first)
}

/// Returns the clock value of a data stream at a time, as Babeltrace computes it: it rounds down the offset, and then the
/// time since the offset.
fn value_at(stream: &DataStream, nanoseconds: i128) -> Option<ClockValue> {
    let clock = stream.clock()?;
    let frequency = i128::from(clock.frequency);
    let offset = i128::from(clock.offset_cycles) * BILLION / frequency.max(1);
    let since = nanoseconds - i128::from(clock.offset_seconds) * BILLION - offset;
    let cycles = u64::try_from(since.checked_mul(frequency)?.div_euclid(BILLION)).ok()?;
    Some(ClockValue { nanoseconds: clock.nanoseconds_in(ClockArithmetic::Double, cycles), cycles })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ichnos::model::class::DataStreamClass;
    use ichnos::model::clock::ClockClass;
    use ichnos::model::trace::Limits;
    use ichnos::model::{Trace, TraceClass};

    #[test]
    fn bounds_are_rounded_as_in_babeltrace() {
        let cycles = |frequency: u64, offset: u64, nanoseconds: i128| {
            let mut clock = ClockClass::new("c", frequency);
            (clock.offset_seconds, clock.offset_cycles) = (10, offset);
            let class = TraceClass::new("CTF 1.8", [clock], [DataStreamClass::new(Some(0), [])]);
            let trace = Arc::new(Trace::new(class, "", &Limits::default()).unwrap());
            let stream = DataStream::new(trace, 0, None, "").unwrap();
            value_at(&stream, nanoseconds).map(|value| value.cycles)
        };
        assert_eq!(cycles(1_000, 250, 10_250_999_999), Some(0));
        assert_eq!(cycles(1_000, 250, 10_251_000_000), Some(1));
        assert_eq!(cycles(1_000, 250, 10_249_999_999), None);
        // The offset is 0.333333333 s.
        assert_eq!(cycles(3, 1, 10_333_333_333), Some(0));
        assert_eq!(cycles(3, 1, 10_666_666_666), Some(0));
        assert_eq!(cycles(3, 1, 10_666_666_667), Some(1));
    }
}
