//! Image layout: time from left to right, a band of rows for each place.

use std::collections::HashMap;

use super::graph::TaskGraph;
use super::operations::{NONE, TaskEvent};

/// Maximum number of bands. Beyond it, places share bands.
const MOST_BANDS: usize = 64;
/// Number of bands with a single place, if there are more places than that.
const SINGLE_BANDS: usize = 48;
/// Maximum total number of rows, if each band has a few.
const MOST_ROWS: usize = 600;
const FEWEST_ROWS_OF_BAND: usize = 6;
const MOST_ROWS_OF_BAND: usize = 40;
/// Minimum distance of marks in a row.
pub(super) const GAP: f64 = 10.0;
/// Minimum and maximum width of the time axis.
const NARROWEST: usize = 1_000;
const WIDEST: usize = 8_000;
/// Width per operation, within these limits.
const OPERATION: usize = 6;
/// Maximum number of operations and joined events with a labeled mark each. Beyond it, marks share labels and room, and
/// joined events are not drawn.
const MOST_LABELED: usize = 200;
/// Maximum number of characters per label.
pub(super) const MOST_LABEL: usize = 60;
/// Character width.
pub(super) const CHARACTER: f64 = 6.6;
/// Distances from a mark to both ends of its label, and half its width.
pub(super) const LABEL: f64 = 7.0;
const MARK: f64 = 4.0;
/// Time axis start. Place names are to its left.
const LEFT: usize = 260;
/// Space to the right, with and without texts of the last operations.
const RIGHT: usize = 240;
const MARGIN: usize = 16;

/// Operations at one place, or at several places that share a band.
#[derive(Debug, Default)]
pub(super) struct Band {
    /// Places, largest first: text number and operation count.
    pub(super) places: Vec<(u32, u64)>,
    pub(super) operations: u64,
    /// First row and number of rows.
    pub(super) row: usize,
    pub(super) rows: usize,
}

/// Mark in the image, for one operation or for several that are close together.
#[derive(Clone, Copy, Debug)]
pub(super) struct PictureMark {
    pub(super) x: f64,
    pub(super) row: u32,
    /// First item: an operation index, or the index of a joined event after all operations.
    pub(super) first: u32,
    pub(super) count: u32,
    /// `true` if the label is to the left of the mark.
    pub(super) is_left: bool,
}

/// Operation positions.
#[derive(Debug)]
pub(super) struct Picture {
    /// Time axis start.
    pub(super) left: usize,
    /// Time axis width.
    pub(super) width: usize,
    /// Space to the right of it.
    pub(super) right: usize,
    /// Joined events with the nodes that they follow.
    pub(super) events: Vec<(u32, TaskEvent)>,
    /// `true` if every mark has its label.
    pub(super) is_labeled: bool,
    pub(super) rows: usize,
    pub(super) bands: Vec<Band>,
    pub(super) marks: Vec<PictureMark>,
    /// Mark by item: node, then joined event.
    pub(super) mark_of: Vec<u32>,
    /// First and last time in nanoseconds. `None` if no time is known. Positions then follow the order.
    pub(super) times: Option<(i128, i128)>,
}

impl Picture {
    /// Lays out a graph, with an optional image width.
    pub(super) fn new(graph: &TaskGraph<'_>, total: Option<usize>) -> Self {
        let is_labeled = graph.len() as usize + graph.joined_count() <= MOST_LABELED;
        let events = if is_labeled { graph.joined() } else { Vec::new() };
        let items = || 0..graph.len() + events.len() as u32;
        let (left, right) = match is_labeled {
            true => (column(graph, &events).min(total.map_or(LEFT, |total| total / 3)), MARGIN),
            false => (LEFT, RIGHT),
        };
        let width = match total {
            Some(total) => total.saturating_sub(left + right).max(MARGIN),
            None => (graph.len() as usize).saturating_mul(OPERATION).clamp(NARROWEST, WIDEST),
        };
        let begin = items().filter_map(|item| time(graph, &events, item)).min();
        let ends = (0..graph.len()).filter_map(|node| graph.end(node));
        let end = ends.chain(items().filter_map(|item| time(graph, &events, item))).max();
        let mut picture = Self {
            left,
            width,
            right,
            events,
            is_labeled,
            rows: 0,
            bands: Vec::new(),
            marks: Vec::new(),
            mark_of: Vec::new(),
            times: begin.zip(end),
        };
        let items = 0..graph.len() + picture.events.len() as u32;
        picture.mark_of = vec![NONE; items.len()];
        let mut positions: Vec<f64> = Vec::with_capacity(items.len());
        for item in items.clone() {
            // An item without a time takes the position of its last cause.
            let position = |node: u32| positions.get(node as usize).copied();
            let latest = match picture.event(graph, item) {
                Some((node, _)) => position(node).unwrap_or_default(),
                None => graph.causes(item).iter().filter_map(|edge| position(edge.node)).fold(0.0, f64::max),
            };
            let own = match picture.times {
                Some(_) => time(graph, &picture.events, item).map(|time| picture.x_of(time)),
                None if item >= graph.len() => None,
                None => Some(width as f64 * f64::from(item) / f64::from(graph.len())),
            };
            positions.push(own.unwrap_or(latest));
        }
        let band_of_place = picture.make_bands(graph);
        let mut by_band: Vec<Vec<u32>> = vec![Vec::new(); picture.bands.len()];
        for item in items {
            let place = graph.origin(picture.place_of(graph, item)).text;
            let band = band_of_place.get(&place).copied().unwrap_or_default();
            if let Some(members) = by_band.get_mut(band) {
                members.push(item);
            }
        }
        let x = |item: u32| positions.get(item as usize).copied().unwrap_or_default();
        for (band, mut members) in by_band.into_iter().enumerate() {
            members.sort_by(|a, b| x(*a).total_cmp(&x(*b)).then(a.cmp(b)));
            picture.place(graph, band, &members, x);
        }
        picture
    }

