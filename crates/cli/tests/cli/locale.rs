//! Terminals without all characters, or without wide lines.

use crate::support::{command, ichnos, root};

/// A locale other than UTF-8 has trees, tables, bars and messages in ASCII, even in pipes. JSON stays the same.
#[test]
fn other_locales_are_ascii() {
    let lttng = format!("{}/examples/hello-lttng", root().display());
    let run = |locale: &[(&str, &str)], arguments: &[&str]| {
        let output = command().envs(locale.iter().copied()).args(arguments).arg(&lttng).output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    for arguments in
        [&["info"][..], &["stats"], &["stats", "--timeline"], &["stats", "--histogram", "number"], &["check"]]
    {
        for locale in [
            &[("LC_ALL", "C")][..],
            &[("LANG", "de_DE.ISO-8859-1")],
            &[("LC_CTYPE", "POSIX"), ("LANG", "C.UTF-8")],
        ] {
            let (out, err) = run(locale, arguments);
            assert!(out.is_ascii() && err.is_ascii(), "{locale:?} {arguments:?}\n{out}\n{err}");
        }
        let unset = run(&[], arguments);
        assert_eq!(run(&[("LC_ALL", "C.UTF-8"), ("LANG", "C")], arguments), unset);
    }
    let (tree, _) = run(&[("LC_ALL", "C")], &["info"]);
    assert!(tree.contains("\n|- ") && tree.contains("\n`- "), "{tree}");
    let (table, _) = run(&[("LC_ALL", "C")], &["stats", "--gaps", "1"]);
    assert!(table.contains("77.555 us"), "{table}");
    // Data for other programs do not depend on the locale.
    for arguments in [
        &["cat", "-q"][..],
        &["cat", "-f", "jsonl", "-q"],
        &["stats", "--by", "text", "--csv"],
        &["stats", "--by", "text", "--json"],
    ] {
        let out = run(&[("LC_ALL", "C")], arguments).0;
        assert_eq!(out, run(&[], arguments).0);
        assert!(!out.is_ascii());
    }
    // Text repeated by an error.
    let (_, error) = run(&[("LC_ALL", "C")], &["cat", "--filter", "é == 1"]);
    assert!(error.contains("\\u{e9}") && error.is_ascii(), "{error}");
}

/// Quiet commands print no progress.
#[test]
fn quiet_has_no_progress() {
    let lttng = format!("{}/examples/hello-lttng", root().display());
    let run = ichnos(["cat", "-q", "--progress", "plain", "-f", "null", &lttng]).expect(0, &[]);
    assert_eq!(run.err, "");
}
