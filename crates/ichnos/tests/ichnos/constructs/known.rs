//! Known wrong conversions with reasons: a file per test in `known`. The lists are exact: they must not contain correct
//! conversions.
//! `ICHNOS_WRITE_TABLES=1` removes correct conversions, and adds wrong conversions with the reason `new`. Replace this
//! reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Heading for conversions without a reason.
const NEW: &str = "new";

/// Compares the wrong conversions, by construct and target, with the known list.
pub(super) fn compare(test: &str, wrong: &BTreeMap<(String, String), String>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/ichnos/constructs/known")
        .join(format!("{test}.txt"));
    let text = fs::read_to_string(&path).unwrap_or_default();
    let known = parse(&text);
    if std::env::var_os("ICHNOS_WRITE_TABLES").is_some() {
        return fs::write(&path, written(&known, wrong)).unwrap();
    }
    let new: Vec<String> = wrong
        .iter()
        .filter(|(key, _)| known.get(key).is_none_or(|reason| *reason == NEW))
        .map(|((construct, target), problem)| format!("{construct} -> {target}: {problem}"))
        .collect();
    let right: Vec<_> = known.keys().filter(|key| !wrong.contains_key(key)).collect();
    assert!(new.is_empty(), "{} conversions are wrong: {new:#?}", new.len());
    assert!(
        right.is_empty(),
        "{} conversions are right, take them off {}: {right:#?}",
        right.len(),
        path.display()
    );
}

/// Parses reasons by construct and target: a line `# REASON`, then lines `CONSTRUCT -> TARGET, TARGET`.
fn parse(text: &str) -> BTreeMap<(String, String), &str> {
    let (mut known, mut reason) = (BTreeMap::new(), NEW);
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("# ") {
            reason = heading;
        } else if let Some((construct, targets)) = line.rsplit_once(" -> ") {
            for target in targets.split(", ") {
                known.insert((construct.to_owned(), target.to_owned()), reason);
            }
        }
    }
    known
}

fn written(known: &BTreeMap<(String, String), &str>, wrong: &BTreeMap<(String, String), String>) -> String {
    let mut reasons: BTreeMap<&str, BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
    for key in wrong.keys() {
        let reason = known.get(key).copied().unwrap_or(NEW);
        reasons.entry(reason).or_default().entry(&key.0).or_default().insert(&key.1);
    }
    let mut text = String::new();
    for (reason, constructs) in reasons {
        writeln!(text, "# {reason}").unwrap();
        for (construct, targets) in constructs {
            let targets: Vec<&str> = targets.into_iter().collect();
            writeln!(text, "{construct} -> {}", targets.join(", ")).unwrap();
        }
    }
    text
}
