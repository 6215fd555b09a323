//! Last common context of a data stream.

use ichnos_model::{Event, Scope};

use super::event_place::EventPlace;

/// Maximum size of a compared context, in bytes.
const MOST: usize = 1 << 12;

/// Largest alignment of fields in a compared context, as a power of two of bytes.
const MOST_ALIGNED: u32 = 6;

/// Hits minus misses at which contexts are no longer compared, for example because they contain counters.
const FEWEST: i32 = -1_000;

/// Maximum of hits minus misses, so that comparisons end soon after contexts begin to differ.
const MOST_HITS: i32 = 1_000;

/// Place fields in the common context, as plan nodes. `u32::MAX` for a missing field.
pub(super) type PlaceNodes = [u32; 6];

/// Returns the alignment in bytes at which bytes alone determine the values in common contexts of the event's data
/// stream class. `None` if more than bytes determines them.
pub(super) fn alignment(event: &Event<'_>) -> Option<u64> {
    let Some(plan) = event.plan(Scope::CommonContext) else { return Some(1) };
    (0..=MOST_ALIGNED).map(|power| 1 << power).find(|alignment| plan.is_determined_by_bytes(*alignment))
}

/// Last common context of a data stream, and the place that it tells. Successive events often share both.
#[derive(Debug, Default)]
pub struct LastContext {
    bytes: Vec<u8>,
    /// First byte, modulo the alignment.
    begin: u64,
    /// Number of changes so far. 0 before the first context.
    number: u64,
    /// Hits minus misses.
    hits: i32,
    place: ContextPlace,
    /// Buffers for names that are not in UTF-8.
    texts: [String; 2],
}

/// Place from a common context.
#[derive(Debug, Default)]
struct ContextPlace {
    /// Context number.
    context: u64,
    /// Fields that tell the place.
    nodes: PlaceNodes,
    process: Option<u64>,
    process_name: Option<String>,
    thread: Option<u64>,
    thread_name: Option<String>,
}

impl ContextPlace {
    /// Replaces the place.
    #[cold]
    fn set(&mut self, context: u64, nodes: PlaceNodes, place: EventPlace<'_>) {
        let set = |known: &mut Option<String>, name: Option<&str>| match (known, name) {
            (Some(known), Some(name)) => name.clone_into(known),
            (known, name) => *known = name.map(str::to_owned),
        };
        (self.context, self.nodes) = (context, nodes);
        (self.process, self.thread) = (place.process, place.thread);
        set(&mut self.process_name, place.process_name);
        set(&mut self.thread_name, place.thread_name);
    }
}

impl LastContext {
    /// Returns a number that successive events share if the values in their common contexts are equal. `None` if the
    /// context is not compared. `alignment` is a power of two.
    #[inline]
    pub(super) fn number(&mut self, event: &Event<'_>, alignment: u64) -> Option<u64> {
        if self.hits <= FEWEST {
            return None;
        }
        let bytes = event.common_context_bytes()?;
        let begin = (event.scopes.begins().get(Scope::CommonContext as usize)?.bit / 8) & (alignment - 1);
        if self.number == 0 || self.begin != begin || self.bytes != bytes {
            return self.replace(begin, bytes);
        }
        self.hits = MOST_HITS.min(self.hits + 1);
        Some(self.number)
    }

    #[inline(never)]
    fn replace(&mut self, begin: u64, bytes: &[u8]) -> Option<u64> {
        self.hits -= 1;
        if bytes.len() > MOST {
            return None;
        }
        self.begin = begin;
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.number += 1;
        Some(self.number)
    }

    /// Returns `true` if the last place is the one that a numbered context tells in these fields.
    #[inline]
    pub(super) fn has_place(&self, context: u64, nodes: &PlaceNodes) -> bool {
        self.place.context == context && self.place.nodes == *nodes
    }

    /// Replaces the last place.
    pub(super) fn set_place(&mut self, context: u64, nodes: PlaceNodes, place: EventPlace<'_>) {
        self.place.set(context, nodes, place);
    }

    /// Returns buffers for the names of a place that is not kept.
    pub(super) fn texts(&mut self) -> &mut [String; 2] {
        &mut self.texts
    }

    /// Returns the last place. It lacks the processor.
    #[inline]
    pub(super) fn place(&self) -> EventPlace<'_> {
        let known = &self.place;
        EventPlace {
            process: known.process,
            process_name: known.process_name.as_deref(),
            thread: known.thread,
            thread_name: known.thread_name.as_deref(),
            processor: None,
        }
    }
}
