//! Resources, which are the processes of events.

use std::collections::HashMap;

use ichnos_model::digest::ValueHash;

use super::attributes::{push_number, push_text};
use super::encoding::OtlpEncoding;
use super::event_context::EventContext;
use super::origins::{EncodedOrigin, OriginMemory};
use super::schema::resource::ATTRIBUTES;
use crate::event_track::{LastName, LastPlace};
use ichnos_analysis::events::class::is_named_process;
use ichnos_analysis::events::tracks::name_key;

/// Maximum number of resources. Further events share a common resource.
const MOST: usize = 1 << 16;

/// Resource for losses, and for events beyond the resource limit.
pub(super) const COMMON: u64 = 0;

/// Default service name.
const UNKNOWN: &str = "unknown_service";

/// Encoded resources by key.
#[derive(Debug)]
pub(super) struct Resources {
    encoding: OtlpEncoding,
    pub(super) by_key: HashMap<u64, EncodedOrigin>,
    memory: OriginMemory,
}

/// Resource of the last event of a data stream. Successive events often share it.
#[derive(Debug, Default)]
pub(super) struct LastResource {
    host: LastName,
    component: LastName,
    /// Resource key, and `false` for the common resource of too many.
    key: LastPlace<(u64, bool)>,
}

impl Resources {
    pub(super) fn new(encoding: OtlpEncoding) -> Self {
        let mut common = Vec::new();
        push_text(encoding, &mut common, ATTRIBUTES, "service.name", UNKNOWN);
        let common = EncodedOrigin::of_resource(encoding, &common);
        Self { encoding, by_key: HashMap::from([(COMMON, common)]), memory: OriginMemory::default() }
    }

    /// Adds a resource of OpenTelemetry input. Returns its key, and `false` if the common resource is used because there
    /// are too many.
    pub(super) fn add(&mut self, resource: EncodedOrigin) -> (u64, bool) {
        let key = resource.hash().max(COMMON + 1);
        if self.by_key.contains_key(&key) || self.keep(key, resource) { (key, true) } else { (COMMON, false) }
    }

    /// Keeps a new resource. Returns `false` if there are too many, or if they are too large.
    fn keep(&mut self, key: u64, resource: EncodedOrigin) -> bool {
        let fits = self.by_key.len() <= MOST && self.memory.take(&resource);
        if fits {
            self.by_key.insert(key, resource);
        }
        fits
    }

    /// Returns the resource key of an event, and `false` if the common resource is used because there are too many.
    /// `last` is the last resource of the data stream.
    #[inline]
    pub(super) fn key(&mut self, context: &EventContext<'_, '_>, last: &mut LastResource) -> (u64, bool) {
        let EventContext { event, class, place, .. } = context;
        let names = [class.host(event), class.component(event)];
        let names = names.each_ref().map(Option::as_deref);
        let [host, component] = names;
        // Tracks do not matter here.
        if let Some(key) =
            last.key.get(place, 0).filter(|_| last.host.is(host) && last.component.is(component))
        {
            return *key;
        }
        let key = self.key_of(context, names);
        last.key.set(place, 0, key);
        last.host.set(host);
        last.component.set(component);
        key
    }

    #[inline(never)]
    fn key_of(
        &mut self,
        context: &EventContext<'_, '_>,
        [host, component]: [Option<&str>; 2],
    ) -> (u64, bool) {
        let EventContext { event, place, .. } = context;
        let mut hash = ValueHash::new(context.trace.into());
        hash.add(place.process.map_or(0, |process| process.wrapping_add(1)));
        for name in [place.process_name, host, component] {
            hash.add(name.map_or(0, name_key));
        }
        let key = hash.finish().max(COMMON + 1);
        if self.by_key.contains_key(&key) {
            return (key, true);
        }
        let trace = &event.stream.trace;
        let trace = trace.class.name.as_deref().unwrap_or(&trace.name);
        let names = [place.process_name, component, Some(trace)];
        let service = names.into_iter().flatten().find(|name| !name.is_empty()).unwrap_or(UNKNOWN);
        let mut attributes = Vec::new();
        push_text(self.encoding, &mut attributes, ATTRIBUTES, "service.name", service);
        if let Some(host) = host {
            push_text(self.encoding, &mut attributes, ATTRIBUTES, "host.name", host);
        }
        if let Some(process) = place.process.filter(|process| !is_named_process(*process)) {
            push_number(self.encoding, &mut attributes, ATTRIBUTES, "process.pid", process);
        }
        if let Some(name) = place.process_name {
            push_text(self.encoding, &mut attributes, ATTRIBUTES, "process.executable.name", name);
        }
        if self.keep(key, EncodedOrigin::of_resource(self.encoding, &attributes)) {
            (key, true)
        } else {
            (COMMON, false)
        }
    }
}
