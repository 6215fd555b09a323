//! Numbers for flows with the same id.
//!
//! Id, category and name identify one of the open flows (Fuchsia's "trace/event.h"). Programs reuse ids, and several
//! processes use the same ids. So the flows with one id are numbered by time.

use std::collections::HashSet;

use ichnos_model::clock::ClockClass;

use crate::fxt::EventKind;

/// Maximum number of flow events that get a flow number. Each takes up to 100 bytes while a file is opened, and 16
/// bytes later.
pub(super) const MOST_EVENTS: usize = 1 << 21;

/// Maximum number of open flows with one id. Beyond it, the oldest flow ends.
const MOST_OPEN: usize = 64;

/// A flow event.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowEvent {
    /// Data stream index.
    pub(super) stream: u32,
    pub(super) step: FlowStep,
    /// Time in ticks.
    pub(super) ticks: u64,
    /// Byte offset of the record.
    pub(super) offset: u64,
    pub(super) id: u64,
    /// Hash of category and name.
    pub(super) names: u64,
    /// Process, or 0 if it is unknown.
    pub(super) process: u64,
}

/// Position of an event in its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowStep {
    Begin,
    Step,
    End,
}

impl FlowStep {
    /// Returns the flow position and flow id of a flow event.
    #[inline(always)]
    pub(super) fn from_kind(kind: EventKind) -> Option<(Self, u64)> {
        match kind {
            EventKind::FlowBegin { id } => Some((Self::Begin, id)),
            EventKind::FlowStep { id } => Some((Self::Step, id)),
            EventKind::FlowEnd { id } => Some((Self::End, id)),
            _ => None,
        }
    }
}

/// Flow numbers by byte offset of the event. The first flow with an id is number 1 and is not stored.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowNumbers(Box<[(u64, u32)]>);

impl FlowNumbers {
    /// Numbers all flows. `clocks` has one clock for each data stream.
    pub(super) fn new(mut events: Vec<FlowEvent>, clocks: &[ClockClass]) -> Self {
        // Ticks of one clock compare directly, which is faster.
        let is_one_clock = clocks.iter().all(|clock| Some(clock) == clocks.first());
        // Processing one id after the other needs less memory than all flows at once.
        events.sort_unstable_by_key(|event| {
            let clock = clocks.get(event.stream as usize).filter(|_| !is_one_clock);
            let time = clock.map_or(event.ticks.into(), |clock| clock.nanoseconds(event.ticks));
            (event.id, time, event.offset)
        });
        let mut numbers = Vec::new();
        for events in events.chunk_by(|one, other| one.id == other.id) {
            let mut flows = FlowsOfId::new(events);
            let all = events.iter().map(|event| (event.offset, flows.number(event)));
            numbers.extend(all.filter(|(_, number)| *number > 1));
        }
        numbers.sort_unstable();
        Self(numbers.into())
    }

    /// Returns the flow number of the event at a byte offset, unless it is 1.
    #[inline]
    pub(super) fn get(&self, offset: u64) -> Option<u64> {
        let at = self.0.binary_search_by_key(&offset, |(offset, _)| *offset).ok()?;
        self.0.get(at).map(|(_, number)| u64::from(*number))
    }
}

/// A flow that has not ended.
#[derive(Clone, Copy, Debug)]
struct OpenFlow {
    names: u64,
    process: u64,
    number: u32,
}

/// Numbers the events with one id. They must be added by time.
#[derive(Debug)]
struct FlowsOfId {
    /// Names that start a flow.
    begun: HashSet<u64>,
    count: u32,
    /// Open flows, oldest first.
    open: Vec<OpenFlow>,
}

impl FlowsOfId {
    fn new(events: &[FlowEvent]) -> Self {
        let begins = events.iter().filter(|event| event.step == FlowStep::Begin);
        Self { begun: begins.map(|event| event.names).collect(), count: 0, open: Vec::new() }
    }

