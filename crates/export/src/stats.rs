//! Statistics of events: how many there are of what, when, how their values are distributed, and how long it takes
//! from one to another.
//!
//! Memory is bounded: beyond stated numbers of groups, values and open pairs, results are approximate, and say
//! how wrong they can be at most.

mod collect;
mod distribution;
mod gaps;
mod group;
mod key;
mod pairs;
#[cfg(test)]
mod tests;
mod timeline;
mod totals;

pub use collect::{Stats, StatsCollector, StatsGroup, StatsOptions, StatsRow};
pub use distribution::{Distribution, Number, PowerBin};
pub use gaps::LongestGaps;
pub use key::{GroupBy, GroupValue, find_field};
pub use pairs::{Pair, PairGroup, PairOptions, PairReader, Pairs, Unpaired};
pub use timeline::Timeline;
pub use totals::{EventTotals, Gap, Loss};
