//! Thread states, self times and critical paths in kernel traces, compared with SQL queries and with Perfetto.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ichnos_testing::{DuckDb, KernelQuery, TraceProcessor, is_complete_sweep};
use serde_json::Value as Json;

use crate::support::{Directory, ichnos, recorded};
use crate::thread_states::{Events, STATES, Truth, simulate, times, write, write_of_kernel};

/// Recorded kernel traces with switches and wakeups: from LTTng, one of them with only switches and one in another byte
/// order, and from perf.
const TRACES: [&str; 4] = ["bug446190", "flipping-endianness", "perf-taskset2", "synctraces/scp_dest"];

/// Larger LTTng traces that resemble the others, for complete sweeps.
const ALIKE: [&str; 2] = ["many-threads", "synctraces/scp_src"];

/// Nanoseconds by thread and state.
type Times = BTreeMap<(u64, String), u64>;

/// Returns the existing recorded traces.
fn traces() -> impl Iterator<Item = PathBuf> {
    let alike = ALIKE.into_iter().filter(|_| is_complete_sweep());
    TRACES.into_iter().chain(alike).filter_map(|name| recorded(format!("ctf/real/tracecompass/{name}")))
}

/// Rows of each query.
type Rows = [Vec<Vec<Json>>; 3];

/// Returns what SQL finds in each trace: all queries, in one process.
fn query(database: &DuckDb, traces: &[PathBuf], directory: &Directory) -> Vec<Rows> {
    let table = |(number, trace): (usize, &PathBuf)| {
        let events = directory.join(format!("{number}.csv"));
        ichnos([Path::new("cat"), Path::new("-qfcsv"), Path::new("-o"), &events, trace]).expect(0, &[]);
        events
    };
    let tables: Vec<PathBuf> = traces.iter().enumerate().map(table).collect();
    let found = database.query(&tables, &KernelQuery::ALL);
    found.iter().map(|rows| serde_json::from_str(rows).unwrap()).collect()
}

/// Returns the times that SQL finds. `with_first` includes times before the processor's first switch.
fn times_in(rows: &[Vec<Json>], with_first: bool) -> Times {
    let time = |row: &[Json]| {
        let before = if with_first { 0 } else { row[3].as_u64().unwrap() };
        row[2].as_u64().unwrap() - before
    };
    let times = rows.iter().map(|row| {
        let state = row[1].as_str().unwrap().to_owned();
        ((row[0].as_u64().unwrap(), state), time(row))
    });
    times.filter(|(_, time)| *time > 0).collect()
}

/// Returns the times that the trace processor finds in a Perfetto file. `end` is the end of the trace.
fn times_in_perfetto(processor: &TraceProcessor, file: &Path, end: u64) -> Times {
    // A thread's last state is open. A thread that has ended is in the state `x`.
    let query = format!(
        "select tid, state, sum(case dur when -1 then {end} - ts else dur end) as ns \
         from thread_state join thread using (utid) where tid != 0 and state != 'x' group by tid, state"
    );
    let mut sums = Times::new();
    for row in processor.query(file, &[&query]).lines() {
        let row: Json = serde_json::from_str(row).unwrap();
        let state = match row["state"].as_str().unwrap() {
            "Running" => "running",
            "R" | "R+" => "runnable",
            "S" | "I" | "P" => "sleeping",
            "D" | "DK" => "waiting",
            "T" | "t" => "stopped",
            other => panic!("{}: state {other}", file.display()),
        };
        // Numbers that JavaScript would round are texts.
        let ns = row["ns"].as_u64().or_else(|| row["ns"].as_str()?.parse().ok()).unwrap();
        if ns > 0 {
            *sums.entry((row["tid"].as_u64().unwrap(), state.to_owned())).or_default() += ns;
        }
    }
    sums
}

