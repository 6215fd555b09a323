//! Data streams of resources that appear while requests arrive.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use ichnos_io::ReadOptions;
use ichnos_model::{DataStream, Trace};

use crate::class::trace_class;
use crate::origin::{Resource, SHARED};

/// Maximum number of resources with their own data stream, and of their shapes. Further ones share a data stream.
const MOST_RESOURCES: usize = 1 << 10;
const MOST_SHAPES: usize = 64;

/// Maximum size of the attributes of such a resource in bytes, because they are kept. A larger one shares a data stream.
const MOST_BYTES: usize = 64 << 10;

/// Maximum numbers of event record classes of a shape, and of their field classes.
const MOST_CLASSES: u64 = 1 << 12;
const MOST_FIELD_CLASSES: u64 = 1 << 16;

/// Data streams by resource.
#[derive(Debug)]
pub(super) struct ResourceStreams {
    name: String,
    options: ReadOptions,
    /// Data stream of further resources.
    pub(super) shared: Arc<DataStream>,
    by_resource: HashMap<Vec<u8>, Arc<DataStream>>,
    by_shape: HashMap<Vec<u8>, Arc<Trace>>,
    /// Number of data streams with each name.
    names: HashMap<String, u32>,
}

impl ResourceStreams {
    /// Creates a list for a receiver with this name. Fails if the clock offset does not fit.
    pub(super) fn new(name: String, options: ReadOptions) -> io::Result<Self> {
        let shared = new_trace(&Resource::default().to_shared(), &name, &options)?;
        let shared = new_stream(shared, SHARED)?;
        Ok(Self {
            name,
            options,
            shared,
            by_resource: HashMap::new(),
            by_shape: HashMap::new(),
            names: HashMap::new(),
        })
    }

    /// Returns the data stream of a resource, and the resource as the data stream describes it.
    pub(super) fn get(&mut self, resource: &Arc<Resource>) -> (Arc<DataStream>, Arc<Resource>) {
        let key = resource.key();
        if let Some(stream) = self.by_resource.get(&key) {
            return (Arc::clone(stream), Arc::clone(resource));
        }
        let own = if key.len() <= MOST_BYTES { self.add(resource) } else { None };
        match own {
            Some(stream) => {
                self.by_resource.insert(key, Arc::clone(&stream));
                (stream, Arc::clone(resource))
            }
            None if resource.is_shared => (Arc::clone(&self.shared), Arc::clone(resource)),
            None => (Arc::clone(&self.shared), Arc::new(resource.to_shared())),
        }
    }

    /// Creates the data stream of a resource. `None` if there are too many.
    fn add(&mut self, resource: &Resource) -> Option<Arc<DataStream>> {
        if resource.is_shared || self.by_resource.len() >= MOST_RESOURCES {
            return None;
        }
        let shape = resource.attributes.shape_key();
        let trace = match self.by_shape.get(shape) {
            Some(trace) => Arc::clone(trace),
            None if self.by_shape.len() >= MOST_SHAPES => return None,
            None => {
                let trace = new_trace(resource, &self.name, &self.options).ok()?;
                self.by_shape.insert(shape.to_vec(), Arc::clone(&trace));
                trace
            }
        };
        new_stream(trace, &resource.unique_name(&mut self.names)).ok()
    }
}

/// Creates a trace whose data streams have resources of one shape.
fn new_trace(resource: &Resource, name: &str, options: &ReadOptions) -> io::Result<Arc<Trace>> {
    let class = trace_class([resource], &options.clock_offsets);
    let class = class.ok_or_else(|| io::Error::other("the clock offset does not fit"))?;
    let trace = Trace::with_class_map(class, "", &options.limits, options.class_map.as_ref());
    let mut trace = trace.map_err(io::Error::other)?;
    name.clone_into(&mut trace.path);
    if let Some(classes) = trace.dynamic_classes(0) {
        classes.limit_to(MOST_CLASSES, MOST_FIELD_CLASSES);
    }
    Ok(Arc::new(trace))
}

fn new_stream(trace: Arc<Trace>, name: &str) -> io::Result<Arc<DataStream>> {
    let stream = DataStream::new(trace, 0, None, name);
    // Each trace has a class.
    stream.map(Arc::new).ok_or_else(|| io::Error::other("no data stream class"))
}
