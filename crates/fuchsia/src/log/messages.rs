//! Messages in a file, and recognition of their framing.

use core::iter::FusedIterator;

use super::framer::{Damage, Framer};
use super::framing::Framing;
use super::message::Message;

/// Magic number of FXT, Fuchsia's other trace format.
const FXT_MAGIC: [u8; 8] = *b"\x10\0\x04FxT\x16\0";

/// Number of bytes to examine for recognition.
const PROBED: usize = 256 << 10;

impl Framing {
    /// Recognizes the framing of a file by its content. Returns `None` if it lacks log messages.
    ///
    /// `prefix` is the start of the file. At most 256 KiB of it are examined. `is_whole` must be `true` if `prefix` is
    /// the whole file.
    #[must_use]
    pub fn recognize(prefix: &[u8], is_whole: bool) -> Option<Self> {
        if prefix.starts_with(&FXT_MAGIC) {
            return None;
        }
        let probed = prefix.get(..PROBED).unwrap_or(prefix);
        let is_whole = is_whole && probed.len() == prefix.len();
        let framer = |framing: Self| Framer::new(framing, 0);
        let records = framer(Self::Records).first(probed, probed.len(), is_whole);
        // A datagram header precedes its content, which may be a record.
        let before = records.map_or(probed.len(), |(begin, _)| begin);
        let first = framer(Self::Datagrams).first(probed, before, is_whole);
        // If its length is damaged, the search continues with a datagram after that record.
        let next = records.map(|(_, end)| end).filter(|end| {
            let holds = |framing: Self| framer(framing).holds(probed, *end, is_whole);
            *end < probed.len() && holds(Self::Datagrams) && !holds(Self::Records)
        });
        // A record that breaks a rule can look like a datagram with its length.
        let is_record = |at: &usize| framer(Self::Records).leads_to_message(probed, *at, is_whole);
        let datagrams = first.map(|(begin, _)| begin).or(next).filter(|at| !is_record(at));
        match (datagrams, records) {
            (Some(_), _) => Some(Self::Datagrams),
            (None, Some((record, _))) => {
                let extended = Framer::new(Self::ExtendedRecords, 0).holds(probed, record, is_whole);
                Some(if extended { Self::ExtendedRecords } else { Self::Records })
            }
            (None, None) => None,
        }
    }
}

/// Iterator over messages and damage in a file.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    framer: Framer,
    input: &'a [u8],
}

impl<'a> Messages<'a> {
    /// Reads all of `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8], framing: Framing) -> Self {
        Self { framer: Framer::new(framing, 0), input: bytes }
    }

    /// Returns the byte offset of the next message.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.framer.offset()
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, Damage>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let step = self.framer.step(self.input, true);
            // A step consumes at most the input.
            self.input = self.input.get(step.consumed..).unwrap_or_default();
            if step.found.is_some() || step.consumed == 0 {
                return step.found;
            }
        }
    }
}

impl FusedIterator for Messages<'_> {}
