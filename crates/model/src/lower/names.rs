//! Names allowed in formats.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Returns `true` for C identifiers.
pub(super) fn is_identifier(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

/// Converts a name to an identifier that is not a reserved word.
pub(super) fn identifier(name: &str, is_reserved: impl Fn(&str) -> bool) -> Cow<'_, str> {
    if is_identifier(name) && !is_reserved(name) {
        return Cow::Borrowed(name);
    }
    let mut identifier: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !identifier.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        identifier.insert(0, '_');
    }
    if is_reserved(&identifier) {
        identifier.push('_');
    }
    Cow::Owned(identifier)
}

/// Set of unique names, for example member names in a structure.
#[derive(Debug, Default)]
pub(super) struct UniqueNames {
    taken: HashSet<String>,
    /// Lowest untried number for a name suffix.
    next_numbers: HashMap<String, u64>,
}

impl UniqueNames {
    /// Takes the name, or the first of `name_2`, `name_3` ... that is free.
    pub(super) fn take(&mut self, name: &str) -> String {
        if self.taken.insert(name.to_owned()) {
            return name.to_owned();
        }
        let number = self.next_numbers.entry(name.to_owned()).or_insert(2);
        loop {
            let unique = format!("{name}_{number}");
            *number += 1;
            if self.taken.insert(unique.clone()) {
                return unique;
            }
        }
    }
}

impl Extend<String> for UniqueNames {
    fn extend<I: IntoIterator<Item = String>>(&mut self, names: I) {
        self.taken.extend(names);
    }
}

impl FromIterator<String> for UniqueNames {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Self {
        Self { taken: names.into_iter().collect(), next_numbers: HashMap::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_get_numbers_that_are_free() {
        let mut names: UniqueNames = ["a_2".to_owned()].into_iter().collect();
        let taken: Vec<String> = ["a", "a", "b", "a", "a_3", "b"].map(|name| names.take(name)).into();
        assert_eq!(taken, ["a", "a_3", "b", "a_4", "a_3_2", "b_2"]);
    }

    /// Would take minutes if each name tried all numbers.
    #[test]
    fn very_many_equal_names() {
        let mut names = UniqueNames::default();
        let last = (0..200_000).map(|_| names.take("a")).last();
        assert_eq!(last.as_deref(), Some("a_200000"));
    }
}
