//! Numbered names. Each sequence of packets announces a name before it uses the number.

use std::collections::HashMap;

/// Names of one kind by number. Numbers start at 1.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Debug, Default)]
pub struct NumberedNames {
    numbers: HashMap<Box<str>, u32>,
    list: Vec<Box<str>>,
}

impl NumberedNames {
    /// Returns a name's number.
    pub fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        self.list.push(name.into());
        let number = self.list.len() as u32;
        self.numbers.insert(name.into(), number);
        number
    }

    /// Returns the name count.
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// Returns the name with a number.
    pub fn name(&self, number: u32) -> &str {
        (number as usize).checked_sub(1).and_then(|index| self.list.get(index)).map_or("", |name| name)
    }
}

/// Set of numbers.
#[derive(Clone, Debug, Default)]
pub struct NumberBits(Vec<u64>);

impl NumberBits {
    /// Returns `true` if the number is in the set.
    #[inline]
    pub fn has(&self, number: u32) -> bool {
        self.0.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Adds a number. Returns `true` if it is new.
    pub fn add(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let word = &mut self.0[word];
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}
