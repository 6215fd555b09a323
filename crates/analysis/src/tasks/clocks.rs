//! Estimates clock differences between machines from edges.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Maximum number of steps in the search for offsets. Beyond it, clocks are not corrected.
const MOST_STEPS: usize = 50_000_000;

/// Edge between operations on two machines.
#[derive(Clone, Copy, Debug)]
pub(super) struct MachineEdge {
    /// Cause's machine.
    pub(super) from: u32,
    /// Effect's machine.
    pub(super) to: u32,
    /// Cause time minus effect time, in nanoseconds. Positive if the edge goes back in time.
    pub(super) late: i128,
}

/// Returns nanoseconds to add to machine clocks so that no effect comes before its cause. Empty if no correction is
/// needed. `None` if the search takes too many steps.
///
/// The clock of the `first` machine is never moved. Other clocks are moved only if an edge would go back in time
/// otherwise. Edges in both directions bound the offset from below and above, and the middle is chosen. Edges in one
/// direction move the clock as little as possible. If edges contradict each other, for example because times are
/// rounded, they go back in time as little as possible.
pub(super) fn offsets(
    first: Option<u32>,
    messages: impl Iterator<Item = MachineEdge> + Clone,
) -> Option<HashMap<u32, i128>> {
    if !messages.clone().any(|message| message.late > 0) {
        return Some(HashMap::new());
    }
    let mut bounds = OffsetBounds::new(first, messages);
    let slack = bounds.least_slack()?;
    bounds.pairs.iter_mut().for_each(|pair| pair.late -= slack);
    let offsets = bounds.choose()?;
    let moved = bounds.machines.iter().zip(offsets).filter(|(_, offset)| *offset != 0);
    Some(moved.map(|(machine, offset)| (*machine, offset)).collect())
}

/// Offset bounds by machine index.
struct OffsetBounds {
    machines: Vec<u32>,
    /// Latest message from each machine to each other machine.
    pairs: Vec<MachineEdge>,
    /// Indexes of the pairs from and to each machine.
    pairs_of: [Vec<Vec<u32>>; 2],
    steps: usize,
}

impl OffsetBounds {
    fn new(first: Option<u32>, messages: impl Iterator<Item = MachineEdge>) -> Self {
        let mut bounds =
            Self { machines: Vec::new(), pairs: Vec::new(), pairs_of: Default::default(), steps: 0 };
        let mut indexes = HashMap::new();
        let mut index = |bounds: &mut Self, machine: u32| {
            *indexes.entry(machine).or_insert_with(|| {
                bounds.machines.push(machine);
                bounds.pairs_of.iter_mut().for_each(|pairs| pairs.push(Vec::new()));
                bounds.machines.len() as u32 - 1
            })
        };
        if let Some(first) = first {
            index(&mut bounds, first);
        }
        let mut known: HashMap<(u32, u32), usize> = HashMap::new();
        for MachineEdge { from, to, late } in messages {
            let (from, to) = (index(&mut bounds, from), index(&mut bounds, to));
            let at = *known.entry((from, to)).or_insert_with(|| {
                let at = bounds.pairs.len();
                bounds.pairs.push(MachineEdge { from, to, late });
                bounds.pairs_of[0][from as usize].push(at as u32);
                bounds.pairs_of[1][to as usize].push(at as u32);
                at
            });
            if let Some(pair) = bounds.pairs.get_mut(at) {
                pair.late = pair.late.max(late);
            }
        }
        bounds
    }

    /// Returns the minimum time by which edges go back for any offsets, or `None` if the search takes too long.
    fn least_slack(&mut self) -> Option<i128> {
        if self.is_possible(0)? {
            return Some(0);
        }
        let (mut impossible, mut possible) = (0, self.pairs.iter().map(|pair| pair.late).max()?);
        while possible - impossible > 1 {
            let middle = impossible + (possible - impossible) / 2;
            match self.is_possible(middle)? {
                true => possible = middle,
                false => impossible = middle,
            }
        }
        Some(possible)
    }

