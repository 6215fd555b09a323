//! File names for outputs.

use std::collections::HashMap;

/// Maximum name length in bytes, without the number after it. File systems allow up to 255 bytes, and writers add
/// extensions.
const LONGEST: usize = 120;

/// Unique and safe file or directory names within one directory.
///
/// A safe name consists of letters and digits of any script, `_`, `-`, `.`, `+`, `@`, `=`, parentheses and spaces. It
/// does not start with a dot, and is not too long for file systems.
///
/// ```
/// let mut names = ichnos_io::FileNames::default();
/// assert_eq!(names.add("channel0"), "channel0");
/// assert_eq!(names.add("Channel0"), "Channel0_2");
/// assert_eq!(names.add("../etc"), "_._etc");
/// ```
#[derive(Clone, Debug, Default)]
pub struct FileNames {
    /// Next number for each name, in lower case: some file systems are not case-sensitive.
    numbers: HashMap<String, u64>,
}

impl FileNames {
    /// Returns the closest unused name; `_` for an empty name.
    pub fn add(&mut self, wanted: &str) -> String {
        let name = safe(wanted);
        let key = name.to_lowercase();
        let Some(first) = self.numbers.get(&key).copied() else {
            self.numbers.insert(key, 2);
            return name;
        };
        let mut number = first;
        loop {
            let numbered = format!("{name}_{number}");
            let other = numbered.to_lowercase();
            number = number.saturating_add(1);
            if !self.numbers.contains_key(&other) {
                self.numbers.insert(other, 2);
                self.numbers.insert(key, number);
                return numbered;
            }
        }
    }
}

fn safe(name: &str) -> String {
    let is_safe = |c: char| c.is_alphanumeric() || "_-.+@=() ".contains(c);
    let mut safe = String::new();
    for c in name.chars().map(|c| if is_safe(c) { c } else { '_' }) {
        if safe.len() + c.len_utf8() > LONGEST {
            break;
        }
        safe.push(c);
    }
    // Files whose names start with a dot are hidden.
    if safe.starts_with('.') {
        safe.replace_range(..1, "_");
    }
    if safe.is_empty() { "_".to_owned() } else { safe }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_and_differ() {
        let mut names = FileNames::default();
        assert_eq!(names.add("lttng_ust:open"), "lttng_ust_open");
        assert_eq!(names.add("lttng_ust/open"), "lttng_ust_open_2");
        assert_eq!(names.add("LTTNG_ust_open"), "LTTNG_ust_open_3");
        assert_eq!(names.add("lttng_ust_open_2"), "lttng_ust_open_2_2");
        assert_eq!(names.add("a (1).b"), "a (1).b");
        assert_eq!(names.add("a\u{1b}[2J"), "a__2J");
        assert_eq!(names.add(".."), "_.");
        assert_eq!(names.add("../x"), "_._x");
        assert_eq!(names.add(""), "_");
        assert_eq!(names.add(&"é".repeat(200)).chars().count(), 60);
    }

    #[test]
    fn a_name_that_is_wanted_often_is_found_quickly() {
        let mut names = FileNames::default();
        let all: Vec<String> = (0..100_000).map(|_| names.add("same")).collect();
        assert_eq!(all.last().map(String::as_str), Some("same_100000"));
    }
}
