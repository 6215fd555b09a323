//! Functions with the highest weights.

use super::StackRoots;
use super::profile::{StackProfile, Total};
use super::tree::CallTree;

/// Weight of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopFunction {
    /// Label: `module!symbol`, as far as known.
    pub label: String,
    /// Number of samples with this function as innermost frame.
    pub exclusive_samples: u64,
    /// Weight of these samples.
    pub exclusive: u64,
    /// Number of samples with this function anywhere in their stacks.
    pub inclusive_samples: u64,
    /// Weight of these samples.
    pub inclusive: u64,
}

impl StackProfile {
    /// Returns all functions, highest exclusive weight first, then by inclusive weight, then by name.
    #[must_use]
    pub fn functions(&self) -> Vec<TopFunction> {
        let tree = CallTree::new(self, StackRoots::None);
        let functions = tree.calls.functions.len();
        let mut own = vec![Total::default(); functions];
        let mut all = vec![Total::default(); functions];
        // Number of occurrences of each function among the callers of the visited call.
        let mut open = vec![0_u32; functions];
        let mut path: Vec<usize> = Vec::new();
        let visited: Result<(), ()> = tree.visit(|call, depth| {
            path.drain(depth..).for_each(|function| open[function] -= 1);
            let function = tree.calls.get(call).map_or(0, |(_, function)| function as usize);
            own[function].add(tree.own[call as usize]);
            // A recursive function counts once.
            if open[function] == 0 {
                all[function].add(tree.all[call as usize]);
            }
            open[function] += 1;
            path.push(function);
            Ok(())
        });
        debug_assert!(visited.is_ok());
        let mut top: Vec<TopFunction> = (tree.calls.functions.iter().zip(own).zip(all))
            .filter(|(_, all)| all.samples > 0)
            .map(|((function, own), all)| TopFunction {
                label: function.label.to_string(),
                exclusive_samples: own.samples,
                exclusive: own.weight,
                inclusive_samples: all.samples,
                inclusive: all.weight,
            })
            .collect();
        top.sort_by(|a, b| {
            (b.exclusive, b.inclusive).cmp(&(a.exclusive, a.inclusive)).then_with(|| a.label.cmp(&b.label))
        });
        top
    }
}
