//! Open spans with keys.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use ichnos_model::digest::ValueHash;

use super::span_edge::SpanEdge;

/// Maximum number of open spans.
const MOST: usize = 1 << 16;

/// Maximum number of open spans of a key that are searched for the span of an end event.
const SEARCHED: u32 = 64;

/// Maximum number of class names that are remembered as span starts or span ends.
const MOST_KINDS: usize = 1 << 12;

/// Open span.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug)]
struct KeyedSpan<N, T> {
    edge: SpanEdge<N>,
    value: T,
    /// Index of the previous span with the same key.
    before: Option<u32>,
}

/// Open spans by key. Spans with different names can share a key.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug)]
#[cfg_attr(
    feature = "serde",
    serde(bound(deserialize = "T: serde::Deserialize<'de>, N: serde::Deserialize<'de> + Eq + Hash"))
)]
pub struct KeyedSpans<T, N = u64> {
    /// Index of the last span for each key.
    last: HashMap<u64, u32>,
    spans: Vec<Option<KeyedSpan<N, T>>>,
    /// Free indexes in `spans`.
    free: Vec<u32>,
    begins: Kinds<N>,
    ends: Kinds<N>,
    /// `true` if a span was ignored because too many were open.
    has_refused: bool,
}

/// Class names in bounded memory.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", serde(bound(deserialize = "N: serde::Deserialize<'de> + Eq + Hash")))]
pub struct Kinds<N> {
    names: HashSet<N>,
    latest: Option<N>,
}

impl<N> Default for Kinds<N> {
    fn default() -> Self {
        Self { names: HashSet::new(), latest: None }
    }
}

impl<N: Copy + Eq + Hash> Kinds<N> {
    /// Adds a name. Beyond the maximum, it is ignored.
    pub fn add(&mut self, name: N) {
        if self.latest != Some(name) {
            self.latest = Some(name);
            if self.names.len() < MOST_KINDS {
                self.names.insert(name);
            }
        }
    }

    /// Returns `true` if the name was added.
    pub fn has(&self, name: N) -> bool {
        self.names.contains(&name)
    }
}

impl<T, N> Default for KeyedSpans<T, N> {
    fn default() -> Self {
        Self {
            last: HashMap::new(),
            spans: Vec::new(),
            free: Vec::new(),
            begins: Kinds::default(),
            ends: Kinds::default(),
            has_refused: false,
        }
    }
}

impl<T, N: Copy + Eq + Hash> KeyedSpans<T, N> {
    /// Creates an empty table that knows the class names of `from`.
    pub fn with_kinds_of(from: &Self) -> Self {
        Self { begins: from.begins.clone(), ends: from.ends.clone(), ..Self::default() }
    }

    /// Returns `true` if the maximum number of spans is open.
    pub fn is_full(&self) -> bool {
        self.spans.len() >= MOST && self.free.is_empty()
    }

    /// Returns `true` if an end without a start may belong to an ignored span.
    pub fn has_refused(&self) -> bool {
        self.has_refused
    }

