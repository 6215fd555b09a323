//! A program that sends reports through a queue to `ichnos collect`, which is killed again and again.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, ErrorKind};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ichnos_xtrace::propagation::{Context, QueuedReporter, Tracer};

use crate::support::{Directory, command, ichnos};

/// Starts a collector at an address. Returns when it listens.
fn start(directory: &Path, address: &str) -> Child {
    let mut command = command();
    command.args(["collect", "--json", "--tcp", address, "-o"]).arg(directory);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("listening"), "{line}");
    child
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Every acknowledged report is in the files, whenever the collector is killed, and the task graph is complete.
#[test]
fn accepted_reports_survive_kills() {
    const THREADS: usize = 3;
    const KILLS: u64 = 12;
    let directory = Directory::new("queued-reports");
    let target = directory.join("reports");
    // A port that is free at the moment.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let reporter = Arc::new(QueuedReporter::start(&*address).unwrap());
    let tracer = Tracer::new(Arc::clone(&reporter));
    let is_over = AtomicBool::new(false);
    let mut root = Context::start();
    root.event(&tracer, "root").send().unwrap();
    let task = root.task_id().to_string();
    let mut random = ichnos_testing::Random::new(7);
    let (taken, last) = thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|worker| {
                let (mut context, tracer, is_over) = (root.fork(), &tracer, &is_over);
                scope.spawn(move || {
                    let mut taken = BTreeSet::from(["root".to_owned()]);
                    for number in 0.. {
                        if is_over.load(Ordering::Relaxed) {
                            break;
                        }
                        let label = format!("worker {worker} step {number}");
                        if context.event(tracer, &label).send().is_ok() {
                            taken.insert(label);
                        }
                        thread::sleep(Duration::from_micros(if number % 50 == 0 { 3_000 } else { 150 }));
                    }
                    (taken, context)
                })
            })
            .collect();
        let mut connections = 0;
        let mut collector = start(&target, &address);
        for _ in 0..KILLS {
            // Each collector must get a connection, however long it takes until it listens.
            let deadline = Instant::now() + Duration::from_secs(60);
            while reporter.counts().connections <= connections && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(1));
            }
            connections = reporter.counts().connections;
            thread::sleep(Duration::from_millis(random.below(120)));
            kill(collector);
            thread::sleep(Duration::from_millis(random.below(60)));
            collector = start(&target, &address);
        }
        is_over.store(true, Ordering::Relaxed);
        let mut taken = BTreeSet::new();
        for worker in workers {
            let (labels, context) = worker.join().unwrap();
            taken.extend(labels);
            root.join(context).unwrap();
        }
        (taken, collector)
    });
    // On a busy machine, the queue may still be full: then the event is not accepted.
    let deadline = Instant::now() + Duration::from_secs(60);
    while let Err(error) = root.event(&tracer, "end").send() {
        assert!(error.kind() == ErrorKind::WouldBlock && Instant::now() < deadline, "{error}");
        thread::sleep(Duration::from_millis(1));
    }
    reporter.flush(Duration::from_secs(120)).unwrap();
    // The collector has acknowledged the reports: nothing remains to be written.
    kill(last);
    let counts = reporter.counts();
    assert_eq!(counts.taken, counts.acknowledged, "{counts:?}");
    assert_eq!((counts.sent, counts.refused, counts.waiting, counts.abandoned), (0, 0, 0, 0), "{counts:?}");
    assert_eq!(counts.taken, taken.len() as u64 + 1);
    assert!(counts.connections > KILLS / 2, "{counts:?}");

    // A report that was being written when the collector was killed was not acknowledged. Its start is kept in a
    // separate file. It would count as damage.
    for file in std::fs::read_dir(&target).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "damaged") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let out = ichnos(["cat".as_ref(), "--format=jsonl".as_ref(), target.as_os_str()]).expect(0, &[]).out;
    let mut found = BTreeSet::new();
    for line in out.lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        found.extend(event["payload"]["Label"].as_str().map(str::to_owned));
    }
    let missing: Vec<_> = taken.difference(&found).collect();
    assert!(missing.is_empty(), "{} of {} are missing: {missing:?}", missing.len(), taken.len());
    assert_eq!(found.len() as u64, counts.taken);
    let list = ichnos(["task".as_ref(), "list".as_ref(), "--json".as_ref(), target.as_os_str()]);
    let list = list.expect(0, &[]).json();
    let found = &list["tasks"][0];
    assert_eq!((&found["id"], &found["nodes"]), (&task.into(), &counts.taken.into()), "{found}");
    assert_eq!((&found["dangling"], &found["roots"]), (&0.into(), &1.into()), "{found}");
}
