//! Lane items, with increasingly merged levels.

use super::FACTOR;
use super::item::LaneItem;

/// Bin width of the first level, in nanoseconds.
const FIRST_LEVEL: u64 = 1 << 8;

/// Number of items without further levels.
const FEW: usize = 64;

/// Maximum number of items after the levels. With more, the levels are rebuilt.
const MOST_AFTER: usize = 4 << 10;

/// Items of a lane, sorted by start.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug)]
#[cfg_attr(feature = "serde", serde(bound(deserialize = "T: serde::Deserialize<'de>")))]
pub(super) struct ItemLane<T> {
    items: Vec<T>,
    /// Merged copies of the first items. Each level has at most a third of the previous level's items.
    #[cfg_attr(feature = "serde", serde(skip))]
    levels: Vec<LaneLevel<T>>,
    /// Number of items that the levels cover. The last item can still change and is never covered.
    #[cfg_attr(feature = "serde", serde(skip))]
    covered: usize,
    /// Length of the longest item, in nanoseconds.
    longest: u64,
    is_sorted: bool,
    has_overlaps: bool,
}

#[derive(Debug)]
struct LaneLevel<T> {
    width: u64,
    items: Vec<T>,
}

impl<T> Default for ItemLane<T> {
    fn default() -> Self {
        let (items, levels) = (Vec::new(), Vec::new());
        Self { items, levels, covered: 0, longest: 0, is_sorted: true, has_overlaps: false }
    }
}

/// Returns `true` if `later` can be merged into `earlier`, with bins of a width counted from an origin.
#[inline]
fn belong_together<T: LaneItem>(earlier: &T, later: &T, width: u64, origin: u64) -> bool {
    let bin = |item: &T| item.begin().saturating_sub(origin) / width.max(1);
    earlier.is_narrow(width) && later.is_narrow(width) && bin(earlier) == bin(later)
}

/// Merges `later` into `earlier` if both are in one bin.
#[inline]
fn merge<T: LaneItem>(earlier: &mut T, later: &T, width: u64, origin: u64) -> bool {
    belong_together(earlier, later, width, origin) && earlier.absorb(later)
}

impl<T: LaneItem> ItemLane<T> {
    /// Returns the start of the first item.
    pub(super) fn begin(&self) -> Option<u64> {
        match self.is_sorted {
            true => self.items.first().map(LaneItem::begin),
            false => self.items.iter().map(LaneItem::begin).min(),
        }
    }

    /// Adds an item. Returns `true` if it was not merged into the last item.
    #[inline]
    pub(super) fn push(&mut self, item: T, resolution: u64) -> bool {
        if let Some(last) = self.items.last_mut() {
            self.is_sorted &= last.begin() <= item.begin();
            self.has_overlaps |= last.end() > item.begin();
            if resolution > 0 && last.begin() <= item.begin() && merge(last, &item, resolution, 0) {
                self.longest = self.longest.max(last.end() - last.begin());
                return false;
            }
        }
        self.longest = self.longest.max(item.end().saturating_sub(item.begin()));
        if self.items.len() == self.items.capacity() {
            // Grows by an eighth, because doubling would waste half of the memory.
            self.items.reserve_exact(self.items.len() / 8 + 4);
        }
        self.items.push(item);
        true
    }

    /// Merges items within bins of a width. Returns the number of remaining items.
    pub(super) fn coarsen(&mut self, width: u64) -> usize {
        self.sort();
        (self.levels, self.covered) = (Vec::new(), 0);
        self.items.dedup_by(|later, earlier| merge(earlier, later, width, 0));
        self.items.shrink_to(self.items.len() + self.items.len() / 8);
        let length = |item: &T| item.end().saturating_sub(item.begin());
        self.longest = self.items.iter().map(length).max().unwrap_or(0);
        self.items.len()
    }

    fn sort(&mut self) {
        if self.is_sorted {
            return;
        }
        self.items.sort_by_key(T::begin);
        (self.levels, self.covered) = (Vec::new(), 0);
        self.is_sorted = true;
    }

    /// Rebuilds the levels if many items are not covered.
    fn make_levels(&mut self, resolution: u64) {
        self.sort();
        let after = self.items.len() - self.covered;
        if after <= MOST_AFTER.max(self.covered / 4) {
            return;
        }
        self.levels = Vec::new();
        self.covered = self.items.len().saturating_sub(1);
        let mut width = FIRST_LEVEL.max(resolution << FACTOR);
        loop {
            let below = match self.levels.last() {
                Some(level) => &level.items,
                None => self.items.get(..self.covered).unwrap_or_default(),
            };
            if below.len() <= FEW {
                return;
            }
            let pairs = below.iter().zip(below.iter().skip(1));
            let merged = pairs.filter(|(earlier, later)| belong_together(*earlier, *later, width, 0)).count();
            // Fewer levels need less memory, and the remaining levels are small enough.
            if below.len() - merged <= below.len() / 3 {
                let mut items: Vec<T> = Vec::with_capacity(below.len() - merged);
                for item in below {
                    if !items.last_mut().is_some_and(|last| merge(last, item, width, 0)) {
                        items.push(*item);
                    }
                }
                self.levels.push(LaneLevel { width, items });
            }
            if width >= 1 << 62 {
                return;
            }
            width <<= FACTOR;
        }
    }

    /// Passes the items that touch a range to `take`, merged to pixels. With `before`, also passes the last earlier
    /// item.
    pub(super) fn query(
        &mut self,
        (begin, end): (u64, u64),
        pixels: u64,
        resolution: u64,
        before: bool,
        mut take: impl FnMut(T),
    ) {
        self.make_levels(resolution);
        let width = (end.saturating_sub(begin) / pixels.max(1)).max(1);
        let level = self.levels.iter().rev().find(|level| level.width <= width);
        let covered = match level {
            Some(level) => level.items.as_slice(),
            None => self.items.get(..self.covered).unwrap_or_default(),
        };
        let after = self.items.get(self.covered..).unwrap_or_default();
        let mut last: Option<T> = None;
        for items in [covered, after] {
            for item in self.touching(items, (begin, end), before) {
                if !last.as_mut().is_some_and(|last| merge(last, item, width, begin)) {
                    last.replace(*item).into_iter().for_each(&mut take);
                }
            }
        }
        last.into_iter().for_each(take);
    }

    /// Returns the items that touch a range.
    fn touching<'i>(
        &self,
        items: &'i [T],
        (begin, end): (u64, u64),
        before: bool,
    ) -> impl Iterator<Item = &'i T> {
        let to = items.partition_point(|item| item.begin() <= end);
        // Without overlaps, ends have the same order as starts. Merged items are up to two bins long.
        let earliest = if self.has_overlaps { begin.saturating_sub(self.longest) } else { begin };
        let from = items.partition_point(|item| item.begin() < earliest).saturating_sub(1);
        let found = items.get(from..to).unwrap_or_default();
        found.iter().filter(move |item| before || item.end() >= begin)
    }

    /// Returns the last item that starts at or before a time.
    pub(super) fn latest(&mut self, time: u64) -> Option<T> {
        self.sort();
        let items = self.items.as_slice();
        let to = items.partition_point(|item| item.begin() <= time);
        items.get(..to).and_then(<[T]>::last).copied()
    }
}
