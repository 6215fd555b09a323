//! Summary of timeline tracks in bounded memory: [`Pyramid`].

mod item;
mod lane;
#[cfg(test)]
mod tests;

pub use item::{CounterItem, SpanItem};
use lane::ItemLane;

/// Maximum number of lanes on a track. Deeper spans share the last lane, where they can overlap.
pub const MOST_LANES: u16 = 256;

/// First resolution in nanoseconds.
const FIRST_RESOLUTION: u64 = 1 << 10;

/// Shift between resolutions, and between the levels of a lane.
const FACTOR: u32 = 2;

/// Spans, instants and counters of tracks, summarized where there are too many.
///
/// All items are kept exactly until they need more memory than the budget. Then the [resolution](Self::resolution)
/// grows by a factor of 4. Shorter items that start in the same bin of that width are merged and counted. Longer
/// items stay. This repeats until everything fits. Memory is thus bounded by the budget, half of the budget for
/// levels that make queries fast, and a few items for each track. The counts include every item that was added.
///
/// Times are in nanoseconds from any origin. The items of a lane should be sorted by time and should not overlap.
/// Otherwise queries take longer.
///
/// ```
/// use ichnos_viewers::Pyramid;
///
/// let mut pyramid = Pyramid::new(1 << 20);
/// (0..1_000_000).for_each(|i| pyramid.span(0, 0, 10 * i, 10 * i + 5, 7));
/// let mut seen = 0;
/// pyramid.spans(0, 0, 10_000_000, 100, |lane, item| {
///     assert_eq!((lane, item.name), (0, 7));
///     seen += u64::from(item.count);
/// });
/// assert_eq!(seen, 1_000_000);
/// ```
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug)]
pub struct Pyramid {
    tracks: Vec<TrackItems>,
    /// Maximum size of all items in bytes.
    budget: usize,
    /// Size of all items in bytes.
    used: usize,
    resolution: u64,
}

/// Items of a track.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug, Default)]
struct TrackItems {
    lanes: Vec<ItemLane<SpanItem>>,
    counter: Option<Box<CounterLane>>,
    /// Number of spans, instants and values that were added.
    added: u64,
}

#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug)]
struct CounterLane {
    lane: ItemLane<CounterItem>,
    minimum: f64,
    maximum: f64,
}

impl Pyramid {
    /// Creates an empty summary. `budget` is the maximum item size in bytes: a span or an instant takes 40 bytes, a
    /// counter value takes 48.
    #[must_use]
    pub fn new(budget: usize) -> Self {
        Self { tracks: Vec::new(), budget, used: 0, resolution: 0 }
    }

    /// Returns the resolution in nanoseconds: spans of at least this length are never merged. 0 if nothing was
    /// merged.
    #[must_use]
    pub fn resolution(&self) -> u64 {
        self.resolution
    }

