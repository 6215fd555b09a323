//! Tests of pyramids.

use ichnos_testing::{Random, cases};

use ichnos_analysis::stats::TimeHistogram;

use super::*;

/// Items of a lane as they were added.
#[derive(Default)]
struct Naive(Vec<SpanItem>);

/// Adds random items that do not overlap.
fn fill(random: &mut Random, pyramid: &mut Pyramid, track: u32, number: u64) -> Naive {
    let mut naive = Naive::default();
    let mut time = random.below(1_000_000);
    for _ in 0..number {
        let gap = if random.percent(3) { 1_000_000 } else { 200 };
        time += random.below(gap);
        let length = match random.below(10) {
            0..4 => 0,
            4..9 => 1 + random.below(300),
            _ => random.below(100_000),
        };
        let name = random.below(5) as u32;
        match length {
            0 => pyramid.instant(track, 0, time, name),
            _ => pyramid.span(track, 0, time, time + length, name),
        }
        naive.0.push(SpanItem::new(time, time + length, name));
        time += length;
    }
    naive
}

fn query(pyramid: &mut Pyramid, track: u32, range: (u64, u64), pixels: u32) -> Vec<SpanItem> {
    let mut found = Vec::new();
    pyramid.spans(track, range.0, range.1, pixels.into(), |_, item| found.push(item));
    found
}

/// Checks every required property of the answer.
fn check(found: &[SpanItem], naive: &Naive, range: (u64, u64), pixels: u32, margin: u64) {
    assert!(found.len() <= 4 * pixels as usize + 4, "{} items for {pixels} pixels", found.len());
    assert!(found.is_sorted_by_key(|item| item.begin));
    let count = |begin: u64, end: u64| {
        naive.0.iter().filter(|item| item.end >= begin && item.begin <= end).count() as u64
    };
    let counted: u64 = found.iter().map(|item| u64::from(item.count)).sum();
    let (begin, end) = range;
    let wide = count(begin.saturating_sub(margin), end.saturating_add(margin));
    assert!(counted >= count(begin, end) && counted <= wide, "{} <= {counted} <= {wide}", count(begin, end));
    for item in found {
        let within = || naive.0.iter().filter(|known| known.begin >= item.begin && known.end <= item.end);
        assert!(within().count() as u64 >= u64::from(item.count));
        assert!(within().any(|known| known.name == item.name));
        assert_eq!(within().map(|known| known.longest).max(), Some(item.longest));
    }
}

#[test]
fn counts_add_up_at_every_zoom() {
    cases(40, |random| {
        let budget = 40 * random.pick(&[100, 1_000, 100_000]);
        let mut pyramid = Pyramid::new(budget);
        let number = random.below(20_000);
        let naive = fill(random, &mut pyramid, 1, number);
        assert_eq!(pyramid.added(1), number);
        assert!(pyramid.used() <= budget);
        let Some(last) = naive.0.last().map(|item| item.end) else { return };
        let all = query(&mut pyramid, 1, (0, u64::MAX >> 1), 10);
        assert_eq!(all.iter().map(|item| u64::from(item.count)).sum::<u64>(), number);
        for _ in 0..8 {
            let begin = random.below(last);
            let longest = if random.percent(50) { last } else { 10_000 };
            let end = begin + random.below(longest);
            let pixels = 1 + random.below(2_000) as u32;
            let width = (end - begin) / u64::from(pixels);
            let found = query(&mut pyramid, 1, (begin, end), pixels);
            check(&found, &naive, (begin, end), pixels, 4 * (width + pyramid.resolution()));
        }
    });
}

#[test]
fn items_are_exact_within_the_budget() {
    cases(40, |random| {
        let mut pyramid = Pyramid::new(1 << 20);
        let naive = fill(random, &mut pyramid, 0, 1_000);
        assert_eq!(pyramid.resolution(), 0);
        let begin = naive.0[random.index(1_000)].begin;
        let end = begin + 2_000;
        let found = query(&mut pyramid, 0, (begin, end), 8_192);
        let expected: Vec<_> =
            naive.0.iter().copied().filter(|item| item.end >= begin && item.begin <= end).collect();
        let single: Vec<_> = found.iter().copied().filter(|item| item.count == 1).collect();
        let count = |items: &[SpanItem]| items.iter().map(|item| u64::from(item.count)).sum::<u64>();
        assert_eq!(count(&found), count(&expected));
        assert!(single.iter().all(|item| expected.contains(item)));
        // Only instants at the same time or spans narrower than a pixel are merged.
        let distinct = expected.windows(2).filter(|pair| pair[0].begin != pair[1].begin).count() + 1;
        assert!(found.len() >= distinct.min(expected.len()));
    });
}

#[test]
fn long_spans_stay_exact() {
    let mut pyramid = Pyramid::new(4_000);
    for i in 0..10_000 {
        let begin = 1_000_000 * i;
        pyramid.instant(0, 1, begin, 2);
        if i % 1_000 == 0 {
            pyramid.span(0, 0, begin, begin + 900_000_000, 1);
        }
    }
    assert!(pyramid.resolution() > 0 && pyramid.resolution() < 900_000_000, "{}", pyramid.resolution());
    let mut long = Vec::new();
    pyramid.spans(0, 0, 10_000_000_000, 1_000, |lane, item| {
        if lane == 0 {
            long.push((item.begin, item.end, item.count));
        }
    });
    assert_eq!(long.len(), 10);
    assert_eq!(long[3], (3_000_000_000, 3_900_000_000, 1));
    let mut around = Vec::new();
    pyramid.latest(0, 3_100_000_000, |lane, item| around.push((lane, item.begin)));
    assert_eq!(around.first(), Some(&(0, 3_000_000_000)));
}

