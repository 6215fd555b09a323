//! Timeline tracks.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use ichnos_model::DataStream;
use ichnos_model::digest::ValueHash;

/// Maximum number of remembered tracks. Beyond it, all tracks are described again.
const MOST: usize = 1 << 20;

/// Track kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TrackKind {
    /// Losses and damage in all data streams.
    Losses = 1,
    /// Data stream.
    Stream,
    /// Processor.
    Processor,
    /// Process.
    Process,
    /// Thread in a known process.
    Thread,
    /// Thread in an unknown process.
    LoneThread,
    /// Slices with a key.
    Slice,
    /// Counter values.
    Counter,
    /// Operation whose events can be on any thread.
    Operation,
    /// Thread states.
    States,
    /// A process's running threads.
    Runs,
}

/// Returns a track identifier, made from the kind and the two numbers that distinguish tracks within it.
pub fn track_id(kind: TrackKind, [first, second]: [u64; 2]) -> u64 {
    let mut hash = ValueHash::new(kind as u64);
    hash.add(first);
    hash.add(second);
    // Viewers treat 0 as a missing identifier.
    hash.finish().max(1)
}

/// Returns a hash of a name, 0 for an empty name.
pub fn name_key(name: &str) -> u64 {
    let mut hash = ValueHash::new(0);
    hash.bytes(name.as_bytes());
    if name.is_empty() { 0 } else { hash.finish().max(1) }
}

/// Trace numbers by first appearance. Unlike addresses, they are the same in every run.
#[derive(Clone, Debug, Default)]
pub struct TraceNumbers(HashMap<usize, u32>);

impl TraceNumbers {
    /// Returns a data stream's trace number. The data stream is kept alive while its number is in use.
    pub fn number(&mut self, stream: &DataStream) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(Arc::as_ptr(&stream.trace).addr()).or_insert(next)
    }
}

/// Number of tracks with names that are compared without hashing.
const RECENT: usize = 64;

/// Tracks that were described, with their names.
#[derive(Debug)]
pub struct Tracks {
    /// Name hashes by track, 0 for unnamed tracks.
    names: HashMap<u64, u64>,
    /// Tracks and names of the last calls, indexed by the lowest bits of the track identifier.
    recent: [(u64, String); RECENT],
    /// Number of changes so far.
    changes: u64,
}

impl Default for Tracks {
    fn default() -> Self {
        Self { names: HashMap::new(), recent: std::array::from_fn(|_| Default::default()), changes: 0 }
    }
}

impl Tracks {
    /// Returns `true` if a track must be described: it is new or renamed. An empty name does not count as a new name.
    #[inline]
    pub fn is_changed(&mut self, id: u64, name: &str) -> bool {
        // The remainder is a valid index. 0 is not a track identifier.
        let (recent, known) = &mut self.recent[id as usize % RECENT];
        if *recent == id && known == name {
            return false;
        }
        *recent = id;
        name.clone_into(known);
        self.is_new(id, name)
    }

    /// Returns the number of changes so far. While it stays the same, tracks that were described with a name need no
    /// other description with that name.
    #[inline]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    #[inline(never)]
    fn is_new(&mut self, id: u64, name: &str) -> bool {
        let key = name_key(name);
        if self.names.len() >= MOST && !self.names.contains_key(&id) {
            self.names.clear();
        }
        let is_new = match self.names.entry(id) {
            Entry::Vacant(place) => {
                place.insert(key);
                true
            }
            Entry::Occupied(mut place) => key != 0 && place.insert(key) != key,
        };
        self.changes += u64::from(is_new);
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_counted() {
        let mut tracks = Tracks::default();
        let mut change = |id, name: &str| (tracks.is_changed(id, name), tracks.changes());
        assert_eq!(change(1, "a"), (true, 1));
        for name in ["a", "", "a"] {
            assert_eq!(change(1, name), (false, 1));
        }
        assert_eq!([change(1, "b"), change(2, ""), change(2, "")], [(true, 2), (true, 3), (false, 3)]);
    }
}
