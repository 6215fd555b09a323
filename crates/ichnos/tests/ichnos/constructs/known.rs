//! Conversions that are known to be wrong, with the reasons. The list is exact: one that is right fails the test.

use std::collections::BTreeSet;

/// Beginnings of names of constructs, the target (or all of them), the reason.
const KNOWN: &[(&str, &str, &str)] = &[];

/// Compares what was wrong with what is known to be.
pub(super) fn compare(found: &BTreeSet<(String, String)>, constructs: &BTreeSet<&str>) {
    let is_known = |name: &str, target: &str| {
        KNOWN.iter().any(|(known, of, _)| name.starts_with(known) && (of.is_empty() || *of == target))
    };
    let new: Vec<_> = found.iter().filter(|(name, target)| !is_known(name, target)).collect();
    let is_of_test = |known: &str| constructs.iter().any(|name| name.starts_with(known));
    let corrected = KNOWN.iter().filter(|(known, of, _)| {
        is_of_test(known)
            && !found.iter().any(|(name, target)| name.starts_with(known) && (of.is_empty() || of == target))
    });
    let corrected: Vec<_> = corrected.collect();
    assert!(new.is_empty(), "{} conversions are wrong: {new:#?}", new.len());
    assert!(corrected.is_empty(), "these are right now: {corrected:#?}");
}
