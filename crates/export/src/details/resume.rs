//! Details that resume in the middle of a timeline.
//!
//! Data streams start, and classes are written, before every message with a time. The text therefore depends only on
//! the start order of data streams.

use ichnos_model::DataStream;

use super::Details;
use crate::resume::{ResumableSink, StreamOrder};
use crate::text_buffer::TextWriter;

impl<W> Details<W> {
    /// Returns the trace index and the id of a data stream that has already started.
    pub(super) fn started_stream(&mut self, stream: &DataStream) -> (usize, u128) {
        match self.begun.as_ref().and_then(|order| order.rank(stream)) {
            Some(rank) => (rank.trace as usize, stream.id.unwrap_or(rank.without_id.into())),
            None => {
                self.must_rewrite = true;
                (0, 0)
            }
        }
    }
}

impl<W: TextWriter> ResumableSink for Details<W> {
    type State = ();

    const NEEDS_ORDER: bool = true;

    fn resume(&mut self, order: &StreamOrder, _: Option<()>) {
        self.begun = Some(order.clone());
        self.written = true;
    }

    fn must_rewrite(&self) -> bool {
        self.must_rewrite
    }
}
