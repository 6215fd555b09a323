//! What is to be read of a session, as a whole or in parts.

use ichnos_flow::{DamageCursor, Merge};
use ichnos_model::{BoxedCursor, FastCursor, SplitPoint, Window};

use crate::Session;

/// Cursors of all that is merged.
pub type Merged = Merge;

/// Makes cursors over the messages of some data streams of a session, in a window; see
/// [`Session::reader`].
pub struct Reader<'a> {
    pub(crate) session: &'a Session,
    pub(crate) window: Window,
    /// Which data streams are wanted, by trace.
    pub(crate) wanted: Vec<Vec<bool>>,
}

impl Reader<'_> {
    /// All messages, merged by time.
    #[must_use]
    pub fn cursor(&self) -> Merged {
        let mut cursors: Vec<BoxedCursor> = Vec::new();
        for (trace, wanted) in self.session.traces().iter().zip(&self.wanted) {
            if !trace.damage().is_empty() {
                cursors.push(DamageCursor::new(trace.damage().to_vec()).boxed_fast());
            }
            let all = trace.cursors(self.window).into_iter().zip(wanted);
            cursors.extend(all.filter(|(_, is)| **is).map(|(cursor, _)| cursor));
        }
        Merge::new(cursors)
    }

    /// The messages from `begin` on, merged by time, as far as that can be known without reading
    /// what lies before: compare [`Merge::places`] with those where reading what lies before has
    /// paused. `begin` must be one of [`Reader::parts`].
    #[must_use]
    pub fn cursor_from(&self, begin: i128) -> Merged {
        let mut cursors: Vec<BoxedCursor> = Vec::new();
        for (trace, wanted) in self.session.traces().iter().zip(&self.wanted) {
            if !trace.damage().is_empty() {
                // It has been told at once.
                cursors.push(DamageCursor::new(Vec::new()).boxed_fast());
            }
            let all = (0..).zip(wanted).filter(|(_, is)| **is);
            cursors.extend(all.filter_map(|(stream, _)| trace.cursor_from(stream, self.window, begin)));
        }
        Merge::of_begun(cursors)
    }

    /// Times at which to cut what is to be read into parts of at least about `size` bytes, in order;
    /// the first part begins at the beginning, the last one ends at the end. They are larger where
    /// small ones would mean to read much of it twice. Empty if there is too little of it, or if it
    /// can only be read as a whole.
    #[must_use]
    pub fn parts(&self, size: u64) -> Vec<i128> {
        // So that the split_points of many streams, each of which has its own, are fine enough.
        const GRAINS: u64 = 8;
        /// How many bytes to read for each one that is read twice.
        const WORTH: u64 = 2;
        let mut all: Vec<SplitPoint> = Vec::new();
        let mut overlap = 0u64;
        for (trace, wanted) in self.session.traces().iter().zip(&self.wanted) {
            for (stream, _) in wanted.iter().enumerate().filter(|(_, is)| **is) {
                let Some(split_points) = trace.split_points(stream, size / GRAINS) else { return Vec::new() };
                overlap =
                    overlap.saturating_add(split_points.iter().map(|cut| cut.overlap).max().unwrap_or(0));
                all.extend(split_points);
            }
        }
        all.sort_by_key(|cut| cut.time);
        let size = size.max(overlap.saturating_mul(WORTH));
        let mut parts = Vec::new();
        let mut bytes = 0u64;
        for cut in &all {
            if self.window.end.is_some_and(|end| cut.time >= end) {
                break;
            }
            if self.window.begin.is_some_and(|begin| cut.time <= begin) {
                continue;
            }
            bytes = bytes.saturating_add(cut.bytes);
            if bytes >= size {
                // Just behind the beginning of a packet: so its beginning belongs to the part before,
                // as does the end of the packet before it, which often is at the same time.
                parts.push(cut.time.saturating_add(1));
                bytes = 0;
            }
        }
        // What lies behind the last cut is almost nothing.
        parts.pop();
        parts
    }
}
