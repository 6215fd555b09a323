//! Contexts: their reports, and graphs that stay connected in all cases.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::net::{TcpListener, UdpSocket};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{self, Poll, Waker};
use std::time::Duration;

use ichnos_testing::{Random, cases};
use ichnos_xtrace::option::{ChainId, Definition, Propagation, Registry, Severity};
use ichnos_xtrace::propagation::{
    DifferentTask, Entered, InContext, MemoryReporter, Reporter, SharedContext, TcpReporter, UdpReporter,
    WithContext, WriterReporter,
};
use ichnos_xtrace::{Context, Edge, EdgeKind, Metadata, OpId, TaskId, Tracer};

use crate::figure_1;

/// Report content.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) metadata: Metadata,
    pub(crate) edges: Vec<Edge>,
    pub(crate) lines: Vec<(String, String)>,
}

impl Parsed {
    pub(crate) fn of(report: &str) -> Self {
        let mut lines = report.lines();
        assert_eq!(lines.next(), Some("X-Trace Report ver 1.0"));
        let lines: Vec<_> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let metadata = Metadata::parse(&lines[0].1).unwrap();
        assert!(metadata.is_valid() && metadata.op_id().is_valid());
        let edges = lines.iter().filter(|line| line.0 == "Edge").map(|line| line.1.parse().unwrap());
        Self { metadata, edges: edges.collect(), lines }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.lines.iter().find(|line| line.0 == key).map(|line| &*line.1)
    }

    pub(crate) fn label(&self) -> &str {
        self.get("Label").unwrap()
    }
}

pub(crate) fn parsed(collected: &MemoryReporter) -> Vec<Parsed> {
    collected.take().iter().map(|report| Parsed::of(report)).collect()
}

/// Returns all edges by label, such as `a down c`, in alphabetical order.
pub(crate) fn edges(reports: &[Parsed]) -> Vec<String> {
    let labels: BTreeMap<OpId, &str> =
        reports.iter().map(|report| (report.metadata.op_id(), report.label())).collect();
    assert_eq!(labels.len(), reports.len(), "an identifier came twice");
    let mut edges = Vec::new();
    for report in reports {
        for edge in &report.edges {
            let from = labels.get(&edge.op).expect("each edge is from something that was reported");
            edges.push(format!("{from} {} {}", edge.kind.name(), report.label()));
        }
    }
    edges.sort();
    edges
}

fn tracer() -> (MemoryReporter, Tracer) {
    let collected = MemoryReporter::default();
    let tracer = Tracer::new(collected.clone()).with_host("here").with_agent("test");
    (collected, tracer)
}

#[test]
fn figure_1_is_rebuilt() {
    let (reports, answer) = figure_1::run().unwrap();
    let reports: Vec<_> = reports.iter().map(|report| Parsed::of(report)).collect();
    let labels: BTreeSet<_> = reports.iter().map(Parsed::label).collect();
    assert_eq!(labels, BTreeSet::from(["a", "b", "c", "d", "e", "f", "g", "h", "i"]));
    assert_eq!(
        edges(&reports),
        [
            "a down c", "a next b", "b down e", "c down f", "c next d", "d up b", "e down i", "f next g",
            "g next h", "h up d",
        ]
    );
    let layers = |layer: &str| {
        let of_layer = reports.iter().filter(|report| report.get("Layer") == Some(layer));
        of_layer.map(Parsed::label).collect::<BTreeSet<_>>()
    };
    assert_eq!(layers("HTTP"), BTreeSet::from(["a", "b"]));
    assert_eq!(layers("TCP"), BTreeSet::from(["c", "d", "e"]));
    assert_eq!(layers("IP"), BTreeSet::from(["f", "g", "h", "i"]));
    let tasks: BTreeSet<_> = reports.iter().map(|report| report.metadata.task_id()).collect();
    assert_eq!(tasks.len(), 1);
    // <T,b>, <T,e> and <T,i> arrived at the server, and its answer at the client.
    let op = |label| reports.iter().find(|report| report.label() == label).unwrap().metadata.op_id();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with(&format!("{} {} {}", op("b"), op("e"), op("i"))), "{answer}");
}

