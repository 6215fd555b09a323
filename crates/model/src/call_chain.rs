//! Call chains: arrays of addresses in events, which become call stacks.
//!
//! perf stores the call chain of a sample as an array, innermost address first. With
//! [`ClassMap`](crate::meaning::ClassMap), the events of such data streams have a [resource](crate::Scope::Resource)
//! with the member `stack`, a number in the [stack table](crate::stack::StackTable). A cursor that reads the array
//! fills it in. Written traces lack it, because readers can find it again.

use std::sync::{Arc, LazyLock};

use crate::class::{DataStreamClass, EventRecordClass, FieldClass, FieldKind, Member, Scope};
use crate::event::EventValues;
use crate::meaning::Meaning;

/// Payload member with the addresses.
pub const ADDRESSES: &str = "perf_callchain";

/// Stack member of the resource.
pub const STACK: &str = "stack";

static RESOURCE: LazyLock<Arc<FieldClass>> =
    LazyLock::new(|| Arc::new(FieldClass::structure([Member::new(STACK, FieldClass::unsigned(32))])));

/// Returns the index of the payload member with the addresses.
#[must_use]
pub fn member(class: &EventRecordClass) -> Option<usize> {
    let members = class.payload.as_ref()?.members()?;
    let index = members.iter().position(|member| member.name == ADDRESSES)?;
    let FieldKind::Array { element, .. } = &members.get(index)?.class.kind else { return None };
    let is_unsigned = matches!(&element.kind, FieldKind::Integer { integer, .. } if !integer.signed);
    is_unsigned.then_some(index)
}

/// Adds the stack to a data stream class, if some of its events have a call chain.
pub(crate) fn add_to(stream: &mut DataStreamClass) {
    let has_stack = |class: &EventRecordClass| class.meanings.members(Meaning::Stack).next().is_some();
    let is_free = stream.resource.is_none() && !stream.event_records.iter().any(|class| has_stack(class));
    if !is_free || !stream.event_records.iter().any(|class| member(class).is_some()) {
        return;
    }
    stream.resource = Some(Arc::clone(&RESOURCE));
    for class in &mut stream.event_records {
        if member(class).is_some() {
            Arc::make_mut(class).meanings.insert(Scope::Resource, 0, Meaning::Stack);
        }
    }
}

/// Returns `true` if events in a data stream class get their stack from a call chain.
#[must_use]
pub fn is_in(stream: &DataStreamClass) -> bool {
    stream.resource.as_ref().is_some_and(|resource| Arc::ptr_eq(resource, &RESOURCE))
}

/// Sets the stack of an event.
pub fn set(values: &mut EventValues, stack: Option<u32>) {
    values.clear();
    if let Some(stack) = stack {
        values.begin(Scope::Resource);
        values.push(u64::from(stack));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::Length;

    #[test]
    fn only_arrays_of_addresses_become_stacks() {
        let array = |element: FieldClass| {
            FieldClass::new(FieldKind::Array {
                element: Arc::new(element),
                length: Length::Static(2),
                minimum_alignment: 1,
                element_aligns: true,
            })
        };
        let class = |name: &str, field| Arc::new(EventRecordClass::new("e", [Member::new(name, field)]));
        for (class, expected) in [
            (class(ADDRESSES, array(FieldClass::unsigned(64))), true),
            (class(ADDRESSES, array(FieldClass::signed(64))), false),
            (class(ADDRESSES, FieldClass::unsigned(64)), false),
            (class("other", array(FieldClass::unsigned(64))), false),
        ] {
            let mut stream = DataStreamClass { event_records: vec![class], ..DataStreamClass::default() };
            add_to(&mut stream);
            let meaning = stream.event_records[0].meanings.get(Scope::Resource, 0);
            assert_eq!((is_in(&stream), meaning == Some(Meaning::Stack)), (expected, expected));
        }
    }
}
