//! Origins of the elements of requests, without duplicates.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use ichnos_model::key_hash::KeyState;

use crate::data_point::MetricHead;
use crate::fault::{Decoded, RequestFault};
use crate::origin::{InstrumentationScope, Resource};
use crate::request::ElementOrigin;
use crate::request_signal::RequestSignal;

/// Maximum number of resources with their own data stream. Further ones share a data stream.
pub(crate) const MOST_RESOURCES: usize = 1 << 12;

/// Values without duplicates, by index.
#[derive(Debug)]
struct ValueList<K, V> {
    values: Vec<V>,
    by_key: HashMap<K, u32, KeyState>,
}

impl<K, V> Default for ValueList<K, V> {
    fn default() -> Self {
        Self { values: Vec::new(), by_key: HashMap::default() }
    }
}

impl<K: Hash + Eq, V> ValueList<K, V> {
    fn len(&self) -> usize {
        self.values.len()
    }

    fn add(&mut self, key: K, value: impl FnOnce() -> V) -> u32 {
        let next = self.values.len() as u32;
        *self.by_key.entry(key).or_insert_with(|| {
            self.values.push(value());
            next
        })
    }

    fn get(&self, index: u32) -> Option<&V> {
        self.values.get(index as usize)
    }
}

/// Origin of elements, by indexes in a [`ContextTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ElementContext {
    pub(crate) signal: RequestSignal,
    /// Number of the file.
    pub(crate) file: u32,
    pub(crate) resource: u32,
    scope: u32,
    metric: Option<u32>,
}

/// Resources, scopes and metrics of requests.
#[derive(Debug, Default)]
pub(crate) struct ContextTable {
    resources: ValueList<Vec<u8>, Arc<Resource>>,
    scopes: ValueList<Vec<u8>, InstrumentationScope>,
    metrics: ValueList<MetricHead, MetricHead>,
    contexts: ValueList<ElementContext, ElementContext>,
    /// Numbers of the last resource message and of the last scope message in their request, and their indexes.
    last_resource: Option<(usize, u32)>,
    last_scope: Option<(usize, u32)>,
    /// Statements about what is left out of new values, with the offsets of their messages in the request.
    cuts: Vec<RequestFault>,
    /// Estimated memory of the values, in bytes.
    memory: usize,
}

/// Estimated memory of a resource or a scope, beside its key.
const ORIGIN_BYTES: usize = 512;

/// Estimated ratio between a resource or a scope and its key.
const KEY_FACTOR: usize = 8;

impl ContextTable {
    /// Prepares for another request.
    pub(crate) fn begin_request(&mut self) {
        (self.last_resource, self.last_scope) = (None, None);
    }

    /// Adds the origin of elements in a file. Returns the index of its context.
    pub(crate) fn add(&mut self, origin: &ElementOrigin<'_, '_>, file: u32) -> Decoded<u32> {
        let resource = match self.last_resource {
            Some((number, index)) if number == origin.resource_number => index,
            _ => self.add_resource(origin)?,
        };
        self.last_resource = Some((origin.resource_number, resource));
        let scope = match self.last_scope {
            Some((number, index)) if number == origin.scope_number => index,
            _ => self.add_scope(origin)?,
        };
        self.last_scope = Some((origin.scope_number, scope));
        let metric = origin.metric.map(|(metric, at)| self.add_metric(metric, at));
        let context = ElementContext { signal: origin.signal, file, resource, scope, metric };
        let before = self.contexts.len();
        let context = self.contexts.add(context, || context);
        self.count(self.contexts.len() - before, 4 * size_of::<ElementContext>());
        Ok(context)
    }

    fn add_resource(&mut self, origin: &ElementOrigin<'_, '_>) -> Decoded<u32> {
        let mut resource = Resource::decode(origin.resource)?;
        if self.resources.len() >= MOST_RESOURCES {
            resource = resource.to_shared();
        }
        let (key, before) = (resource.key(), self.resources.len());
        let bytes = ORIGIN_BYTES.saturating_add(key.len().saturating_mul(KEY_FACTOR));
        let cuts = resource.cuts.clone();
        let index = self.resources.add(key, || Arc::new(resource));
        self.count(self.resources.len() - before, bytes);
        if self.resources.len() > before {
            self.note_cuts(&cuts, origin.resource.at);
        }
        Ok(index)
    }

    fn add_scope(&mut self, origin: &ElementOrigin<'_, '_>) -> Decoded<u32> {
        let scope = InstrumentationScope::decode(origin.scope)?;
        let (key, before) = (scope.key(), self.scopes.len());
        let bytes = ORIGIN_BYTES.saturating_add(key.len().saturating_mul(KEY_FACTOR));
        let cuts = scope.cuts.clone();
        let index = self.scopes.add(key, || scope);
        self.count(self.scopes.len() - before, bytes);
        if self.scopes.len() > before {
            self.note_cuts(&cuts, origin.scope.at);
        }
        Ok(index)
    }

    fn add_metric(&mut self, metric: &MetricHead, at: usize) -> u32 {
        let before = self.metrics.len();
        let index = self.metrics.add(metric.clone(), || metric.clone());
        self.count(self.metrics.len() - before, 2 * metric.memory());
        if self.metrics.len() > before {
            self.note_cuts(&metric.cuts, at);
        }
        index
    }

    fn note_cuts(&mut self, cuts: &[String], at: usize) {
        self.cuts.extend(cuts.iter().map(|cut| RequestFault::new(at, cut.clone())));
    }

    /// Removes and returns statements about what is left out of new values: see [`Resource::cuts`].
    pub(crate) fn take_cuts(&mut self) -> Vec<RequestFault> {
        std::mem::take(&mut self.cuts)
    }

    /// Counts memory.
    fn count(&mut self, values: usize, bytes: usize) {
        self.memory = self.memory.saturating_add(values.saturating_mul(bytes));
    }

    /// Returns the estimated memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    /// Returns all resources.
    pub(crate) fn resources(&self) -> &[Arc<Resource>] {
        &self.resources.values
    }

    /// Returns a context with its scope and its metric.
    pub(crate) fn get(
        &self,
        context: u32,
    ) -> Option<(ElementContext, &InstrumentationScope, Option<&MetricHead>)> {
        let context = *self.contexts.get(context)?;
        let metric = context.metric.and_then(|metric| self.metrics.get(metric));
        Some((context, self.scopes.get(context.scope)?, metric))
    }
}