    /// Returns the size of all items in bytes.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used
    }

    /// Returns the number of spans, instants and values that were added to a track.
    #[must_use]
    pub fn added(&self, track: u32) -> u64 {
        self.tracks.get(track as usize).map_or(0, |track| track.added)
    }

    /// Returns the number of lanes on a track.
    #[must_use]
    pub fn lanes(&self, track: u32) -> usize {
        self.tracks.get(track as usize).map_or(0, |track| track.lanes.len())
    }

    /// Returns the start time of the first item on a track, in nanoseconds.
    #[must_use]
    pub fn begin(&self, track: u32) -> Option<u64> {
        let track = self.tracks.get(track as usize)?;
        let counter = track.counter.as_ref().and_then(|counter| counter.lane.begin());
        track.lanes.iter().filter_map(ItemLane::begin).chain(counter).min()
    }

    /// Returns the smallest and the largest finite value of a counter.
    #[must_use]
    pub fn extremes(&self, track: u32) -> Option<(f64, f64)> {
        let counter = self.tracks.get(track as usize)?.counter.as_ref()?;
        (counter.minimum <= counter.maximum).then_some((counter.minimum, counter.maximum))
    }

    /// Adds a span with a known end to a lane of a track.
    pub fn span(&mut self, track: u32, lane: u16, begin: u64, end: u64, name: u32) {
        self.item(track, lane, SpanItem::new(begin, end.max(begin), name));
    }

    /// Adds an instant.
    pub fn instant(&mut self, track: u32, lane: u16, time: u64, name: u32) {
        self.item(track, lane, SpanItem::new(time, time, name));
    }

    /// Adds a counter value.
    pub fn counter(&mut self, track: u32, time: u64, value: f64) {
        let resolution = self.resolution;
        let Some(track) = self.track(track) else { return };
        track.added += 1;
        let counter = track.counter.get_or_insert_with(|| {
            let (minimum, maximum) = (f64::INFINITY, f64::NEG_INFINITY);
            Box::new(CounterLane { lane: ItemLane::default(), minimum, maximum })
        });
        if value.is_finite() {
            counter.minimum = counter.minimum.min(value);
            counter.maximum = counter.maximum.max(value);
        }
        if counter.lane.push(CounterItem::new(time, value), resolution) {
            self.use_more(size_of::<CounterItem>());
        }
    }

    /// Adds a span or an instant.
    pub fn item(&mut self, track: u32, lane: u16, item: SpanItem) {
        let resolution = self.resolution;
        let Some(track) = self.track(track) else { return };
        track.added += 1;
        let lane = usize::from(lane.min(MOST_LANES - 1));
        if track.lanes.len() <= lane {
            track.lanes.resize_with(lane + 1, ItemLane::default);
        }
        if track.lanes.get_mut(lane).is_some_and(|lane| lane.push(item, resolution)) {
            self.use_more(size_of::<SpanItem>());
        }
    }

    fn track(&mut self, track: u32) -> Option<&mut TrackItems> {
        let index = track as usize;
        if self.tracks.len() <= index {
            self.tracks.resize_with(index + 1, TrackItems::default);
        }
        self.tracks.get_mut(index)
    }

    fn use_more(&mut self, bytes: usize) {
        self.used += bytes;
        if self.used <= self.budget {
            return;
        }
        // Leaves some room, so that merging does not repeat soon.
        let wanted = self.budget - self.budget / 4;
        while self.used > wanted && self.resolution < 1 << 62 {
            self.resolution = (self.resolution << FACTOR).max(FIRST_RESOLUTION);
            self.coarsen();
        }
    }

    /// Merges items within the resolution.
    fn coarsen(&mut self) {
        let resolution = self.resolution;
        self.used = 0;
        for track in &mut self.tracks {
            for lane in &mut track.lanes {
                self.used += lane.coarsen(resolution) * size_of::<SpanItem>();
            }
            if let Some(counter) = &mut track.counter {
                self.used += counter.lane.coarsen(resolution) * size_of::<CounterItem>();
            }
        }
    }

    /// Passes the spans and instants of a track that touch a range to `take`, sorted by lane and time. Items narrower
    /// than a pixel are merged if they start in the same pixel. A lane therefore has at most about two items for each
    /// of `pixels`, and the query time depends on `pixels`, not on the number of items.
    pub fn spans(
        &mut self,
        track: u32,
        begin: u64,
        end: u64,
        pixels: u64,
        mut take: impl FnMut(u16, SpanItem),
    ) {
        let resolution = self.resolution;
        let Some(track) = self.tracks.get_mut(track as usize) else { return };
        for (number, lane) in (0..).zip(&mut track.lanes) {
            lane.query((begin, end), pixels, resolution, false, |item| take(number, item));
        }
    }

    /// Passes the values of a counter in a range to `take`, merged in the same way, and the previous value.
    pub fn values(&mut self, track: u32, begin: u64, end: u64, pixels: u32, take: impl FnMut(CounterItem)) {
        let resolution = self.resolution;
        let counter = self.tracks.get_mut(track as usize).and_then(|track| track.counter.as_mut());
        if let Some(counter) = counter {
            counter.lane.query((begin, end), pixels.into(), resolution, true, take);
        }
    }

    /// Passes the last item of each lane that starts at or before a time to `take`, with its lane.
    pub fn latest(&mut self, track: u32, time: u64, mut take: impl FnMut(u16, SpanItem)) {
        let Some(track) = self.tracks.get_mut(track as usize) else { return };
        for (number, lane) in (0..).zip(&mut track.lanes) {
            if let Some(item) = lane.latest(time) {
                take(number, item);
            }
        }
    }
}
