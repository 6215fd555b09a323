//! Threads on a processor's track, with pixels that several programs share.

use std::collections::HashMap;

use ichnos::export::viewers::Timeline;
use ichnos::flow::SpanItem;

/// Parts of a pixel in which programs are told apart.
const PARTS: u32 = 8;

/// Items of a pixel.
struct PixelItems {
    lane: u16,
    /// Number of the pixel.
    pixel: u64,
    all: SpanItem,
    /// Name that took most of the time, with that time.
    most: (u32, u64),
    /// Time by programs, which are names where no program is known.
    programs: HashMap<(bool, u32), u64>,
}

impl PixelItems {
    fn new(lane: u16, pixel: u64, first: SpanItem) -> Self {
        let most = (first.name, first.end - first.begin);
        Self { lane, pixel, all: first, most, programs: HashMap::new() }
    }

    fn add(&mut self, item: &SpanItem) -> &mut Self {
        self.all.count = self.all.count.saturating_add(item.count);
        self.all.end = self.all.end.max(item.end);
        self.all.longest = self.all.longest.max(item.longest);
        let length = item.end - item.begin;
        if length >= self.most.1 {
            self.most = (item.name, length);
        }
        self
    }

    /// Returns the items as one, without a name if no program ran for more than half of the time.
    fn merged(self) -> (u16, SpanItem) {
        let Self { lane, mut all, most, programs, .. } = self;
        let (total, largest) =
            (programs.values().sum::<u64>(), programs.values().max().copied().unwrap_or(0));
        all.name = if largest > total / 2 { most.0 } else { Timeline::OTHER };
        (lane, all)
    }
}

/// Returns the threads that a processor ran, like [`Timeline::spans`]. The items of a pixel lose their name if several programs
/// share it and none ran for more than half of the time.
pub(super) fn program_spans(
    timeline: &mut Timeline,
    track: u32,
    (begin, end): (u64, u64),
    pixels: u32,
) -> Vec<(u16, SpanItem)> {
    let width = ((end - begin) / u64::from(pixels)).max(1);
    let mut found = Vec::new();
    let mut current: Option<PixelItems> = None;
    let mut known = HashMap::new();
    for (lane, item) in timeline.spans(track, begin, end, pixels.saturating_mul(PARTS)) {
        let (length, pixel) = (item.end - item.begin, item.begin / width);
        let is_same = current.as_ref().is_some_and(|items| (items.lane, items.pixel) == (lane, pixel));
        if !is_same || length >= width {
            found.extend(current.take().map(PixelItems::merged));
        }
        if length >= width {
            found.push((lane, item));
            continue;
        }
        let program = *known.entry(item.name).or_insert_with(|| {
            let program = timeline.program_of_name(track, item.name);
            program.map_or((false, item.name), |program| (true, program))
        });
        let items = match current.as_mut() {
            Some(items) => items.add(&item),
            None => current.insert(PixelItems::new(lane, pixel, item)),
        };
        *items.programs.entry(program).or_default() += length.max(1);
    }
    found.extend(current.map(PixelItems::merged));
    found
}
