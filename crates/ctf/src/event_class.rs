//! Facts about event record classes, computed once per data stream class.

use std::collections::HashMap;

use ichnos_model::Trace;
use ichnos_model::class::{Role, Roles};
use ichnos_model::event::Cost;
use ichnos_model::message::DamageKind;
use ichnos_model::plan::{EventRecordPlans, Plan};

use crate::data_limits::DataLimits;
use crate::event_header::EventHeader;
use crate::rule::Rule;

/// Facts about a data stream class's event records.
/// All data streams with this class share them, because copies would not fit into the processor's caches.
#[derive(Debug)]
pub(crate) struct EventRecords {
    pub(crate) little_header: Option<EventHeader<false>>,
    pub(crate) big_header: Option<EventHeader<true>>,
    pub(crate) by_id: RecordBodies,
    /// Bodies by event ids above 64 bits.
    pub(crate) by_wide_id: HashMap<u128, RecordBody>,
    /// Event id if headers lack one: the id of the only class, or 0.
    pub(crate) implied_id: u128,
    pub(crate) common_has_roles: bool,
    /// `true` if the common context contains event times, which PROP-1.0 allows.
    pub(crate) time_in_common: bool,
    /// All clocks of the data stream except the default clock.
    pub(crate) other_clocks: Box<[u16]>,
    /// Reasons to refuse event records, by id. `by_id` lacks these ids.
    refused: HashMap<u128, DamageKind>,
}

impl EventRecords {
    /// Returns the facts for the data stream class with this index, or `None` if it does not exist.
    pub(crate) fn for_class(trace: &Trace, index: usize, allowed: &DataLimits) -> Option<Self> {
        let (class, plans) = (trace.class.data_streams.get(index)?, trace.plans.data_streams.get(index)?);
        let header = plans.event_record_header.as_ref();
        let common = plans.common_context.as_ref();
        let has_default_time = |plan: Option<&Plan>| {
            let is_default = |roles: Roles| roles.clock.is_none() || roles.clock == class.default_clock;
            let mut roles = plan.into_iter().flat_map(Plan::nodes).map(|node| node.roles);
            roles.any(|roles| roles.has(Role::Timestamp) && is_default(roles))
        };
        let costs = Cost::for_event_records(&trace.class, class);
        let costs = class.event_records.iter().zip(costs);
        let refused: HashMap<u128, DamageKind> = costs
            .filter_map(|(class, cost)| Some((class.id, allowed.too_many(cost, "event records")?)))
            .collect();
        let bodies = class.event_records.iter().zip(&plans.event_records).enumerate();
        let bodies = bodies.filter(|(_, (class, _))| !refused.contains_key(&class.id));
        let bodies = bodies.map(|(i, (class, plans))| (class.id, RecordBody::new(i, common, plans)));
        let implied_id = match class.event_records.as_slice() {
            [only] => only.id,
            _ => 0,
        };
        let clock = class.default_clock;
        let (mut by_id, mut by_wide_id) = (HashMap::new(), HashMap::new());
        for (id, body) in bodies {
            match u64::try_from(id) {
                Ok(id) => by_id.insert(id, body),
                Err(_) => by_wide_id.insert(id, body),
            };
        }
        // Headers with an id above 64 bits are decoded by the plan.
        let implied = u64::try_from(implied_id).ok();
        Some(Self {
            little_header: header.and_then(|plan| EventHeader::new(plan, clock, implied?)),
            big_header: header.and_then(|plan| EventHeader::new(plan, clock, implied?)),
            by_id: RecordBodies::new(by_id),
            by_wide_id,
            implied_id,
            common_has_roles: common.is_some_and(|plan| plan.nodes().any(|node| !node.roles.is_empty())),
            time_in_common: !has_default_time(header) && has_default_time(common),
            other_clocks: class.other_clocks.as_slice().into(),
            refused,
        })
    }

    /// Returns the damage for an event id without a class.
    pub(crate) fn unknown(&self, data_stream_class: u128, id: u128) -> DamageKind {
        let unknown = Rule::EventRecordClass { data_stream_class, id }.into();
        self.refused.get(&id).cloned().unwrap_or(unknown)
    }
}

/// Bodies by id. Small ids, the usual case, index an array.
#[derive(Debug)]
pub(crate) enum RecordBodies {
    Dense(Box<[Option<RecordBody>]>),
    Sparse(HashMap<u64, RecordBody>),
}

impl RecordBodies {
    pub(crate) fn new(by_id: HashMap<u64, RecordBody>) -> Self {
        let most = by_id.keys().copied().max().unwrap_or(0);
        if most > 4 * by_id.len() as u64 + 64 {
            return Self::Sparse(by_id);
        }
        Self::Dense((0..=most).map(|id| by_id.get(&id).copied()).collect())
    }

    #[inline(always)]
    pub(crate) fn get(&self, id: u64) -> Option<&RecordBody> {
        match self {
            Self::Dense(dense) => dense.get(usize::try_from(id).ok()?)?.as_ref(),
            Self::Sparse(sparse) => sparse.get(&id),
        }
    }
}

/// Facts about events after their headers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordBody {
    /// Class index.
    pub(crate) class: usize,
    /// `true` if the specific context or the payload has fields with roles.
    pub(crate) has_roles: bool,
    pub(crate) layout: Option<BodyLayout>,
}

/// Scope offsets in bits from the body's start, if they are equal for all bodies that start at a byte.
// With 32 bits, adding them to a position in a packet never overflows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyLayout {
    pub(crate) specific_context: u32,
    pub(crate) payload: u32,
    /// Body size in bits, if it is constant too.
    pub(crate) size: Option<u32>,
}

impl RecordBody {
    pub(crate) fn new(class: usize, common_context: Option<&Plan>, plans: &EventRecordPlans) -> Self {
        let has_roles = |plan: &Plan| plan.nodes().any(|node| !node.roles.is_empty());
        let size = |plan: Option<&Plan>| {
            let Some(plan) = plan else { return Some(0) };
            let is_aligned = 8 % plan.root().alignment() == 0;
            let size = plan.fixed_size().filter(|size| is_aligned && size % 8 == 0 && !has_roles(plan));
            size.and_then(|size| u32::try_from(size).ok())
        };
        let (specific, payload) = (plans.specific_context.as_ref(), plans.payload.as_ref());
        let layout = || {
            let specific_context = size(common_context)?;
            let begin = specific_context.checked_add(size(specific)?)?;
            if payload.is_some_and(has_roles) {
                return None;
            }
            let size = size(payload).and_then(|size| begin.checked_add(size));
            Some(BodyLayout { specific_context, payload: begin, size })
        };
        let has_roles = [specific, payload].into_iter().flatten().any(has_roles);
        Self { class, has_roles, layout: layout() }
    }
}
