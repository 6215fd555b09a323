//! The functions that count most.

use super::StackRoots;
use super::profile::{StackProfile, Total};
use super::tree::CallTree;

/// What a function counts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopFunction {
    /// What it is called: `module!symbol`, as far as these are known.
    pub label: String,
    /// Samples of which it is the innermost frame.
    pub exclusive_samples: u64,
    /// What these count.
    pub exclusive: u64,
    /// Samples that have it anywhere in their stacks.
    pub inclusive_samples: u64,
    /// What these count.
    pub inclusive: u64,
}

impl StackProfile {
    /// All functions, those first that count most: by what they count exclusively, then inclusively, then by name.
    #[must_use]
    pub fn functions(&self) -> Vec<TopFunction> {
        let tree = CallTree::new(self, StackRoots::None);
        let functions = tree.calls.functions.len();
        let mut own = vec![Total::default(); functions];
        let mut all = vec![Total::default(); functions];
        // How often each function is among the callers of the call that is visited.
        let mut open = vec![0_u32; functions];
        let mut path: Vec<usize> = Vec::new();
        let visited: Result<(), ()> = tree.visit(|call, depth| {
            path.drain(depth..).for_each(|function| open[function] -= 1);
            let function = tree.calls.get(call).map_or(0, |(_, function)| function as usize);
            own[function].add(tree.own[call as usize]);
            // A function that calls itself counts once.
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
