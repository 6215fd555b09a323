//! Functions and their call tree.

use std::collections::HashMap;
use std::sync::Arc;

/// Caller of outermost frames: no call.
pub(super) const NO_CALL: u32 = u32::MAX;

/// Maximum number of calls, without outermost calls. Otherwise, a trace with a few bytes per sample, and addresses that
/// change their symbols all the time, could create any number.
pub(super) const MOST_CALLS: usize = 1 << 22;

/// Maximum length of a function label in bytes. Longer labels are cut.
const LONGEST: usize = 4_096;

/// A function, or a placeholder for unknown functions.
#[derive(Clone, Debug)]
pub(super) struct Function {
    /// Label: `module!symbol`, as far as known.
    pub(super) label: Arc<str>,
    /// Module.
    pub(super) module: Option<Arc<str>>,
    /// `true` for managed code.
    pub(super) is_managed: bool,
}

/// Call tree: each call has its caller and the called function.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    pub(super) functions: Vec<Function>,
    by_label: HashMap<Arc<str>, u32>,
    /// Caller, either [`NO_CALL`] or less than the index, and function.
    calls: Vec<(u32, u32)>,
    by_call: HashMap<(u32, u32), u32>,
}

impl Calls {
    /// Returns the index of the function with this label in `module`. Adds it if it is new.
    pub(super) fn function(&mut self, label: &str, module: Option<&Arc<str>>, is_managed: bool) -> u32 {
        let mut end = label.len().min(LONGEST);
        while !label.is_char_boundary(end) {
            end -= 1;
        }
        let label = &label[..end];
        if let Some(index) = self.by_label.get(label) {
            return *index;
        }
        let label: Arc<str> = label.into();
        let index = self.functions.len() as u32;
        self.functions.push(Function { label: Arc::clone(&label), module: module.cloned(), is_managed });
        self.by_label.insert(label, index);
        index
    }

    /// Returns the call of a function by `caller`, a call or [`NO_CALL`]. Beyond the maximum, returns the caller
    /// itself.
    pub(super) fn call(&mut self, caller: u32, function: u32) -> u32 {
        if caller != NO_CALL && self.calls.len() >= MOST_CALLS {
            return self.by_call.get(&(caller, function)).copied().unwrap_or(caller);
        }
        let next = self.calls.len() as u32;
        let call = *self.by_call.entry((caller, function)).or_insert(next);
        if call == next {
            self.calls.push((caller, function));
        }
        call
    }

    /// Returns the call of a thread state frame, as innermost frame below `call`.
    pub(super) fn call_of_state(&mut self, call: u32, state: &str) -> u32 {
        let function = self.function(state, None, false);
        self.call(call, function)
    }

    /// Returns the call count.
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Returns the caller (or [`NO_CALL`]) and the function of a call.
    pub(super) fn get(&self, call: u32) -> Option<(u32, u32)> {
        self.calls.get(call as usize).copied()
    }

    /// Returns a call and its callers with their functions, innermost first.
    pub(super) fn path(&self, call: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let mut next = call;
        std::iter::from_fn(move || {
            let (caller, function) = self.get(next)?;
            Some((std::mem::replace(&mut next, caller), function))
        })
    }

    /// Returns a function's label.
    pub(super) fn label(&self, function: u32) -> &str {
        self.functions.get(function as usize).map_or("", |function| &function.label)
    }
}