#[test]
fn an_event_has_its_report() {
    let (collected, tracer) = tracer();
    let mut context = Context::start();
    let task = context.task_id();
    assert!(!context.metadata().op_id().is_valid());
    assert!(context.event(&tracer, "begin").field("Count", 3).text("Path", "a\nb").send().unwrap());
    let first = context.metadata().op_id();
    assert!(context.event(&tracer, "end").send().unwrap());
    let texts = collected.take();
    assert!(texts[0].contains("\nEscaped: 1\n") && texts[0].contains("\nPath: a\\nb\n"), "{}", texts[0]);
    let report = Parsed::of(&texts[1]);
    assert_eq!(report.metadata.task_id(), task);
    assert_eq!(report.edges, [Edge::next(first)]);
    let keys: Vec<_> = report.lines.iter().map(|line| &*line.0).collect();
    assert_eq!(keys, ["X-Trace", "Edge", "Timestamp", "Host", "Agent", "Label"]);
    let (seconds, millis) = report.get("Timestamp").unwrap().split_once('.').unwrap();
    assert!(seconds.len() == 10 && millis.len() == 3);
}

#[test]
fn what_is_not_sent_did_not_happen() {
    let (collected, tracer) = tracer();
    let mut context = Context::start();
    context.event(&tracer, "a").send().unwrap();
    let before = context.metadata().clone();
    let _ = context.event(&tracer, "dropped");
    assert_eq!(*context.metadata(), before);

    struct Broken;
    impl Reporter for Broken {
        fn report(&self, _: &[u8]) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }
    assert!(context.event(&Tracer::new(Broken), "lost").send().is_err());
    assert_eq!(*context.metadata(), before);
    context.event(&tracer, "b").send().unwrap();
    assert_eq!(edges(&parsed(&collected)), ["a next b"]);
}

#[test]
fn thresholds_leave_events_out() {
    let (collected, tracer) = tracer();
    let mut context = Context::start();
    let all = |context: &mut Context, name: &str| {
        for level in 0..8 {
            let label = format!("{name}{level}");
            let is_reported = context.event_of(&tracer, Severity(level), &label).send().unwrap();
            assert_eq!(is_reported, context.reports(&tracer, Severity(level)));
        }
        parsed(&collected)
    };
    // Without a task threshold, the tracer threshold applies.
    assert_eq!(all(&mut context, "default ").len(), 7);
    context.set_threshold(Severity::ERROR).unwrap();
    let reports = all(&mut context, "error ");
    let labels: Vec<_> = reports.iter().map(Parsed::label).collect();
    assert_eq!(labels, ["error 0", "error 1", "error 2", "error 3"]);
    assert_eq!(reports[3].get("Severity"), Some("3"));
    // Skipped events do not matter: each event follows the last reported event.
    assert_eq!(reports[1].edges, [Edge::next(reports[0].metadata.op_id())]);
    // The threshold travels with the metadata.
    let other = Context::from_metadata(context.metadata().clone());
    assert!(!other.reports(&tracer, Severity::WARNING));
    context.set_threshold(Severity::NONE).unwrap();
    assert!(all(&mut context, "none ").is_empty());
    context.set_threshold(Severity::ALL).unwrap();
    assert_eq!(all(&mut context, "all ").len(), 8);
}

/// Metadata stores the threshold in a form for the original library, which keeps the low three bits.
#[test]
fn thresholds_travel_with_metadata() {
    let option = |context: &Context| context.metadata().option(Severity::NUMBER).map(<[u8]>::to_vec);
    let mut context = Context::start_with_threshold(Severity::INFO);
    assert_eq!(option(&context), Some(vec![6]));
    assert!(context.metadata().to_string().ends_with("03CE0106"));
    assert_eq!(option(&context.fork()), Some(vec![6]));
    context.set_threshold(Severity::ALL).unwrap();
    assert_eq!(option(&context), Some(vec![7]));
    for number in 0..=u8::MAX {
        context.set_threshold(Severity(number)).unwrap();
        let sent = match number {
            0..=7 | 255 => Some(vec![number]),
            8..=253 => Some(vec![7]),
            254 => None,
        };
        assert_eq!(option(&context), sent, "{number}");
    }
    context.set_threshold(Severity::UNSET).unwrap();
    assert_eq!(option(&context), None);
    assert_eq!(option(&Context::start_with_threshold(Severity::UNSET)), None);
    // Without a threshold, each program decides.
    let quiet = Tracer::new(()).with_threshold(Severity::ERROR);
    assert!(!context.reports(&quiet, Severity::WARNING) && context.reports(&Tracer::new(()), Severity::INFO));
    let told = Context::start_with_threshold(Severity::DEBUG);
    assert!(told.reports(&quiet, Severity::DEBUG));
}