/// SQL finds the same states, spans and critical paths, and Perfetto finds the same states.
#[test]
fn recorded_traces_equal_sql_and_the_trace_processor() {
    let test = "recorded_traces_equal_sql_and_the_trace_processor";
    let Some(database) = DuckDb::find(test) else { return };
    let processor = TraceProcessor::find(test, Path::new(env!("CARGO_TARGET_TMPDIR")));
    let directory = Directory::new("kernel-in-sql");
    let traces: Vec<PathBuf> = traces().collect();
    let mut nested = 0;
    for (trace, [states, spans, paths]) in traces.iter().zip(query(&database, &traces, &directory)) {
        let end = states_equal(trace, &states);
        if let Some(processor) = &processor {
            let written = directory.join("written.pftrace");
            let arguments = ["convert", "-q", "--force", "--to", "perfetto", "-o"].map(Path::new);
            ichnos(arguments.into_iter().chain([&*written, trace])).expect(0, &[]);
            let sums = times_in_perfetto(processor, &written, end);
            assert_eq!(sums, times_in(&states, false), "{}", trace.display());
        }
        if !trace.ends_with("perf-taskset2") {
            nested += spans_equal(trace, &spans);
        }
        paths_equal(trace, paths);
    }
    assert!(nested > 3 || traces.is_empty(), "{nested}");
}

/// SQL finds the same states. Returns the end of the trace.
fn states_equal(trace: &Path, rows: &[Vec<Json>]) -> u64 {
    let wanted = times_in(rows, true);
    let arguments = ["threads", "--json", "--top", "1000000"].map(Path::new);
    let found = ichnos(arguments.into_iter().chain([trace])).expect(0, &[]).json();
    let mut sums = Times::new();
    for thread in found["threads"].as_array().unwrap() {
        for state in STATES {
            let time = thread[format!("{state}_ns")].as_u64().unwrap();
            if time > 0 {
                sums.insert((thread["thread"].as_u64().unwrap(), state.to_owned()), time);
            }
        }
    }
    assert!(wanted.len() > 20, "{}", trace.display());
    assert_eq!(sums, wanted, "{}", trace.display());
    found["end_ns"].as_u64().unwrap()
}

/// SQL finds the same total and self times of spans. Returns the number of names with nested spans.
fn spans_equal(trace: &Path, rows: &[Vec<Json>]) -> usize {
    let wanted: BTreeMap<String, Vec<u64>> = rows
        .iter()
        .map(|row| {
            let numbers = row[1..].iter().map(|number| number.as_u64().unwrap());
            (row[0].as_str().unwrap().to_owned(), numbers.collect())
        })
        .collect();
    let arguments = ["stats", "--spans", "--csv", "--top", "1000000"].map(Path::new);
    let found = ichnos(arguments.into_iter().chain([trace])).expect(0, &[]).out;
    let mut lines = found.lines().map(|line| line.split(','));
    let names: Vec<&str> = lines.next().unwrap().collect();
    let found: BTreeMap<String, Vec<u64>> = lines
        .map(|cells| {
            let cells: BTreeMap<&str, &str> = names.iter().copied().zip(cells).collect();
            let columns = ["pairs", "min_ns", "max_ns", "total_ns", "self_ns"];
            (cells["span"].to_owned(), columns.map(|name| cells[name].parse::<u64>().unwrap()).to_vec())
        })
        .collect();
    assert!(!wanted.is_empty(), "{}", trace.display());
    assert_eq!(found, wanted, "{}", trace.display());
    wanted.values().filter(|numbers| numbers[3] > numbers[4]).count()
}

/// Returns a thread's critical path: start, end, state and thread of each step.
fn path_of(trace: &Path, thread: u64) -> Vec<Vec<Json>> {
    let thread = thread.to_string();
    let arguments = ["threads", "--json", "--path", &thread].map(Path::new);
    let found = ichnos(arguments.into_iter().chain([trace])).expect(0, &[]).json();
    let steps = found["path"].as_array().unwrap().iter();
    steps
        .map(|step| ["begin_ns", "end_ns", "state", "thread"].map(|name| step[name].clone()).to_vec())
        .collect()
}

/// Returns the critical paths that SQL finds, by thread.
fn by_thread(rows: Vec<Vec<Json>>) -> BTreeMap<u64, Vec<Vec<Json>>> {
    let mut paths: BTreeMap<u64, Vec<Vec<Json>>> = BTreeMap::new();
    for mut row in rows {
        let step = row.split_off(1);
        paths.entry(row[0].as_u64().unwrap()).or_default().push(step);
    }
    paths
}

