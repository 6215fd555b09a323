//! Events of requests, sorted by time.

use std::ops::Range;

use crate::context_table::ContextTable;
use crate::fault::{Decoded, RequestFault};
use crate::input::{EncodedMessage, RequestEncoding};
use crate::receiver::memory::RequestShare;
use crate::request::{ElementOrigin, ElementVisitor, RequestElement, visit_request};
use crate::request_signal::RequestSignal;

/// Place of an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ElementPlace {
    /// Nanoseconds since 1970, or 0 for an unknown time.
    pub(crate) time: u64,
    /// Offset and length of its element.
    begin: usize,
    length: u32,
    /// Index of its context.
    pub(crate) context: u32,
    /// Number of the event in its element.
    part: u32,
}

impl ElementPlace {
    /// Decodes the element again, from the bytes of its file. Returns it with the number of the event.
    pub(crate) fn element<'a>(
        &self,
        bytes: &'a [u8],
        encoding: RequestEncoding,
        contexts: &'a ContextTable,
    ) -> Decoded<(RequestElement<'a>, u32)> {
        let gone = || RequestFault::new(self.begin, "expected an element of a known context");
        let (context, _, metric) = contexts.get(self.context).ok_or_else(gone)?;
        let message = EncodedMessage::part(bytes, encoding, self.range());
        Ok((RequestElement::decode(context.signal, &message, metric)?, self.part))
    }

    /// Returns the range of the element.
    pub(crate) fn range(&self) -> Range<usize> {
        self.begin..self.begin + self.length as usize
    }
}

/// An element that cannot be decoded.
#[derive(Clone, Debug)]
pub(crate) struct RejectedElement {
    pub(crate) fault: RequestFault,
    /// Range of the element in its file.
    pub(crate) range: Range<usize>,
}

/// Number of events that are allowed in any input.
pub(crate) const FEW_EVENTS: usize = 1 << 20;

/// Maximum number of rejected elements that are described.
const MOST_DESCRIBED: usize = 100;

/// Finds the events of requests.
#[derive(Debug, Default)]
pub(crate) struct EventIndexer {
    pub(crate) contexts: ContextTable,
    pub(crate) places: Vec<ElementPlace>,
    /// First rejected elements.
    pub(crate) rejected: Vec<RejectedElement>,
    /// Numbers of accepted and rejected elements.
    pub(crate) accepted: u64,
    pub(crate) rejections: u64,
    /// First statements about what is left out of resources, scopes and metrics, with the offsets of their messages in
    /// the file, and the number of further ones.
    pub(crate) cuts: Vec<RequestFault>,
    pub(crate) further_cuts: u64,
    /// Maximum number of events, because each takes memory.
    pub(crate) most_events: usize,
    /// Memory for contexts and places, if it is limited.
    pub(crate) share: Option<RequestShare>,
    /// `true` if the memory did not suffice.
    pub(crate) is_full: bool,
    file: u32,
    /// Offset of the request in the file.
    base: usize,
    context: u32,
}

impl EventIndexer {
    /// Creates an indexer for at most this number of events.
    pub(crate) fn new(most_events: usize) -> Self {
        Self { most_events, ..Self::default() }
    }

    /// Adds the events of a request at an offset of a numbered file.
    ///
    /// # Errors
    /// See [`visit_request`]. Offsets are those in the request. Elements before the error are added.
    pub(crate) fn add(
        &mut self,
        (file, base): (u32, usize),
        request: &[u8],
        encoding: RequestEncoding,
        signal: Option<RequestSignal>,
    ) -> Decoded<()> {
        (self.file, self.base) = (file, base);
        self.contexts.begin_request();
        visit_request(request, encoding, signal, self)
    }

    /// Takes memory for what was found.
    fn take_memory(&mut self, at: usize) -> Decoded<()> {
        let Some(share) = &mut self.share else { return Ok(()) };
        let places = self.places.capacity().saturating_mul(size_of::<ElementPlace>());
        if share.grow_to(self.contexts.memory().saturating_add(places)) {
            return Ok(());
        }
        self.is_full = true;
        Err(RequestFault::new(at, "expected a request for which there is memory"))
    }

    fn in_file(&self, range: Range<usize>) -> Range<usize> {
        range.start + self.base..range.end + self.base
    }
}

impl ElementVisitor for EventIndexer {
    fn origin(&mut self, origin: &ElementOrigin<'_, '_>) -> Decoded<()> {
        self.context = self.contexts.add(origin, self.file)?;
        for cut in self.contexts.take_cuts() {
            if self.cuts.len() < MOST_DESCRIBED {
                self.cuts.push(RequestFault { at: cut.at + self.base, ..cut });
            } else {
                self.further_cuts += 1;
            }
        }
        self.take_memory(0)
    }

    fn element(&mut self, element: &RequestElement<'_>, range: Range<usize>) -> Decoded<()> {
        let at = range.start;
        let range = self.in_file(range);
        let Ok(length) = u32::try_from(range.len()) else {
            return Err(RequestFault::new(at, "expected an element of less than 4 GiB"));
        };
        if self.places.len() >= self.most_events {
            return Err(RequestFault::new(at, format!("expected at most {} events", self.most_events)));
        }
        self.accepted += 1;
        let Self { places, context, .. } = self;
        element.for_each_part(|part, time| {
            places.push(ElementPlace { time, begin: range.start, length, context: *context, part });
        });
        self.take_memory(at)
    }

    fn rejected(&mut self, _: RequestSignal, fault: RequestFault, range: Range<usize>) -> Decoded<()> {
        self.rejections += 1;
        if self.rejected.len() < MOST_DESCRIBED {
            // The place of a number is unknown.
            let range = self.in_file(range);
            let at = (fault.at + self.base).clamp(range.start, range.end);
            let fault = RequestFault { at, ..fault };
            self.rejected.push(RejectedElement { fault, range });
        }
        Ok(())
    }
}
