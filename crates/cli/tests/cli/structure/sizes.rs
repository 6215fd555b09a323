//! Function and struct sizes.

use std::path::Path;

use super::sources::{Lines, crates, sources};

/// Maximum number of functions with more than [`LONG`] lines.
const MOST_LONG_FUNCTIONS: usize = 10;

/// Maximum length of a short function body, in lines without comments and blank lines.
const LONG: usize = 60;

/// Folder with functions that are tables with one construct per row. Nobody reads them as a whole.
const TABLES: &str = "testing/src/constructs/";

/// Maximum number of fields of a struct.
const MOST_FIELDS: usize = 20;

/// Structs with more fields: option tables, which nobody reads as a whole.
const OPTION_TABLES: &[&str] = &["WriteOptions"];

/// Calls `found` for each item that `is_item` recognizes, with its first line and the lines between its braces.
fn bodies(
    lines: &Lines,
    is_item: impl Fn(&str) -> bool,
    mut found: impl FnMut(usize, &str, &[(usize, String)]),
) {
    for (at, (number, line)) in lines.iter().enumerate().filter(|(_, (_, line))| is_item(line.trim_start())) {
        let indent = &line[..line.len() - line.trim_start().len()];
        let is_at_indent = |line: &str| line.strip_prefix(indent).is_some_and(|rest| !rest.starts_with(' '));
        let rest = &lines[at..];
        let ends = |(_, line): &(usize, String)| line.ends_with(['{', ';', '}']) && is_at_indent(line);
        let Some(begin) = rest.iter().position(ends).filter(|at| rest[*at].1.ends_with('{')) else {
            continue;
        };
        let body = &rest[begin + 1..];
        let is_end = |(_, line): &(usize, String)| line.strip_prefix(indent) == Some("}");
        let end = body.iter().position(is_end).unwrap_or(body.len());
        found(*number, line.trim(), &body[..end]);
    }
}

fn is_function(line: &str) -> bool {
    let mut line = match line.strip_prefix("pub(") {
        Some(rest) => rest.split_once(") ").map_or(rest, |(_, rest)| rest),
        None => line,
    };
    for word in ["pub ", "const ", "async ", "unsafe "] {
        line = line.strip_prefix(word).unwrap_or(line);
    }
    line.starts_with("fn ")
}

fn is_struct(line: &str) -> bool {
    line.starts_with("struct ") || line.starts_with("pub") && line.contains("struct ")
}

fn is_field(line: &str, indent: usize) -> bool {
    let rest = line.get(indent..).unwrap_or_default();
    rest.starts_with(|first: char| first.is_ascii_lowercase()) && rest.contains(": ")
}

fn place(path: &Path, number: usize) -> String {
    format!("{}:{number}", path.display())
}

/// Longer functions do several unnamed things.
#[test]
fn functions_are_short() {
    let mut long = Vec::new();
    let mut functions = 0;
    let is_table = |path: &Path| path.display().to_string().contains(TABLES);
    let all = crates();
    for (path, lines) in all.iter().flat_map(|krate| sources(krate)).filter(|(path, _)| !is_table(path)) {
        bodies(&lines, is_function, |number, _, body| {
            functions += 1;
            let count = body.iter().filter(|(_, line)| !line.trim().is_empty()).count();
            if count > LONG {
                long.push(format!("{}: {count} lines", place(&path, number)));
            }
        });
    }
    assert!(functions > 5_000, "only {functions} functions were found");
    assert!(long.len() <= MOST_LONG_FUNCTIONS, "{} long functions:\n{}", long.len(), long.join("\n"));
}

#[test]
fn structs_are_small() {
    let mut structs = 0;
    let mut large = Vec::new();
    for (path, lines) in crates().iter().flat_map(|krate| sources(krate)) {
        bodies(&lines, is_struct, |number, line, body| {
            structs += 1;
            let indent = body.first().map_or(0, |(_, line)| line.len() - line.trim_start().len());
            let fields = body.iter().filter(|(_, line)| is_field(line, indent)).count();
            let name = line.split("struct ").nth(1).unwrap_or_default();
            let name = name.split(|character: char| !character.is_alphanumeric()).next().unwrap_or_default();
            if fields > MOST_FIELDS && !OPTION_TABLES.contains(&name) {
                large.push(format!("{}: {name} has {fields} fields", place(&path, number)));
            }
        });
    }
    assert!(structs > 500, "only {structs} structs were found");
    assert!(large.is_empty(), "{}", large.join("\n"));
}

#[test]
fn bodies_and_fields() {
    let text = "pub(crate) fn a<T>(\n    b: T,\n) -> T {\n\n    b\n}\nfn c();\nstruct D {\n    e: u8,\n    pub f: u8,\n}";
    let lines: Lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.to_owned())).collect();
    let mut found = Vec::new();
    bodies(&lines, is_function, |number, _, body| found.push((number, body.len())));
    bodies(&lines, is_struct, |number, _, body| {
        found.push((number, body.iter().filter(|(_, line)| is_field(line, 4)).count()));
    });
    assert_eq!(found, [(1, 2), (8, 2)]);
}
