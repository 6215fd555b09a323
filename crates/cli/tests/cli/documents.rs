//! Examples in the project's documents are correct.

use std::fmt::Write;
use std::process::{Command, Stdio};

use crate::support::root;

/// The commands of the `console` blocks of a document, with what it says they print.
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

/// The directories below `target/` that the command lines of a document write to.
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

/// Runs the command lines of a document except those that install, test, or run examples of the library (the
/// tests of `ichnos` run them); `...` at the end of what the document shows stands for the rest.
fn check(document: &str) -> usize {
    // Outputs of an earlier run: what exists is not replaced.
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
fn the_readme_shows_what_happens() {
    assert!(check("README.md") >= 11);
}

#[test]
fn the_page_on_logs_shows_what_happens() {
    assert!(check("docs/log.md") >= 3);
}

#[test]
fn the_page_on_tables_shows_what_happens() {
    assert!(check("docs/csv.md") >= 2);
}

#[test]
fn the_page_on_eventpipe_shows_what_happens() {
    assert!(check("docs/nettrace.md") >= 8);
}

#[test]
fn the_page_on_tasks_shows_what_happens() {
    assert!(check("docs/tasks.md") >= 6);
}

#[test]
fn the_page_on_statistics_shows_what_happens() {
    assert!(check("docs/stats.md") >= 7);
}

#[test]
fn the_page_on_expressions_shows_what_happens() {
    assert!(check("docs/expressions.md") >= 7);
}

#[test]
fn the_page_on_editing_shows_what_happens() {
    assert!(check("docs/editing.md") >= 7);
}

/// The documents of the project.
fn documents() -> Vec<std::path::PathBuf> {
    let directories = ["", "docs", "examples", "fuzz"].map(|directory| root().join(directory));
    let files = directories.iter().flat_map(|directory| std::fs::read_dir(directory).unwrap());
    let files = files.map(|file| file.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|extension| extension == "md")).collect()
}

/// Returns the link target of a heading, as named by GitHub.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
    text.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut count = 0;
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") || link.contains(['{', ' ']) {
                continue;
            }
            let (file, heading) = link.split_once('#').map_or((link, None), |(file, at)| (file, Some(at)));
            let target =
                if file.is_empty() { document.clone() } else { document.parent().unwrap().join(file) };
            assert!(target.exists(), "{}: {link}", document.display());
            if let Some(heading) = heading {
                let text = std::fs::read_to_string(&target).unwrap();
                let is_there = text.contains(&format!("<a id=\"{heading}\">"))
                    || text.lines().any(|line| line.starts_with('#') && anchor(line) == heading);
                assert!(is_there, "{}: {link}", document.display());
            }
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
}
