//! The examples in the documents are correct.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::support::root;

/// Returns the commands in a document's `console` blocks, with the output that the document shows.
fn consoles(document: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut is_console = false;
    for line in document.lines() {
        if line.starts_with("```") {
            is_console = line == "```console";
        } else if is_console && let Some(command) = line.strip_prefix("$ ") {
            found.push((command.to_owned(), String::new()));
        } else if is_console && let Some((_, output)) = found.last_mut() {
            writeln!(output, "{line}").unwrap();
        }
    }
    found
}

/// Returns the directories below `target/` to which a document's command lines write.
fn text_outputs(document: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(document)).unwrap();
    let mut found: Vec<String> = consoles(&text)
        .iter()
        .flat_map(|(line, _)| {
            line.split_whitespace()
                .filter(|word| word.starts_with("target/"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    found.dedup();
    found
}

/// Runs the command lines in a document, except those that install, test, or run library examples (the tests in
/// `ichnos` run them). `...` at the end of the shown output stands for the rest.
fn check(document: &str) -> usize {
    // Delete the outputs of an earlier run: existing files are not replaced.
    for path in text_outputs(document) {
        let _ =
            std::fs::remove_dir_all(root().join(&path)).or_else(|_| std::fs::remove_file(root().join(path)));
    }
    let text = std::fs::read_to_string(root().join(document)).unwrap();
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_ichnos"));
    let mut path = std::ffi::OsString::from(binary.parent().unwrap());
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut count = 0;
    for (line, expected) in consoles(&text) {
        let line = line.replace("cargo run --release -- ", "ichnos ");
        if line.starts_with("cargo ") || line.starts_with("./") {
            continue;
        }
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1; {line}")])
            .env("PATH", &path)
            .env("TZ", "UTC")
            .env_remove("CLICOLOR_FORCE")
            .env("LC_ALL", "C.UTF-8")
            .current_dir(root())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let output = String::from_utf8_lossy(&output.stdout);
        match expected.strip_suffix("...\n") {
            Some(expected) => assert!(output.starts_with(expected), "{document}: {line}\n{output}"),
            None => assert_eq!(output, expected, "{document}: {line}"),
        }
        count += 1;
    }
    count
}

#[test]
fn the_readme_shows_actual_output() {
    assert!(check("README.md") >= 6);
}

/// Each page has a thread, because the pages write to different directories.
#[test]
fn pages_show_actual_output() {
    let pages = pages();
    let counts: Vec<usize> = std::thread::scope(|scope| {
        let runs: Vec<_> = pages.iter().map(|page| scope.spawn(|| check(page.to_str().unwrap()))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert!(counts.iter().sum::<usize>() > 100, "{counts:?}");
}

/// Returns the book pages in `docs`, by path in the project.
pub fn pages() -> Vec<PathBuf> {
    let mut directories = vec![PathBuf::from("docs")];
    let mut pages = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(root().join(&directory)).unwrap() {
            let entry = entry.unwrap();
            let path = directory.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}