#[test]
fn titles_and_tags() {
    let (collected, tracer) = tracer();
    let mut context = Context::start();
    context.event(&tracer, "begin").title("GET /\n").tag("web").tag("slow").send().unwrap();
    let text = collected.take().remove(0);
    assert!(text.ends_with("Label: begin\nTitle: GET /\\n\nTag: web\nTag: slow\n"), "{text}");
}

#[test]
fn forks_have_chains_and_joins_have_several_edges() {
    let (collected, tracer) = tracer();
    let mut main = Context::start();
    main.event(&tracer, "a").send().unwrap();
    let mut left = main.fork();
    let mut right = main.fork();
    left.event(&tracer, "l").send().unwrap();
    let mut deeper = left.fork();
    deeper.event(&tracer, "d").send().unwrap();
    right.event(&tracer, "r").send().unwrap();
    left.join(deeper).unwrap();
    main.join(left).unwrap();
    main.join(right).unwrap();
    // Joining twice has no effect.
    main.join(main.clone()).unwrap();
    main.event(&tracer, "z").send().unwrap();
    main.event(&tracer, "end").send().unwrap();
    let reports = parsed(&collected);
    let expected =
        ["a next l", "a next r", "a next z", "d next z", "l next d", "l next z", "r next z", "z next end"];
    assert_eq!(edges(&reports), expected);
    let by_label: BTreeMap<_, _> = reports.iter().map(|report| (report.label(), report)).collect();
    let chain = |label: &str| ChainId::from_metadata(by_label[label].metadata.as_ref()).unwrap();
    for label in ["l", "r", "d"] {
        assert_eq!(by_label[label].get("ChainId"), Some(&*chain(label).unwrap().to_string()));
    }
    assert_eq!((chain("a"), chain("z"), by_label["z"].get("ChainId")), (None, None, None));
    // Edges name their chain where it differs.
    assert_eq!(by_label["l"].edges[0].chain, None);
    assert_eq!(by_label["d"].edges[0].chain, chain("l").filter(|_| chain("l") != chain("d")));
    let chains: BTreeSet<_> = by_label["z"].edges.iter().map(|edge| edge.chain).collect();
    assert_eq!(chains, BTreeSet::from([None, chain("l"), chain("r"), chain("d")]));
}

/// Joined operations keep their chain wherever the context is joined next.
#[test]
fn edges_keep_their_chain_in_other_contexts() {
    let (collected, tracer) = tracer();
    let mut main = Context::start();
    main.event(&tracer, "main").send().unwrap();
    // Forks with different chains, regardless of the random numbers.
    let mut forks: Vec<Context> = Vec::new();
    while forks.len() < 2 {
        let mut fork = main.fork();
        fork.event(&tracer, if forks.is_empty() { "left" } else { "right" }).send().unwrap();
        let chain = |context: &Context| ChainId::from_metadata(context.metadata().as_ref()).unwrap();
        if forks.iter().all(|other| chain(other) != chain(&fork)) {
            forks.push(fork);
        }
    }
    let (mut right, mut left) = (forks.pop().unwrap(), forks.pop().unwrap());
    // The same chain.
    let mut same = left.clone();
    same.event(&tracer, "same").send().unwrap();
    left.join(same).unwrap();
    let mut fork = left.fork();
    fork.event(&tracer, "fork").send().unwrap();
    let mut there = right.clone();
    there.join(left.clone()).unwrap();
    there.event(&tracer, "there").send().unwrap();
    // There and back.
    right.join(left.clone()).unwrap();
    left.join(right).unwrap();
    left.event(&tracer, "back").send().unwrap();

    let reports = parsed(&collected);
    let report = |label: &str| reports.iter().rfind(|report| report.label() == label).unwrap();
    let chain = |label: &str| ChainId::from_metadata(report(label).metadata.as_ref()).unwrap();
    for label in ["fork", "there", "back"] {
        for edge in &report(label).edges {
            let from = reports.iter().find(|report| report.metadata.op_id() == edge.op).unwrap().label();
            assert_eq!(edge.chain.or(chain(label)), chain(from), "the edge of {label} from {from}");
            assert_ne!(edge.chain, chain(label), "it is written only if it is another one");
        }
    }
    assert_eq!(report("back").edges.len(), 3);
}

