//! Thread states and critical paths over wakeups, compared with a simulated scheduler that knows them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ichnos_testing::Random;
use serde_json::Value as Json;

use crate::support::{Directory, ichnos, recorded};

/// LTTng kernel tracer metadata with scheduler events.
const METADATA: &str = r#"/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
typealias integer { size = 64; align = 8; signed = true; } := s64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };
clock { name = mono; freq = 1000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.mono.value; } := time;
stream {
    id = 0;
    packet.context := struct { u64 content_size; u64 packet_size; u32 cpu_id; };
    event.header := struct { u32 id; time timestamp; };
};
event { id = 0; stream_id = 0; name = "sched_switch"; fields := struct {
    string prev_comm; u32 prev_tid; s64 prev_state; string next_comm; u32 next_tid; }; };
event { id = 1; stream_id = 0; name = "sched_waking"; fields := struct { string comm; u32 tid; }; };
event { id = 2; stream_id = 0; name = "syscall_entry_futex"; fields := struct { u32 op; }; };
event { id = 3; stream_id = 0; name = "syscall_exit_futex"; fields := struct { u32 ret; }; };
event { id = 4; stream_id = 0; name = "irq_handler_entry"; fields := struct { u32 irq; string name; }; };
event { id = 5; stream_id = 0; name = "irq_handler_exit"; fields := struct { u32 irq; u32 ret; }; };
event { id = 6; stream_id = 0; name = "sched_process_fork"; fields := struct {
    u32 parent_tid; string child_comm; u32 child_tid; u32 child_pid; }; };
event { id = 7; stream_id = 0; name = "mm_page_fault_entry"; fields := struct { u32 code; }; };
event { id = 8; stream_id = 0; name = "mm_page_fault_exit"; fields := struct { u32 code; }; };
"#;

/// Data stream of a processor.
#[derive(Default)]
pub(crate) struct Events(Vec<u8>);

impl Events {
    pub(crate) fn event(&mut self, id: u32, time: u64) -> &mut Self {
        self.number(id);
        self.0.extend(time.to_le_bytes());
        self
    }

    fn number(&mut self, number: u32) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.0.extend(text.bytes().chain([0]));
        self
    }

    pub(crate) fn switch(&mut self, time: u64, previous: (u32, i64), next: u32) {
        self.event(0, time).text(&name(previous.0)).number(previous.0);
        self.0.extend(previous.1.to_le_bytes());
        self.text(&name(next)).number(next);
    }

    pub(crate) fn fork(&mut self, time: u64, parent: u32, child: u32) {
        self.event(6, time).number(parent).text(&name(child)).number(child).number(child);
    }

    pub(crate) fn wake(&mut self, time: u64, thread: u32) {
        self.event(1, time).text(&name(thread)).number(thread);
    }
}

fn name(thread: u32) -> String {
    if thread == 0 { "swapper".to_owned() } else { format!("t{thread}") }
}

/// Writes a trace with one data stream per processor.
pub(crate) fn write(directory: &Path, streams: &[Events]) {
    write_of_kernel(directory, streams, "4.4.0");
}

/// Writes a trace from a kernel with this version.
pub(crate) fn write_of_kernel(directory: &Path, streams: &[Events], release: &str) {
    let environment = format!("env {{ kernel_release = \"{release}\"; }};\nclock {{");
    fs::write(directory.join("metadata"), METADATA.replacen("clock {", &environment, 1)).unwrap();
    for (processor, events) in (0_u32..).zip(streams) {
        let mut packet = 0xC1FC_1FC1_u32.to_le_bytes().to_vec();
        packet.extend(0_u32.to_le_bytes());
        let size = 8 * (28 + events.0.len() as u64);
        packet.extend([size, size].into_iter().flat_map(u64::to_le_bytes));
        packet.extend(processor.to_le_bytes());
        packet.extend(&events.0);
        fs::write(directory.join(format!("channel_{processor}")), packet).unwrap();
    }
}

