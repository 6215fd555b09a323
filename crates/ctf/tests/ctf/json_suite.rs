//! Metadata of the real CTF 2 traces.

use std::fs;

use ichnos_ctf::metadata::Problems;
use ichnos_ctf::metadata::json::{parse_spec2, recognize};
use ichnos_model::TraceClass;
use ichnos_model::trace::{Diagnostic, Limits, Severity};

use crate::support::traces;
use crate::written_metadata::metadata_files;

/// Traces with metadata that breaks a rule but has a clear meaning, and the rule.
/// `babeltrace/2/fail/empty-event-record` is missing, because only its event records are wrong.
const WARNINGS: &[(&str, &str)] = &[
    ("babeltrace/2/fail/meta-no-stream-cls", "no data stream class"),
    ("pass-diff-magic-translated", "no data stream class"),
    ("pass-er-header-id-nt-str-translated", "a user's field in the event record header"),
    ("pass-pkt-header-magic-nt-str-translated", "a user's field in the packet header"),
    ("pass-pkt-header-uuid-nt-str-translated", "a user's field in the packet header"),
    ("pass-vars-translated", "user's fields in the packet header and the event record header"),
];

fn parse(text: &[u8], limits: &Limits) -> (Option<TraceClass>, Vec<Diagnostic>) {
    let mut problems = Problems::new(limits);
    let trace = parse_spec2(text, limits, &mut problems);
    (trace, problems.into_diagnostics())
}

#[test]
fn wide_integers_are_read_unless_limited() {
    let text = b"\x1e{\"type\": \"preamble\", \"version\": 2}\n\x1e{\"type\": \"data-stream-class\"}\n\
        \x1e{\"type\": \"event-record-class\", \"payload-field-class\": {\"type\": \"structure\", \"member-classes\": [\
        {\"name\": \"wide\", \"field-class\": {\"type\": \"fixed-length-unsigned-integer\", \"length\": 65, \
        \"byte-order\": \"big-endian\"}}]}}\n";
    assert!(parse(text, &Limits::default()).0.is_some());
    let mut limits = Limits::default();
    limits.integer_bits = 64;
    let (trace, problems) = parse(text, &limits);
    assert!(trace.is_none());
    assert_eq!(
        problems[0].to_string(),
        "3:181: error: in event record class 0, payload, member `wide`: invalid property `length` \
         (expected at most 64 bits, the limit, found the integer 65)"
    );
}

#[test]
fn metadata_of_real_traces_is_read() {
    let Some(traces) = traces() else { return };
    let mut read = 0;
    let mut candidates = 0;
    let mut with_warnings = Vec::new();
    for directory in ["ctf/real", "ctf/decode/ctf-2"] {
        let root = traces.join(directory);
        let mut files = Vec::new();
        metadata_files(&root, &mut files);
        for file in files {
            let text = fs::read(&file).unwrap();
            if recognize(&text).is_none() {
                continue;
            }
            let name = file.parent().unwrap().strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            let (trace, problems) = parse(&text, &Limits::default());
            assert!(trace.is_some(), "{name}: {problems:#?}");
            for problem in &problems {
                eprintln!("{name}: {problem}");
            }
            let warnings = problems.iter().filter(|problem| problem.severity == Severity::Warning).count();
            if warnings > 0 {
                with_warnings.push(name);
            }
            let of_candidate = problems.iter().any(|problem| problem.message.contains("CTF2-SPECRC-7.0"));
            candidates += usize::from(of_candidate);
            read += 1;
        }
    }
    let expected: Vec<&str> = WARNINGS.iter().map(|(name, _)| *name).collect();
    assert_eq!(with_warnings, expected);
    eprintln!("{read} metadata streams, {candidates} of release candidates");
    assert!(read > 60);
    assert!(candidates > 0);
}

#[test]
fn no_bytes_make_the_reader_panic() {
    let Some(traces) = traces() else { return };
    let limits = Limits::default();
    for case in ["pass-dt-aliases-everywhere-translated", "pass-var-type-named-abs-sel-loc-translated"] {
        let text = fs::read(traces.join("ctf/metadata/ctf-2").join(case).join("metadata")).unwrap();
        for end in (0..text.len()).step_by(3) {
            parse(&text[..end], &limits);
        }
        for at in (0..text.len()).step_by(3) {
            for byte in [b'"', b'{', b']', b',', b'9', 0x1e, 0xff, 0] {
                let mut changed = text.clone();
                changed[at] = byte;
                parse(&changed, &limits);
            }
        }
    }
}
