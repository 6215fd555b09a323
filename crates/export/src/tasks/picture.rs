//! Layout of operations in an image: time from left to right, a band of rows for each place.

use std::collections::HashMap;

use super::graph::TaskGraph;
use super::operations::NONE;

/// Limit of bands; beyond it, places share bands.
const MOST_BANDS: usize = 64;
/// Number of bands with a single place, if there are more places than that.
const SINGLE_BANDS: usize = 48;
/// Limit of the rows of all bands together, if each has a few.
const MOST_ROWS: usize = 600;
const FEWEST_ROWS_OF_BAND: usize = 6;
const MOST_ROWS_OF_BAND: usize = 40;
/// Minimum distance of marks in a row.
pub(super) const GAP: f64 = 10.0;
/// Limits of the width of the time axis.
const NARROWEST: usize = 1_000;
const WIDEST: usize = 8_000;
/// Width per operation, within these limits.
const OPERATION: usize = 6;

/// Operations of one place, or of several that share a band.
#[derive(Debug, Default)]
pub(super) struct Band {
    /// Places: number of the text and number of operations, the largest first.
    pub(super) places: Vec<(u32, u64)>,
    pub(super) operations: u64,
    /// First row and number of rows.
    pub(super) row: usize,
    pub(super) rows: usize,
}

/// One operation in the image, or several that are so close that they share a mark.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) x: f64,
    pub(super) row: u32,
    pub(super) first: u32,
    pub(super) count: u32,
}

/// Positions of all operations.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) width: usize,
    pub(super) rows: usize,
    pub(super) bands: Vec<Band>,
    pub(super) marks: Vec<Mark>,
    /// Mark by node.
    pub(super) mark_of: Vec<u32>,
    /// First and last time in nanoseconds; `None` if positions follow the order, because there are no times.
    pub(super) times: Option<(i128, i128)>,
}

impl Picture {
    pub(super) fn new(graph: &TaskGraph<'_>) -> Self {
        let nodes = || 0..graph.len();
        let width = (graph.len() as usize).saturating_mul(OPERATION).clamp(NARROWEST, WIDEST);
        let begin = nodes().filter_map(|node| graph.begin(node)).min();
        let times = begin.zip(nodes().filter_map(|node| graph.end(node)).max());
        let mut picture = Self {
            width,
            rows: 0,
            bands: Vec::new(),
            marks: Vec::new(),
            mark_of: vec![NONE; graph.len() as usize],
            times,
        };
        let mut positions: Vec<f64> = Vec::with_capacity(graph.len() as usize);
        for node in nodes() {
            // A node without a time is at the position of its last cause.
            let causes =
                graph.causes(node).iter().filter_map(|edge| positions.get(edge.node as usize).copied());
            let own = match times {
                Some(_) => graph.begin(node).map(|time| picture.x_of(time)),
                None => Some(width as f64 * f64::from(node) / f64::from(graph.len())),
            };
            positions.push(own.unwrap_or_else(|| causes.fold(0.0, f64::max)));
        }
        let band_of_place = picture.make_bands(graph);
        let mut by_band: Vec<Vec<u32>> = vec![Vec::new(); picture.bands.len()];
        for node in nodes() {
            let band = band_of_place.get(&graph.place_text(node)).copied().unwrap_or_default();
            if let Some(members) = by_band.get_mut(band) {
                members.push(node);
            }
        }
        let x = |node: u32| positions.get(node as usize).copied().unwrap_or_default();
        for (band, mut members) in by_band.into_iter().enumerate() {
            members.sort_by(|a, b| x(*a).total_cmp(&x(*b)).then(a.cmp(b)));
            picture.place(band, &members, x);
        }
        picture
    }

    /// Returns the position of a time.
    pub(super) fn x_of(&self, time: i128) -> f64 {
        let Some((begin, end)) = self.times else { return 0.0 };
        match end - begin {
            0 => 0.0,
            whole => self.width as f64 * ((time - begin) as f64 / whole as f64).clamp(0.0, 1.0),
        }
    }

    /// Makes the bands, without rows. Returns the band of each place.
    fn make_bands(&mut self, graph: &TaskGraph<'_>) -> HashMap<u32, usize> {
        // By place: index of the first operation, machine, number of operations.
        let mut places: HashMap<u32, (u32, u32, u64)> = HashMap::new();
        for node in 0..graph.len() {
            let place = places.entry(graph.place_text(node)).or_insert((node, graph.machine(node), 0));
            place.2 += 1;
        }
        let mut places: Vec<(u32, (u32, u32, u64))> = places.into_iter().collect();
        places.sort_by_key(|(_, (first, _, count))| (std::cmp::Reverse(*count), *first));
        let single = if places.len() > MOST_BANDS { SINGLE_BANDS } else { places.len() };
        let (alone, together) = places.split_at(single);
        let mut machines: Vec<u32> = together.iter().map(|(_, (_, machine, _))| *machine).collect();
        machines.sort_unstable();
        machines.dedup();
        let by_machine = machines.len() <= MOST_BANDS - SINGLE_BANDS;
        // In the order of their first operations.
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

    /// Places the operations of a band, which are sorted by position.
    fn place(&mut self, band: usize, members: &[u32], x: impl Fn(u32) -> f64) {
        let most = (MOST_ROWS / self.bands.len().max(1)).clamp(FEWEST_ROWS_OF_BAND, MOST_ROWS_OF_BAND);
        // By row: its last mark.
        let mut rows: Vec<u32> = Vec::new();
        for node in members {
            let position = x(*node);
            let end = |mark: u32| self.marks.get(mark as usize).map_or(f64::MIN, |mark| mark.x);
            let free = rows.iter().position(|mark| position - end(*mark) >= GAP);
            let row = match free {
                None if rows.len() < most => {
                    rows.push(NONE);
                    rows.len() - 1
                }
                None => {
                    // Join the adjacent mark in the last row.
                    let mark = rows.last().copied().unwrap_or(NONE);
                    if let Some(known) = self.marks.get_mut(mark as usize) {
                        known.count += 1;
                    }
                    self.mark_of[*node as usize] = mark;
                    continue;
                }
                Some(row) => row,
            };
            let mark = self.marks.len() as u32;
            self.marks.push(Mark { x: position, row: (self.rows + row) as u32, first: *node, count: 1 });
            self.mark_of[*node as usize] = mark;
            rows[row] = mark;
        }
        if let Some(band) = self.bands.get_mut(band) {
            (band.row, band.rows) = (self.rows, rows.len());
        }
        self.rows += rows.len();
    }

    /// Returns the mark of a node.
    pub(super) fn mark(&self, node: u32) -> Option<(u32, Mark)> {
        let mark = *self.mark_of.get(node as usize)?;
        Some((mark, *self.marks.get(mark as usize)?))
    }
}