/// True time by thread and state name.
pub(crate) type Truth = BTreeMap<(u32, &'static str), u64>;

#[derive(Clone, Copy)]
struct Simulated {
    state: &'static str,
    since: u64,
}

/// Simulates a scheduler. Returns the data streams, and each thread's time in each state.
pub(crate) fn simulate(
    random: &mut Random,
    processors: usize,
    threads: u32,
    steps: u64,
) -> (Vec<Events>, Truth) {
    let mut streams: Vec<Events> = (0..processors).map(|_| Events::default()).collect();
    let mut running = vec![0_u32; processors];
    let mut states: BTreeMap<u32, Simulated> = BTreeMap::new();
    let mut truth = Truth::new();
    let mut time = 1_000;
    let change = |thread: u32,
                  state: &'static str,
                  time: u64,
                  states: &mut BTreeMap<u32, Simulated>,
                  truth: &mut Truth| {
        let new = Simulated { state, since: time };
        if let Some(old) = states.insert(thread, new).filter(|old| old.state != "dead") {
            *truth.entry((thread, old.state)).or_default() += time - old.since;
        }
    };
    for _ in 0..steps {
        time += 1 + random.below(50);
        let processor = random.below(processors as u64) as usize;
        let current = running[processor];
        let events = &mut streams[processor];
        if random.below(3) == 0 {
            // Wakes up a thread, which may be new, from an interrupt or the running thread, or starts it.
            let thread = 1 + random.below(threads.into()) as u32;
            let state = states.get(&thread).map_or("dead", |known| known.state);
            let by_interrupt = random.below(4) == 0;
            if by_interrupt {
                events.event(4, time).number(7).text("disk");
            }
            match state == "dead" && !by_interrupt && random.below(2) == 0 {
                true => events.fork(time, current, thread),
                false => events.wake(time, thread),
            }
            if by_interrupt {
                events.event(5, time).number(7).number(1);
            }
            if !matches!(state, "running" | "runnable") {
                change(thread, "runnable", time, &mut states, &mut truth);
            }
            continue;
        }
        let ready: Vec<u32> =
            states.iter().filter(|(_, known)| known.state == "runnable").map(|(thread, _)| *thread).collect();
        let next = match ready.len() as u64 {
            0 => 0,
            number => ready[random.below(number) as usize],
        };
        if next == current {
            continue;
        }
        let (state, bits) = [
            ("runnable", 0),
            ("runnable", 0x100),
            ("sleeping", 1),
            ("waiting", 2),
            ("stopped", 4),
            ("dead", 0x10),
        ][random.below(6) as usize];
        events.switch(time, (current, if current == 0 { 0 } else { bits }), next);
        if current != 0 {
            change(current, state, time, &mut states, &mut truth);
        }
        if next != 0 {
            change(next, "running", time, &mut states, &mut truth);
        }
        running[processor] = next;
    }
    // Last event in the trace.
    time += 1;
    streams[0].wake(time, 1_000_000);
    let open: Vec<_> = states.keys().copied().collect();
    open.into_iter().for_each(|thread| change(thread, "dead", time, &mut states, &mut truth));
    truth.retain(|_, time| *time > 0);
    (streams, truth)
}

pub(crate) const STATES: [&str; 6] = ["running", "runnable", "sleeping", "waiting", "stopped", "unknown"];

/// Returns the command's times by thread and state.
pub(crate) fn times(path: &str) -> Truth {
    let found = ichnos(["threads", "--json", "--top", "1000000", path]).expect(0, &[]).json();
    let mut times = Truth::new();
    for thread in found["threads"].as_array().unwrap() {
        for state in STATES {
            let time = thread[format!("{state}_ns")].as_u64().unwrap();
            if time > 0 {
                times.insert((thread["thread"].as_u64().unwrap() as u32, state), time);
            }
        }
    }
    times
}

#[test]
fn states_equal_a_simulated_scheduler() {
    ichnos_testing::cases(8, |random| {
        let processors = 1 + random.below(4) as usize;
        let threads = 1 + random.below(12) as u32;
        let (streams, truth) = simulate(random, processors, threads, 600);
        let directory = Directory::new("thread-states");
        write(&directory, &streams);
        let path = directory.to_str().unwrap();
        assert_eq!(times(path), truth);
        for thread in 1..=threads {
            check_path(path, thread, &truth);
        }
    });
}

/// Checks that the steps in a path are consecutive, and that each agrees with the true thread state.
fn check_path(path: &str, thread: u32, truth: &Truth) {
    let run = ichnos(["threads", "--json", "--path", &thread.to_string(), path]);
    if !truth.keys().any(|(known, _)| *known == thread) {
        run.expect(1, &["no scheduler events for thread"]);
        return;
    }
    let found = run.expect(0, &[]).json();
    let steps = found["path"].as_array().unwrap();
    let number = |step: &Json, name: &str| step[name].as_u64().unwrap();
    for pair in steps.windows(2) {
        assert_eq!(number(&pair[0], "end_ns"), number(&pair[1], "begin_ns"), "{pair:?}");
    }
    let mut sums = Truth::new();
    for step in steps {
        let (begin, end) = (number(step, "begin_ns"), number(step, "end_ns"));
        assert!(begin < end, "{step}");
        let state = STATES.into_iter().find(|state| step["state"] == *state).unwrap();
        *sums.entry((number(step, "thread") as u32, state)).or_default() += end - begin;
    }
    for (key, time) in sums {
        // Between the exit of a thread and the next thread with its number, the state is unknown.
        assert!(key.1 == "unknown" || truth.get(&key).is_some_and(|all| time <= *all), "{key:?}: {time}");
    }
}

/// Two threads and an interrupt: 1 waits for 2, which waits for the disk.
#[test]
fn a_path_leads_to_the_running_thread() {
    let mut streams = [Events::default(), Events::default()];
    streams[0].fork(50, 9, 1);
    streams[0].wake(100, 1);
    streams[0].switch(110, (0, 0), 1);
    streams[0].event(2, 200).number(0);
    streams[0].switch(210, (1, 1), 0);
    streams[1].wake(120, 2);
    streams[1].switch(130, (0, 0), 2);
    streams[1].switch(300, (2, 2), 0);
    streams[1].event(4, 400).number(7).text("disk");
    streams[1].wake(400, 2);
    streams[1].event(5, 405).number(7).number(1);
    streams[1].switch(420, (0, 0), 2);
    streams[1].wake(500, 1);
    streams[0].switch(520, (0, 0), 1);
    streams[0].event(3, 530).number(0);
    streams[0].switch(600, (1, 1), 0);
    streams[1].switch(700, (2, 1), 0);
    let directory = Directory::new("thread-path");
    write(&directory, &streams);
    let path = directory.to_str().unwrap();
    let steps = |options: &[&str]| {
        let found = ichnos([&["threads", "--csv", "--path", "1", path], options].concat());
        found.expect(0, &[]).out
    };
    let head = "begin_ns,end_ns,state,thread,name,waits_in,ended_by\n";
    let of_wait = "210,300,running,2,t2,,\n300,400,waiting,2,t2,,disk\n400,420,runnable,2,t2,,\n420,500,running,2,t2,,\n";
    // The thread can run since its fork.
    let ran = "50,110,runnable,1,t1,,\n110,210,running,1,t1,,\n";
    let last = "500,520,runnable,1,t1,,\n520,600,running,1,t1,,\n";
    // The path ends with thread 1's last sleep, whose end is unknown.
    assert_eq!(steps(&[]), format!("{head}{ran}{of_wait}{last}600,700,sleeping,1,t1,,\n"));
    assert_eq!(
        steps(&["--during", "@150,@550"]),
        format!("{head}150,210,running,1,t1,,\n{of_wait}500,520,runnable,1,t1,,\n520,550,running,1,t1,,\n")
    );
    let found = ichnos(["threads", "--json", path]).expect(0, &[]).json();
    let wait = &found["longest_waits"][0];
    assert_eq!((&wait["begin_ns"], &wait["end_ns"]), (&210.into(), &500.into()));
    assert_eq!((&wait["waits_in"], &wait["ended_by"]["thread"]), (&"futex".into(), &2.into()));
    assert_eq!(found["longest_waits"][1]["ended_by"]["interrupt"], "disk");
    let text = ichnos(["threads", "--clock-gmt", path]).expect(0, &[]).out;
    assert!(text.contains("2 processors"), "{text}");
}

/// Before its fork, a thread is not on the path: 1 waits for 3, which 2 starts meanwhile.
#[test]
fn a_path_continues_in_the_forking_thread() {
    let mut streams = [Events::default(), Events::default()];
    streams[0].switch(100, (0, 0), 1);
    streams[0].switch(200, (1, 1), 0);
    streams[1].switch(150, (0, 0), 2);
    streams[1].fork(300, 2, 3);
    streams[0].switch(320, (0, 0), 3);
    streams[0].wake(400, 1);
    streams[0].switch(410, (3, 0x10), 1);
    streams[0].switch(500, (1, 1), 0);
    streams[1].switch(600, (2, 1), 0);
    let directory = Directory::new("forked-path");
    write(&directory, &streams);
    let path = directory.to_str().unwrap();
    let found = ichnos(["threads", "--csv", "--path", "1", path]).expect(0, &[]).out;
    let steps: Vec<&str> = found.lines().skip(1).collect();
    let expected = [
        "100,200,running,1,t1,,",
        "200,300,running,2,t2,,",
        "300,320,runnable,3,t3,,",
        "320,400,running,3,t3,,",
        "400,410,runnable,1,t1,,",
        "410,500,running,1,t1,,",
        "500,600,sleeping,1,t1,,",
    ];
    assert_eq!(steps, expected);
    let found = ichnos(["threads", "--json", path]).expect(0, &[]).json();
    let wait = &found["longest_waits"][0];
    assert_eq!((&wait["ended_by"]["thread"], &wait["ended_by"]["name"]), (&3.into(), &"t3".into()));
}

/// Page faults within a system call, and another call: 300 ns including 70 ns of faults, and 10 ns.
#[test]
fn spans_of_threads_have_totals_and_own_times() {
    let mut streams = [Events::default()];
    streams[0].wake(100, 1);
    streams[0].switch(110, (0, 0), 1);
    for (id, time) in [(2, 200), (7, 250), (8, 300), (7, 310), (8, 330), (3, 500), (2, 600), (3, 610)] {
        streams[0].event(id, time).number(0);
    }
    let directory = Directory::new("thread-spans");
    write(&directory, &streams);
    let run = |options: &[&str]| {
        let path = directory.to_str().unwrap();
        ichnos([&["stats", "--spans", path, "--clock-seconds"], options].concat()).expect(0, &[]).out
    };
    let head = "span,pairs,min_ns,mean_ns,p50_ns,p90_ns,p99_ns,max_ns,total_ns,self_ns\n";
    let futex = "futex,2,10,155,10,300,300,300,310,240\n";
    let faults = "page fault,2,20,35,20,50,50,50,70,70\n";
    for order in ["total", "self", "mean"] {
        assert_eq!(run(&["--csv", "--sort", order]), format!("{head}{futex}{faults}"), "{order}");
    }
    let longer = "futex,1,300,300,300,300,300,300,300,230\npage fault,1,50,50,50,50,50,50,50,50\n";
    assert_eq!(run(&["--csv", "--sort", "total", "--longer-than", "20ns"]), format!("{head}{longer}"));
    let text = run(&["--sort", "total"]);
    let first = text.lines().find(|line| line.starts_with(" 300 ns")).unwrap_or_default();
    let end: Vec<&str> = first.split_whitespace().rev().take(2).collect();
    assert_eq!(end, ["1", "futex"], "{text}");
    let found: Json = serde_json::from_str(&run(&["--json"])).unwrap();
    let slowest = &found["pairs"]["slowest"][0];
    assert_eq!((&slowest["thread"], &slowest["latency_ns"]), (&"1".into(), &300.into()), "{found}");
    assert_eq!(found["pairs"]["self_ns"], 310);
}

/// A page fault within another page fault whose end was lost still belongs to the system call around both.
#[test]
fn own_times_exclude_spans_within_unended_spans() {
    let mut streams = [Events::default()];
    streams[0].switch(110, (0, 0), 1);
    for (id, time) in [(2, 200), (7, 250), (7, 300), (8, 330), (3, 500)] {
        streams[0].event(id, time).number(0);
    }
    let directory = Directory::new("lost-spans");
    write(&directory, &streams);
    let run = ichnos(["stats", "--spans", "--csv", "--sort", "total", directory.to_str().unwrap()]);
    let found = run.expect(0, &[]).out;
    let rows: Vec<&str> = found.lines().skip(1).collect();
    assert_eq!(rows, ["futex,1,300,300,300,300,300,300,300,270", "page fault,1,30,30,30,30,30,30,30,30"]);
}

/// The thread before a processor's first switch has run since the processor's first event, even if other threads woke
/// it up.
#[test]
fn processors_run_threads_before_their_first_switch() {
    let mut streams = [Events::default(), Events::default()];
    streams[0].wake(10, 1);
    streams[1].event(4, 40).number(7).text("disk");
    streams[1].event(5, 45).number(7).number(1);
    streams[0].wake(60, 1);
    streams[1].switch(100, (1, 1), 0);
    streams[0].wake(200, 9);
    let directory = Directory::new("first-switch");
    write(&directory, &streams);
    let wanted = Truth::from([((1, "running"), 60), ((1, "sleeping"), 100), ((1, "unknown"), 30)]);
    assert_eq!(times(directory.to_str().unwrap()), wanted);
}

/// A forked thread can run since its fork, with or without a wakeup.
#[test]
fn forked_threads_can_run_since_their_fork() {
    let mut streams = [Events::default()];
    for thread in [1, 2] {
        streams[0].fork(50, 9, thread);
    }
    streams[0].wake(60, 1);
    streams[0].switch(100, (0, 0), 1);
    streams[0].switch(150, (1, 1), 2);
    streams[0].switch(200, (2, 1), 0);
    streams[0].wake(300, 9);
    let directory = Directory::new("forked-threads");
    write(&directory, &streams);
    let first = [((1, "runnable"), 50), ((1, "running"), 50), ((1, "sleeping"), 150)];
    let second = [((2, "runnable"), 100), ((2, "running"), 50), ((2, "sleeping"), 100)];
    let wanted: Truth = first.into_iter().chain(second).collect();
    assert_eq!(times(directory.to_str().unwrap()), wanted);
}

#[test]
fn traces_without_switches() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hello-xtrace");
    ichnos(["threads", path]).expect(1, &["no selected event shows which thread runs"]);
}

