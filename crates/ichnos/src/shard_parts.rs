//! Divides a reader's data into shards of about the same size.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::ops::Range;

use ichnos_io::{Shard, WriteShard};
use ichnos_model::{OpenedTrace, Window};

/// Data of a shard.
pub(crate) struct ShardParts {
    shard: Shard,
    /// Selected data streams of all shards, by trace and data stream.
    pub(crate) all: Vec<Vec<bool>>,
    /// Packets of this shard, by trace and data stream. `None` for all packets.
    packets: Vec<Vec<Option<Range<u64>>>>,
    /// Keys of the data streams that start in this shard.
    begins: HashSet<u32>,
    /// `true` for traces whose damage without a data stream is in this shard.
    has_damage: Vec<bool>,
}

impl ShardParts {
    /// Divides the selected data streams of traces. Returns the parts, and `true` for the data streams of the shard.
    pub(crate) fn new<'t>(
        traces: impl Iterator<Item = (&'t dyn OpenedTrace, &'t Vec<bool>, Window)>,
        shard: Shard,
    ) -> (Self, Vec<Vec<bool>>) {
        let (mut all, mut units, mut streams) = (Vec::new(), Vec::new(), Vec::new());
        for (source, (trace, wanted, window)) in traces.enumerate() {
            let summaries = trace.streams().into_iter().enumerate().zip(wanted).filter(|(_, is)| **is);
            let (mut is_first, shares_stacks) = (true, trace.shares_stacks());
            for ((stream, summary), _) in summaries {
                let can_divide = summary.packets > 1
                    && summary.bytes > 0
                    && !shares_stacks
                    && trace.packet_cursor(stream, window, 0..1).is_some();
                let packets = if can_divide { summary.packets } else { 1 };
                match units.last_mut() {
                    Some(ShardUnit { bytes, .. }) if shares_stacks && !is_first => {
                        *bytes = bytes.saturating_add(summary.bytes);
                    }
                    _ => units.push(ShardUnit { bytes: summary.bytes, packets }),
                }
                let (unit, key) = (units.len() - 1, summary.stream.key);
                streams.push(ShardStream { source, stream, key, is_first, unit });
                is_first = false;
            }
            all.push(wanted.clone());
        }
        let mut wanted: Vec<Vec<bool>> = all.iter().map(|wanted| vec![false; wanted.len()]).collect();
        let mut packets: Vec<Vec<Option<Range<u64>>>> =
            all.iter().map(|wanted| vec![None; wanted.len()]).collect();
        let mut begins = HashSet::new();
        // Damage of traces without selected data streams is in the first shard.
        let is_unselected = |wanted: &Vec<bool>| shard.index() == 1 && !wanted.contains(&true);
        let mut has_damage: Vec<bool> = all.iter().map(is_unselected).collect();
        let ranges = divide(&units, shard);
        for ShardStream { source, stream, key, is_first, unit } in streams {
            let range = ranges[unit].clone();
            if range.is_empty() {
                continue;
            }
            if range.start == 0 {
                begins.insert(key);
                has_damage[source] |= is_first;
            }
            wanted[source][stream] = true;
            packets[source][stream] = (range != (0..units[unit].packets)).then_some(range);
        }
        (Self { shard, all, packets, begins, has_damage }, wanted)
    }

    /// Returns the packets of a data stream, by trace and data stream index. `None` for all packets.
    pub(crate) fn packets(&self, source: usize, stream: usize) -> Option<Range<u64>> {
        self.packets.get(source)?.get(stream)?.clone()
    }

    /// Returns `true` if a data stream is divided.
    pub(crate) fn has_divided(&self) -> bool {
        self.packets.iter().flatten().any(Option::is_some)
    }

    /// Returns `true` if this shard has the damage of a trace without a data stream.
    pub(crate) fn has_damage(&self, source: usize) -> bool {
        self.has_damage.get(source).copied().unwrap_or(false)
    }

    /// Returns the shard for an output.
    pub(crate) fn of_output(&self) -> WriteShard {
        WriteShard { shard: self.shard, streams: self.begins.clone() }
    }
}

/// Selected data stream.
struct ShardStream {
    /// Trace index and data stream index.
    source: usize,
    stream: usize,
    key: u32,
    /// `true` for the first data stream of the trace.
    is_first: bool,
    /// Unit index.
    unit: usize,
}

/// Data stream to divide, or all data streams of a trace that stay together.
#[derive(Clone, Copy, Debug)]
struct ShardUnit {
    bytes: u64,
    /// Number of packets. 1 for an indivisible unit.
    packets: u64,
}

