//! Aliases for field classes that are used several times.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_model::class::{FieldClass, Value};

use super::json;

/// JSON metadata aliases. A shared class is written once, with a name, before its uses.
pub(super) struct Aliases {
    /// Name prefix.
    prefix: &'static str,
    names: HashMap<*const FieldClass, String>,
    /// Unwritten aliases.
    new: Vec<(String, Value)>,
}

impl Aliases {
    /// Creates an empty list. `prefix` is the prefix of all names.
    pub(super) fn new(prefix: &'static str) -> Self {
        Self { prefix, names: HashMap::new(), new: Vec::new() }
    }

    /// Returns a class's name, if it has one.
    pub(super) fn get(&self, class: &Arc<FieldClass>) -> Option<Value> {
        self.names.get(&Arc::as_ptr(class)).map(|name| json::text(name))
    }

    /// Names a class. `written` is the class as JSON.
    pub(super) fn add(&mut self, class: &Arc<FieldClass>, written: Value) -> Value {
        let name = format!("{}-{}", self.prefix, self.names.len() + 1);
        self.names.insert(Arc::as_ptr(class), name.clone());
        self.new.push((name.clone(), written));
        Value::Text(name)
    }

    /// Returns the names and classes added since the last call, dependencies first.
    pub(super) fn take_new(&mut self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.new)
    }
}
