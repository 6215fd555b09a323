//! Programs that are killed while writing a trace, or run out of disk space: flushed events stay readable.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ichnos_fuchsia::fxt_writer::FxtWriter;
use ichnos_io::{CreateError, Lane, Output, Worker, WriteOptions, WriteSource, WriteTarget, WriterFactory};
use ichnos_model::cursor::BoxedCursor;
use ichnos_model::{Cursor, Message, OpenedTrace, Window};
use ichnos_testing::Random;

use super::builder::{Builder, body, inline};
use super::document::everything;
use super::dump::{line, open, read};

/// Environment variable with the path for [`writes_until_it_is_killed`].
const PATH: &str = "ICHNOS_TEST_WRITES_FXT_TO";

/// Maximum number of events that the program writes.
const EVENTS: u64 = 20_000;

/// Events with many classes and threads, numbered by time and by an argument.
fn numbered() -> Vec<u8> {
    let mut builder = Builder::new();
    builder.provider(7, "program").initialization(1_000);
    for number in 0..EVENTS {
        let text = format!("text {}", number % 700);
        let arguments = vec![
            body().argument(4, "number", 0, body().word(number)),
            body().argument(6, "text", inline(&text), body().text(&text)),
        ];
        builder.event(0, number, ["c", &format!("e{}", number % 30)], arguments, &[]);
    }
    builder.bytes
}

/// Writes a live trace to a path. After each flush, of every `most` events, calls `flushed` with the event count.
fn write_live(bytes: &[u8], path: &Path, most: u64, mut flushed: impl FnMut(u64)) -> Result<(), CreateError> {
    let trace = open(bytes);
    let source = WriteSource {
        trace: trace.trace().clone(),
        format: trace.format(),
        has_dynamic_classes: true,
        streams: trace.data_streams(),
    };
    let target = WriteTarget::Live(path.to_owned());
    let output = FxtWriter.create(target, vec![source], &WriteOptions::default())?;
    let mut worker = output.worker(Lane::All);
    let failed = |error| CreateError::Io { path: path.display().to_string(), error };
    let join = |worker: &mut Box<dyn Worker + Send>, output: &dyn Output| -> Result<(), CreateError> {
        while let Some(block) = worker.take() {
            output.join(block).map_err(failed)?;
        }
        Ok(())
    };
    let mut count = 0;
    for mut cursor in trace.cursors(Window::default()) {
        while cursor.advance() {
            let message = cursor.current().unwrap();
            worker.message(&message).map_err(failed)?;
            join(&mut worker, &*output)?;
            count += u64::from(matches!(message, Message::Event(_)));
            if matches!(message, Message::Event(_)) && count.is_multiple_of(most) {
                worker.flush().map_err(failed)?;
                join(&mut worker, &*output)?;
                flushed(count);
            }
        }
    }
    worker.finish().map_err(failed)?;
    join(&mut worker, &*output)?;
    drop(worker);
    output.finish().map(drop)
}

/// Not a test, but the program that the tests below start. It writes events, and prints the number of flushed events.
#[test]
#[ignore = "a program that other tests start"]
fn writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(PATH) else { return };
    // The test harness also writes to standard output, so our lines start with a word.
    let written = write_live(&numbered(), Path::new(&path), 10, |count| println!("\nflushed {count}"));
    if let Err(error) = written {
        println!("\nerror {error}");
    }
    let _ = std::io::stdout().flush();
}

