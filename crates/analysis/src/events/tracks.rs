//! Tracks of a timeline.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use ichnos_model::{DataStream, ValueHash};

/// Maximum number of tracks that are kept; beyond it, all are described again.
const MOST: usize = 1 << 20;

/// Kinds of tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TrackKind {
    /// Losses and damage of all data streams.
    Losses = 1,
    /// Data stream.
    Stream,
    /// Processor.
    Processor,
    /// Process.
    Process,
    /// Thread of a known process.
    Thread,
    /// Thread alone.
    LoneThread,
    /// Slice with a key.
    Slice,
    /// Values of a counter.
    Counter,
    /// Operation whose events can be on any thread.
    Operation,
    /// States of a thread.
    States,
    /// Threads of a process on processors.
    Runs,
}

/// Returns the identifier of a track: the kind, and the numbers that tell it from others of its kind.
pub fn track_id(kind: TrackKind, [first, second]: [u64; 2]) -> u64 {
    let mut hash = ValueHash::new(kind as u64);
    hash.add(first);
    hash.add(second);
    // A viewer takes 0 for a missing identifier.
    hash.finish().max(1)
}

/// Returns a number for a name, 0 for an empty one.
pub fn name_key(name: &str) -> u64 {
    let mut hash = ValueHash::new(0);
    hash.bytes(name.as_bytes());
    if name.is_empty() { 0 } else { hash.finish().max(1) }
}

/// Numbers of traces in the order in which they are first met: unlike addresses, they are the same in each run.
#[derive(Clone, Debug, Default)]
pub struct TraceNumbers(HashMap<usize, u32>);

impl TraceNumbers {
    /// Returns the number of the trace of a data stream, which is kept alive as long as its number is used.
    pub fn number(&mut self, stream: &DataStream) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(Arc::as_ptr(&stream.trace).addr()).or_insert(next)
    }
}

/// Number of tracks whose names are compared without hashing them.
const RECENT: usize = 64;

/// Tracks that were described.
#[derive(Debug)]
pub struct Tracks {
    /// Keys of their names, 0 for those without one.
    names: HashMap<u64, u64>,
    /// Tracks and names of the last calls, by the end of the number of the track.
    recent: [(u64, String); RECENT],
}

impl Default for Tracks {
    fn default() -> Self {
        Self { names: HashMap::new(), recent: std::array::from_fn(|_| Default::default()) }
    }
}

impl Tracks {
    /// Returns `true` if a track has to be described: it is new, or has another name than before. An empty name is no
    /// change.
    #[inline]
    pub fn is_changed(&mut self, id: u64, name: &str) -> bool {
        // The remainder is an index. No track has the number 0.
        let (recent, known) = &mut self.recent[id as usize % RECENT];
        if *recent == id && known == name {
            return false;
        }
        *recent = id;
        name.clone_into(known);
        self.is_new(id, name)
    }

    #[inline(never)]
    fn is_new(&mut self, id: u64, name: &str) -> bool {
        let key = name_key(name);
        if self.names.len() >= MOST && !self.names.contains_key(&id) {
            self.names.clear();
        }
        match self.names.entry(id) {
            Entry::Vacant(place) => {
                place.insert(key);
                true
            }
            Entry::Occupied(mut place) => key != 0 && place.insert(key) != key,
        }
    }
}
