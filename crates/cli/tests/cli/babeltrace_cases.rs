//! Results of Babeltrace's filters (trimmer, muxer, stream intersection) and of its source component for packet
//! sequence numbers. The reference is the expected results of Babeltrace's own tests if available, otherwise the output
//! of the installed `babeltrace2`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ichnos_testing::{is_complete_sweep, is_turn};

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

/// Returns the recorded traces that `babeltrace2` can read and whose events have times, with the event times.
fn traces_with_times() -> Vec<(PathBuf, Vec<String>)> {
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
    let times = |path: PathBuf| {
        let text = String::from_utf8(babeltrace2([&path])?).ok()?;
        let time = |line: &str| Some(line.strip_prefix('[')?.split_once(']')?.0.to_owned());
        let times: Vec<String> = text.lines().map(time).collect::<Option<_>>()?;
        (!times.is_empty()).then_some((path, times))
    };
    all.into_iter().filter_map(times).collect()
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
