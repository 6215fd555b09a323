//! Weighted call tree for all threads.

use std::collections::HashMap;

use super::StackRoots;
use super::calls::{Calls, NO_CALL};
use super::profile::{StackProfile, Total};

/// Calls of all threads.
pub(super) struct CallTree {
    pub(super) calls: Calls,
    /// Totals by call, without called functions.
    pub(super) own: Vec<Total>,
    /// Totals by call, with called functions.
    pub(super) all: Vec<Total>,
    /// Calls with samples, grouped by caller and sorted by name.
    order: Vec<u32>,
}

impl CallTree {
    /// Creates the call tree, with each call below the root of its thread.
    pub(super) fn new(profile: &StackProfile, roots: StackRoots) -> Self {
        let mut calls = if roots == StackRoots::None { profile.calls.clone() } else { Calls::default() };
        let mut own = vec![Total::default(); calls.len()];
        for thread in &profile.threads {
            let mut root = NO_CALL;
            let labels = [
                (roots != StackRoots::None).then(|| thread.thread.process_label()),
                (roots == StackRoots::Thread).then(|| thread.thread.thread_label()),
            ];
            for label in labels.into_iter().flatten() {
                let function = calls.function(&label, None, false);
                root = calls.call(root, function);
            }
            let mut moved = HashMap::from([(NO_CALL, root)]);
            for (call, total) in thread.sorted() {
                let call = match roots {
                    StackRoots::None => call,
                    _ => move_call(call, profile, &mut calls, &mut moved),
                };
                own.resize(own.len().max(calls.len()), Total::default());
                own[call as usize].add(total);
            }
        }
        own.resize(calls.len(), Total::default());
        let mut all = own.clone();
        // Callers come before the calls that they make.
        for call in (0..all.len()).rev() {
            if let Some((caller, _)) = calls.get(call as u32)
                && caller != NO_CALL
            {
                let total = all[call];
                all[caller as usize].add(total);
            }
        }
        let mut order: Vec<u32> =
            (0..all.len() as u32).filter(|call| all[*call as usize].samples > 0).collect();
        order.sort_by_cached_key(|call| {
            let (caller, function) = calls.get(*call).unwrap_or_default();
            (caller, std::sync::Arc::clone(&calls.functions[function as usize].label))
        });
        Self { calls, own, all, order }
    }

    /// Returns the calls made by `caller`, sorted by name. [`NO_CALL`] returns the outermost calls.
    pub(super) fn called(&self, caller: u32) -> &[u32] {
        let caller_of = |call: &u32| self.calls.get(*call).map_or(NO_CALL, |(caller, _)| caller);
        let begin = self.order.partition_point(|call| caller_of(call) < caller);
        let end = self.order.partition_point(|call| caller_of(call) <= caller);
        &self.order[begin..end]
    }

    /// Visits all calls in depth-first order. `depth` is the number of callers.
    pub(super) fn visit<E>(&self, mut visit: impl FnMut(u32, usize) -> Result<(), E>) -> Result<(), E> {
        let mut open: Vec<(u32, usize)> = Vec::new();
        open.extend(self.called(NO_CALL).iter().rev().map(|call| (*call, 0)));
        while let Some((call, depth)) = open.pop() {
            visit(call, depth)?;
            open.extend(self.called(call).iter().rev().map(|call| (*call, depth + 1)));
        }
        Ok(())
    }

    /// Returns a call's function label.
    pub(super) fn label(&self, call: u32) -> &str {
        self.calls.get(call).map_or("", |(_, function)| self.calls.label(function))
    }
}

/// Returns the same call below the root of a thread.
fn move_call(call: u32, profile: &StackProfile, calls: &mut Calls, moved: &mut HashMap<u32, u32>) -> u32 {
    let mut path = Vec::new();
    let mut next = call;
    let mut found = loop {
        if let Some(found) = moved.get(&next) {
            break *found;
        }
        let Some((caller, function)) = profile.calls.get(next) else { break NO_CALL };
        path.push((next, function));
        next = caller;
    };
    for (call, function) in path.into_iter().rev() {
        let function = &profile.calls.functions[function as usize];
        let function = calls.function(&function.label, function.module.as_ref(), function.is_managed);
        found = calls.call(found, function);
        moved.insert(call, found);
    }
    found
}
