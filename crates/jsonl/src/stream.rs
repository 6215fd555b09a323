//! Data stream properties that are known before events are read.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_io::{Bytes, Kept};
use ichnos_model::class::{EventRecordClass, Value};
use ichnos_model::clock::{ClockArithmetic, ClockOffsets};
use ichnos_model::meaning::{ClassMap, Meaning};
use ichnos_model::trace::Limits;
use ichnos_model::{DataStream, Scope};

use crate::class_ids::ClassIdAllocator;
use crate::index::Runs;
use crate::marks::LineTimes;
use crate::stacks::StackRenumbering;

/// Properties shared by all data streams of a file.
#[derive(Debug)]
pub(crate) struct LineFile {
    pub(crate) name: Arc<str>,
    pub(crate) bytes: Bytes,
    /// Nanoseconds to add to times.
    pub(crate) clock_offsets: ClockOffsets,
    pub(crate) class_map: Option<ClassMap>,
    /// Conversion from cycles to nanoseconds.
    pub(crate) clock_arithmetic: ClockArithmetic,
    pub(crate) limits: Limits,
    /// What is kept of growing files from one opening to the next.
    pub(crate) kept: Kept,
}

/// Data stream in a file.
#[derive(Debug)]
pub(crate) struct LineStream {
    pub(crate) file: Arc<LineFile>,
    pub(crate) stream: Arc<DataStream>,
    pub(crate) runs: Arc<Runs>,
    pub(crate) marks: LineTimes,
    pub(crate) classes: Arc<HashMap<u128, DescribedClass>>,
    /// Ids for undescribed classes.
    pub(crate) ids: Arc<ClassIdAllocator>,
    /// Id by name, for names that only one class has.
    pub(crate) names: HashMap<String, Option<u128>>,
    pub(crate) stacks: Arc<StackRenumbering>,
    /// Cycles to add to clock values in lines, by clock index.
    pub(crate) added_cycles: Arc<HashMap<u16, u64>>,
    /// Nanoseconds to add to this data stream's times.
    pub(crate) clock_offset: i128,
}

impl LineStream {
    /// Returns the clock value for the cycles in a line.
    pub(crate) fn cycles(&self, clock: u16, cycles: u64) -> u64 {
        match self.added_cycles.get(&clock) {
            Some(added) => cycles.saturating_add(*added),
            None => cycles,
        }
    }
}

/// Described event record class.
#[derive(Clone, Debug)]
pub(crate) enum DescribedClass {
    /// With fields: class index, and the members with call stack numbers.
    Declared { index: usize, stacks: Arc<[(Scope, u32)]> },
    /// Without fields: a class to complete, and the meanings of members.
    Template(Arc<(EventRecordClass, Value)>),
}

impl DescribedClass {
    pub(crate) fn declared(index: usize, class: &EventRecordClass) -> Self {
        let members = class.meanings.members(Meaning::Stack);
        let mut stacks: Vec<_> = members.map(|member| (member.scope, member.index)).collect();
        stacks.sort_unstable_by_key(|(_, index)| *index);
        stacks.dedup();
        Self::Declared { index, stacks: stacks.into() }
    }
}
