//! Results of Babeltrace's filters (trimmer, muxer, stream intersection) and of its source component for packet
//! sequence numbers. The reference is the expected results of Babeltrace's own tests if available, otherwise the output
//! of the installed `babeltrace2`.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ichnos_testing::{Random, cases, is_complete_sweep, is_turn, sample_size};

use crate::support::{Directory, command, ichnos, recorded};

const CLOCK: [&str; 2] = ["--clock-gmt", "--clock-date"];

/// Babeltrace 2.0.4 prints an earlier string in place of an empty string.
const MISREAD: &str = "bug446190";

/// Larger traces, in bytes, are compared only if `ICHNOS_LARGE_TRACES` is set.
const LARGE: u64 = 400_000;

fn babeltrace2<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Option<Vec<u8>> {
    let output = Command::new("babeltrace2")
        .args(CLOCK)
        .args(arguments)
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then_some(output.stdout)
}

fn is_installed() -> bool {
    let is_there = Command::new("babeltrace2").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !is_there {
        eprintln!("skipped: `babeltrace2` is not installed");
    }
    is_there
}

fn cat<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Vec<u8> {
    command().args(["cat", "-q"]).args(CLOCK).args(arguments).stdin(Stdio::null()).output().unwrap().stdout
}

/// Returns the first difference between two texts, or `None`.
fn difference(expected: &[u8], found: &[u8]) -> Option<String> {
    if expected == found {
        return None;
    }
    let (expected, found) = (String::from_utf8_lossy(expected), String::from_utf8_lossy(found));
    let pair = expected.lines().zip(found.lines()).find(|(expected, found)| expected != found);
    Some(format!("{} and {} lines, {pair:?}", expected.lines().count(), found.lines().count()))
}

/// Returns the recorded traces that `babeltrace2` can read and that are not too large.
fn recorded_traces() -> Vec<PathBuf> {
    fn find(directory: &Path, found: &mut Vec<PathBuf>) {
        let mut items: Vec<PathBuf> =
            fs::read_dir(directory).unwrap().map(|item| item.unwrap().path()).collect();
        items.sort();
        if directory.join("metadata").is_file() {
            found.push(directory.to_owned());
        }
        items.iter().filter(|path| path.is_dir()).for_each(|path| find(path, found));
    }
    let Some(root) = recorded("ctf/real") else { return Vec::new() };
    let mut all = Vec::new();
    find(&root, &mut all);
    let size = |path: &Path| -> u64 {
        let items = fs::read_dir(path).unwrap().flatten();
        items.filter_map(|item| item.metadata().ok()).map(|metadata| metadata.len()).sum()
    };
    let takes_all = std::env::var_os("ICHNOS_LARGE_TRACES").is_some();
    all.retain(|path| (takes_all || size(path) <= LARGE) && !path.ends_with(MISREAD));
    all
}

/// Returns the recorded traces whose events have times, with the event times.
fn traces_with_times() -> Vec<(PathBuf, Vec<String>)> {
    let times = |path: PathBuf| {
        let text = String::from_utf8(babeltrace2([&path])?).ok()?;
        let time = |line: &str| Some(line.strip_prefix('[')?.split_once(']')?.0.to_owned());
        let times: Vec<String> = text.lines().map(time).collect::<Option<_>>()?;
        (!times.is_empty()).then_some((path, times))
    };
    recorded_traces().into_iter().filter_map(times).collect()
}

