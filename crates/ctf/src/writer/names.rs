//! Names of the files and directories of traces.

use std::collections::HashSet;

/// The name that a data stream file gets: that of the file that it is made of, if a data stream file can have it.
pub(super) fn file_name(source: &str, names: &mut HashSet<String>) -> String {
    let last = source.rsplit(['/', '\\']).next().unwrap_or_default();
    let mut name = safe(last);
    let is_taken = |name: &str| matches!(name, "metadata" | "index") || name.ends_with(".json");
    if is_taken(&name) {
        name.push_str("-stream");
    }
    unique(name, names)
}

/// The name of another file of a data stream of which the first one is called `first`; `part` counts them from 0 on.
pub(super) fn part_name(first: &str, part: usize, names: &mut HashSet<String>) -> String {
    unique(format!("{first}_{}", part + 1), names)
}

/// The name that the directory of a trace gets among others.
pub(super) fn directory_name(path: &str, names: &mut HashSet<String>) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect();
    unique(safe(parts.last().copied().unwrap_or_default()), names)
}

/// A name without anything that means more than a name.
fn safe(name: &str) -> String {
    let is_safe = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '@' | ' ' | '(' | ')');
    let mut name: String = name.chars().map(|c| if is_safe(c) { c } else { '_' }).take(120).collect();
    // Such files are hidden: they are not looked for.
    if name.starts_with('.') {
        name.replace_range(..1, "_");
    }
    if name.is_empty() { "stream".to_owned() } else { name }
}

fn unique(name: String, names: &mut HashSet<String>) -> String {
    let mut unique = name.clone();
    let mut number = 2u64;
    // Some file systems do not distinguish capitals.
    while !names.insert(unique.to_lowercase()) {
        unique = format!("{name}_{number}");
        number += 1;
    }
    unique
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_and_differ() {
        let mut names = HashSet::new();
        let mut name = |source| file_name(source, &mut names);
        assert_eq!(name("/a/b/channel0_0"), "channel0_0");
        assert_eq!(name("c/channel0_0"), "channel0_0_2");
        assert_eq!(name("Channel0_0"), "Channel0_0_3");
        assert_eq!(name("metadata"), "metadata-stream");
        assert_eq!(name("x/.."), "_.");
        assert_eq!(name(""), "stream");
        assert_eq!(name("a\u{1b}[2J.json"), "a__2J.json-stream");
        assert_eq!(part_name("channel0_0", 1, &mut names), "channel0_0_2_2");
        assert_eq!(part_name("channel0_0", 3, &mut names), "channel0_0_4");
    }
}
