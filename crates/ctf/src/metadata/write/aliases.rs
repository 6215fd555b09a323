//! Aliases of field classes that are used several times.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_model::{FieldClass, Value};

use super::json;

/// The aliases of JSON metadata: a class that is shared is written once, with a name, before what uses it.
pub(super) struct Aliases {
    /// What names begin with.
    prefix: &'static str,
    names: HashMap<*const FieldClass, String>,
    /// What is not written yet.
    new: Vec<(String, Value)>,
}

impl Aliases {
    /// None yet; `prefix`: what their names begin with.
    pub(super) fn new(prefix: &'static str) -> Self {
        Self { prefix, names: HashMap::new(), new: Vec::new() }
    }

    /// The name of a class, if it has one.
    pub(super) fn get(&self, class: &Arc<FieldClass>) -> Option<Value> {
        self.names.get(&Arc::as_ptr(class)).map(|name| json::text(name))
    }

    /// Gives a class a name; `written` is the class as JSON.
    pub(super) fn add(&mut self, class: &Arc<FieldClass>, written: Value) -> Value {
        let name = format!("{}-{}", self.prefix, self.names.len() + 1);
        self.names.insert(Arc::as_ptr(class), name.clone());
        self.new.push((name.clone(), written));
        Value::Text(name)
    }

    /// The names and classes that were added since this was asked before, those that others use first.
    pub(super) fn take_new(&mut self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.new)
    }
}
