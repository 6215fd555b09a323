//! Functions, and which of them called which.

use std::collections::HashMap;
use std::sync::Arc;

/// Stands for no call: that of what is outermost.
pub(super) const NO_CALL: u32 = u32::MAX;

/// How many calls there are at most, those of what is outermost aside: a trace of a few bytes a sample, with
/// addresses that stand for something else all the time, could be any number.
pub(super) const MOST_CALLS: usize = 1 << 22;

/// The longest text that a function is called by, in bytes: longer names are cut.
const LONGEST: usize = 4_096;

/// A function, or what stands for functions that are not known.
#[derive(Clone, Debug)]
pub(super) struct Function {
    /// What it is called: `module!symbol`, as far as these are known.
    pub(super) label: Arc<str>,
    /// Its module.
    pub(super) module: Option<Arc<str>>,
    /// Whether it is managed code.
    pub(super) is_managed: bool,
}

/// A tree of calls: each call has the one that it came from, and the function that was called.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    pub(super) functions: Vec<Function>,
    by_label: HashMap<Arc<str>, u32>,
    /// Caller or [`NO_CALL`], which is less than the index, and function.
    calls: Vec<(u32, u32)>,
    by_call: HashMap<(u32, u32), u32>,
}

impl Calls {
    /// The index of a function of this name; `module` is what it is in.
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

    /// The call of a function by a caller, or [`NO_CALL`]. Where there are too many, the caller itself.
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

    /// The call of a frame that says what the thread did, as innermost frame of a call.
    pub(super) fn call_of_state(&mut self, call: u32, state: &str) -> u32 {
        let function = self.function(state, None, false);
        self.call(call, function)
    }

    /// How many calls there are.
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Caller, or [`NO_CALL`], and function of a call.
    pub(super) fn get(&self, call: u32) -> Option<(u32, u32)> {
        self.calls.get(call as usize).copied()
    }

    /// The calls that led to a call, itself first, with the functions that were called.
    pub(super) fn path(&self, call: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let mut next = call;
        std::iter::from_fn(move || {
            let (caller, function) = self.get(next)?;
            Some((std::mem::replace(&mut next, caller), function))
        })
    }

    /// What a function is called.
    pub(super) fn label(&self, function: u32) -> &str {
        self.functions.get(function as usize).map_or("", |function| &function.label)
    }
}
