//! CTF 1.8 metadata from every real trace.

use std::path::{Path, PathBuf};

use ichnos_ctf::metadata::{Problems, packetized, tsdl};
use ichnos_model::trace::{Diagnostic, Limits, Severity};

use super::support::traces;

fn first_error(diagnostics: &[Diagnostic]) -> Option<&Diagnostic> {
    diagnostics.iter().find(|problem| problem.severity == Severity::Error)
}

fn cases(directory: &Path) -> Vec<(String, PathBuf)> {
    let mut cases: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .collect();
    cases.sort();
    cases
}

#[test]
fn every_real_trace() {
    let Some(traces) = traces() else { return };
    let limits = Limits::default();
    let root = traces.join("ctf/real");
    let mut directories = vec![root.clone()];
    let (mut read, mut refused) = (0, Vec::new());
    while let Some(directory) = directories.pop() {
        for (name, path) in cases(&directory) {
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            if name != "metadata" {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let mut problems = Problems::new(&limits);
            let unpacked = packetized::unpack(&bytes, &limits, &mut problems);
            let text = unpacked.map_or(bytes, |unpacked| unpacked.text);
            // Old LTTng texts do not start with the comment. CTF 2 texts start with a separator.
            if text.starts_with(b"\x1e") {
                continue;
            }
            let trace = tsdl::parse(&text, &limits, &mut problems);
            let diagnostics = problems.into_diagnostics();
            let name = directory.strip_prefix(&root).unwrap().display().to_string();
            for problem in &diagnostics {
                println!("{name}: {problem}");
            }
            if trace.is_none() || first_error(&diagnostics).is_some() {
                refused.push(name);
            } else {
                read += 1;
            }
        }
    }
    refused.sort();
    println!("{read} read, refused: {refused:#?}");
    assert_eq!(refused, REFUSED);
    assert!(read > 90, "{read} texts are too few: are the traces all there?");
}

/// Real traces that other readers also refuse because of their metadata: version 0.1, a variant whose tag is a
/// structure, syntax errors.
const REFUSED: [&str; 5] = [
    "babeltrace/1/fail/fail1",
    "babeltrace/1/fail/fail2",
    "babeltrace/1/fail/invalid-variant-selector-field-class",
    "babeltrace/1/fail/metadata-syntax-error",
    "babeltrace/1/live/invalid-metadata",
];
