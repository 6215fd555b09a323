//! Sources of the crates, as the tests of this directory read them.

use std::path::{Path, PathBuf};

/// Lines of a source that are neither comments nor tests, with their numbers.
pub(super) type Lines = Vec<(usize, String)>;

/// Directory of a crate.
fn directory(krate: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(krate)
}

/// Directory of the sources of a crate.
pub(super) fn root(krate: &str) -> PathBuf {
    directory(krate).join("src")
}

/// Names of the directories of all crates.
pub(super) fn crates() -> Vec<String> {
    let mut crates: Vec<String> = std::fs::read_dir(directory(""))
        .unwrap()
        .map(|krate| file_name(&krate.unwrap().path()).to_owned())
        .filter(|krate| root(krate).is_dir())
        .collect();
    crates.sort();
    assert!(crates.len() > 10, "only {crates:?}");
    crates
}

/// Sources of a crate without tests: their paths and lines.
pub(super) fn sources(krate: &str) -> Vec<(PathBuf, Lines)> {
    let mut directories = vec![root(krate)];
    let mut sources = Vec::new();
    while let Some(directory) = directories.pop() {
        for item in std::fs::read_dir(&directory).unwrap() {
            let path = item.unwrap().path();
            if path.is_dir() {
                if file_name(&path) != "tests" {
                    directories.push(path);
                }
            } else if file_name(&path).ends_with(".rs") && !file_name(&path).starts_with("test") {
                let lines = code(&std::fs::read_to_string(&path).unwrap());
                sources.push((path, lines));
            }
        }
    }
    assert!(!sources.is_empty());
    sources
}

/// Lines of a text without comments and without items for tests.
fn code(text: &str) -> Lines {
    let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let mut code = Vec::new();
    while let Some((number, line)) = lines.next() {
        if line != "#[cfg(test)]" {
            if !line.trim_start().starts_with("//") {
                code.push((number, line.to_owned()));
            }
            continue;
        }
        // The item ends with its first line, or with a brace without indentation.
        let first = lines.by_ref().map(|(_, line)| line).find(|line| !line.starts_with("#["));
        if first.is_some_and(|line| !line.ends_with([';', '}'])) {
            lines.by_ref().find(|(_, line)| *line == "}");
        }
    }
    code
}

#[test]
fn tests_are_no_code() {
    let text = "use a;\n#[cfg(test)]\nmod tests;\n// b\nmod c;\n#[cfg(test)]\n#[allow(d)]\nmod e {\n    f\n}\nmod g;\n";
    let code: Vec<String> = code(text).into_iter().map(|(number, line)| format!("{number} {line}")).collect();
    assert_eq!(code, ["1 use a;", "5 mod c;", "11 mod g;"]);
}

pub(super) fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap()
}
