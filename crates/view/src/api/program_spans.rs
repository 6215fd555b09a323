//! Items of processor tracks, where several programs can share a pixel.

use std::collections::HashMap;

use ichnos::viewers::SpanItem;
use ichnos::viewers::Timeline;

/// Subdivisions of a pixel that separate programs.
const PARTS: u32 = 8;

/// Items of a pixel.
struct PixelItems {
    lane: u16,
    /// Pixel number.
    pixel: u64,
    all: SpanItem,
    /// Times by program, or by name if the program is unknown.
    programs: HashMap<(bool, u32), ProgramTime>,
}

/// Time of a program in a pixel.
#[derive(Clone, Copy, Default)]
struct ProgramTime {
    total: u64,
    /// Length and name of its longest item.
    longest: (u64, u32),
}

impl PixelItems {
    fn new(lane: u16, pixel: u64, first: SpanItem) -> Self {
        Self { lane, pixel, all: first, programs: HashMap::new() }
    }

    fn add(&mut self, item: &SpanItem) -> &mut Self {
        self.all.count = self.all.count.saturating_add(item.count);
        self.all.end = self.all.end.max(item.end);
        self.all.longest = self.all.longest.max(item.longest);
        self
    }

    /// Merges the items into one item, without a name unless a program ran for more than half of the time.
    fn merged(self) -> (u16, SpanItem) {
        let Self { lane, mut all, programs, .. } = self;
        let total = programs.values().fold(0_u64, |sum, time| sum.saturating_add(time.total));
        let largest =
            programs.into_values().max_by_key(|time| (time.total, time.longest)).unwrap_or_default();
        all.name = if largest.total > total / 2 { largest.longest.1 } else { Timeline::OTHER };
        (lane, all)
    }
}

/// Returns the threads that a processor ran, like [`Timeline::spans`]. A pixel that several programs share only has a
/// name if one program ran for more than half of the time.
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
    for (lane, item) in timeline.spans(track, begin, end, pixels.saturating_mul(PARTS).into()) {
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
        let time = items.programs.entry(program).or_default();
        time.total = time.total.saturating_add(length.max(1));
        time.longest = time.longest.max((length, item.name));
    }
    found.extend(current.map(PixelItems::merged));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pixel must have the name of the program that ran longest, not of the longest item.
    #[test]
    fn pixels_have_the_name_of_their_program() {
        let mut items = PixelItems::new(0, 0, SpanItem::new(0, 40, 9));
        for (begin, length, name, program) in [(0, 40, 9, 1), (40, 30, 5, 2), (70, 30, 5, 2), (100, 30, 5, 2)]
        {
            let item = SpanItem::new(begin, begin + length, name);
            items.add(&item);
            let time = items.programs.entry((true, program)).or_default();
            time.total += length;
            time.longest = time.longest.max((length, name));
        }
        assert_eq!(items.merged().1.name, 5);
    }
}
