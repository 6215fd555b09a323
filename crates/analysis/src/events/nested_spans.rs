//! Open spans without keys.

use std::collections::{HashMap, VecDeque};

use super::span_edge::SpanEdge;

/// Maximum number of open spans of a track that are searched for the span of an end event.
const SEARCHED: usize = 64;

/// Maximum number of open spans per track. Beyond it, the outermost span is forgotten.
const MOST_DEEP: usize = 1 << 12;

/// Maximum number of open spans, and also of tracks. All spans are forgotten if either number is exceeded.
const MOST: usize = 1 << 18;

/// Counts the spans nested in the span that an end event closes. `open` yields the open spans of the track, innermost
/// first.
///
/// An end event closes the innermost span with its name. The nested spans lost their end events, so they end there,
/// too.
pub fn spans_within<T>(open: impl Iterator<Item = T>, is_ended: impl FnMut(T) -> bool) -> Option<usize> {
    open.take(SEARCHED).position(is_ended)
}

/// Open spans by track, innermost last.
#[derive(Debug)]
pub struct NestedSpans<T> {
    tracks: HashMap<u64, VecDeque<(SpanEdge, T)>>,
    count: usize,
    /// `false` if the caller limits the number of spans.
    is_bounded: bool,
}

impl<T> Default for NestedSpans<T> {
    fn default() -> Self {
        Self { tracks: HashMap::new(), count: 0, is_bounded: true }
    }
}

impl<T> NestedSpans<T> {
    /// Creates an empty table that never forgets a span.
    pub fn unbounded() -> Self {
        Self { is_bounded: false, ..Self::default() }
    }

    /// Starts a span on a track. Returns the number of spans that were forgotten to make room.
    pub fn begin(&mut self, track: u64, edge: SpanEdge, value: T) -> usize {
        let forgotten = if self.is_bounded { self.make_room(track) } else { 0 };
        self.tracks.entry(track).or_default().push_back((edge, value));
        self.count += 1;
        forgotten
    }

    fn make_room(&mut self, track: u64) -> usize {
        let before = self.count;
        if self.count >= MOST || self.tracks.len() >= MOST {
            *self = Self::default();
        }
        if let Some(open) = self.tracks.get_mut(&track).filter(|open| open.len() >= MOST_DEEP) {
            open.pop_front();
            self.count -= 1;
        }
        before - self.count
    }

    /// Ends the span that an end event closes, and returns its value. `lost` takes the nested spans, innermost first.
    pub fn end(&mut self, track: u64, end: SpanEdge, mut lost: impl FnMut(T)) -> Option<T> {
        let open = self.tracks.get_mut(&track)?;
        let within = spans_within(open.iter().rev(), |(begin, _)| end.ends(*begin))?;
        self.count -= within + 1;
        for _ in 0..within {
            lost(open.pop_back()?.1);
        }
        let ended = open.pop_back().map(|(_, value)| value);
        if open.is_empty() {
            self.tracks.remove(&track);
        }
        ended
    }

    /// Ends all open spans of a track without end events. `lost` takes them, innermost first.
    pub fn end_all(&mut self, track: u64, lost: impl FnMut(T)) {
        let Some(open) = self.tracks.remove(&track) else { return };
        self.count -= open.len();
        open.into_iter().rev().map(|(_, value)| value).for_each(lost);
    }

    /// Takes all open spans.
    pub fn take_all(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.count = 0;
        std::mem::take(&mut self.tracks).into_values().flatten().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(kind: u64) -> SpanEdge {
        SpanEdge { name: kind, kind, is_unnamed: false }
    }

    const UNNAMED: SpanEdge = SpanEdge { name: 99, kind: 99, is_unnamed: true };

    /// Ends a span. Returns its value and the values of the nested spans.
    fn end(spans: &mut NestedSpans<char>, track: u64, end: SpanEdge) -> (Option<char>, String) {
        let mut lost = String::new();
        (spans.end(track, end, |span| lost.push(span)), lost)
    }

    #[test]
    fn an_end_ends_the_spans_within() {
        let mut spans = NestedSpans::default();
        for (name, value) in [(1, 'a'), (2, 'b'), (3, 'c')] {
            spans.begin(7, edge(name), value);
        }
        spans.begin(8, edge(1), 'x');
        assert_eq!(end(&mut spans, 7, edge(4)), (None, String::new()));
        assert_eq!(end(&mut spans, 7, edge(1)), (Some('a'), "cb".to_owned()));
        assert_eq!(end(&mut spans, 7, edge(2)), (None, String::new()));
        assert_eq!(end(&mut spans, 8, UNNAMED), (Some('x'), String::new()));
        spans.begin(7, edge(1), 'd');
        spans.begin(7, edge(2), 'e');
        let mut lost = String::new();
        spans.end_all(7, |span| lost.push(span));
        spans.end_all(7, |span| lost.push(span));
        assert_eq!((&*lost, spans.count), ("ed", 0));
    }

    #[test]
    fn memory_is_bounded() {
        let (mut spans, mut forgotten) = (NestedSpans::default(), 0);
        for number in 0..2 * MOST as u64 {
            forgotten += spans.begin(number / (2 * MOST_DEEP as u64), edge(1), number);
        }
        assert_eq!(forgotten + spans.count, 2 * MOST);
        let sum = |spans: &NestedSpans<u64>| spans.tracks.values().map(VecDeque::len).sum::<usize>();
        assert_eq!((spans.count, spans.count <= MOST), (sum(&spans), true));
        for track in 0..2 * MOST as u64 {
            spans.begin(track, edge(1), track);
        }
        assert_eq!((spans.count, spans.count <= MOST && spans.tracks.len() <= MOST), (sum(&spans), true));
        let count = spans.count;
        assert_eq!((spans.take_all().count(), spans.count), (count, 0));
    }
}
