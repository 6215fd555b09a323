//! Programs that are killed at random instants.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use ichnos_testing::Random;
use ichnos_tracer::{Recording, RecordingOptions, SizeLimit, TraceEvent, record};

use crate::{BABELTRACE_2_1, convert, events_in, output_of, own_directory, process, read, read_lines};

const THREADS: u64 = 3;

/// Numbers of events after which the threads report how far they are.
const REPORTED: [u64; THREADS as usize] = [1, 50, 1000];

#[derive(TraceEvent)]
struct Step<'a> {
    thread: u64,
    number: u64,
    text: &'a str,
}

/// Names the number of bytes that the killed process keeps.
const LAST: &str = "ICHNOS_TRACER_LAST";

/// Records until it is killed.
#[test]
fn the_killed_process() {
    let Some(directory) = own_directory() else { return };
    let mut options = RecordingOptions::new(directory.join("trace"));
    (options.packet_size, options.file_size) = (4096, 64 << 10);
    if let Ok(last) = std::env::var(LAST) {
        (options.packet_size, options.limit) = (1024, SizeLimit::Last(last.parse().unwrap()));
    }
    let _recording = Recording::start(options).unwrap();
    let progress = File::create(directory.join("progress")).unwrap();
    progress.set_len(8 * THREADS).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let progress = &progress;
            scope.spawn(move || {
                for number in 0.. {
                    let text = &"abcdefghijklmnopqrstuvwxyz"[..(number % 27) as usize];
                    record(&Step { thread, number, text });
                    let done = number + 1;
                    if done % REPORTED[thread as usize] == 0 {
                        progress.write_all_at(&done.to_le_bytes(), 8 * thread).unwrap();
                    }
                }
            });
        }
    });
}

/// Starts a process that keeps everything, or so many bytes for each thread.
fn start(directory: &Path, last: Option<u64>) -> Child {
    let mut command = process("kills::the_killed_process", directory);
    command.envs(last.map(|last| (LAST, last.to_string())));
    let child = command.stdout(Stdio::null()).spawn().unwrap();
    let progress = directory.join("progress");
    let begun = || std::fs::read(&progress).is_ok_and(|progress| progress.iter().any(|byte| *byte != 0));
    while !begun() {
        std::thread::sleep(Duration::from_micros(200));
    }
    child
}

/// Kills a process, and checks its trace. Returns the number of events.
fn kill_once(random: &mut Random, with_babeltrace: bool, last: Option<u64>) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let mut child = start(directory.path(), last);
    let progress = directory.path().join("progress");
    // A flight recorder must have begun files again.
    std::thread::sleep(Duration::from_micros(if last.is_some() { 20_000 } else { 0 } + random.below(5_000)));
    child.kill().unwrap();
    child.wait().unwrap();
    let progress = std::fs::read(&progress).unwrap();
    let trace = directory.path().join("trace");
    let mut numbers = [0; THREADS as usize];
    let events = read(&trace, false);
    if last.is_some() {
        for event in events.iter().rev() {
            numbers[thread_of(event)] = event["payload"]["number"].as_u64().unwrap();
        }
    }
    for event in &events {
        let (payload, thread) = (&event["payload"], thread_of(event));
        let number = payload["number"].as_u64().unwrap();
        assert_eq!(number, numbers[thread], "thread {thread}");
        assert_eq!(payload["text"].as_str().unwrap().len() as u64, number % 27);
        numbers[thread] += 1;
    }
    for (thread, found) in numbers.into_iter().enumerate() {
        let reported = u64::from_le_bytes(progress[8 * thread..][..8].try_into().unwrap());
        // The last event may be there before it is reported.
        let most = reported + REPORTED[thread];
        assert!((reported..=most).contains(&found), "thread {thread}: {found}, reported {reported}");
    }
    if with_babeltrace && let Some(text) = output_of(BABELTRACE_2_1, &trace) {
        assert_eq!(events_in(&text), events.len());
        let repaired = directory.path().join("repaired");
        convert(&trace, &repaired, true);
        assert_eq!(read(&repaired, false), events);
    }
    events.len()
}

fn thread_of(event: &serde_json::Value) -> usize {
    event["payload"]["thread"].as_u64().unwrap() as usize
}

#[test]
fn a_killed_flight_recorder_leaves_the_last_files() {
    let kills = if std::env::var("ICHNOS_SWEEPS").is_ok_and(|sweeps| sweeps == "all") { 200 } else { 4 };
    let mut random = Random::new(58);
    let events: usize = (0..kills).map(|kill| kill_once(&mut random, kill % 3 == 0, Some(64 << 10))).sum();
    println!("{events} events in {kills} traces");
}

/// Files vanish while they are read, but what is found was recorded.
#[test]
fn a_running_flight_recorder_can_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = start(directory.path(), Some(256 << 10));
    let mut reads = 0;
    while reads < 2 {
        let Ok(lines) = read_lines(&directory.path().join("trace")) else { continue };
        let mut next = [0; THREADS as usize];
        for event in lines.iter().filter(|line| line["type"] == "event" && line["name"] == "Step") {
            let number = event["payload"]["number"].as_u64().unwrap();
            let thread = thread_of(event);
            assert!(number >= next[thread], "thread {thread}: {number} after {}", next[thread]);
            assert_eq!(event["payload"]["text"].as_str().unwrap().len() as u64, number % 27);
            next[thread] = number + 1;
        }
        reads += usize::from(next.iter().any(|next| *next > 0));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_killed_process_leaves_what_it_recorded() {
    let kills = if std::env::var("ICHNOS_SWEEPS").is_ok_and(|sweeps| sweeps == "all") { 200 } else { 4 };
    let mut random = Random::new(57);
    let events: usize = (0..kills).map(|kill| kill_once(&mut random, kill % 3 == 0, None)).sum();
    println!("{events} events in {kills} traces");
}
