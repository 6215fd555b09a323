//! Splits a stream that arrives in pieces into messages.

use std::vec::Vec;

use super::framer::{Damage, Framer};
use super::framing::Framing;
use super::message::Message;

/// Joins stream pieces and extracts messages.
///
/// Messages and damage do not depend on how the stream was cut. The splitter keeps the bytes of one message and the
/// start of the next, or a few of them after damage. This is never more than 512 KiB and the last piece.
///
/// ```
/// use ichnos_fuchsia::log::{Encoder, Framing, Splitter};
///
/// let mut buffer = [0; 64];
/// let mut encoder = Encoder::new(&mut buffer);
/// encoder.begin(1, 0x30)?.finish();
/// encoder.begin(2, 0x30)?.finish();
///
/// let mut splitter = Splitter::new(Framing::Records);
/// let mut count = 0;
/// for piece in encoder.written().chunks(5) {
///     splitter.feed(piece);
///     while let Some(message) = splitter.next_message() {
///         message?;
///         count += 1;
///     }
/// }
/// // Only the end shows that the last record is complete.
/// splitter.finish();
/// assert!(splitter.next_message().is_some_and(|message| message.is_ok()));
/// assert!(splitter.next_message().is_none());
/// assert_eq!(count, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Splitter {
    framer: Framer,
    bytes: Vec<u8>,
    /// Number of bytes consumed.
    done: usize,
    /// Number of bytes needed for progress.
    needed: usize,
    is_last: bool,
}

impl Splitter {
    /// Creates a splitter at the start of a stream.
    #[must_use]
    pub const fn new(framing: Framing) -> Self {
        let framer = Framer::new(framing, 0);
        Self { framer, bytes: Vec::new(), done: 0, needed: 0, is_last: false }
    }

    /// Returns the byte offset of the next message in the stream.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.framer.offset()
    }

    /// Adds a piece of the stream.
    pub fn feed(&mut self, piece: &[u8]) {
        if self.done > self.bytes.len() / 2 {
            self.bytes.drain(..self.done);
            self.done = 0;
        }
        self.bytes.extend_from_slice(piece);
    }

    /// Marks the end of the stream.
    pub const fn finish(&mut self) {
        self.is_last = true;
    }

    /// Returns the next message or damage. `None` means that more input is needed.
    pub fn next_message(&mut self) -> Option<Result<Message<'_>, Damage>> {
        loop {
            let input = self.bytes.get(self.done..).unwrap_or_default();
            if !self.is_last && input.len() < self.needed {
                return None;
            }
            let step = self.framer.step(input, self.is_last);
            self.done += step.consumed;
            self.needed = step.needed;
            if step.found.is_some() || step.consumed == 0 {
                return step.found;
            }
        }
    }
}