#[test]
fn other_tasks_are_noted() {
    let (collected, tracer) = tracer();
    let mut context = Context::start();
    assert_eq!(context.join(Context::start()), Err(DifferentTask));
    context.event(&tracer, "a").send().unwrap();
    context.event(&tracer, "b").send().unwrap();
    let reports = parsed(&collected);
    assert_eq!(reports[0].get("X-Trace-Error"), Some("Edge with different taskId"));
    assert_eq!(reports[1].get("X-Trace-Error"), None);
}

#[test]
fn too_many_edges_are_counted() {
    let (collected, tracer) = tracer();
    let mut context = Context::start();
    context.event(&tracer, "a").send().unwrap();
    for _ in 0..300 {
        let mut fork = context.clone();
        fork.event(&Tracer::new(()), "b").send().unwrap();
        context.join(fork).unwrap();
    }
    context.event(&tracer, "c").send().unwrap();
    let report = &parsed(&collected)[1];
    assert_eq!(report.edges.len(), 257);
    assert_eq!(report.get("X-Trace-Error"), Some("44 more edges are left out"));
}

#[test]
fn lengths_and_options_stay() {
    let registry = Registry::standard()
        .with(Definition { number: 7, name: "once", propagation: Propagation::Drop })
        .unwrap();
    let collected = MemoryReporter::default();
    let tracer = Tracer::new(collected.clone()).with_registry(registry);
    let text = "040102030405060708080701018902ABCD00";
    let mut context = Context::from_metadata(Metadata::parse(text).unwrap().validate().unwrap());
    assert_eq!(context.event(&tracer, "a").send().ok(), Some(true));
    let report = &parsed(&collected)[0];
    assert_eq!(report.edges[0].op, OpId::from([5, 6, 7, 8]));
    let metadata = context.metadata().to_string();
    // With version 0 and 4 bytes, as received.
    assert_eq!((&metadata[..10], &metadata[18..]), ("0401020304", "058902ABCD00"));
    assert_eq!(Context::start_task(TaskId::from([0; 20])).task_id().as_bytes().len(), 8);
}

/// Random programs with several executions. The reports are connected in the same way as the program.
#[test]
fn random_programs_make_connected_graphs() {
    cases(200, |random| {
        let (collected, tracer) = tracer();
        let mut running = vec![Context::start()];
        running[0].event(&tracer, "0").send().unwrap();
        let mut count = 1;
        for _ in 0..random.index(60) {
            step(random, &mut running, &tracer, &mut count);
        }
        while let Some(other) = (running.len() > 1).then(|| running.pop().unwrap()) {
            running[0].join(other).unwrap();
        }
        running[0].event(&tracer, &count.to_string()).send().unwrap();
        let reports = parsed(&collected);
        assert_eq!(reports.len(), count + 1);
        // Each edge comes from an earlier report, all except the first have an edge, and the last follows from all.
        let names = edges(&reports);
        let mut followed = BTreeSet::new();
        for name in &names {
            let (from, to) = name.split_once(' ').unwrap();
            let to = to.split_once(' ').unwrap().1;
            let (from, to): (usize, usize) = (from.parse().unwrap(), to.parse().unwrap());
            assert!(from < to, "{name}");
            followed.insert(from);
        }
        assert!(reports[1..].iter().all(|report| !report.edges.is_empty()));
        assert_eq!(followed, (0..count).collect());
    });
}

fn step(random: &mut Random, running: &mut Vec<Context>, tracer: &Tracer, count: &mut usize) {
    let index = random.index(running.len());
    match random.index(6) {
        0 => {
            let fork = running[index].fork();
            running.push(fork);
        }
        1 => {
            let lower = running[index].down();
            running.push(lower);
        }
        2 if running.len() > 1 => {
            let other = running.remove(index);
            let to = random.index(running.len());
            let result =
                if random.below(2) == 0 { running[to].join(other) } else { running[to].up_from(other) };
            result.unwrap();
        }
        3 => {
            let to = random.index(running.len());
            let metadata = running[index].metadata().clone();
            running[to].receive(metadata).unwrap();
        }
        _ => {
            running[index].event(tracer, &count.to_string()).send().unwrap();
            *count += 1;
        }
    }
}