/// Compares with the expected texts in Babeltrace's own tests, for the original trace and for its conversion.
#[test]
fn expected_intersections_and_sequence_numbers() {
    let Some(root) = recorded("ctf") else { return };
    let directory = Directory::new("expected-cases");
    for case in
        ["intersection/onestream", "packet-seq-num/no-lost", "packet-seq-num/no-lost-not-starting-at-0"]
    {
        let trace = root.join("real/babeltrace/1").join(case);
        let formats: [(&str, &[&str]); 2] = [
            ("pretty", &["--clock-gmt"]),
            ("details", &["--details", "with-uuid=yes,with-trace-name=no,with-stream-name=no"]),
        ];
        let written = directory.join(case.replace('/', "-"));
        let words = ["convert", "-q", "--to-dialect=ctf1.8", "--force", "-o", written.to_str().unwrap()];
        // The metadata UUID in one trace differs, which is a warning.
        let converted = ichnos(words.into_iter().map(OsStr::new).chain([trace.as_os_str()]));
        assert!(converted.code != 2, "{}", converted.err);
        for (format, options) in formats {
            let file = root.join("expected/babeltrace/1").join(format!("{case}.{format}.gz"));
            let expected = ichnos::io::Tree::open(&file, &ichnos::io::IoLimits::default()).unwrap();
            let expected = expected.entries[0].read().unwrap();
            for path in [&trace, &written] {
                let words = ["cat", "-q", "--format", format].into_iter().chain(options.iter().copied());
                let run = ichnos(words.map(OsStr::new).chain([path.as_os_str()]));
                let difference = difference(&expected, run.out.as_bytes());
                assert_eq!(difference, None, "{} {format}", path.display());
            }
        }
    }
}

/// With one data stream, the intersection contains all of it, even if it has several packets.
#[test]
fn intersections() {
    if !is_installed() {
        return;
    }
    let directory = Directory::new("intersections");
    for case in
        ["intersection/onestream", "packet-seq-num/no-lost", "packet-seq-num/no-lost-not-starting-at-0"]
    {
        let Some(trace) = recorded(format!("ctf/real/babeltrace/1/{case}")) else { return };
        let trace = trace.to_str().unwrap();
        let expected = babeltrace2(["--stream-intersection", trace]).unwrap();
        assert_eq!(difference(&expected, &cat(["--stream-intersection", trace])), None, "{case}");
        let out = directory.join(case.replace('/', "-"));
        let out = out.to_str().unwrap();
        ichnos([
            "convert",
            "-q",
            "--stream-intersection",
            "--to-dialect=ctf1.8",
            trace,
            "--force",
            "-o",
            out,
        ]);
        assert_eq!(difference(&expected, &babeltrace2([out]).unwrap()), None, "{case}");
    }
}

