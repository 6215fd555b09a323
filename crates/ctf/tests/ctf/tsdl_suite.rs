//! CTF 1.8 metadata: the suite of texts with known verdicts, and every real trace.

use std::path::{Path, PathBuf};

use ichnos_ctf::metadata::{Problems, packetized, tsdl};
use ichnos_model::{Diagnostic, Limits, Severity, TraceClass};

use super::support::traces;

fn parse(text: &[u8]) -> (Option<TraceClass>, Vec<Diagnostic>) {
    let limits = Limits::default();
    let mut problems = Problems::new(&limits);
    let trace = tsdl::parse(text, &limits, &mut problems);
    (trace, problems.into_diagnostics())
}

fn first_error(diagnostics: &[Diagnostic]) -> Option<&Diagnostic> {
    diagnostics.iter().find(|problem| problem.severity == Severity::Error)
}

fn cases(folder: &Path) -> Vec<(String, PathBuf)> {
    let mut cases: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .collect();
    cases.sort();
    cases
}

#[test]
fn the_suite_of_verdicts() {
    let Some(traces) = traces() else {
        eprintln!("the_suite_of_verdicts: skipped, the real traces are not here");
        return;
    };
    let (mut places, mut wrong_places, mut wrong) = (0, Vec::new(), Vec::new());
    for (name, folder) in cases(&traces.join("ctf/metadata/ctf-1")) {
        let text = std::fs::read(folder.join("metadata")).unwrap();
        let (trace, diagnostics) = parse(&text);
        let error = first_error(&diagnostics);
        if name.starts_with("pass-") {
            if error.is_some() || trace.is_none() {
                wrong.push(format!("{name}: {}", error.map(ToString::to_string).unwrap_or_default()));
            }
            continue;
        }
        let expected = std::fs::read_to_string(folder.join("expect-error.txt")).unwrap();
        let Some(error) = error else {
            wrong.push(format!("{name}: no error, expected {}", expected.lines().last().unwrap_or_default()));
            continue;
        };
        let place = expected.lines().rfind(|line| line.starts_with('[')).unwrap();
        let place = place[1..].split(']').next().unwrap();
        if place == error.place.to_string() {
            places += 1;
        } else {
            wrong_places.push(format!("{name}: expected at {place}, but {error}"));
        }
    }
    println!("{places} places, {} wrong places:\n{}", wrong_places.len(), wrong_places.join("\n"));
    println!("{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(wrong.is_empty());
}

#[test]
fn every_real_trace() {
    let Some(traces) = traces() else {
        eprintln!("every_real_trace: skipped, the real traces are not here");
        return;
    };
    let limits = Limits::default();
    let root = traces.join("ctf/real");
    let mut folders = vec![root.clone()];
    let (mut read, mut refused) = (0, Vec::new());
    while let Some(folder) = folders.pop() {
        for (name, path) in cases(&folder) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if name != "metadata" {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let mut problems = Problems::new(&limits);
            let unpacked = packetized::unpack(&bytes, &limits, &mut problems);
            let text = unpacked.map_or(bytes, |unpacked| unpacked.text);
            if !text.starts_with(b"/* CTF 1.8") {
                continue;
            }
            let trace = tsdl::parse(&text, &limits, &mut problems);
            let diagnostics = problems.into_diagnostics();
            let name = folder.strip_prefix(&root).unwrap().display().to_string();
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
}

/// Real traces that other readers refuse as well, because of what their metadata says.
const REFUSED: [&str; 0] = [];
