//! Finds duplicates among millions of names.

use std::hash::{BuildHasher as _, RandomState};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Index of names stored elsewhere. It needs about 15 bytes for each name, while a map with copied names needs a
/// hundred.
#[derive(Default)]
pub(super) struct NameNumbers {
    /// Name numbers with half of the name's hash, so that growing the table does not need the names.
    numbers: HashTable<(u32, u32)>,
    hash: RandomState,
}

impl NameNumbers {
    /// Adds a name by its number. If the name exists, returns its number as an error. `name_of` must return the names
    /// of added numbers.
    pub(super) fn add<'n>(
        &mut self,
        name: &str,
        number: u32,
        name_of: impl Fn(u32) -> &'n str,
    ) -> Result<(), u32> {
        let half = self.hash.hash_one(name) as u32;
        let is_same = |(other, number): &(u32, u32)| *other == half && name_of(*number) == name;
        match self.numbers.entry(spread(half), is_same, |(half, _)| spread(*half)) {
            Entry::Occupied(entry) => Err(entry.get().1),
            Entry::Vacant(entry) => {
                entry.insert((half, number));
                Ok(())
            }
        }
    }
}

/// Returns a 64-bit hash from a 32-bit hash.
fn spread(half: u32) -> u64 {
    u64::from(half).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_their_numbers() {
        let names: Vec<String> = (0..1000).map(|number| format!("name{number}")).collect();
        let name_of = |number: u32| names.get(number as usize).map_or("", String::as_str);
        let mut index = NameNumbers::default();
        for (name, number) in names.iter().zip(0..) {
            assert_eq!(index.add(name, number, name_of), Ok(()));
        }
        for (name, number) in names.iter().zip(0..) {
            assert_eq!(index.add(name, 7777, name_of), Err(number));
        }
    }
}
