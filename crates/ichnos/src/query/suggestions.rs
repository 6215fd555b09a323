//! Suggestions for misspelled names.

use strsim::osa_distance;

/// Maximum number of suggestions.
const MOST: usize = 3;
/// Maximum length of names to compare. The time is proportional to the product of both lengths.
const LONGEST: usize = 200;
/// Maximum number of names to compare.
const LOOKED_AT: usize = 100_000;

/// Returns the names most similar to `wanted`, best first. Similar names differ only in case, contain `wanted`, or
/// differ in up to a third of its characters.
#[must_use]
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    if wanted.is_empty() || wanted.len() > LONGEST {
        return Vec::new();
    }
    let lower = wanted.to_lowercase();
    let most = (wanted.chars().count() / 3).max(1);
    let rank = |name: &str| {
        if name.len() > LONGEST {
            return None;
        }
        let name = name.to_lowercase();
        if name == lower {
            return Some(0);
        }
        // Too many names contain one or two given letters.
        let is_part = lower.len() > 2 && name.contains(&lower);
        let is_long_enough = name.chars().count().abs_diff(lower.chars().count()) <= most;
        let distance =
            is_long_enough.then(|| osa_distance(&lower, &name)).filter(|distance| *distance <= most);
        distance.or(is_part.then_some(most + 1))
    };
    let mut found: Vec<(usize, &str)> =
        names.into_iter().take(LOOKED_AT).filter_map(|name| rank(name).map(|rank| (rank, name))).collect();
    found.sort_unstable();
    found.dedup();
    found.truncate(MOST);
    found.into_iter().map(|(_, name)| name).collect()
}

/// Suggests the names most similar to `wanted`. Returns `None` without similar names.
#[must_use]
pub fn did_you_mean<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let near = nearest(wanted, names);
    (!near.is_empty()).then(|| format!("did you mean {}?", alternatives(near)))
}

/// Joins names in quotes, as in "`a`, `b` or `c`".
#[must_use]
pub fn alternatives<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    quoted(names, "or")
}

/// Joins names in quotes, as in "`a`, `b` and `c`".
#[must_use]
pub fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    quoted(names, "and")
}

fn quoted<'a>(names: impl IntoIterator<Item = &'a str>, word: &str) -> String {
    let mut quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match quoted.pop() {
        Some(last) if quoted.is_empty() => last,
        Some(last) => format!("{} {word} {last}", quoted.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let names = ["demo:small", "demo:tick", "demo:tock", "other"];
        assert_eq!(nearest("demo:smal", names), ["demo:small"]);
        assert_eq!(nearest("demo:tack", names), ["demo:tick", "demo:tock"]);
        assert_eq!(nearest("DEMO:TICK", names)[0], "demo:tick");
        assert_eq!(nearest("tick", names), ["demo:tick"]);
        assert_eq!(nearest("dmeo:tick", names)[0], "demo:tick");
        assert!(nearest("nothing", names).is_empty());
        assert!(nearest("", names).is_empty());
        assert!(nearest(&"x".repeat(300), names).is_empty());
    }

    #[test]
    fn words() {
        assert_eq!(alternatives(["a"]), "`a`");
        assert_eq!(alternatives(["a", "b", "c"]), "`a`, `b` or `c`");
        assert_eq!(list(["a", "b"]), "`a` and `b`");
        assert_eq!(alternatives([]), "");
    }
}