/// Returns the first number with this name in an event's line. Parsing many events as JSON would take seconds.
pub(crate) fn number_in_line(line: &str, name: &str) -> u64 {
    let (_, rest) = line.split_once(&format!("\"{name}\":")).unwrap();
    rest.split(',').next().unwrap().parse().unwrap()
}

/// Returns each thread's running time, computed from switches alone.
#[test]
fn running_times_of_a_kernel_trace() {
    let Some(path) = recorded("ctf/real/tracecompass/many-threads") else { return };
    let path = path.to_str().unwrap();
    let all = ichnos(["cat", "--format", "jsonl", path]).expect(0, &[]).out;
    let events = || all.lines().filter(|line| line.starts_with("{\"type\":\"event\","));
    let mut last = 0;
    let mut since: BTreeMap<u64, u64> = BTreeMap::new();
    for line in events() {
        let (stream, time) = (number_in_line(line, "stream"), number_in_line(line, "ts"));
        last = time.max(last);
        since.entry(stream).or_insert(time);
    }
    let mut running: BTreeMap<u64, u64> = BTreeMap::new();
    let mut expected: BTreeMap<u64, u64> = BTreeMap::new();
    for line in events().filter(|line| line.contains("\"name\":\"sched_switch\"")) {
        let event: Json = serde_json::from_str(line).unwrap();
        let (time, payload) = (event["ts"].as_u64().unwrap(), &event["payload"]);
        let stream = event["stream"].as_u64().unwrap();
        let begin = since.insert(stream, time).unwrap();
        *expected.entry(payload["prev_tid"].as_u64().unwrap()).or_default() += time - begin;
        running.insert(stream, payload["next_tid"].as_u64().unwrap());
    }
    for (stream, thread) in running {
        *expected.entry(thread).or_default() += last - since[&stream];
    }
    expected.retain(|thread, time| *thread != 0 && *time > 0);
    let found = times(path).into_iter().filter(|((_, state), _)| *state == "running");
    let found: BTreeMap<u64, u64> = found.map(|((thread, _), time)| (thread.into(), time)).collect();
    assert_eq!(found, expected);
}