    /// Starts a span. Returns the value of the open span with the same key and names: it will not get an end. If the
    /// table is full, the span is ignored.
    pub fn begin(&mut self, key: u64, edge: SpanEdge<N>, value: T) -> Option<T> {
        self.begins.add(edge.kind);
        let again = self.find(key, |span| (span.edge.name, span.edge.kind) == (edge.name, edge.kind));
        let again = again.and_then(|(index, after)| self.remove(key, index, after));
        if self.is_full() {
            self.has_refused = true;
            return again;
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.spans.push(None);
            self.spans.len() as u32 - 1
        });
        let before = self.last.insert(key, index);
        if let Some(place) = self.spans.get_mut(index as usize) {
            *place = Some(KeyedSpan { edge, value, before });
        }
        again
    }

    /// Ends the last span with this key and the names of `end`, and returns its value.
    ///
    /// If `end` lacks a name, or its name differs from all open spans, it ends the last span with this key whose name no
    /// end event uses. An unnamed end falls back to the last span with this key. If `is_it` returns a value, it decides
    /// instead of the names.
    pub fn end(&mut self, key: u64, end: SpanEdge<N>, is_it: impl Fn(&T) -> Option<bool>) -> Option<T> {
        let found = self.find(key, |span| is_it(&span.value).unwrap_or_else(|| end.is_named_as(span.edge)));
        let found = found.or_else(|| {
            let is_stranger = end.is_unnamed || !self.begins.has(end.kind);
            let is_open = |span: &KeyedSpan<N, T>| is_it(&span.value).unwrap_or(true);
            let ended = is_stranger
                .then(|| self.find(key, |span| is_open(span) && !self.ends.has(span.edge.kind)))
                .flatten();
            ended.or_else(|| end.is_unnamed.then(|| self.find(key, is_open)).flatten())
        });
        if !end.is_unnamed {
            self.ends.add(end.kind);
        }
        let (index, after) = found?;
        self.remove(key, index, after)
    }

    /// Finds the last span with this key for which `is_it` returns `true`. Returns its index and the index of the next
    /// span.
    fn find(&self, key: u64, is_it: impl Fn(&KeyedSpan<N, T>) -> bool) -> Option<(u32, Option<u32>)> {
        let mut index = *self.last.get(&key)?;
        let mut after = None;
        for _ in 0..SEARCHED {
            let span = self.spans.get(index as usize)?.as_ref()?;
            if is_it(span) {
                return Some((index, after));
            }
            after = Some(index);
            index = span.before?;
        }
        None
    }

    fn remove(&mut self, key: u64, index: u32, after: Option<u32>) -> Option<T> {
        let KeyedSpan { value, before, .. } = self.spans.get_mut(index as usize)?.take()?;
        self.free.push(index);
        match (after, before) {
            (Some(after), _) => self.spans.get_mut(after as usize)?.as_mut()?.before = before,
            (None, Some(before)) => {
                self.last.insert(key, before);
            }
            (None, None) => {
                self.last.remove(&key);
            }
        }
        Some(value)
    }

    /// Returns the values of all open spans, in unspecified order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.spans.iter().flatten().map(|span| &span.value)
    }

    /// Returns mutable references to the values of all open spans.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.spans.iter_mut().flatten().map(|span| &mut span.value)
    }

    /// Returns key, names and value of all open spans. Spans with the same key are sorted by start.
    pub fn iter(&self) -> impl Iterator<Item = (u64, SpanEdge<N>, &T)> {
        self.last.iter().flat_map(|(key, last)| {
            let mut open = Vec::new();
            let mut next = Some(*last);
            while let Some(span) = next.and_then(|index| self.spans.get(index as usize)?.as_ref()) {
                open.push((*key, span.edge, &span.value));
                next = span.before;
            }
            open.into_iter().rev()
        })
    }
}

/// Keyed span identifiers, equal for both ends of a span. Spans with the same key and different names differ.
pub type KeyedSpanIds = KeyedSpans<u64>;

impl KeyedSpanIds {
    /// Returns the identifier for a span start, and `true` if a span with this identifier is still open: it will not
    /// get an end.
    pub fn begin_id(&mut self, key: u64, edge: SpanEdge) -> (u64, bool) {
        let id = span_id(key, edge);
        let again = self.begin(key, edge, id);
        (id, again.is_some())
    }

    /// Returns the identifier of the span that an event ends. `None` if no such span is open.
    pub fn end_id(&mut self, key: u64, edge: SpanEdge) -> Option<u64> {
        let refused = self.has_refused.then(|| span_id(key, edge));
        self.end(key, edge, |_| None).or(refused)
    }
}