#[test]
fn reporters_deliver() {
    let send = |reporter: Box<dyn Reporter>| {
        let tracer = Tracer::new(reporter).with_host("here");
        let mut context = Context::start();
        for label in ["one", "two"] {
            context.event(&tracer, label).send().unwrap();
        }
        context.event(&tracer, "long").text("Text", "x".repeat(70_000)).send()
    };

    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert!(send(Box::new(UdpReporter::connect(socket.local_addr().unwrap()).unwrap())).is_err());
    let mut buffer = [0; 2048];
    for label in ["one", "two"] {
        let length = socket.recv(&mut buffer).unwrap();
        assert_eq!(Parsed::of(std::str::from_utf8(&buffer[..length]).unwrap()).label(), label);
    }

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    assert!(send(Box::new(TcpReporter::connect(listener.local_addr().unwrap()).unwrap())).is_err());
    let (mut stream, _) = listener.accept().unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let mut rest = &bytes[..];
    for label in ["one", "two"] {
        let (length, after) = rest.split_first_chunk::<4>().unwrap();
        let (report, after) = after.split_at(u32::from_be_bytes(*length) as usize);
        assert_eq!(Parsed::of(std::str::from_utf8(report).unwrap()).label(), label);
        rest = after;
    }
    assert!(rest.is_empty());

    let writer = Arc::new(WriterReporter::new(Vec::new()));
    send(Box::new(Arc::clone(&writer))).unwrap();
    let text = String::from_utf8(Arc::into_inner(writer).unwrap().into_inner()).unwrap();
    assert_eq!(text.split_terminator("\n\n").count(), 3);
}

/// A broken connection is made again.
#[test]
fn tcp_connects_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let reporter = TcpReporter::connect(listener.local_addr().unwrap()).unwrap();
    drop(listener.accept().unwrap());
    // The system notices at the second write at the latest, and the next write connects.
    let results: Vec<_> = (0..20)
        .map(|_| {
            std::thread::sleep(Duration::from_millis(5));
            reporter.report(b"report").is_ok()
        })
        .collect();
    assert!(results.contains(&false) && results[19], "{results:?}");
    let (mut stream, _) = listener.accept().unwrap();
    let mut bytes = [0; 10];
    stream.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes, *b"\0\0\0\x06report");
}

#[test]
fn the_current_context_of_a_thread() {
    let (collected, tracer) = tracer();
    let event = |label| Context::with_current(|context| context.event(&tracer, label).send().unwrap());
    assert_eq!(event("none"), None);
    let outer = Context::start().enter();
    event("a");
    let mut inner = outer.context().with(|context| context.fork()).enter();
    event("b");
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(event("none"), None));
        let shared = inner.context().clone();
        scope.spawn(move || {
            let _entered = shared.enter();
            Context::with_current(|context| assert!(context.metadata().op_id().is_valid()));
        });
    });
    let fork = inner.exit();
    event("c");
    outer.context().with(|context| context.join(fork)).unwrap();
    event("d");
    inner = outer.exit().enter();
    event("e");
    drop(inner);
    assert_eq!(event("none"), None);
    assert_eq!(edges(&parsed(&collected)), ["a next b", "a next c", "b next d", "c next d", "d next e"]);
    let unwound = std::panic::catch_unwind(|| {
        let _entered = Context::start().enter();
        panic!("expected by a test");
    });
    assert!(unwound.is_err() && SharedContext::current().is_none());
}

