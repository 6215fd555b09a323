//! Plans for a trace and its classes.

use std::sync::Arc;

use super::steps::{Plan, Step};
use crate::class::{DataStreamClass, EventRecordClass, FieldClass, Scope, TraceClass};

/// Plans for a trace.
#[derive(Debug)]
pub struct TracePlans {
    /// Packet header plan.
    pub packet_header: Option<Plan>,
    /// Plans for each data stream class, in the order of [`TraceClass::data_streams`].
    pub data_streams: Vec<Arc<DataStreamPlans>>,
    /// Plan without nodes, for absent scopes.
    pub(crate) nothing: Plan,
}

/// Plans for a data stream class.
#[derive(Debug, Default)]
pub struct DataStreamPlans {
    /// Packet context plan.
    pub packet_context: Option<Plan>,
    /// Event record header plan.
    pub event_record_header: Option<Plan>,
    /// Common context plan.
    pub common_context: Option<Plan>,
    /// Resource plan. It has fields but cannot decode them.
    pub resource: Option<Plan>,
    /// Plans for each event record class, in the order of [`DataStreamClass::event_records`].
    pub event_records: Vec<EventRecordPlans>,
    /// Maximum number of values kept for other fields at once.
    pub slots: usize,
}

/// Plans for an event record class.
#[derive(Debug, Default)]
pub struct EventRecordPlans {
    /// Event record class.
    pub class: Arc<EventRecordClass>,
    /// Specific context plan.
    pub specific_context: Option<Plan>,
    /// Payload plan.
    pub payload: Option<Plan>,
    /// Joined steps of the common context and these two plans, if they can be joined. Without them: log-null +51 %,
    /// null +25 %.
    pub(crate) joined: Option<Box<[Step]>>,
    /// Class index in the data stream class.
    pub(crate) index: Option<usize>,
}

impl EventRecordPlans {
    /// Returns the class index in the data stream class; see [`Event::class_index`](crate::Event::class_index).
    #[inline]
    #[must_use]
    pub fn index(&self) -> Option<usize> {
        self.index
    }
}

impl TracePlans {
    /// Returns the maximum number of values kept for other fields.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.data_streams.iter().map(|stream| stream.slots).max().unwrap_or(0)
    }
}

/// Returns the root class of a scope, or `None` if the trace lacks it, or the event record class is missing.
#[must_use]
pub fn scope_class<'a>(
    scope: Scope,
    trace: Option<&'a TraceClass>,
    stream: &'a DataStreamClass,
    event: Option<&'a EventRecordClass>,
) -> Option<&'a Arc<FieldClass>> {
    match scope {
        Scope::PacketHeader => trace?.packet_header.as_ref(),
        Scope::PacketContext => stream.packet_context.as_ref(),
        Scope::EventRecordHeader => stream.event_record_header.as_ref(),
        Scope::CommonContext => stream.common_context.as_ref(),
        Scope::SpecificContext => event?.specific_context.as_ref(),
        Scope::Payload => event?.payload.as_ref(),
        Scope::Resource => stream.resource.as_ref(),
    }
}

/// Returns a scope's plan.
#[inline]
#[must_use]
pub fn scope_plan<'a>(
    scope: Scope,
    trace: &'a TracePlans,
    stream: &'a DataStreamPlans,
    event: &'a EventRecordPlans,
) -> Option<&'a Plan> {
    match scope {
        Scope::PacketHeader => trace.packet_header.as_ref(),
        Scope::PacketContext => stream.packet_context.as_ref(),
        Scope::EventRecordHeader => stream.event_record_header.as_ref(),
        Scope::CommonContext => stream.common_context.as_ref(),
        Scope::SpecificContext => event.specific_context.as_ref(),
        Scope::Payload => event.payload.as_ref(),
        Scope::Resource => stream.resource.as_ref(),
    }
}