/// Starts the program by a shell command that receives it as `$0` and its arguments as `$@`.
fn start(path: &Path, shell: &str) -> Child {
    let name = "fxt::killed::writes_until_it_is_killed";
    Command::new("sh")
        .args(["-c", shell])
        .arg(std::env::current_exe().unwrap())
        .args([name, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(PATH, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn flushed_in(line: &str) -> Option<u64> {
    line.strip_prefix("flushed ")?.parse().ok()
}

/// Checks that the first `flushed` events in a file are readable, and that it contains only the first events. Returns
/// their number.
fn check(bytes: &[u8], expected: &[String], flushed: u64, what: &str) -> u64 {
    let lines = read(bytes);
    // At most the last record is damaged.
    let events: Vec<_> = lines.iter().filter(|line| !line.starts_with("a.fxt:")).collect();
    assert!(lines.len() - events.len() <= 1, "{what}: {:?}", lines.last());
    assert!(events.len() as u64 >= flushed, "{what}: {} of {flushed} events", events.len());
    assert!(events.iter().zip(expected).all(|(found, expected)| *found == expected), "{what}");
    events.len() as u64
}

#[test]
fn flushed_events_outlive_the_process() {
    let directory = tempfile::tempdir().unwrap();
    let expected = read(&numbered());
    let mut random = Random::new(34);
    let mut stopped = 0;
    for run in 0..12 {
        let path = directory.path().join(format!("{run}.fxt"));
        let mut child = start(&path, "exec \"$0\" \"$@\"");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Some programs are killed immediately, possibly before the file exists.
        let mut flushed = 0;
        if run % 4 > 0 {
            let mut reports = lines.by_ref().filter_map(|line| flushed_in(&line.unwrap()));
            flushed = reports.nth(random.index(300)).unwrap();
        }
        std::thread::sleep(Duration::from_micros(random.below(3_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        // Output written to the pipe earlier.
        for line in lines.map_while(Result::ok) {
            flushed = flushed_in(&line).unwrap_or(flushed);
        }
        if let Ok(bytes) = std::fs::read(&path) {
            let found = check(&bytes, &expected, flushed, &format!("run {run}"));
            stopped += u64::from(found > 0 && found < EVENTS);
        }
    }
    assert!(stopped >= 5, "{stopped}");
}

/// A file size limit, similar to a full disk.
#[test]
fn flushed_events_outlive_a_full_disk() {
    let directory = tempfile::tempdir().unwrap();
    let expected = read(&numbered());
    for blocks in [0, 1, 30, 500] {
        let path = directory.path().join(format!("{blocks}.fxt"));
        let child = start(&path, &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\""));
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let flushed = text.lines().rev().find_map(flushed_in).unwrap_or(0);
        let error = text.lines().find_map(|line| line.strip_prefix("error ")).unwrap_or_default();
        let shown = path.to_string_lossy().into_owned();
        assert!(error.contains(&shown) && error.contains("File too large"), "{blocks}: {error}");
        let found = check(&std::fs::read(&path).unwrap(), &expected, flushed, &format!("limit {blocks}"));
        assert!(found < EVENTS && (flushed > 0) == (blocks > 1), "{blocks}: {found}, {flushed}");
    }
}

/// Wherever a program stops, the file has all flushed events from each data stream.
#[test]
fn files_can_be_read_after_each_flush() {
    let bytes = everything();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.fxt");
    let mut ends = Vec::new();
    write_live(&bytes, &path, 1, |count| ends.push((count, std::fs::metadata(&path).unwrap().len())))
        .unwrap();
    let written = std::fs::read(&path).unwrap();
    let streams = |bytes: &[u8]| -> Vec<Vec<String>> {
        let events = |mut cursor: BoxedCursor| {
            let mut lines = Vec::new();
            while cursor.advance() {
                if let Some(Message::Event(event)) = cursor.current() {
                    lines.push(line(&event));
                }
            }
            lines
        };
        open(bytes).cursors(Window::default()).into_iter().map(events).collect()
    };
    // Process and thread names depend on the whole file.
    let without_names = |line: &String| line.split(" | ").take(4).collect::<Vec<_>>().join(" | ");
    let all = streams(&written);
    assert_eq!(all.iter().map(Vec::len).sum::<usize>() as u64, ends.last().unwrap().0);
    let mut flushed = ends.iter().peekable();
    let mut count = 0;
    // All bytes around the flushes, and some in between.
    let is_near = |end: &usize| ends.iter().any(|(_, at)| end.abs_diff(*at as usize) <= 9);
    for end in (0..=written.len()).filter(|end| end % 61 == 0 || is_near(end)) {
        while let Some((events, _)) = flushed.next_if(|(_, at)| *at <= end as u64) {
            count = *events;
        }
        let found = streams(&written[..end]);
        assert!(found.iter().map(Vec::len).sum::<usize>() as u64 >= count, "{end}");
        for (found, all) in found.iter().zip(&all) {
            let names = found.iter().map(without_names).zip(all.iter().map(without_names));
            for (found, all) in names {
                assert!(all.starts_with(&found) || found.starts_with(&all), "{end}: {found} {all}");
            }
        }
    }
}
