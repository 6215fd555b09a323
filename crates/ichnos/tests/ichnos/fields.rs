//! Single fields by path and by meaning, in all classes in several traces.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ichnos::model::field::{FieldPath, FieldRef};
use ichnos::model::meaning::Meaning;
use ichnos::model::plan::Plan;
use ichnos::model::{Event, Scope};
use ichnos::{OpenOptions, Session};

const SCOPES: [Scope; 6] = [
    Scope::Payload,
    Scope::SpecificContext,
    Scope::CommonContext,
    Scope::EventRecordHeader,
    Scope::PacketContext,
    Scope::Resource,
];

fn examples() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("hello-")));
    // Others are programs.
    found.retain(|path| !path.join("main.rs").exists());
    found.sort();
    assert!(found.len() >= 5, "{found:?}");
    found
}

fn open(paths: &[PathBuf]) -> Session {
    // The event order does not matter here.
    let mut options = OpenOptions::default();
    options.assume_correlated = true;
    ichnos::open(paths, &options).unwrap()
}

/// Appends the names and paths of all fields in a plan.
fn names(plan: &Plan, node: usize, path: &str, found: &mut BTreeSet<String>) {
    for child in plan.children(node) {
        let is_option = plan.get(child).is_some_and(|node| node.is_variant_option());
        let name = plan.get(child).and_then(|node| node.name.as_deref()).filter(|_| !is_option);
        let path = match name {
            Some(name) if path.is_empty() => name.to_owned(),
            Some(name) => format!("{path}.{name}"),
            None => path.to_owned(),
        };
        names(plan, child, &path, found);
        found.insert(path);
    }
}

fn names_of(event: &Event<'_>, found: &mut BTreeSet<String>) {
    for scope in SCOPES {
        if let Some(plan) = event.plan(scope) {
            names(plan, 0, "", found);
        }
    }
}

#[test]
fn a_path_equals_a_search_in_each_event() {
    let all = examples();
    let mut found = BTreeSet::from(["ctx.vtid".to_owned(), "payload".to_owned(), "no such field".to_owned()]);
    let session = open(&all);
    let mut events = session.events().unwrap();
    while let Some(event) = events.next_event() {
        names_of(&event, &mut found);
    }
    let mut paths: Vec<FieldPath> = found.iter().map(FieldPath::new).collect();
    assert!(paths.len() > 50, "{found:?}");
    // All traces at once, then each alone: facts about closed traces must not count for others.
    let mut compared = 0;
    for paths_of_traces in std::iter::once(&all[..]).chain(all.chunks(1)).chain(all.chunks(1)) {
        let session = open(paths_of_traces);
        let mut events = session.events().unwrap();
        while let Some(event) = events.next_event() {
            for path in &mut paths {
                let (expected, got) = (event.field(path.path()), path.get(&event));
                assert_eq!(
                    format!("{got:?}"),
                    format!("{expected:?}"),
                    "{} of {}",
                    path.path(),
                    event.name()
                );
                compared += usize::from(got.is_some());
            }
        }
    }
    assert!(compared > 1000, "{compared}");
}

#[test]
fn a_meaning_is_its_first_member() {
    let session = open(&examples());
    let mut events = session.events().unwrap();
    let mut seen = BTreeSet::new();
    while let Some(event) = events.next_event() {
        for meaning in Meaning::ALL {
            let first = event.class.meanings.members(meaning).next();
            let expected = first.and_then(|member| event.get(&FieldRef::for_member(&event, member)?));
            let got = event.meaning(meaning);
            assert_eq!(format!("{got:?}"), format!("{expected:?}"), "{meaning} of {}", event.name());
            if got.is_some() {
                seen.insert(meaning.name());
            }
        }
    }
    for name in ["process", "thread", "message", "severity", "stack"] {
        assert!(seen.contains(name), "{name} is in none of {seen:?}");
    }
}
