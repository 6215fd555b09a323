//! Crate sources for the tests in this directory.

use std::path::{Path, PathBuf};

/// Source lines that are neither comments nor tests, with line numbers.
pub(super) type Lines = Vec<(usize, String)>;

/// Returns a crate's directory.
fn directory(krate: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(krate)
}

/// Returns a crate's source directory.
pub(super) fn root(krate: &str) -> PathBuf {
    directory(krate).join("src")
}

/// Returns the directory names of all crates.
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

/// Returns a crate's sources without tests: paths and lines.
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

/// Returns the lines without comments and test items.
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
        // The item ends with its first line, or with an unindented brace.
        let first = lines.by_ref().map(|(_, line)| line).find(|line| !line.starts_with("#["));
        if first.is_some_and(|line| !line.ends_with([';', '}'])) {
            lines.by_ref().find(|(_, line)| *line == "}");
        }
    }
    code
}

#[test]
fn test_items_are_not_code() {
    let text = "use a;\n#[cfg(test)]\nmod tests;\n// b\nmod c;\n#[cfg(test)]\n#[allow(d)]\nmod e {\n    f\n}\nmod g;\n";
    let code: Vec<String> = code(text).into_iter().map(|(number, line)| format!("{number} {line}")).collect();
    assert_eq!(code, ["1 use a;", "5 mod c;", "11 mod g;"]);
}

pub(super) fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap()
}
