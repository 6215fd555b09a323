//! 388 metadata texts with known verdicts and, if refused, known positions.
//!
//! The verdicts come from another reader. It refuses our warnings, so texts that must fail are read strictly. Its
//! limits affect its verdicts, so they are set here too.

use std::fs;
use std::path::{Path, PathBuf};

use ichnos_ctf::metadata::{self, MetadataOptions};
use ichnos_model::trace::Diagnostic;

use crate::support::traces;

/// Valid texts that the other reader refuses, and the reason.
const LEGAL: [(&str, &str); 1] = [(
    "fail-clk-type-wrong-offset-attr-1",
    "a negative `offset` of a clock: CTF 1.8, section 8, says that it is a signed number",
)];

/// Returns a problem's position in the expected form. In CTF 2, it counts from the record separator before the
/// fragment: the byte after it is line 1, column 1.
fn place(text: &[u8], problem: &Diagnostic) -> (u32, u32) {
    let before = text.get(..problem.position.offset as usize).unwrap_or(text);
    let Some(begin) = before.iter().rposition(|byte| *byte == 0x1e) else {
        return (problem.position.line, problem.position.column);
    };
    let fragment = &before[begin + 1..];
    let line = fragment.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = fragment.rsplit(|byte| *byte == b'\n').next().map_or(0, <[u8]>::len) + 1;
    (line as u32, column as u32)
}

/// Returns the innermost position of an expected error, from its last line.
fn expected_place(case: &Path) -> (u32, u32) {
    let text = fs::read_to_string(case.join("expect-error.txt")).unwrap();
    let last = text.lines().rfind(|line| line.starts_with('[')).unwrap();
    let (place, _) = last[1..].split_once(']').unwrap();
    let (line, column) = place.split_once(':').unwrap();
    (line.parse().unwrap(), column.parse().unwrap())
}

#[test]
fn verdicts_and_places() {
    let Some(traces) = traces() else { return };
    let mut wrong = Vec::new();
    for (dialect, count) in [("ctf-1", 217), ("ctf-2", 171)] {
        let directory = traces.join("ctf/metadata").join(dialect);
        let mut cases: Vec<PathBuf> =
            fs::read_dir(directory).unwrap().map(|case| case.unwrap().path()).collect();
        cases.sort();
        assert_eq!(cases.len(), count);
        let (mut passed, mut places, mut failing, mut legal) = (0, 0, 0, 0);
        for case in cases {
            let name = case.file_name().unwrap().to_str().unwrap();
            let text = fs::read(case.join("metadata")).unwrap();
            let must_fail = name.starts_with("fail-");
            let mut options = MetadataOptions::default();
            options.strict = must_fail;
            options.limits.integer_bits = 64;
            let result = metadata::parse(&text, &options);
            if let Some((_, why)) = LEGAL.iter().find(|(other, _)| *other == name) {
                println!("metadata/{dialect}/{name}: read, and rightly so: {why}");
                assert!(result.is_ok(), "{name}: no longer an exception");
                legal += 1;
                continue;
            }
            failing += usize::from(must_fail);
            match result {
                Ok(_) if must_fail => wrong.push(format!("{name}: not refused")),
                Err(error) if !must_fail => wrong.push(format!("{name}: {}", error.diagnostics[0])),
                Ok(_) => passed += 1,
                Err(error) => {
                    passed += 1;
                    let (found, expected) = (place(&text, &error.diagnostics[0]), expected_place(&case));
                    if found == expected {
                        places += 1;
                    } else {
                        wrong.push(format!(
                            "{name}: at {found:?}, not {expected:?}: {}",
                            error.diagnostics[0]
                        ));
                    }
                }
            }
        }
        println!(
            "metadata/{dialect}: {passed} verdicts passed, {legal} legal by the specification, places {places} of {failing}"
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
