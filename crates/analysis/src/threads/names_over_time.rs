//! Names of threads at the ends of their states.

use std::collections::HashMap;

use crate::events::{ThreadNames, ThreadStateReader};

/// Maximum number of names. Beyond it, threads keep their last name.
const MOST: usize = 1 << 18;

/// Thread names so far. A thread can change its name, and its number can be reused.
#[derive(Debug, Default)]
pub(super) struct NamesOverTime {
    all: Vec<ThreadNames>,
    latest: HashMap<(u32, u64), u32>,
}

impl NamesOverTime {
    /// Returns the number of the current names of a thread.
    pub(super) fn current(&mut self, reader: &ThreadStateReader, trace: u32, thread: u64) -> u32 {
        let Self { all, latest } = self;
        let known = latest.get(&(trace, thread)).copied();
        let is_current = |number: &u32| {
            let names = all.get(*number as usize);
            all.len() >= MOST || names.is_some_and(|names| reader.is_described_by(trace, thread, names))
        };
        if let Some(number) = known.filter(is_current) {
            return number;
        }
        let number = all.len() as u32;
        if all.len() < MOST {
            all.push(reader.describe(trace, thread));
            latest.insert((trace, thread), number);
        }
        number
    }

    /// Returns the names with a number.
    pub(super) fn get(&self, number: u32) -> ThreadNames {
        self.all.get(number as usize).cloned().unwrap_or_default()
    }
}
