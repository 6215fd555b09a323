//! Programs that are killed while they write a trace, or whose disk is full: flushed events stay readable.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ichnos::create::{CreateOptions, create};
use ichnos::model::class::{FieldClass, Member};
use ichnos::model::clock::ClockClass;
use ichnos_testing::Random;

use crate::create::read;

/// Environment variable with the trace path for [`writes_until_it_is_killed`].
const PATH: &str = "ICHNOS_TEST_WRITES_TO";

/// Not a test, but the program that the tests below start. It writes events, declares classes, clocks and data streams
/// at the same time, and prints the number of flushed events.
#[test]
#[ignore = "a program that other tests start"]
fn writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let mut options = CreateOptions::default();
    options.packet_size = Some(300);
    let result = (|| -> Result<(), Box<dyn std::error::Error>> {
        let trace = create(&path, &options)?;
        let clock = trace.clock(ClockClass::since_unix_epoch("wall"))?;
        let mut n = 0u64;
        loop {
            let stream = trace.stream("stream", Some(&clock))?;
            for _ in 0..10 {
                let members =
                    [Member::new("n", FieldClass::unsigned(64)), Member::new("s", FieldClass::string())];
                let mut event = stream.declare(&format!("e{n}"), members)?;
                for _ in 0..n % 30 + 1 {
                    event.set("n", n)?.set("s", "some text to make it larger")?.write(n)?;
                    n += 1;
                }
                trace.flush()?;
                // The test harness also writes to the standard output, so our lines start with a word.
                println!("\nflushed {n}");
            }
        }
    })();
    if let Err(error) = result {
        println!("\nerror {error}");
    }
    let _ = std::io::stdout().flush();
}

/// Starts the program by a shell command that receives it as `$0` and its arguments as `$@`.
fn start(path: &Path, shell: &str) -> Child {
    let program = std::env::current_exe().unwrap();
    Command::new("sh")
        .args(["-c", shell])
        .arg(program)
        .args([
            "killed::writes_until_it_is_killed",
            "--exact",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(PATH, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Checks that the first `flushed` events of a trace can be read.
fn check(path: &Path, flushed: u64, what: &str) {
    // A file may still be empty.
    if flushed == 0 && !path.is_dir() {
        return;
    }
    let (events, _) = read(path);
    let numbers: HashSet<u64> = events.iter().map(|(_, _, number)| *number).collect();
    for n in 0..flushed {
        assert!(numbers.contains(&n), "{what}: event {n} of {flushed} is not there");
    }
    assert_eq!(numbers.len(), events.len(), "{what}: an event is there twice");
    assert!(events.iter().all(|(_, time, number)| *time == i128::from(*number)), "{what}");
}

#[test]
fn flushed_events_outlive_the_process() {
    kill_programs("", 100);
}

/// A .NET file.
#[cfg(feature = "nettrace")]
#[test]
fn flushed_dotnet_events_outlive_the_process() {
    kill_programs(".nettrace", 40);
}

/// Kills `runs` programs that write traces with this file name extension.
fn kill_programs(ending: &str, runs: u64) {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random::new(18);
    let mut some = 0;
    for run in 0..runs {
        let path = directory.path().join(format!("t{run}{ending}"));
        let mut child = start(&path, "exec \"$0\" \"$@\"");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let flushed_in = |line: &str| line.strip_prefix("flushed ")?.parse::<u64>().ok();
        // Every tenth program is killed immediately, possibly before the trace exists.
        let mut flushed = 0;
        if run % 10 > 0 {
            let mut reports = lines.by_ref().filter_map(|line| flushed_in(&line.unwrap()));
            flushed = reports.nth(random.index(8)).unwrap();
        }
        std::thread::sleep(Duration::from_micros(random.below(4000)));
        child.kill().unwrap();
        child.wait().unwrap();
        // Output that was written to the pipe earlier.
        for line in lines.map_while(Result::ok) {
            flushed = flushed_in(&line).unwrap_or(flushed);
        }
        check(&path, flushed, &format!("run {run}"));
        some += u64::from(flushed > 1);
        if path.is_dir() {
            std::fs::remove_dir_all(&path).unwrap();
        }
    }
    assert!(some >= runs / 2, "{some}");
}

/// A limited file size, like a full disk.
#[test]
fn flushed_events_outlive_a_full_disk() {
    fill_disks("", 0);
}

/// A .NET file. It ends within the block that did not fit.
#[cfg(feature = "nettrace")]
#[test]
fn flushed_dotnet_events_outlive_a_full_disk() {
    fill_disks(".nettrace", 1);
}

/// Fills disks with traces that have this file name extension, and expects this number of damaged places.
fn fill_disks(ending: &str, damages: u64) {
    let directory = tempfile::tempdir().unwrap();
    for blocks in [3, 20, 100] {
        let path = directory.path().join(format!("t{blocks}{ending}"));
        let child = start(&path, &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\""));
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let number = |line: &str| line.strip_prefix("flushed ")?.parse::<u64>().ok();
        let flushed = text.lines().rev().find_map(number).unwrap_or(0);
        let error = text.lines().find_map(|line| line.strip_prefix("error ")).unwrap_or_default();
        let shown = path.to_string_lossy().into_owned();
        assert!(error.contains(&shown) && error.contains("File too large"), "{blocks}: {error}");
        check(&path, flushed, &format!("limit {blocks}"));
        if path.exists() {
            // There must be neither further damage nor a leftover file.
            assert_eq!(read(&path).1, damages);
            let place = if path.is_dir() { &*path } else { directory.path() };
            let names = std::fs::read_dir(place).unwrap().map(|item| item.unwrap().file_name());
            assert!(names.into_iter().all(|name| !name.to_string_lossy().starts_with('.')));
        }
    }
}