#[test]
fn levels_follow_items_that_are_added_later() {
    let mut pyramid = Pyramid::new(1 << 24);
    let mut added = 0;
    for _ in 0..20 {
        (0..3_000).for_each(|i| pyramid.span(0, 0, 10 * (added + i), 10 * (added + i) + 5, 1));
        added += 3_000;
        for pixels in [1, 7, 4_000] {
            let found = query(&mut pyramid, 0, (0, 10 * added), pixels);
            assert_eq!(found.iter().map(|item| u64::from(item.count)).sum::<u64>(), added);
            assert!(found.len() <= 2 * pixels as usize + 2);
        }
    }
}

#[test]
fn items_in_any_order_and_overlapping_are_found() {
    cases(20, |random| {
        let mut pyramid = Pyramid::new(40 * random.pick(&[200, 100_000]));
        let mut naive = Vec::new();
        for _ in 0..3_000 {
            let begin = random.below(1_000_000);
            let end = begin + random.below(5_000);
            pyramid.span(0, 0, begin, end, 0);
            naive.push((begin, end));
        }
        let begin = random.below(1_000_000);
        let end = begin + 10_000;
        let expected = naive.iter().filter(|item| item.1 >= begin && item.0 <= end).count() as u64;
        let found = query(&mut pyramid, 0, (begin, end), 100);
        let counted: u64 = found.iter().map(|item| u64::from(item.count)).sum();
        assert!(counted >= expected, "{counted} of {expected}");
        if pyramid.resolution() == 0 {
            assert_eq!(counted, expected);
        }
    });
}

#[test]
fn counters_keep_their_extremes() {
    cases(20, |random| {
        let mut pyramid = Pyramid::new(48 * random.pick(&[100, 100_000]));
        let values: Vec<_> = (0..5_000).map(|_| random.below(1_000) as f64).collect();
        (0..).zip(&values).for_each(|(i, value)| pyramid.counter(0, 100 * i, *value));
        let mut found = Vec::new();
        pyramid.values(0, 0, 500_000, 50, |item| found.push(item));
        assert_eq!(found.iter().map(|item| item.count).sum::<u64>(), 5_000);
        let maximum = values.iter().copied().fold(0.0, f64::max);
        assert_eq!(found.iter().map(|item| item.maximum).fold(0.0, f64::max), maximum);
        assert_eq!(pyramid.extremes(0).map(|(_, maximum)| maximum), Some(maximum));
        assert_eq!(found.last().map(|item| item.last), values.last().copied());
        // The value at the start of the range.
        found.clear();
        pyramid.values(0, 250_050, 250_060, 50, |item| found.push(item));
        assert!(!found.is_empty());
    });
}

#[test]
fn the_budget_holds_for_many_tracks() {
    let mut pyramid = Pyramid::new(100_000);
    for i in 0..200_000_u64 {
        pyramid.span((i % 100) as u32, 0, 1_000 * i, 1_000 * i + 50_000_000, 0);
    }
    assert!(pyramid.used() <= 100_000);
    let mut seen = 0;
    (0..100).for_each(|track| {
        pyramid.spans(track, 0, u64::MAX, 100, |_, item| seen += u64::from(item.count));
    });
    assert_eq!(seen, 200_000);
}

#[test]
fn the_begin_of_a_track_is_that_of_its_first_item() {
    let mut pyramid = Pyramid::new(1 << 20);
    assert_eq!(pyramid.begin(0), None);
    pyramid.span(0, 0, 50, 60, 1);
    pyramid.span(0, 1, 40, 70, 1);
    pyramid.span(0, 1, 30, 35, 1);
    pyramid.counter(2, 20, 1.0);
    assert_eq!([0, 1, 2, 3].map(|track| pyramid.begin(track)), [Some(30), None, Some(20), None]);
}

/// `ichnos view` tiles and `--timeline` counts are equal as long as all items are kept. After that only the sums are
/// equal, because a merged item is on one side of a bin edge.
#[test]
fn pyramids_count_the_same_while_they_are_exact() {
    let times: Vec<u64> = (0..20_000).map(|i| 7_919 * i + (i * i) % 977).collect();
    for (budget, is_exact) in [(1 << 20, true), (1 << 12, false)] {
        let mut timeline = TimeHistogram::default();
        let mut pyramid = Pyramid::new(budget);
        for time in &times {
            timeline.add(i128::from(*time));
            pyramid.instant(0, 0, *time, 0);
        }
        assert_eq!(pyramid.resolution() == 0, is_exact);
        let width = timeline.width() as u64;
        let mut counted = vec![0_u64; timeline.counts().len()];
        // With one pixel per nanosecond, the query merges nothing.
        pyramid.spans(0, 0, 1 << 31, 1 << 31, |_, item| {
            counted[((item.begin - timeline.begin() as u64) / width) as usize] += u64::from(item.count);
        });
        assert_eq!(counted.iter().sum::<u64>(), times.len() as u64);
        assert_eq!(timeline.counts().eq(counted), is_exact, "with {budget} bytes");
    }
}
