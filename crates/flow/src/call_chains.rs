//! Call stacks of events with call chains.

use std::sync::Arc;

use ichnos_model::class::EventRecordClass;
use ichnos_model::cursor::{EventLookup, LookupCursor};
use ichnos_model::event::EventValues;
use ichnos_model::field::{Field, Visitor};
use ichnos_model::meaning::Meaning;
use ichnos_model::stack::Frame;
use ichnos_model::trace::WrappedTrace;
use ichnos_model::{Cursor as _, Event, OpenedTrace, Scope, call_chain};

/// Address space of the kernel, which is the same in all processes.
const KERNEL: u32 = u32::MAX;

/// First kernel address of 64-bit systems.
const FIRST_KERNEL_ADDRESS: u64 = 1 << 63;

/// First number that is not an address: perf marks the parts of a chain by such numbers.
const FIRST_MARK: u64 = 4095u64.wrapping_neg();

/// Maximum number of addresses in a stack. Further callers are dropped.
const MOST_ADDRESSES: usize = 1 << 10;

/// Adds call stacks to the events of a trace with call chains: see [`call_chain`]. Returns other traces unchanged.
#[must_use]
pub fn with_call_chains(trace: Box<dyn OpenedTrace>) -> Box<dyn OpenedTrace> {
    if !trace.trace().class.data_streams.iter().any(call_chain::is_in) {
        return trace;
    }
    let trace: Arc<dyn OpenedTrace> = trace.into();
    let streams = trace.data_streams();
    let elements: Vec<Option<Arc<[Option<usize>]>>> = streams
        .iter()
        .map(|stream| {
            let plans = stream.plans().event_records.iter();
            let element = |class: &EventRecordClass, plan: Option<&ichnos_model::plan::Plan>| {
                let plan = plan?;
                plan.children(plan.member(call_chain::member(class)?)?).next()
            };
            let elements = plans.map(|plans| element(&plans.class, plans.payload.as_ref()));
            call_chain::is_in(stream.class()).then(|| elements.collect())
        })
        .collect();
    let wrapped = WrappedTrace::new(trace, move |stream, cursor| match elements.get(stream) {
        Some(Some(elements)) => {
            let lookup = CallChainLookup { elements: Arc::clone(elements), addresses: Vec::new() };
            LookupCursor::new(cursor, lookup).boxed()
        }
        _ => cursor,
    });
    // All data streams add to the same table.
    Box::new(wrapped.with_shared_stacks())
}

/// Lookup of the call stacks of events.
struct CallChainLookup {
    /// Plan nodes of the addresses, by event class index.
    elements: Arc<[Option<usize>]>,
    addresses: Vec<u64>,
}

impl EventLookup for CallChainLookup {
    fn look_up(&mut self, event: &Event<'_>, values: &mut EventValues) {
        let element = event.class_index().and_then(|class| self.elements.get(class).copied().flatten());
        call_chain::set(values, element.and_then(|element| self.stack(event, element)));
    }
}

impl CallChainLookup {
    /// Returns the stack of an event, with the addresses of a plan node.
    fn stack(&mut self, event: &Event<'_>, element: usize) -> Option<u32> {
        self.addresses.clear();
        // Readers deliver only events that can be decoded.
        let _ = event.visit(Scope::Payload, &mut AddressReader { element, addresses: &mut self.addresses });
        let process = event.meaning(Meaning::Process).and_then(|process| process.as_i64());
        let process = process.and_then(|process| u32::try_from(process).ok()).unwrap_or_default();
        let table = event.stream.stacks().table;
        let mut stack = None;
        for address in self.addresses.iter().rev() {
            let space = if *address < FIRST_KERNEL_ADDRESS { process } else { KERNEL };
            stack = Some(table.push(stack, Frame::at(*address).in_space(space))?);
        }
        stack
    }
}

/// Keeps the elements of an array, innermost first.
struct AddressReader<'v> {
    element: usize,
    addresses: &'v mut Vec<u64>,
}

impl Visitor for AddressReader<'_> {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        if field.index() == self.element && value < FIRST_MARK && self.addresses.len() < MOST_ADDRESSES {
            self.addresses.push(value);
        }
    }
}