    /// Returns the joined event of an item, with the node that it follows, unless the item is a node.
    pub(super) fn event(&self, graph: &TaskGraph<'_>, item: u32) -> Option<(u32, TaskEvent)> {
        self.events.get(item.checked_sub(graph.len())? as usize).copied()
    }

    /// Returns an item's origin number.
    pub(super) fn place_of(&self, graph: &TaskGraph<'_>, item: u32) -> u32 {
        match self.event(graph, item) {
            Some((_, event)) => event.place,
            None => graph.operation(item).map_or(NONE, |operation| operation.place),
        }
    }

    /// Returns an item's label.
    pub(super) fn label<'t>(&self, graph: &TaskGraph<'t>, item: u32) -> &'t [u8] {
        match self.event(graph, item) {
            Some((_, event)) => graph.text(event.label),
            None => graph.member(item).map_or(&[], |member| member.label),
        }
    }

    /// Returns the position of a time.
    pub(super) fn x_of(&self, time: i128) -> f64 {
        let Some((begin, end)) = self.times else { return 0.0 };
        match end - begin {
            0 => 0.0,
            whole => self.width as f64 * ((time - begin) as f64 / whole as f64).clamp(0.0, 1.0),
        }
    }

    /// Creates the bands, without rows. Returns the band of each place.
    fn make_bands(&mut self, graph: &TaskGraph<'_>) -> HashMap<u32, usize> {
        // By place: first operation (or the operation before its first joined event), machine, operation count.
        let mut places: HashMap<u32, (u32, u32, u64)> = HashMap::new();
        for item in 0..graph.len() + self.events.len() as u32 {
            let origin = graph.origin(self.place_of(graph, item));
            let event = self.event(graph, item);
            let first = event.map_or(item, |(node, _)| node);
            let place = places.entry(origin.text).or_insert((first, origin.machine, 0));
            place.0 = place.0.min(first);
            place.2 += u64::from(event.is_none());
        }
        let mut places: Vec<(u32, (u32, u32, u64))> = places.into_iter().collect();
        places.sort_by_key(|(_, (first, _, count))| (std::cmp::Reverse(*count), *first));
        let single = if places.len() > MOST_BANDS { SINGLE_BANDS } else { places.len() };
        let (alone, together) = places.split_at(single);
        let mut machines: Vec<u32> = together.iter().map(|(_, (_, machine, _))| *machine).collect();
        machines.sort_unstable();
        machines.dedup();
        let by_machine = machines.len() <= MOST_BANDS - SINGLE_BANDS;
        // Sorted by first operation.
        let mut bands: Vec<(u32, Band)> = Vec::new();
        for (place, (first, _, count)) in alone {
            bands.push((
                *first,
                Band { places: vec![(*place, *count)], operations: *count, ..Band::default() },
            ));
        }
        let mut shared: HashMap<u32, usize> = HashMap::new();
        for (place, (first, machine, count)) in together {
            let at = *shared.entry(if by_machine { *machine } else { NONE }).or_insert_with(|| {
                bands.push((*first, Band::default()));
                bands.len() - 1
            });
            if let Some((earliest, band)) = bands.get_mut(at) {
                *earliest = (*earliest).min(*first);
                band.places.push((*place, *count));
                band.operations += count;
            }
        }
        bands.sort_by_key(|(first, _)| *first);
        self.bands = bands.into_iter().map(|(_, band)| band).collect();
        let bands = (0..).zip(&self.bands);
        bands.flat_map(|(at, band)| band.places.iter().map(move |(place, _)| (*place, at))).collect()
    }

    /// Places the items of a band. They must be sorted by position.
    fn place(&mut self, graph: &TaskGraph<'_>, band: usize, members: &[u32], x: impl Fn(u32) -> f64) {
        let most = (MOST_ROWS / self.bands.len().max(1)).clamp(FEWEST_ROWS_OF_BAND, MOST_ROWS_OF_BAND);
        // By row: its last mark, and the end of its label.
        let mut rows: Vec<(u32, f64)> = Vec::new();
        for item in members {
            let position = x(*item);
            let (begin, end, is_left) = self.extent(graph, *item, position);
            let free = rows.iter().position(|(_, last)| begin - last >= GAP);
            let row = match free {
                None if rows.len() < most => {
                    rows.push((NONE, f64::MIN));
                    rows.len() - 1
                }
                None => {
                    // Join the adjacent mark in the last row.
                    let mark = rows.last().map_or(NONE, |(mark, _)| *mark);
                    if let Some(known) = self.marks.get_mut(mark as usize) {
                        known.count += 1;
                    }
                    self.mark_of[*item as usize] = mark;
                    continue;
                }
                Some(row) => row,
            };
            let mark = self.marks.len() as u32;
            let row_of_image = (self.rows + row) as u32;
            self.marks.push(PictureMark { x: position, row: row_of_image, first: *item, count: 1, is_left });
            self.mark_of[*item as usize] = mark;
            rows[row] = (mark, end);
        }
        // The place name, and the tracer name below it.
        let count = if self.is_labeled { rows.len().max(2) } else { rows.len() };
        if let Some(band) = self.bands.get_mut(band) {
            (band.row, band.rows) = (self.rows, count);
        }
        self.rows += count;
    }

    /// Returns the room that an item takes in its row, and `true` if its label is to the left of its mark.
    fn extent(&self, graph: &TaskGraph<'_>, item: u32, x: f64) -> (f64, f64, bool) {
        if !self.is_labeled {
            return (x, x, false);
        }
        let text = String::from_utf8_lossy(self.label(graph, item)).chars().count();
        let label = LABEL + CHARACTER * text.min(self.most_label()) as f64;
        match x + label <= (self.width + self.right) as f64 {
            true => (x - MARK, x + label, false),
            false => (x - label, x + MARK, true),
        }
    }

    /// Returns the maximum number of characters per label: there must be room on one side of the mark.
    pub(super) fn most_label(&self) -> usize {
        ((self.width as f64 / 2.0 / CHARACTER) as usize).clamp(4, MOST_LABEL)
    }

    /// Returns a node's mark.
    pub(super) fn mark(&self, node: u32) -> Option<(u32, PictureMark)> {
        let mark = *self.mark_of.get(node as usize)?;
        Some((mark, *self.marks.get(mark as usize)?))
    }
}

