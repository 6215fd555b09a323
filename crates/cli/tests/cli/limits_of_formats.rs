//! Format constants in docs/limits.md equal the source.

use std::fs;

use crate::support::root;

/// Returns the cells of a marked table on a page.
fn table(name: &str) -> Vec<Vec<String>> {
    let page = fs::read_to_string(root().join("docs/limits.md")).unwrap();
    let (_, table) = page.split_once(&format!("<!-- table: {name} -->\n")).unwrap();
    let (table, _) = table.split_once("<!-- end of table -->").unwrap();
    let cells = |row: &str| row.split('|').map(|cell| cell.trim().to_owned()).collect();
    table.lines().skip(2).map(cells).collect()
}

/// Parses a number in the source: digits, a shift, or a type's maximum.
fn number_of_source(text: &str) -> Option<u64> {
    let text = text.replace('_', "");
    if let Some((number, shift)) = text.split_once(" << ") {
        return Some(number_of_source(number)? << shift.parse::<u32>().ok()?);
    }
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Parses a number on the page: grouped digits with a unit.
fn number_of_page(text: &str) -> u64 {
    let number = text.split_once(", or ").map_or(text, |(number, _)| number);
    let (number, unit) = match number.split_once(' ') {
        Some((number, "KiB")) => (number, 1 << 10),
        Some((number, "MiB")) => (number, 1 << 20),
        _ => (number, 1),
    };
    number.replace(',', "").parse::<u64>().unwrap_or_else(|_| panic!("{text}")) * unit
}

/// Returns the value of a constant in a source file.
fn constant(name: &str, path: &str) -> u64 {
    let source = fs::read_to_string(root().join("docs").join(path)).unwrap_or_else(|_| panic!("{path}"));
    let begin = format!("const {name}: ");
    let (_, rest) = source.split_once(&begin).unwrap_or_else(|| panic!("{path} has no {name}"));
    let value = rest.split_once(" = ").and_then(|(_, rest)| rest.split_once(';')).unwrap().0;
    number_of_source(value).unwrap_or_else(|| panic!("{path}: {name} is `{value}`"))
}

#[test]
fn numbers_equal_the_source() {
    for (name, least) in [("constants of FXT's reader", 6), ("constants of writers", 24)] {
        let rows = table(name);
        assert!(rows.len() >= least, "{name}: {} rows", rows.len());
        for row in rows {
            let [_, what, limit, link, beyond, _] = &row[..] else { panic!("{row:?}") };
            assert!(!what.is_empty() && !beyond.is_empty(), "{row:?}");
            let (name, path) = link.trim_matches(['[', ')']).split_once("](").unwrap();
            assert_eq!(number_of_page(limit), constant(name.trim_matches('`'), path), "{row:?}");
        }
    }
}
