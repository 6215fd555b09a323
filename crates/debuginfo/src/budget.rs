//! Work and memory limits for damaged or hostile files.

/// Steps that reading a file may still take.
///
/// Valid files need a few steps for each byte. A hostile file can refer to the same bytes any number of times. Without
/// a budget, reading such a file would take forever.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget(u64);

/// Error: a file needs more steps than its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted;

impl Budget {
    /// Steps for each byte in a file, and in addition for each file.
    const STEPS_PER_BYTE: u64 = 16;
    const LEAST: u64 = 1 << 20;

    /// Memory bytes per step.
    const BYTES_PER_STEP: usize = 8;

    /// Creates the budget for a file with this size in bytes.
    pub(crate) fn for_size(bytes: usize) -> Self {
        Self((bytes as u64).saturating_mul(Self::STEPS_PER_BYTE).saturating_add(Self::LEAST))
    }

    /// Takes steps from the budget.
    pub(crate) fn charge(&mut self, steps: usize) -> Result<(), Exhausted> {
        let left = self.0.checked_sub(steps as u64);
        // After the first error, there is nothing left for smaller parts, either.
        self.0 = left.unwrap_or_default();
        left.map(|_| ()).ok_or(Exhausted)
    }

    /// Takes the steps for data that stay in memory.
    pub(crate) fn charge_memory(&mut self, bytes: usize) -> Result<(), Exhausted> {
        self.charge(bytes.div_ceil(Self::BYTES_PER_STEP))
    }
}

/// Maximum number of units in a file, and of functions, inlined functions and lines in a unit.
const MOST_ITEMS: usize = 1 << 22;

/// Checks that a list may have another item.
pub(crate) fn check_room<T>(items: &[T]) -> Result<(), Exhausted> {
    if items.len() < MOST_ITEMS { Ok(()) } else { Err(Exhausted) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_ends() {
        let mut budget = Budget::for_size(0);
        assert_eq!(budget.charge(1 << 20), Ok(()));
        assert_eq!(budget.charge(0), Ok(()));
        assert_eq!(budget.charge(1), Err(Exhausted));
    }

    #[test]
    fn memory_costs_steps() {
        let mut budget = Budget::for_size(0);
        assert_eq!(budget.charge_memory(8 << 20), Ok(()));
        assert_eq!(budget.charge_memory(0), Ok(()));
        assert_eq!(budget.charge_memory(1), Err(Exhausted));
    }
}