/// The same for a simulated scheduler, with a step for each change.
#[test]
fn simulated_critical_paths_equal_sql() {
    let test = "simulated_critical_paths_equal_sql";
    let Some(database) = DuckDb::find(test) else { return };
    ichnos_testing::cases(1, |random| {
        let directory = Directory::new("simulated");
        let traces: Vec<PathBuf> = (0..4).map(|number| directory.join(number.to_string())).collect();
        for trace in &traces {
            let processors = 1 + random.below(4) as usize;
            let threads = 2 + random.below(8) as u32;
            let (streams, _) = simulate(random, processors, threads, 400);
            std::fs::create_dir(trace).unwrap();
            write(trace, &streams);
        }
        for (trace, [_, _, paths]) in traces.iter().zip(query(&database, &traces, &directory)) {
            for (thread, path) in by_thread(paths) {
                assert_eq!(path_of(trace, thread), path, "{}: thread {thread}", trace.display());
            }
        }
    });
}

/// SQL finds the same critical paths of some threads, and of the thread with the longest path.
fn paths_equal(trace: &Path, rows: Vec<Vec<Json>>) {
    let wanted = by_thread(rows);
    let longest = wanted.iter().max_by_key(|(_, steps)| steps.len()).map(|(thread, _)| *thread);
    let step = wanted.len() / 4 + 1;
    let some = wanted.keys().copied().step_by(step);
    let mut others = 0;
    for thread in some.chain(longest) {
        let found = path_of(trace, thread);
        assert_eq!(found, wanted[&thread], "{}: thread {thread}", trace.display());
        others += found.iter().filter(|step| step[3] != thread).count();
    }
    // One trace lacks wakeups.
    assert!(others > 100 || trace.ends_with("flipping-endianness"), "{}: {others}", trace.display());
}

/// Linux versions have different bits for preempted, idle, parked and ended threads.
#[test]
fn states_of_all_versions_of_linux() {
    let test = "states_of_all_versions_of_linux";
    let processor = TraceProcessor::find(test, Path::new(env!("CARGO_TARGET_TMPDIR")));
    let directory = Directory::new("linux-versions");
    for (release, bits) in [
        ("3.10.31-ltsi", [0x400, 0x402, 0x200, 0x40]),
        ("4.4.3-1-ARCH", [0x800, 0x402, 0x200, 0x40]),
        ("4.9.0", [0x1000, 0x402, 0x200, 0x40]),
        ("4.14.0", [0x100, 0x80, 0x40, 0x10]),
        ("6.1.0-18-amd64", [0x100, 0x80, 0x40, 0x10]),
    ] {
        let mut stream = Events::default();
        stream.switch(100, (0, 0), 1);
        for (thread, bits) in (1..).zip(bits) {
            stream.switch(100 + 100 * u64::from(thread), (thread, bits), (thread + 1) % 5);
        }
        stream.wake(600, 9);
        write_of_kernel(&directory, &[stream], release);
        let trace = directory.to_str().unwrap();
        let mut wanted: Truth = (1..=4).map(|thread| ((thread, "running"), 100)).collect();
        wanted.extend([((1, "runnable"), 400), ((2, "sleeping"), 300), ((3, "sleeping"), 200)]);
        assert_eq!(times(trace), wanted, "{release}");
        let Some(processor) = &processor else { continue };
        let output = Directory::new("linux-version");
        let written = output.join("written.pftrace");
        ichnos(["convert", "-q", "--to", "perfetto", "-o", written.to_str().unwrap(), trace]).expect(0, &[]);
        let query = "select distinct tid, state from thread_state join thread using (utid) \
                     where tid between 1 and 4 and state not in ('Running', 'X', 'x') order by tid";
        let rows = processor.query(&written, &[query]);
        let states: Vec<Json> = rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
        let states: Vec<(u64, &str)> =
            states.iter().map(|row| (row["tid"].as_u64().unwrap(), row["state"].as_str().unwrap())).collect();
        assert_eq!(states, [(1, "R+"), (2, "I"), (3, "P")], "{release}");
    }
}