/// Returns the identifier for a span key and name.
pub fn span_id(key: u64, edge: SpanEdge) -> u64 {
    let mut hash = ValueHash::new(key);
    hash.add(edge.name);
    // A viewer takes 0 for a missing identifier.
    hash.finish().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(kind: u64) -> SpanEdge {
        SpanEdge { name: kind, kind, is_unnamed: false }
    }

    const UNNAMED: SpanEdge = SpanEdge { name: 99, kind: 99, is_unnamed: true };

    fn end(spans: &mut KeyedSpans<char>, key: u64, end: SpanEdge) -> Option<char> {
        spans.end(key, end, |_| None)
    }

    #[test]
    fn spans_of_two_classes_have_the_same_key() {
        let mut spans = KeyedSpans::default();
        for (key, name, value) in [(5, 1, 'a'), (5, 2, 'b'), (6, 1, 'c')] {
            assert_eq!(spans.begin(key, edge(name), value), None);
        }
        assert_eq!(end(&mut spans, 5, edge(1)), Some('a'));
        assert_eq!(end(&mut spans, 5, edge(1)), None);
        assert_eq!(end(&mut spans, 5, edge(2)), Some('b'));
        assert_eq!(end(&mut spans, 6, edge(1)), Some('c'));
        assert_eq!((spans.last.len(), spans.values().count()), (0, 0));
    }

    /// Statistics count the same: a span lacks its end if an equal span starts.
    #[test]
    fn equal_spans_are_not_open_at_the_same_time() {
        let mut spans = KeyedSpans::default();
        let again = "abc".chars().map(|value| spans.begin(5, edge(1), value));
        assert_eq!(again.collect::<Vec<_>>(), [None, Some('a'), Some('b')]);
        assert_eq!(spans.begin(5, edge(2), 'x'), None);
        assert_eq!(spans.iter().map(|(_, _, value)| value).collect::<String>(), "cx");
        assert_eq!([0; 2].map(|_| end(&mut spans, 5, edge(1))), [Some('c'), None]);
        assert_eq!(spans.values().collect::<String>(), "x");
    }

    #[test]
    fn names_of_events_count_if_both_have_them() {
        let own = |name| SpanEdge { name, kind: 1, is_unnamed: false };
        let mut spans = KeyedSpans::default();
        assert_eq!([(10, 'a'), (11, 'b')].map(|(name, value)| spans.begin(5, own(name), value)), [None; 2]);
        assert_eq!(end(&mut spans, 5, own(12)), None);
        assert_eq!(end(&mut spans, 5, own(10)), Some('a'));
        assert_eq!(end(&mut spans, 5, edge(1)), Some('b'));
    }

    /// Unnamed ends, and ends with a name that no span started with.
    #[test]
    fn unmatched_ends_close_unnamed_spans() {
        for other in [UNNAMED, edge(98)] {
            let mut spans = KeyedSpans::default();
            assert_eq!(spans.begin(5, edge(1), 'i'), None);
            assert_eq!(end(&mut spans, 5, edge(1)), Some('i'));
            assert_eq!(
                [(2, 'a'), (1, 'b')].map(|(name, value)| spans.begin(5, edge(name), value)),
                [None; 2]
            );
            assert_eq!(end(&mut spans, 5, other), Some('a'));
            assert_eq!(end(&mut spans, 5, other), other.is_unnamed.then_some('b'));
        }
        // This span started before the trace: its end must not close `a`.
        let mut spans = KeyedSpans::default();
        assert_eq!(
            [(4, 2, 'x'), (5, 1, 'a')].map(|(key, name, value)| spans.begin(key, edge(name), value)),
            [None; 2]
        );
        assert_eq!(end(&mut spans, 5, edge(2)), None);
        assert_eq!(end(&mut spans, 5, edge(1)), Some('a'));
    }

    #[test]
    fn memory_is_bounded() {
        let mut spans = KeyedSpanIds::default();
        for key in 0..2 * MOST as u64 {
            assert_eq!(spans.begin_id(key, edge(key)), (span_id(key, edge(key)), false));
        }
        assert!(spans.is_full());
        assert_eq!((spans.spans.len(), spans.begins.names.len()), (MOST, MOST_KINDS));
        // The end of an ignored span has the same identifier.
        let last = 2 * MOST as u64 - 1;
        assert_eq!(spans.end_id(last, edge(last)), Some(span_id(last, edge(last))));
        assert_eq!(spans.end_id(0, edge(0)), Some(span_id(0, edge(0))));
        assert!(!spans.is_full());
    }
}