    /// Returns the flow number of the next event.
    fn number(&mut self, event: &FlowEvent) -> u32 {
        let FlowEvent { names, process, .. } = *event;
        let is_own = |flow: &OpenFlow| flow.names == names && flow.process == process;
        let at = match event.step {
            // A process starts the flow again only if the previous end is missing.
            FlowStep::Begin => {
                self.open.retain(|flow| !is_own(flow));
                None
            }
            _ => {
                let has_name = |flow: &OpenFlow| flow.names == names;
                let named = self.open.iter().position(is_own).or_else(|| self.open.iter().position(has_name));
                // Some writers use different names within a flow.
                let is_other = self.open.len() == 1 && !self.begun.contains(&names);
                named.or(is_other.then_some(0))
            }
        };
        let known = at.and_then(|at| self.open.get(at)).map(|flow| flow.number);
        let number = known.unwrap_or_else(|| {
            self.count = self.count.saturating_add(1);
            self.count
        });
        match (event.step, at) {
            (FlowStep::End, Some(at)) => drop(self.open.remove(at)),
            (FlowStep::End, None) | (FlowStep::Step, Some(_)) => {}
            _ => {
                if self.open.len() >= MOST_OPEN {
                    self.open.remove(0);
                }
                self.open.push(OpenFlow { names, process, number });
            }
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::FlowStep::{Begin, End, Step};
    use super::*;

    /// Returns the flow numbers for events with id 7, each given as step, name, process.
    fn numbers(events: &[(FlowStep, u64, u64)]) -> Vec<u64> {
        let event = |(offset, (step, names, process)): (u64, &(FlowStep, u64, u64))| FlowEvent {
            stream: 0,
            step: *step,
            ticks: offset,
            offset,
            id: 7,
            names: *names,
            process: *process,
        };
        let mut all: Vec<_> = (0..).zip(events).map(event).collect();
        // The order in the file does not matter.
        all.reverse();
        let flows = FlowNumbers::new(all, &[ClockClass::new("c", 1_000_000_000)]);
        (0..events.len() as u64).map(|offset| flows.get(offset).unwrap_or(1)).collect()
    }

    #[test]
    fn an_id_is_used_again() {
        let flow = [(Begin, 1, 1), (Step, 1, 2), (End, 1, 3)];
        assert_eq!(numbers(&[flow, flow, flow].concat()), [1, 1, 1, 2, 2, 2, 3, 3, 3]);
        // An end is missing.
        assert_eq!(numbers(&[(Begin, 1, 1), (Begin, 1, 1), (End, 1, 2)]), [1, 2, 2]);
        // A start is missing.
        assert_eq!(numbers(&[(Step, 1, 2), (End, 1, 2), (End, 1, 2), (Begin, 1, 1)]), [1, 1, 2, 3]);
    }

    #[test]
    fn processes_use_the_same_id() {
        assert_eq!(numbers(&[(Begin, 1, 1), (Begin, 1, 2), (End, 1, 2), (End, 1, 1)]), [1, 2, 2, 1]);
        // Received by a third process, in order.
        assert_eq!(numbers(&[(Begin, 1, 1), (Begin, 1, 2), (End, 1, 3), (End, 1, 3)]), [1, 2, 1, 2]);
    }

    #[test]
    fn names_tell_flows_apart() {
        assert_eq!(numbers(&[(Begin, 1, 1), (Begin, 2, 1), (End, 1, 3), (End, 2, 3)]), [1, 2, 1, 2]);
        // The flow starts later.
        assert_eq!(numbers(&[(Begin, 1, 1), (End, 2, 3), (Begin, 2, 1)]), [1, 2, 3]);
        // No flow has this name.
        assert_eq!(numbers(&[(Begin, 1, 1), (Step, 2, 3), (End, 3, 1), (End, 1, 1)]), [1, 1, 1, 2]);
    }

    #[test]
    fn ids_are_numbered_apart() {
        // The times of two ids alternate.
        let flow = |id: u64, offset: u64| {
            [(Begin, 0u64), (End, 2)].map(|(step, after)| FlowEvent {
                stream: 0,
                step,
                ticks: offset + after,
                offset: offset + after,
                id,
                names: 1,
                process: 1,
            })
        };
        let events = [flow(7, 0), flow(8, 1), flow(8, 4), flow(7, 5)].concat();
        let flows = FlowNumbers::new(events, &[ClockClass::new("c", 1_000_000_000)]);
        let numbers = [0, 2, 1, 3, 4, 6, 5, 7].map(|offset| flows.get(offset));
        assert_eq!(numbers, [None, None, None, None, Some(2), Some(2), Some(2), Some(2)]);
    }

    #[test]
    fn open_flows_are_bounded() {
        let mut events: Vec<_> = (0..2 * MOST_OPEN as u64).map(|process| (Begin, 1, process)).collect();
        events.push((End, 1, 2 * MOST_OPEN as u64 - 1));
        assert_eq!(numbers(&events).last(), Some(&(2 * MOST_OPEN as u64)));
    }
}
