//! Command lines for `babeltrace2` work, or a message explains the equivalent.

use crate::support::{Directory, Run, command, ichnos, ichnos_in, trace};
use crate::transcript::transcript;

/// Runs a command line in the directory that contains a trace `t`.
fn run(directory: &Directory, line: &str) -> Run {
    ichnos_in(directory, line.split_whitespace())
}

fn directory(name: &str) -> Directory {
    let trace = trace(name);
    let directory = Directory::new(name);
    std::fs::create_dir(directory.join("t")).unwrap();
    for file in ["metadata", "stream_a", "stream_b"] {
        std::fs::copy(trace.join(file), directory.join("t").join(file)).unwrap();
    }
    directory
}

#[test]
fn a_path_without_a_verb() {
    let directory = directory("without-verb");
    let expected = run(&directory, "cat t").expect(0, &[]).out;
    assert_eq!(expected.lines().count(), 10);
    for line in ["t", "./t", "t --no-quirks", "--no-quirks t", "-q t", "--color never t", "-- t"] {
        assert_eq!(run(&directory, line).expect(0, &[]).out, expected, "{line}");
    }
    let expected = run(&directory, "cat t --begin +1s -n 2 --names none").expect(0, &[]).out;
    assert_eq!(expected.lines().count(), 2);
    for line in [
        "--begin +1s -n 2 --names none t",
        "-b +1s t -n2 --names=none",
        "--begin=+1s --max-events 2 cat t --names none",
        "t --begin +1s -n 2 --names none",
    ] {
        assert_eq!(run(&directory, line).expect(0, &[]).out, expected, "{line}");
    }
    // Verbs stay verbs, and a missing input is an error.
    run(&directory, "info t").expect(0, &[]).prints(&["environment"]);
    for line in ["nothing", "--begin 5 nothing"] {
        run(&directory, line).expect(2, &["`nothing` is neither a command nor an existing path"]);
    }
    run(&directory, "./nothing").expect(2, &["no such file or directory"]);
    run(&directory, "--format jsonl").expect(2, &["<PATH>"]);
    run(&directory, "chekc t").expect(2, &["did you mean `check`?"]);
    // An existing path is read, even if a verb in babeltrace2 has its name.
    std::fs::rename(directory.join("t"), directory.join("query")).unwrap();
    assert_eq!(run(&directory, "query").expect(0, &[]).out.lines().count(), 10);
    std::fs::rename(directory.join("query"), directory.join("t")).unwrap();
    run(&directory, "t --help").expect(0, &[]).prints(&["--begin <TIME>"]);
}

#[test]
fn working_options() {
    let _transcript = transcript!();
    let directory = directory("options-that-work");
    let same = |theirs: &str, ours: &str| {
        let ours = run(&directory, ours).out;
        assert!(!ours.is_empty());
        assert_eq!(run(&directory, theirs).out, ours, "{theirs}");
    };
    same("t --names=args", "cat t --names payload");
    same("t --names=arg,ctx", "cat t --names payload,context");
    same("-b 1000000001 t -e 1000000002", "cat t --begin 1000000001 --end 1000000002");
    same("-t [1000000001,1000000002] t", "cat t --timerange 1000000001,1000000002");
    same("-i ctf t", "cat t --from ctf");
    same("--input-format=ctf t", "cat t --from ctf");
    same("t --clock-force-correlate --clock-offset-ns=5", "cat t --clock-offset-ns 5");
    run(&directory, "t -w out");
    assert_eq!(std::fs::read_to_string(directory.join("out")).unwrap().lines().count(), 10);
}

/// `-o` is the output file. No file gets a format name by mistake.
#[test]
fn formats_of_output() {
    let _transcript = transcript!();
    let directory = directory("formats-of-output");
    for (format, help) in [
        ("text", "--format pretty"),
        ("dummy", "--format null"),
        ("ctf", "`ichnos convert PATH -o OUT` writes traces"),
        ("ctf-metadata", "ichnos schema PATH"),
    ] {
        for line in ["t -o", "-o", "cat t -o"] {
            let line = format!("{line} {format} t");
            run(&directory, &line)
                .expect(2, &["`-o` is the file to write", help, &format!("`-o ./{format}`")]);
        }
        run(&directory, &format!("t --output-format={format}")).expect(2, &[help]);
        assert!(!directory.join(format).exists());
        run(&directory, &format!("t -o ./{format}"));
        assert_eq!(std::fs::read_to_string(directory.join(format)).unwrap().lines().count(), 10);
    }
}

#[test]
fn options_with_an_answer() {
    let _transcript = transcript!();
    let directory = directory("options-with-answer");
    for (line, help) in [
        ("t -c sink.text.details", "`ichnos cat --format details PATH`"),
        ("t --component=sink.text.pretty", "`ichnos cat PATH`"),
        ("t --component sink.utils.dummy", "--format null"),
        ("-c source.ctf.fs -p inputs=[\"t\"]", "name the paths"),
        ("t -p clock-class-offset-s=5", "--clock-offset SECONDS"),
        ("t --params=with-uuid=no", "--details"),
        ("t --run-args", "`ichnos cat PATH...`"),
        ("--run-args-0 t", "`ichnos cat PATH...`"),
        ("t --plugin-path=/usr/lib", "leave it out"),
        ("--omit-home-plugin-path t", "leave it out"),
        ("--log-level=DEBUG t", "`-v`"),
        ("-d t", "`-v`"),
        ("--debug-mode t", "`-v`"),
        ("t --retry-duration=5", "leave it out"),
        ("lttng-live://localhost", "cat net://HOST"),
        ("-i lttng-live net://localhost", "cat net://HOST"),
        ("info tcp://localhost/host/a/b", "info net://HOST"),
        ("t --pid 5", "--filter 'vpid == 5'"),
        ("info t --follow", "`ichnos view` follow growing files"),
        ("t -f loglevel,emf", "`--fields loglevel,emf`"),
        ("t -n payload,scope", "`--names payload,scope`"),
        ("convert t", "`ichnos cat PATH` prints traces as `babeltrace2 convert` does"),
        ("run --connect a:b", "no components to connect"),
        ("query source.ctf.fs metadata-info", "`ichnos info PATH`"),
        ("list-plugins", "`ichnos formats`"),
        ("help sink.text.pretty", "`ichnos formats`"),
    ] {
        let run = run(&directory, line).expect(2, &[help]);
        assert!(!run.err.contains("to pass '"), "{line}: {}", run.err);
        // Similar words do not help here.
        assert!(!run.err.contains("similar"), "{line}: {}", run.err);
        assert_eq!(run.out, "", "{line}");
    }
}

/// The message about an unknown option must not mention values.
#[test]
fn unknown_options() {
    let _transcript = transcript!();
    let run = ichnos(["cat", "x", "--nonsense"]);
    assert!(!run.err.contains("as a value"), "{}", run.err);
    ichnos(["cat", "x", "--evnt=y"]);
    // A directory with an option's name can still be read.
    let directory = directory("called-like-options");
    std::fs::rename(directory.join("t"), directory.join("--pid")).unwrap();
    let output = command().args(["cat", "--", "--pid"]).current_dir(&*directory).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
}
