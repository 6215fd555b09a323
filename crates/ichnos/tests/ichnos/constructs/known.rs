//! Conversions that are known to be wrong, with the reasons. The list is exact: one that is right fails the test.

use std::collections::BTreeSet;

/// Conversions with a reason: names of constructs, of which `*` at the end stands for any rest, and targets.
struct Known {
    reason: &'static str,
    constructs: &'static [&'static str],
    targets: &'static [&'static str],
}

const KNOWN: &[Known] = &[];

/// Compares what was wrong with what is known to be.
pub(super) fn compare(found: &BTreeSet<(String, String)>, constructs: &[&str]) {
    let is_it = |known: &&&str, name: &str| match known.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => **known == name,
    };
    let is_known = |name: &str, target: &str| {
        KNOWN.iter().any(|known| {
            known.targets.contains(&target) && known.constructs.iter().any(|one| is_it(&one, name))
        })
    };
    let new: Vec<String> = found
        .iter()
        .filter(|(name, target)| !is_known(name, target))
        .map(|(name, target)| format!("{name} -> {target}"))
        .collect();
    let mut right = Vec::new();
    for known in KNOWN {
        for one in known.constructs {
            for name in constructs.iter().filter(|name| is_it(&one, name)) {
                for target in known.targets {
                    if !found.contains(&((*name).to_owned(), (*target).to_owned())) {
                        right.push(format!("{name} -> {target} ({})", known.reason));
                    }
                }
            }
        }
    }
    assert!(new.is_empty(), "{} conversions are wrong: {new:#?}", new.len());
    assert!(right.is_empty(), "{} are right now, take them off the list: {right:#?}", right.len());
}
