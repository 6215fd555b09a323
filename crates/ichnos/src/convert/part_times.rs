//! Split times for parts with a duration or a size.

use std::collections::HashSet;
use std::io;
use std::ops::ControlFlow;

use ichnos_model::{Event, Message};

use crate::{Pass, Reader};

/// Parts of [`SplitBy::Times`](crate::SplitBy::Times) with a duration or a size.
///
/// ```no_run
/// use ichnos::Pass;
/// use ichnos::convert::PartTimes;
///
/// let session = ichnos::open(["my-trace"], &ichnos::OpenOptions::default())?;
/// let reader = session.reader()?;
/// // At most 1,000 parts of 10 s each.
/// let times = PartTimes::by_duration(&reader, &Pass::default(), 10_000_000_000, 1_000)?;
/// println!("{} parts", times.have_events.iter().filter(|has_events| **has_events).count());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartTimes {
    /// Start times of all parts except the first, sorted, in nanoseconds from the origin.
    pub begins: Vec<i128>,
    /// `true` for each part with events. The last part is for data streams without a clock.
    pub have_events: Vec<bool>,
}

/// Error of a search for split times.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartTimesError {
    /// There would be more parts than allowed.
    #[error("{parts} parts are too many")]
    TooMany {
        /// Number of parts.
        parts: u64,
        /// `true` if it is an estimate.
        is_estimate: bool,
    },
    /// The pass has failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl PartTimes {
    fn new(begins: Vec<i128>) -> Self {
        Self { have_events: vec![false; begins.len() + 2], begins }
    }

    /// Finds parts with a duration in nanoseconds, starting at the first event of the pass. There are at most `most`
    /// parts. The reader must not be restricted to a shard.
    ///
    /// # Errors
    /// If there are more parts, or the pass fails.
    pub fn by_duration(
        reader: &Reader<'_>,
        pass: &Pass,
        duration: i128,
        most: usize,
    ) -> Result<Self, PartTimesError> {
        let duration = duration.max(1);
        let clocked = reader.only(|stream| stream.clock().is_some());
        let (mut first, mut last) = (None::<i128>, None::<i128>);
        // Events are sorted by time, unless the trace itself is unsorted.
        let (mut slices, mut slice) = (HashSet::new(), None);
        let mut origin = None;
        for_each_event(&clocked, pass, |event| {
            if let Some(time) = event.nanoseconds() {
                first = Some(first.map_or(time, |first| first.min(time)));
                last = Some(last.map_or(time, |last| last.max(time)));
                let number = time.saturating_sub(*origin.get_or_insert(time)).div_euclid(duration);
                if slice.replace(number) != Some(number) && slices.len() <= most {
                    slices.insert(number);
                }
            }
            true
        })?;
        let mut times = Self::new(Vec::new());
        if let (Some(first), Some(last)) = (first, last) {
            let count = last.saturating_sub(first) / duration;
            if count >= i128::try_from(most).unwrap_or(i128::MAX) {
                let parts = u64::try_from(count.saturating_add(1)).unwrap_or(u64::MAX);
                return Err(PartTimesError::TooMany { parts, is_estimate: false });
            }
            times = Self::new((1..=count).map(|number| first + number * duration).collect());
            if origin == Some(first) {
                let numbers = slices.into_iter().filter_map(|slice| usize::try_from(slice).ok());
                numbers.for_each(|number| times.add(number));
            } else {
                times.find_events(&clocked, pass)?;
            }
        }
        times.find_untimed(reader, pass)?;
        Ok(times)
    }

    /// Finds parts with about `size` bytes of trace data. There are at most `most` parts. The reader must not be
    /// restricted to a shard.
    ///
    /// # Errors
    /// If there are more parts, or the pass fails.
    pub fn by_size(reader: &Reader<'_>, pass: &Pass, size: u64, most: usize) -> Result<Self, PartTimesError> {
        let size = size.max(1);
        let clocked = reader.only(|stream| stream.clock().is_some());
        let streams: HashSet<u32> = clocked.data_streams().iter().map(|stream| stream.key).collect();
        let summaries = reader.session.traces().iter().flat_map(|trace| trace.streams());
        let summaries = summaries.filter(|summary| streams.contains(&summary.stream.key));
        let total = summaries.map(|summary| summary.bytes).fold(0, u64::saturating_add);
        if total / size >= u64::try_from(most).unwrap_or(u64::MAX) {
            return Err(PartTimesError::TooMany { parts: total / size, is_estimate: true });
        }
        // Split between packets, which are kept unchanged.
        let mut begins = clocked.chunks(size);
        if begins.is_empty() && total > size {
            // Without small enough packets, the number of events of about this size is used.
            begins = begins_by_events(&clocked, pass, total.div_ceil(size))?;
        }
        let mut times = Self::new(begins);
        times.find_events(&clocked, pass)?;
        times.find_untimed(reader, pass)?;
        Ok(times)
    }

    fn add(&mut self, number: usize) {
        if let Some(has_events) = self.have_events.get_mut(number) {
            *has_events = true;
        }
    }

    /// Finds the parts with events from data streams with a clock.
    fn find_events(&mut self, clocked: &Reader<'_>, pass: &Pass) -> io::Result<()> {
        let mut current = 0..0;
        for_each_event(clocked, pass, |event| {
            if let Some(time) = event.nanoseconds()
                && !current.contains(&time)
            {
                let number = self.begins.partition_point(|begin| *begin <= time);
                let begin = number.checked_sub(1).and_then(|before| self.begins.get(before)).copied();
                let end = self.begins.get(number).copied();
                current = begin.unwrap_or(i128::MIN)..end.unwrap_or(i128::MAX);
                self.add(number);
            }
            true
        })
    }

    /// Finds events in data streams without a clock.
    fn find_untimed(&mut self, reader: &Reader<'_>, pass: &Pass) -> io::Result<()> {
        let mut has_some = false;
        for_each_event(&reader.only(|stream| stream.clock().is_none()), pass, |_| {
            has_some = true;
            false
        })?;
        if let Some(last) = self.have_events.last_mut() {
            *last = has_some;
        }
        Ok(())
    }
}

/// Returns start times for parts with about the same number of events.
fn begins_by_events(reader: &Reader<'_>, pass: &Pass, parts: u64) -> io::Result<Vec<i128>> {
    let mut events = 0u64;
    for_each_event(reader, pass, |_| {
        events += 1;
        true
    })?;
    let each = events.div_ceil(parts).max(1);
    let (mut begins, mut in_part, mut before) = (Vec::new(), 0u64, None::<i128>);
    for_each_event(reader, pass, |event| {
        let time = event.nanoseconds();
        if in_part >= each && time > before {
            begins.extend(time);
            in_part = 0;
        }
        in_part += 1;
        before = before.max(time);
        true
    })?;
    Ok(begins)
}

/// Passes all selected events to a function, until it returns `false`.
fn for_each_event(
    reader: &Reader<'_>,
    pass: &Pass,
    mut take: impl FnMut(&Event<'_>) -> bool,
) -> io::Result<()> {
    reader.pass().with(pass.clone()).run(&mut |message: &Message<'_>| {
        Ok(match message {
            Message::Event(event) if !take(event) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
    })?;
    Ok(())
}