/// A future that is ready at the second poll.
async fn pause() {
    let mut is_ready = false;
    std::future::poll_fn(|_| {
        if std::mem::replace(&mut is_ready, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// Contexts used at thread exit, after the thread-local values of this crate are dropped. A panic there would abort.
#[test]
fn contexts_are_used_at_the_end_of_a_thread() {
    struct Last(Option<Entered>, Arc<Tracer>, mpsc::Sender<bool>);
    impl Drop for Last {
        fn drop(&mut self) {
            let mut context = self.0.take().unwrap().exit();
            let _ = SharedContext::current();
            let entered = context.fork().enter();
            let is_sent = Context::with_current(|context| context.event(&self.1, "current").send());
            drop((entered, is_sent));
            let is_sent = context.event(&self.1, "last").send();
            let _ = self.2.send(matches!(is_sent, Ok(true)));
        }
    }
    thread_local! {
        static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
    }
    let (collected, tracer) = tracer();
    let tracer = Arc::new(tracer);
    let (sender, receiver) = mpsc::channel();
    let work = move || {
        // On ordered systems, values are dropped in reverse order of first use.
        LAST.set(None);
        let mut context = Context::start();
        context.event(&tracer, "first").send().unwrap();
        LAST.set(Some(Last(Some(context.enter()), tracer, sender)));
    };
    std::thread::spawn(work).join().unwrap();
    assert_eq!(receiver.recv(), Ok(true));
    let reports = parsed(&collected);
    assert!(edges(&reports).contains(&"first next last".to_owned()));
}

#[test]
fn the_context_of_a_future_is_only_there_while_it_is_polled() {
    let (collected, tracer) = tracer();
    let mut main = Context::start();
    main.event(&tracer, "begin").send().unwrap();
    let work = async |name: &str| {
        for step in 0..3 {
            let label = format!("{name}{step}");
            Context::with_current(|context| context.event(&tracer, &label).send().unwrap()).unwrap();
            pause().await;
        }
    };
    let contexts = [main.fork(), main.fork()].map(SharedContext::new);
    let mut left = pin!(work("l").in_context(contexts[0].clone()));
    let mut right = pin!(work("r").in_context(contexts[1].clone()));
    let mut waker = task::Context::from_waker(Waker::noop());
    let mut done = [false; 2];
    while done != [true; 2] {
        done[0] = done[0] || left.as_mut().poll(&mut waker).is_ready();
        done[1] = done[1] || right.as_mut().poll(&mut waker).is_ready();
        assert!(SharedContext::current().is_none());
    }
    for context in contexts {
        main.join(context.into_inner()).unwrap();
    }
    main.event(&tracer, "end").send().unwrap();
    let expected = [
        "begin next end",
        "begin next l0",
        "begin next r0",
        "l0 next l1",
        "l1 next l2",
        "l2 next end",
        "r0 next r1",
        "r1 next r2",
        "r2 next end",
    ];
    assert_eq!(edges(&parsed(&collected)), expected);
}

/// Executors poll futures in threads without a current context.
#[test]
fn spawned_futures_take_the_context_along() {
    let (collected, tracer) = tracer();
    let tracer = Arc::new(tracer);
    let work = |label: &'static str| {
        let tracer = Arc::clone(&tracer);
        async move {
            Context::with_current(|context| context.event(&tracer, label).send().unwrap());
        }
    };
    let spawn = |future: WithContext<_>| {
        std::thread::scope(|scope| {
            let poll = || {
                let mut future = pin!(future);
                while future.as_mut().poll(&mut task::Context::from_waker(Waker::noop())).is_pending() {}
            };
            scope.spawn(poll).join().unwrap();
        });
    };
    spawn(work("nowhere").in_current_context());
    spawn(work("nowhere").in_forked_context());
    let entered = Context::start().enter();
    let event = |label| entered.context().with(|context| context.event(&tracer, label).send().unwrap());
    event("begin");
    // The context at the call applies, wherever the future is polled.
    let (current, fork) = (work("current").in_current_context(), work("fork").in_forked_context());
    drop(Context::start().enter());
    spawn(fork);
    spawn(current);
    event("end");
    assert_eq!(edges(&parsed(&collected)), ["begin next current", "begin next fork", "current next end"]);
}

/// Several threads can call a reporter at the same time.
#[test]
fn threads_share_a_tracer() {
    static SEEN: AtomicBool = AtomicBool::new(false);
    struct Counting(Mutex<u32>);
    impl Reporter for Counting {
        fn report(&self, report: &[u8]) -> io::Result<()> {
            Parsed::of(std::str::from_utf8(report).unwrap());
            *self.0.lock().unwrap() += 1;
            SEEN.store(true, Ordering::Relaxed);
            Ok(())
        }
    }
    let counting = Arc::new(Counting(Mutex::new(0)));
    let tracer = Tracer::new(Arc::clone(&counting));
    let start = Context::start();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let mut fork = start.fork();
            let tracer = &tracer;
            scope.spawn(move || (0..100).for_each(|_| assert!(fork.event(tracer, "x").send().unwrap())));
        }
    });
    assert_eq!(*counting.0.lock().unwrap(), 400);
    assert_eq!(EdgeKind::default(), EdgeKind::Next);
}