/// Returns the packets of each data stream that a shard has. First, indivisible data streams go to the shards with
/// the least data so far, largest first. Then the other data streams, one after the other, fill the shards to the
/// same size.
fn divide(units: &[ShardUnit], shard: Shard) -> Vec<Range<u64>> {
    let (count, own) = (shard.count() as usize, shard.index() as usize - 1);
    let mut ranges = vec![0..0; units.len()];
    let mut whole: Vec<usize> = (0..units.len()).filter(|unit| units[*unit].packets == 1).collect();
    whole.sort_by_key(|unit| Reverse(units[*unit].bytes));
    let mut loads = vec![0_u128; count];
    let mut least: BinaryHeap<Reverse<(u128, usize)>> = (0..count).map(|shard| Reverse((0, shard))).collect();
    for unit in whole {
        let Some(Reverse((load, shard))) = least.pop() else { break };
        // Empty data streams are distributed, too.
        loads[shard] = load + u128::from(units[unit].bytes.max(1));
        least.push(Reverse((loads[shard], shard)));
        if shard == own {
            ranges[unit] = 0..1;
        }
    }
    let divided = || units.iter().enumerate().filter(|(_, unit)| unit.packets > 1);
    let total: u128 = divided().map(|(_, unit)| u128::from(unit.bytes)).sum();
    let level = level(&loads, total);
    let room = |load: &u128| level.saturating_sub(*load);
    let begin: u128 = loads[..own].iter().map(room).sum();
    // The last shard gets the rounding remainder.
    let end = if own + 1 == count { total } else { begin + room(&loads[own]) };
    let mut at = 0;
    for (index, unit) in divided() {
        let (bytes, packets) = (u128::from(unit.bytes.max(1)), u128::from(unit.packets));
        let first = |cut: u128| {
            let packet = (cut.saturating_sub(at) * packets).div_ceil(bytes).min(packets);
            u64::try_from(packet).unwrap_or(u64::MAX)
        };
        ranges[index] = first(begin)..first(end);
        at += bytes;
    }
    ranges
}

/// Returns the size to which shards with these sizes must be filled so that `more` bytes fit, rounded down.
fn level(loads: &[u128], more: u128) -> u128 {
    let mut sorted = loads.to_vec();
    sorted.sort_unstable();
    let (mut sum, mut level) = (more, 0);
    for (count, load) in (1..).zip(sorted) {
        if count > 1 && load >= level {
            break;
        }
        sum += load;
        level = sum / count;
    }
    level
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Divides, and checks that each packet is in one shard. Returns the shard sizes.
    fn sizes(units: &[(u64, u64)], count: u32) -> Vec<u64> {
        let units: Vec<ShardUnit> =
            units.iter().map(|(bytes, packets)| ShardUnit { bytes: *bytes, packets: *packets }).collect();
        let shards: Vec<Vec<Range<u64>>> =
            (1..=count).map(|index| divide(&units, Shard::new(index, count).unwrap())).collect();
        for (index, unit) in units.iter().enumerate() {
            let mut ranges: Vec<Range<u64>> = shards.iter().map(|shard| shard[index].clone()).collect();
            ranges.retain(|range| !range.is_empty());
            ranges.sort_by_key(|range| range.start);
            let ends: Vec<u64> = ranges.iter().map(|range| range.end).collect();
            let begins: Vec<u64> = ranges.iter().map(|range| range.start).collect();
            assert_eq!((begins[0], *ends.last().unwrap()), (0, unit.packets), "{units:?} {count}");
            assert_eq!(begins[1..], ends[..ends.len() - 1], "{units:?} {count}");
        }
        let size = |shard: &Vec<Range<u64>>| -> u64 {
            let sizes = shard.iter().zip(&units);
            sizes.map(|(range, unit)| unit.bytes * (range.end - range.start) / unit.packets).sum()
        };
        shards.iter().map(size).collect()
    }

    #[test]
    fn packets_are_divided_evenly() {
        assert_eq!(sizes(&[(800, 8), (800, 8)], 4), [400; 4]);
        assert_eq!(sizes(&[(600, 6), (600, 6)], 3), [400; 3]);
        assert_eq!(sizes(&[(900, 9)], 1), [900]);
        // More shards than packets.
        assert_eq!(sizes(&[(200, 2)], 5).iter().filter(|size| **size > 0).count(), 2);
        assert_eq!(sizes(&[], 3), [0; 3]);
    }

    #[test]
    fn packets_fill_what_whole_data_streams_leave() {
        // Large data streams first, then up to the same size.
        assert_eq!(sizes(&[(100, 1), (300, 1), (200, 1)], 2), [300, 300]);
        assert_eq!(sizes(&[(300, 1), (500, 5)], 2), [400, 400]);
        assert_eq!(sizes(&[(1_000, 1), (300, 3)], 4), [1_000, 100, 100, 100]);
        assert_eq!(sizes(&[(0, 1), (0, 1), (0, 1)], 2), [0, 0]);
    }

    #[test]
    fn every_packet_is_in_one_shard() {
        let numbers = [1_u64, 2, 3, 7, 10, 999, 1 << 40];
        for count in [1, 2, 3, 5, 16, 1_000] {
            for bytes in numbers {
                for packets in [1, 2, 3, 17] {
                    sizes(&[(bytes, packets), (5, 2), (bytes / 2, 1), (bytes, packets)], count);
                }
            }
        }
    }
}
