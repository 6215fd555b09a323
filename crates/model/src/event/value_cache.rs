//! Cache for encoded values.

use crate::class::Scope;
use crate::event::{Event, EventValues};

/// Hits minus misses at which the cache gives up.
const FEWEST: i32 = -10_000;

/// Hits minus misses above which the cache does not store anything yet.
const SOME: i32 = -64;

/// Cache for the encoding or the text of scopes, as many events have the same values.
///
/// Only integers with up to 64 bits, booleans and GUIDs are cached.
#[derive(Debug)]
pub struct ValueCache {
    scopes: &'static [Scope],
    /// Maximum number of entries: a power of two.
    most: usize,
    /// Entries by digest of the values; empty until something is cached.
    entries: Vec<CachedValues>,
    /// Hits minus misses.
    found: i32,
}

#[derive(Clone, Debug, Default)]
struct CachedValues {
    values: EventValues,
    /// Encoded bytes. Empty: no entry.
    bytes: Vec<u8>,
}

impl ValueCache {
    /// Creates a cache for the values of these scopes, with at most `most` entries, rounded up to a power of two.
    #[must_use]
    pub fn new(scopes: &'static [Scope], most: usize) -> Self {
        Self { scopes, most: most.next_power_of_two(), entries: Vec::new(), found: 0 }
    }

    fn place(&self, values: &EventValues) -> usize {
        let digest = |digest: u64, scope: &Scope| digest.rotate_left(16) ^ values.digest(*scope);
        self.scopes.iter().fold(0, digest) as usize & (self.most - 1)
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.bytes.clear());
    }

    /// Returns `true` if lookups are worthwhile, because some values were found.
    #[must_use]
    pub fn is_useful(&self) -> bool {
        self.found > FEWEST
    }

    /// Returns the cached bytes for an event's values.
    #[inline]
    pub fn get(&mut self, values: &EventValues) -> Option<&[u8]> {
        if !self.is_useful() {
            return None;
        }
        let entry = self.entries.get(self.place(values)).filter(|entry| {
            !entry.bytes.is_empty() && self.scopes.iter().all(|scope| entry.values.is_same(*scope, values))
        });
        match entry {
            Some(entry) => {
                self.found = self.found.saturating_add(1);
                Some(&entry.bytes)
            }
            None => {
                self.found -= 1;
                None
            }
        }
    }

    /// Caches the bytes for an event's values. They may replace another entry.
    pub fn keep(&mut self, values: &EventValues, bytes: &[u8]) {
        if !self.is_useful() {
            return;
        }
        if self.entries.is_empty() {
            // With very many data streams of few events each, storing costs more work than it saves.
            if self.found > SOME {
                return;
            }
            self.entries.resize(self.most, CachedValues::default());
        }
        let place = self.place(values);
        let Some(entry) = self.entries.get_mut(place) else { return };
        entry.values.clear();
        entry.bytes.clear();
        if self.scopes.iter().all(|scope| entry.values.copy_numbers(*scope, values)) {
            entry.bytes.extend_from_slice(bytes);
        }
    }

    /// Appends the cached bytes for an event's values to `out`, or the bytes that `write` appends.
    ///
    /// # Errors
    /// Returns errors from `write`.
    pub fn push<E>(
        &mut self,
        out: &mut Vec<u8>,
        event: &Event<'_>,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let is_by_values = |values: &&EventValues| self.scopes.iter().all(|scope| values.has(*scope));
        let Some(values) = event.scopes.values.filter(is_by_values) else { return write(out) };
        if let Some(bytes) = self.get(values) {
            out.extend_from_slice(bytes);
            return Ok(());
        }
        let begin = out.len();
        write(out)?;
        // `write` only appends to `out`.
        self.keep(values, out.get(begin..).unwrap_or_default());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_values() {
        let values = |number: u64, text: Option<&str>| {
            let mut values = EventValues::default();
            values.begin(Scope::Resource);
            values.push(number);
            text.into_iter().for_each(|text| values.push(text));
            values
        };
        let mut cache = ValueCache::new(&[Scope::Resource], 4);
        let mut found = 0;
        for i in 0..1_000u64 {
            let number = i % 7;
            match cache.get(&values(number, None)) {
                Some(bytes) => {
                    assert_eq!(bytes, number.to_le_bytes());
                    found += 1;
                }
                None => cache.keep(&values(number, None), &number.to_le_bytes()),
            }
        }
        assert!(found > 0, "{cache:?}");
        // Texts are not compared, so they are not cached.
        cache.keep(&values(1, Some("a")), b"a");
        assert_eq!(cache.get(&values(1, Some("b"))), None);
        for i in 0..20_000u64 {
            cache.get(&values(i << 20, None));
        }
        assert!(!cache.is_useful());
    }
}