/// Returns an item's time.
fn time(graph: &TaskGraph<'_>, events: &[(u32, TaskEvent)], item: u32) -> Option<i128> {
    match item.checked_sub(graph.len()) {
        None => graph.begin(item),
        Some(event) => {
            let (_, event) = events.get(event as usize)?;
            graph.corrected(event.place, event.time)
        }
    }
}

/// Returns the width for place and tracer names.
fn column(graph: &TaskGraph<'_>, events: &[(u32, TaskEvent)]) -> usize {
    let places = (0..graph.len()).filter_map(|node| graph.operation(node)).map(|operation| operation.place);
    let origins = places.chain(events.iter().map(|(_, event)| event.place)).map(|place| graph.origin(place));
    let names = origins.flat_map(|origin| [origin.text, origin.tracer]);
    let longest = names.map(|name| String::from_utf8_lossy(graph.text(name)).chars().count()).max();
    ((longest.unwrap_or_default() as f64 * CHARACTER) as usize + 2 * MARGIN).min(LEFT)
}

#[cfg(test)]
mod tests {
    use ichnos_testing::{Random, cases};

    use super::*;
    use crate::tasks::tests::task_of;

    /// Labels in small tasks do not overlap, and are within the image.
    #[test]
    fn labels_have_room() {
        cases(60, |random: &mut Random| {
            let count = 1 + random.below(100) as u32;
            let tasks = task_of(count, &[], |number| (random.below(1_000) as i64, number % 5));
            let graph = tasks.graph(0);
            let total = 400 + random.below(1_000) as usize;
            let picture = Picture::new(&graph, Some(total));
            assert!(picture.is_labeled);
            assert_eq!(picture.left + picture.width + picture.right, total);
            let mut rows: HashMap<u32, Vec<(f64, f64)>> = HashMap::new();
            for mark in &picture.marks {
                assert_eq!(mark.count, 1);
                let (begin, end, is_left) = picture.extent(&graph, mark.first, mark.x);
                assert_eq!(is_left, mark.is_left);
                assert!(begin >= -MARK && end <= (picture.width + picture.right) as f64, "{begin} {end}");
                rows.entry(mark.row).or_default().push((begin, end));
            }
            for row in rows.values_mut() {
                row.sort_by(|a, b| a.0.total_cmp(&b.0));
                assert!(row.windows(2).all(|pair| pair[0].1 + GAP <= pair[1].0), "{row:?}");
            }
        });
    }
}
