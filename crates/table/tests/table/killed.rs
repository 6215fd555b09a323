//! Killed programs, full disks and unwritable directories: the old dataset stays, or there is none.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ichnos::io::{ExistingOutput, WriteOptions};
use ichnos::model::Scope;
use ichnos::model::class::{EventRecordClass, FieldClass, Member};
use ichnos::model::field::FieldValue;
use ichnos::model::source::RecordTrace;
use ichnos_testing::Random;
use serde_json::json;

use crate::dataset::read;
use crate::hostile::{events, made, nanoseconds, try_write};
use crate::options::names;

/// Environment variable with the path for [`writes_until_it_is_killed`]. Another variable has the number of events.
const PATH: &str = "ICHNOS_TEST_WRITES_TABLES_TO";
const EVENTS: &str = "ICHNOS_TEST_WRITES_ROWS";

/// Creates a trace with events of 20 classes, numbered by time. It prints the number of events so far. Event texts are
/// incompressible.
fn numbered(count: u64) -> RecordTrace {
    let class = |i: u64| {
        let members =
            [Member::new("number", FieldClass::unsigned(64)), Member::new("text", FieldClass::string())];
        EventRecordClass::new(format!("e{i}"), members)
    };
    made(nanoseconds(), (0..20).map(class), move |number, record| {
        let mut random = Random::new(number);
        record.set_cycles(number);
        record.set_class(usize::try_from(number % 20).unwrap());
        record.values.begin(Scope::Payload);
        record.values.push(FieldValue::Unsigned(number));
        let text: Vec<u8> = (0..30).map(|_| b'!' + u8::try_from(random.below(90)).unwrap()).collect();
        record.values.push(FieldValue::Text(&text));
        if number.is_multiple_of(200) {
            // The test harness also writes to the standard output, so our lines start with a word.
            println!("\nevents {number}");
        }
        number < count
    })
}

fn replacing() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.existing = ExistingOutput::Replace;
    options.threads = 2;
    options
}

/// Not a test: the program started by the tests below.
#[test]
#[ignore = "a program that other tests start"]
fn writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let count = std::env::var(EVENTS).unwrap().parse().unwrap();
    match try_write(&numbered(count), Path::new(&path), &replacing()) {
        Ok(_) => println!("\nwritten"),
        Err(error) => println!("\nerror {error}"),
    }
    let _ = std::io::stdout().flush();
}

/// Starts the program with a shell command that receives it as `$0` and its arguments as `$@`.
fn start(path: &Path, count: u64, shell: &str) -> Child {
    Command::new("sh")
        .args(["-c", shell])
        .arg(std::env::current_exe().unwrap())
        .args([
            "killed::writes_until_it_is_killed",
            "--exact",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(PATH, path)
        .env(EVENTS, count.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_killed_program_leaves_the_old_dataset() {
    let mut random = Random::new(35);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("d");
    for run in 0..4 {
        // The first run has no old dataset.
        let old = (run > 1).then(|| {
            try_write(&numbered(run * 10), &path, &replacing()).unwrap();
            run * 10
        });
        let mut child = start(&path, 1 << 40, "exec \"$0\" \"$@\"");
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut reports = lines.filter(|line| line.as_ref().is_ok_and(|line| line.starts_with("events ")));
        reports.nth(random.index(40)).unwrap().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        match old {
            None => assert!(!path.exists(), "run {run}"),
            Some(count) => assert_eq!(events(&read(&path)).len() as u64, count, "run {run}"),
        }
        // The partial output is next to the dataset, under a name that other programs ignore.
        assert!(names(directory.path()).iter().all(|name| name == "d" || name.starts_with('.')));
    }
    // The partial output is not in the way.
    try_write(&numbered(40), &path, &replacing()).unwrap();
    let mut numbers: Vec<u64> =
        events(&read(&path)).iter().map(|row| row["number"].as_u64().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..40).collect::<Vec<_>>());
}

/// A file size limit acts like a full disk.
#[test]
fn a_full_disk_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("d");
    try_write(&numbered(5), &path, &replacing()).unwrap();
    for blocks in [0, 1, 8] {
        let shell = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let output = start(&path, 8_000, &shell).wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = text.lines().find_map(|line| line.strip_prefix("error ")).unwrap_or(&text);
        assert!(error.contains(".parquet: File too large"), "{blocks}: {error}");
        // The old dataset is unchanged, and nothing else is there.
        assert_eq!(names(directory.path()), ["d"], "{blocks}");
        assert_eq!(events(&read(&path)).len(), 5);
    }
    let output = start(&path, 2_000, "exec \"$0\" \"$@\"").wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("\nwritten"));
    assert_eq!(events(&read(&path)).iter().filter(|row| row["event"] == json!("e7")).count(), 100);
}

#[cfg(unix)]
#[test]
fn a_directory_that_cannot_be_written_is_an_error() {
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
    let mut directory = directory.path().to_owned();
    if std::fs::write(directory.join("probe"), "").is_ok() {
        // The user may write everywhere except here.
        directory = "/proc".into();
        if !directory.exists() {
            return println!("skipped: a_directory_that_cannot_be_written_is_an_error: no such directory");
        }
    }
    let path = directory.join("d");
    let error = try_write(&numbered(5), &path, &WriteOptions::default()).unwrap_err();
    assert!(error.starts_with(&format!("{}: ", path.display())), "{error}");
    assert!(!path.exists());
}