    /// Returns `true` if some offsets keep every edge from going back in time by more than `slack`. This is possible
    /// unless the pairs in a cycle go back by more in total.
    fn is_possible(&mut self, slack: i128) -> Option<bool> {
        let mut offsets = vec![0i128; self.machines.len()];
        for _ in 0..=self.machines.len() {
            self.steps += self.pairs.len();
            if self.steps > MOST_STEPS {
                return None;
            }
            let mut is_stable = true;
            for pair in &self.pairs {
                let least = offsets.get(pair.from as usize)? + pair.late - slack;
                let offset = offsets.get_mut(pair.to as usize)?;
                if *offset < least {
                    *offset = least;
                    is_stable = false;
                }
            }
            if is_stable {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Returns offsets of all machines that contradict no pair, or `None` if the search takes too long.
    fn choose(&mut self) -> Option<Vec<i128>> {
        let count = self.machines.len();
        let mut chosen: Vec<Option<i128>> = vec![None; count];
        // Offsets are at least the first and at most the negative of the second bound.
        let mut bounds = [vec![None; count], vec![None; count]];
        // Machines sorted by distance of their bounds, machines with one bound last.
        let mut next: BinaryHeap<Reverse<(bool, i128, u32)>> = BinaryHeap::new();
        for reference in 0..count as u32 {
            next.push(place_in_order(&bounds, reference)?);
            while let Some(entry) = next.pop() {
                let Reverse((_, _, machine)) = entry;
                let at = machine as usize;
                if chosen.get(at)?.is_some() || entry != place_in_order(&bounds, machine)? {
                    continue;
                }
                let [least, most] = bounds_of(&bounds, machine)?;
                let offset = match (least, most.map(|most| -most)) {
                    (least, most) if least.unwrap_or(0) <= 0 && most.unwrap_or(0) >= 0 => 0,
                    (Some(least), Some(most)) => least + (most - least) / 2,
                    (bound, None) | (None, bound) => bound.unwrap_or_default(),
                };
                chosen[at] = Some(offset);
                (bounds[0][at], bounds[1][at]) = (Some(offset), Some(-offset));
                for side in [0, 1] {
                    self.tighten(machine, side, &chosen, &mut bounds, &mut next)?;
                }
            }
        }
        chosen.into_iter().collect()
    }

    /// Moves the bounds on one side that depend on `machine`.
    fn tighten(
        &mut self,
        machine: u32,
        side: usize,
        chosen: &[Option<i128>],
        bounds: &mut [Vec<Option<i128>>; 2],
        next: &mut BinaryHeap<Reverse<(bool, i128, u32)>>,
    ) -> Option<()> {
        let mut open = vec![machine];
        while let Some(machine) = open.pop() {
            let bound = (*bounds[side].get(machine as usize)?)?;
            let pairs = self.pairs_of[side].get(machine as usize)?;
            self.steps += pairs.len();
            if self.steps > MOST_STEPS {
                return None;
            }
            for pair in pairs.iter().filter_map(|at| self.pairs.get(*at as usize)) {
                let other = [pair.to, pair.from][side];
                let (known, bound) = (bounds[side].get_mut(other as usize)?, bound + pair.late);
                if chosen.get(other as usize)?.is_none() && known.is_none_or(|known| known < bound) {
                    *known = Some(bound);
                    open.push(other);
                    next.push(place_in_order(bounds, other)?);
                }
            }
        }
        Some(())
    }
}

fn bounds_of(bounds: &[Vec<Option<i128>>; 2], machine: u32) -> Option<[Option<i128>; 2]> {
    let [least, most] = bounds;
    Some([*least.get(machine as usize)?, *most.get(machine as usize)?])
}

/// Returns the sort key of a machine: two bounds before one, closer bounds first.
fn place_in_order(bounds: &[Vec<Option<i128>>; 2], machine: u32) -> Option<Reverse<(bool, i128, u32)>> {
    Some(match bounds_of(bounds, machine)? {
        [Some(least), Some(most)] => Reverse((false, -most - least, machine)),
        _ => Reverse((true, 0, machine)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(messages: &[(u32, u32, i128)]) -> Vec<(u32, i128)> {
        let messages =
            messages.iter().map(|(from, to, late)| MachineEdge { from: *from, to: *to, late: *late });
        let mut all: Vec<_> = offsets(Some(1), messages).unwrap().into_iter().collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn plausible_clocks_stay() {
        assert_eq!(of(&[(1, 2, -5), (2, 1, 0), (3, 2, -1_000)]), []);
        // The third machine is not affected.
        assert_eq!(of(&[(1, 2, 90), (2, 1, -110), (1, 3, -7), (3, 1, -1)]), [(2, 100)]);
    }

    #[test]
    fn both_directions_give_the_middle() {
        assert_eq!(of(&[(1, 2, -1_010), (2, 1, 990)]), [(2, -1_000)]);
        // Edges in one direction move the clock no further than necessary.
        assert_eq!(of(&[(1, 2, 90)]), [(2, 90)]);
        assert_eq!(of(&[(2, 1, 90)]), [(2, -90)]);
        // A chain of machines.
        assert_eq!(of(&[(1, 2, 90), (2, 1, -110), (2, 3, -110), (3, 2, 90)]), [(2, 100)]);
        assert_eq!(of(&[(1, 2, 90), (2, 1, -110), (2, 3, 90), (3, 2, -110)]), [(2, 100), (3, 200)]);
    }

    #[test]
    fn contradictions_are_shared() {
        // Together they go back by 10, for any offsets.
        assert_eq!(of(&[(1, 2, 110), (2, 1, -100)]), [(2, 105)]);
        assert_eq!(of(&[(1, 2, 5), (2, 1, 5)]), []);
    }

    /// Machines in a circle, where each edge goes back in time: twice as many machines take four times the steps.
    #[test]
    fn a_search_that_takes_too_long_is_reported() {
        let around = |machines: u32| {
            let message = move |from| MachineEdge { from, to: (from + 1) % machines, late: 1_000_000_000 };
            offsets(Some(0), (0..machines).map(message))
        };
        assert_eq!(around(100), Some(HashMap::new()));
        assert_eq!(around(3_000), None);
    }
}
