//! Repaired record formats: `check --strict` accepts the output, and `--verify` ignores damage in the input.

use std::fs;

use crate::support::{Directory, ichnos, root};

/// Repairs and converts a file with `--verify`. Returns the repaired file.
#[track_caller]
fn repaired(name: &str, bytes: &[u8]) -> Vec<u8> {
    let directory = Directory::new("repaired");
    let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let (input, output, other) = (path(name), path(&format!("out-{name}")), path(&format!("other-{name}")));
    fs::write(&input, bytes).unwrap();
    for words in [&["cut", "--begin", "0"][..], &["filter", "true"]] {
        let run = ichnos([words, &["--verify", "--force", &input, "-o", &other]].concat());
        assert!(
            !run.err.contains("differs from the written data") && run.code != 1,
            "{words:?}: {}",
            run.err
        );
    }
    let run = ichnos(["repair", "--verify", "--losses", &input, "-o", &output]);
    // A repair that changes values reports it.
    let code = if run.out.contains("rounded ") { 3 } else { 0 };
    assert_eq!(run.code, code, "{}{}", run.out, run.err);
    let checked = ichnos(["check", "--strict", &output]);
    assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
    fs::read(&output).unwrap()
}

#[test]
fn reports() {
    let text = "X-Trace Report ver 1.0\nX-Trace: 195615C831D3FC58B50000000000000001\nLabel: a\n\
                Timestamp: 1364280070.0\nEdge: 1.724\n\n\
                X-Trace Report ver 1.0\nX-Trace: 195615C831D3FC58B50000000000000002\nLabel: b\nTimestamp: 13x4\n\n\
                X-Trace Report ver 1.0\nLabel: c\nTimestamp: 1364280072.0\n\n\
                X-Trace Report ver 1.0\nX-Trace: 195615C831D3FC58B50000000000000002\nLabel: another\n\n";
    let text = String::from_utf8(repaired("a.reports", text.as_bytes())).unwrap();
    assert_eq!(
        text,
        "X-Trace Report ver 1.0\nX-Trace: 195615C831D3FC58B50000000000000001\nLabel: a\n\
         Timestamp: 1364280070.0\n\nX-Trace Report ver 1.0\nX-Trace: 195615C831D3FC58B50000000000000002\nLabel: b\n\n"
    );
}

#[test]
fn fxt_texts() {
    let mut bytes = fs::read(root().join("examples/hello-fxt/frames.fxt")).unwrap();
    let at = bytes.windows(7).position(|window| window == b"gallery").unwrap();
    bytes[at] = 0xe9;
    let at = bytes.windows(11).position(|window| window == b"RenderFrame").unwrap();
    bytes[at] = 0xe9;
    repaired("a.fxt", &bytes);
}

#[test]
fn log_texts() {
    let mut bytes = fs::read(root().join("examples/hello-fuchsia/boot.log")).unwrap();
    for at in [100, 300, 500] {
        bytes[at] ^= 0x80;
    }
    repaired("a.log", &bytes);
}

/// Empty JSON in reports can be read.
#[test]
fn no_report() {
    let directory = Directory::new("empty");
    let output = directory.join("e.json");
    let output = output.to_str().unwrap();
    let input = root().join("examples/hello-xtrace");
    let words = ["filter", "-q", "false", input.to_str().unwrap(), "--to", "xtrace", "--to-dialect", "json"];
    ichnos([&words[..], &["-o", output, "--verify"]].concat());
    ichnos(["info", output]).expect(0, &[]).prints(&["X-Trace"]);
}

/// Reports keep their names and bytes in CTF 1.8, which does not allow such names.
#[test]
fn names_of_lines() {
    let directory = Directory::new("names");
    let input = root().join("examples/hello-xtrace/proxy.reports");
    let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let (ctf, back, expected) = (path("ctf"), path("back.xtrace"), path("expected.xtrace"));
    let input = input.to_str().unwrap();
    ichnos(["convert", "-q", "--verify", input, "-o", &ctf, "--to-dialect", "ctf1.8"]).expect(0, &[]);
    ichnos(["cat", &ctf]).expect(0, &[]).prints(&["X-Trace = "]);
    ichnos(["convert", "-q", "--verify", &ctf, "-o", &back]).expect(0, &[]);
    ichnos(["convert", "-q", "--verify", input, "-o", &expected]).expect(0, &[]);
    assert_eq!(fs::read_to_string(&back).unwrap(), fs::read_to_string(&expected).unwrap());
    // In the same dialect, the names stay.
    let again = path("again");
    let run = ichnos(["cut", "--losses", "--begin", "0", &ctf, "-o", &again]).expect(0, &[]);
    assert!(!run.out.contains("renamed"), "{}", run.out);
    ichnos(["cat", &again]).expect(0, &[]).prints(&["X-Trace = "]);
}
