//! Event statistics: counts by group, times, value distributions, and latencies between events.
//!
//! Memory is bounded: beyond documented limits of groups, values and open pairs, results are approximate and come with
//! error bounds.

mod collect;
mod distribution;
mod gaps;
mod group;
mod key;
mod key_property;
mod own_names;
mod pair_flags;
mod pairs;
mod report;
mod spans;
#[cfg(test)]
mod tests;
mod timeline;
mod totals;

pub use collect::{Stats, StatsCollector, StatsGroup, StatsOptions, StatsRow};
pub use distribution::{Distribution, Number, PowerBin};
pub use gaps::LongestGaps;
pub use key::{GroupBy, GroupValue, KnownFields, find_field, named_meaning};
pub use key_property::{KEY_NAMES, KeyProperty};
pub use pairs::{Pair, PairGroup, PairOptions, PairReader, Pairs, Unpaired};
pub use report::{StatsHints, StatsOrder, StatsReport, StatsTextOptions};
pub(crate) use report::{hint, push_line};
pub use timeline::TimeHistogram;
pub use totals::{EventTotals, Gap, ReportedLosses};
