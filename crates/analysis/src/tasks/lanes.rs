//! Graph drawing: nodes one below the other, with edges in lanes between them.

use std::collections::HashMap;

use super::graph::TaskGraph;
use super::operations::NONE;

/// Maximum number of edges drawn next to each other. Others are described in words.
const MOST_LANES: usize = 24;

/// Drawn node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaneRow {
    /// Node's lane.
    pub lane: usize,
    /// Lanes to the right that end at the node.
    pub joined: Vec<usize>,
    /// Other lanes that start at the node.
    pub forked: Vec<usize>,
    /// Lanes in use above the node: they pass it or end at it.
    pub above: Vec<bool>,
    /// Lanes in use below the node.
    pub below: Vec<bool>,
    /// Drawn edges from the node: target node and lane.
    pub edges: Vec<(u32, usize)>,
    /// Causes with edges that are not drawn, because there are too many lanes.
    pub undrawn_causes: Vec<u32>,
}

impl TaskGraph<'_> {
    /// Draws the graph: a row for each node.
    #[must_use]
    pub fn lanes(&self) -> Vec<LaneRow> {
        let mut rows = Vec::with_capacity(self.len() as usize);
        // By lane: its target node.
        let mut lanes: Vec<u32> = Vec::new();
        let mut undrawn: HashMap<u32, Vec<u32>> = HashMap::new();
        for node in 0..self.len() {
            let above = lanes.iter().map(|target| *target != NONE).collect();
            let ending = (0..).zip(&lanes).filter(|(_, target)| **target == node).map(|(lane, _)| lane);
            let mut joined: Vec<usize> = ending.collect();
            let lane = match joined.first() {
                Some(first) => *first,
                None => free_lane(&mut lanes),
            };
            joined.retain(|other| *other != lane);
            for ended in &joined {
                lanes[*ended] = NONE;
            }
            let mut targets: Vec<u32> = self.effects(node).iter().map(|edge| edge.node).collect();
            targets.dedup();
            let mut forked = Vec::new();
            if lane >= MOST_LANES {
                for target in targets.drain(..) {
                    undrawn.entry(target).or_default().push(node);
                }
            }
            // The lane continues to the first effect.
            lanes[lane] = targets.first().copied().unwrap_or(NONE);
            let mut edges: Vec<(u32, usize)> =
                targets.first().map(|target| (*target, lane)).into_iter().collect();
            for target in targets.iter().skip(1) {
                if lanes.iter().filter(|target| **target != NONE).count() >= MOST_LANES {
                    undrawn.entry(*target).or_default().push(node);
                    continue;
                }
                let new = free_lane(&mut lanes);
                lanes[new] = *target;
                forked.push(new);
                edges.push((*target, new));
            }
            forked.sort_unstable();
            while lanes.last() == Some(&NONE) {
                lanes.pop();
            }
            let below = lanes.iter().map(|target| *target != NONE).collect();
            let undrawn_causes = undrawn.remove(&node).unwrap_or_default();
            rows.push(LaneRow { lane, joined, forked, above, below, edges, undrawn_causes });
        }
        rows
    }
}

/// Returns the first unused lane.
fn free_lane(lanes: &mut Vec<u32>) -> usize {
    let free = lanes.iter().position(|target| *target == NONE);
    free.unwrap_or_else(|| {
        lanes.push(NONE);
        lanes.len() - 1
    })
}

impl LaneRow {
    /// Returns the line above the node with ending lanes, if there are any.
    #[must_use]
    pub fn join_line(&self) -> Option<String> {
        self.crossing_line(&self.joined, &self.above, ['┴', '╯', '╰'])
    }

    /// Returns the node's line, with `mark` at its position.
    #[must_use]
    pub fn node_line(&self, mark: char) -> String {
        let count = self.above.len().max(self.lane + 1);
        let is_passing = |lane| self.is_above(lane) && !self.joined.contains(&lane);
        let cell = |lane| match lane {
            lane if lane == self.lane => mark,
            lane if is_passing(lane) => '│',
            _ => ' ',
        };
        line((0..count).map(|lane| (cell(lane), ' ')))
    }

    /// Returns the line below the node with starting lanes, if there are any.
    #[must_use]
    pub fn fork_line(&self) -> Option<String> {
        self.crossing_line(&self.forked, &self.below, ['┬', '╮', '╭'])
    }

    /// Returns a line below the node with passing lanes only.
    #[must_use]
    pub fn passing_line(&self) -> String {
        line(self.below.iter().map(|is_used| (if *is_used { '│' } else { ' ' }, ' ')))
    }

    fn is_above(&self, lane: usize) -> bool {
        self.above.get(lane).copied().unwrap_or_default()
    }

    /// Returns a line with an edge between the node's lane and each of `ends`. `corners` are the characters for the
    /// middle, right and left corner.
    fn crossing_line(&self, ends: &[usize], used: &[bool], corners: [char; 3]) -> Option<String> {
        let (first, last) = (*ends.first()?, *ends.last()?);
        let (first, last) = (first.min(self.lane), last.max(self.lane));
        let [middle, right, left] = corners;
        let cell = |lane: usize| {
            let is_used = used.get(lane).copied().unwrap_or_default();
            let end = ends.contains(&lane);
            let symbol = match (lane == self.lane, end) {
                (true, _) if lane == first => '├',
                (true, _) if lane == last => '┤',
                (true, _) => '┼',
                (_, true) if lane == last => right,
                (_, true) if lane == first => left,
                (_, true) => middle,
                // The edge passes below unrelated lanes.
                _ if is_used => '│',
                _ if (first..=last).contains(&lane) => '─',
                _ => ' ',
            };
            (symbol, if (first..last).contains(&lane) { '─' } else { ' ' })
        };
        Some(line((0..used.len().max(last + 1)).map(cell)))
    }
}

/// Joins the cells of a line, each two characters wide.
fn line(cells: impl Iterator<Item = (char, char)>) -> String {
    let mut line: String = cells.flat_map(|(symbol, behind)| [symbol, behind]).collect();
    line.truncate(line.trim_end().len());
    line
}