/// `--begin` and `--end`: `cat` prints, and `cut` writes, the events that Babeltrace's trimmer keeps. Each trace has
/// every second window.
#[test]
fn the_trimmer() {
    if !is_installed() {
        return;
    }
    let directory = Directory::new("trimmer");
    let mut different = Vec::new();
    let mut compared = 0;
    for (number, (path, times)) in traces_with_times().into_iter().enumerate() {
        let [early, late] = [times.len() / 3, times.len() * 2 / 3].map(|at| &*times[at]);
        let windows = [
            &["--begin", early][..],
            &["--end", late],
            &["--begin", early, "--end", late],
            &["--begin", late, "--end", late],
        ];
        for (turn, window) in windows.into_iter().enumerate() {
            if !is_turn(number, turn % 2, 2) {
                continue;
            }
            let trace = path.to_str().unwrap();
            let with = |paths: &[&'static str]| [window, paths].concat();
            // Babeltrace rejects some traces, or aborts while it trims them.
            let Some(expected) = babeltrace2(with(&[]).into_iter().chain([trace])) else { continue };
            let printed = cat(with(&[]).into_iter().chain([trace]));
            let found = difference(&expected, &printed);
            different.extend(found.map(|found| format!("{trace} {window:?}: {found}")));
            let out = directory.join("out");
            let options =
                ["cut", "-q", "--to-dialect=ctf1.8", "--clock-arithmetic=babeltrace", "--force", "-o"];
            let words = options.into_iter().chain([out.to_str().unwrap(), trace]);
            let run = ichnos(words.chain(window.iter().copied()));
            let found = match babeltrace2([&out]) {
                Some(printed) => difference(&expected, &printed),
                // The window is empty.
                None if expected.is_empty() => None,
                None => Some(format!("what is cut is refused; {}", run.err)),
            };
            different.extend(found.map(|found| format!("cut {trace} {window:?}: {found}")));
            compared += 1;
            let _ = fs::remove_dir_all(&out);
        }
    }
    eprintln!("{compared} windows");
    assert!(different.is_empty(), "{}", different.join("\n"));
    let least = if is_complete_sweep() { 80 } else { 40 };
    assert!(compared > least || recorded("ctf/real").is_none(), "{compared}");
}

/// Pairs whose merged output differs, by the name of one trace, with the reason.
const MERGED_OTHERWISE: &[(&str, &str)] = &[(
    "lttng-event-after-packet",
    "the end of its packets is corrected for its tracer, which the environment of the merged trace does not name",
)];

/// Several traces together: `cat` prints them, and `merge` writes them, in the order of Babeltrace's muxer.
#[test]
fn the_muxer() {
    if !is_installed() {
        return;
    }
    let directory = Directory::new("muxer");
    let mut different = Vec::new();
    let (mut compared, mut refused) = (0, Vec::new());
    let all: Vec<PathBuf> = traces_with_times().into_iter().map(|(path, _)| path).collect();
    let groups = all.windows(2).chain(all.windows(3).step_by(3));
    for group in groups {
        // Babeltrace cannot read all of them together.
        let Some(expected) = babeltrace2(group) else { continue };
        let mut printed = cat(group);
        if printed.is_empty() {
            // The clocks are unrelated. Babeltrace treats them as one clock.
            let options = [OsStr::new("--assume-correlated")];
            printed = cat(options.into_iter().chain(group.iter().map(|path| path.as_os_str())));
        }
        let found = difference(&expected, &printed);
        different.extend(found.map(|found| format!("{group:?}: {found}")));
        compared += 1;
        let out = directory.join("out");
        let options = ["merge", "-q", "--to-dialect=ctf1.8", "--force", "-o", out.to_str().unwrap()];
        let paths = group.iter().map(|path| path.as_os_str());
        let run = ichnos(options.into_iter().map(OsStr::new).chain(paths));
        if !out.exists() {
            refused.push(format!("{group:?}: {}", run.err));
            continue;
        }
        // A merged trace has one environment, which contains the host name.
        let fields = OsStr::new("--fields=loglevel");
        let paths = group.iter().map(|path| path.as_os_str());
        let expected = babeltrace2([fields].into_iter().chain(paths)).unwrap();
        let found = match babeltrace2([fields, out.as_os_str()]) {
            Some(printed) => difference(&expected, &printed),
            None => Some("what is merged is refused".to_owned()),
        };
        let is_known = |path: &PathBuf| MERGED_OTHERWISE.iter().any(|(name, _)| path.ends_with(name));
        let found = found.filter(|_| !group.iter().any(is_known));
        different.extend(found.map(|found| format!("merge {group:?}: {found}")));
        let _ = fs::remove_dir_all(&out);
    }
    eprintln!("{compared} groups, {} cannot be merged: {}", refused.len(), refused.join("\n"));
    assert!(different.is_empty(), "{}", different.join("\n"));
    let known = ["unrelated origins", "the field for its size"];
    assert!(refused.iter().all(|error| known.iter().any(|known| error.contains(known))), "{refused:?}");
    assert!(compared > 15 || recorded("ctf/real").is_none(), "{compared}");
}

/// Runs a program in the place of `babeltrace2`. Returns its exit code and its text.
fn in_place(program: &mut Command, words: &[String]) -> (Option<i32>, String) {
    let environment = [("PATH", "/usr/bin:/bin"), ("TZ", "UTC"), ("HOME", "/nonexistent")];
    let output = program.args(words).env_clear().envs(environment).stdin(Stdio::null()).output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{words:?}");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

fn theirs(words: &[String]) -> (Option<i32>, String) {
    in_place(&mut Command::new("babeltrace2"), words)
}

fn ours(words: &[String]) -> (Option<i32>, String) {
    // The text of Babeltrace 2.0.
    let mut program = Command::new(env!("CARGO_BIN_EXE_ichnos"));
    in_place(program.args(["babeltrace2", "--allowed-mip-versions=0"]), words)
}

/// Returns the times of all messages in a trace, in nanoseconds from the origin. Empty if `babeltrace2` refuses it.
fn message_times(path: &Path) -> Vec<i64> {
    let sink = ["-c", "sink.text.details", "-p", "with-metadata=no"].map(str::to_owned);
    let words: Vec<String> = std::iter::once(path.display().to_string()).chain(sink).collect();
    let (code, text) = theirs(&words);
    let time = |line: &str| {
        let (before, _) = line.strip_prefix('[')?.split_once(" ns from origin]")?;
        let number = before.rsplit_once("cycles, ").map_or(before, |(_, number)| number);
        number.replace(',', "").parse().ok()
    };
    let mut times: Vec<i64> =
        if code == Some(0) { text.lines().filter_map(time).collect() } else { Vec::new() };
    times.sort_unstable();
    times.dedup();
    times
}

/// Sorts messages, and leaves out the numbers of traces: Babeltrace begins and ends data streams in any order. The order
/// of events is compared in other text.
fn sorted(text: &str) -> String {
    let without_trace = |line: &str| match line.split_once(" {") {
        Some((time, rest)) => format!("{time}{}", rest.trim_start_matches(|c: char| c.is_ascii_digit())),
        None => line.to_owned(),
    };
    let mut lines: Vec<String> = text.lines().map(without_trace).collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// Returns the command line for a random window of a random trace that `babeltrace2` reads.
fn random_window(
    random: &mut Random,
    traces: &[PathBuf],
    times: &mut HashMap<PathBuf, Vec<i64>>,
) -> Option<Vec<String>> {
    const TRIES: usize = 20;
    let path = (0..TRIES).map(|_| &traces[random.index(traces.len())]).find(|path| {
        let known = times.entry((*path).clone()).or_insert_with(|| message_times(path));
        // Negative times have another form.
        known.len() > 1 && known[0] > 1_000
    })?;
    let known = &times[path];
    let mut bound = || known[random.index(known.len())] + random.pick(&[0, 0, 0, 1, -1, 1_000]);
    let (a, b) = (bound(), bound());
    let seconds = |time: i64| format!("{}.{:09}", time / 1_000_000_000, time % 1_000_000_000);
    let mut words = vec![path.display().to_string()];
    // Packets of a trace that is given twice are read once.
    let other = &traces[random.index(traces.len())];
    if random.percent(30) && other != path {
        words.push(other.display().to_string());
    }
    let (begin, end) = (seconds(a.min(b)), seconds(a.max(b)));
    words.extend(match random.index(5) {
        0 => vec!["-b".to_owned(), begin],
        1 => vec!["-e".to_owned(), end],
        2 => vec!["-b".to_owned(), begin, "-e".to_owned(), end],
        3 => vec!["--timerange".to_owned(), format!("{begin},{end}")],
        _ => vec!["--stream-intersection".to_owned()],
    });
    let sinks: [&[&str]; 5] = [
        &[],
        &["--clock-cycles"],
        &["-c", "sink.text.details", "-p", "compact=yes,with-metadata=no"],
        &["-c", "sink.utils.counter", "-p", "hide-zero=yes"],
        &["-o", "dummy"],
    ];
    words.extend(random.pick(&sinks).iter().map(|word| (*word).to_owned()));
    Some(words)
}

/// Random time windows of recorded traces give the same text in the place of `babeltrace2`.
#[test]
fn random_windows() {
    if !is_installed() {
        return;
    }
    let traces = recorded_traces();
    if traces.is_empty() {
        return;
    }
    let (mut times, mut compared, mut different) = (HashMap::new(), 0, Vec::new());
    let windows = cases(sample_size(60, 3_000), |random| {
        let Some(words) = random_window(random, &traces, &mut times) else { return };
        // Babeltrace crashes, or does not read all of them together.
        let (Some(0), expected) = theirs(&words) else { return };
        let (code, found) = ours(&words);
        if code == Some(1) && words.len() > 1 && !words[1].starts_with('-') {
            // Like Babeltrace 2.1, ichnos refuses clocks with unrelated origins.
            return;
        }
        compared += 1;
        let has_details = words.iter().any(|word| word == "sink.text.details");
        let comparable = |text: &str| if has_details { sorted(text) } else { text.to_owned() };
        let difference = difference(comparable(&expected).as_bytes(), comparable(&found).as_bytes());
        if code != Some(0) || difference.is_some() {
            different.push(format!("seed {}: {words:?}: {code:?} {difference:?}", random.seed()));
        }
    });
    eprintln!("{compared} of {windows} windows");
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(compared * 2 > windows, "{compared} of {windows}");
}
