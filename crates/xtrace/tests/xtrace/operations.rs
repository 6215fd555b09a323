//! `tracing` spans as operations.

use std::cell::RefCell;
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::pin::pin;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::task::{self, Waker};
use std::thread;
use std::time::Duration;

use http::{Request, Response};
use ichnos_xtrace::carrier::tower::ServerLayer;
use ichnos_xtrace::option::Severity;
use ichnos_xtrace::propagation::{MemoryReporter, Reporter, SharedContext};
use ichnos_xtrace::{Context, OperationLayer, Tracer};
use tower::{Layer, ServiceExt, service_fn};
use tracing::callsite::rebuild_interest_cache;
use tracing::subscriber::with_default;
use tracing::{Span, debug, error, info, info_span, warn};
use tracing_subscriber::layer::SubscriberExt;

use crate::propagation::{Parsed, edges, parsed};

fn reports(layer: impl FnOnce(Tracer) -> OperationLayer, action: impl FnOnce()) -> Vec<Parsed> {
    let collected = MemoryReporter::default();
    let layer = layer(Tracer::new(collected.clone()));
    with_default(tracing_subscriber::registry().with(layer), action);
    parsed(&collected)
}

#[test]
fn spans_begin_and_end() {
    let reports = reports(OperationLayer::new, || {
        let outer = info_span!("outer", size = 3, late = tracing::field::Empty).entered();
        info!("first");
        info_span!("inner").in_scope(|| warn!(code = 7, "within"));
        info!("last");
        outer.record("late", "yes");
        debug!("not reported");
    });
    let expected = [
        "first next inner",
        "inner ends next last",
        "inner next last",
        "inner next within",
        "last next outer ends",
        "outer next first",
        "within next inner ends",
    ];
    assert_eq!(edges(&reports), expected);
    let report = |label: &str| reports.iter().find(|report| report.label() == label).unwrap();
    assert_eq!(report("outer").get("size"), Some("3"));
    assert_eq!(report("outer ends").get("late"), Some("yes"));
    assert_eq!(report("within").get("code"), Some("7"));
    assert_eq!(report("within").get("Severity"), Some("4"));
    assert_eq!(report("within").get("message"), None);
    assert!(report("within").get("Target").unwrap().contains("operations"));
    assert!(reports.iter().all(|report| report.metadata.task_id() == reports[0].metadata.task_id()));
}

#[test]
fn thresholds_and_events_without_a_span() {
    let warnings = reports(
        |tracer| OperationLayer::new(tracer).with_threshold(Severity::WARNING),
        || {
            info!("nowhere");
            info_span!("quiet").in_scope(|| {
                info!("not important");
                error!("important");
            });
        },
    );
    assert_eq!(warnings.iter().map(Parsed::label).collect::<Vec<_>>(), ["important"]);
}

#[test]
fn spans_go_on_with_the_current_context_and_are_it() {
    let collected = MemoryReporter::default();
    let tracer = Arc::new(Tracer::new(collected.clone()));
    let layer = OperationLayer::new(Arc::clone(&tracer));
    with_default(tracing_subscriber::registry().with(layer), || {
        let mut context = Context::start();
        context.set_threshold(Severity::INFO).unwrap();
        context.event(&tracer, "before").send().unwrap();
        let entered = context.enter();
        let span = info_span!("span");
        span.in_scope(|| {
            Context::with_current(|context| context.event(&tracer, "within").send().unwrap()).unwrap();
        });
        drop(span);
        assert!(SharedContext::current().unwrap().is(entered.context()));
        info!("after");
        drop(entered);
        assert!(SharedContext::current().is_none());

        // Guards that are dropped in creation order, not in reverse.
        let (a, b) = (info_span!("a"), info_span!("b"));
        let (in_a, in_b) = (a.enter(), b.enter());
        let of_b = SharedContext::current().unwrap();
        drop(in_a);
        assert!(SharedContext::current().unwrap().is(&of_b));
        drop(in_b);
        assert!(SharedContext::current().is_none());
    });
    let reports = parsed(&collected);
    let expected = [
        "before next span",
        "span ends next after",
        "span next after",
        "span next within",
        "within next span ends",
    ];
    assert_eq!(edges(&reports[..5]), expected);
}

/// INFO spans in a server are reported, both for tasks that start there and for tasks that arrive without a threshold.
#[test]
fn spans_behind_a_server() {
    let collected = MemoryReporter::default();
    let tracer = Arc::new(Tracer::new(collected.clone()));
    let server = |layer: ServerLayer, metadata: Option<&str>| {
        let handler = service_fn(async |_: Request<()>| {
            let _span = info_span!("work").entered();
            debug!("detail");
            Ok::<_, Infallible>(Response::new(()))
        });
        let operations = OperationLayer::new(Arc::clone(&tracer));
        with_default(tracing_subscriber::registry().with(operations), || {
            let mut request = Request::get("/").body(()).unwrap();
            if let Some(metadata) = metadata {
                request.headers_mut().insert("x-trace", metadata.parse().unwrap());
            }
            let mut future = pin!(layer.layer(handler).oneshot(request));
            let mut waker = task::Context::from_waker(Waker::noop());
            while future.as_mut().poll(&mut waker).is_pending() {}
        });
        parsed(&collected).iter().map(|report| report.label().to_owned()).collect::<Vec<_>>()
    };
    let layer = ServerLayer::new(Arc::clone(&tracer));
    let expected = ["server receives request", "work", "work ends", "server sends response"];
    assert_eq!(server(layer.clone(), None), expected);
    assert_eq!(server(layer.clone(), Some("10CAFEBABE01020304")), expected);
    assert_eq!(server(layer.clone().with_threshold(Severity::DEBUG), None).len(), 5);
    // The metadata decides.
    let of_notice = server(layer.clone(), Some("14CAFEBABE0102030403CE0105"));
    assert_eq!(of_notice, ["server receives request", "server sends response"]);
    assert_eq!(server(layer.with_threshold(Severity::DEBUG), Some("10CAFEBABE01020304")), expected);
}

#[test]
fn causes_that_are_no_parents() {
    let reports = reports(OperationLayer::new, || {
        let root = info_span!("root").entered();
        let (a, b) = (info_span!("a"), info_span!("b"));
        b.follows_from(&a);
        b.in_scope(|| info!("event"));
        drop((a, b, root));
    });
    let event = reports.iter().find(|report| report.label() == "event").unwrap();
    assert_eq!(event.edges.len(), 2);
}

/// A reporter that logs does not report its own logs.
#[test]
fn reporters_may_log() {
    struct Chatty(Mutex<u32>);
    impl Reporter for Chatty {
        fn report(&self, _: &[u8]) -> io::Result<()> {
            *self.0.lock().unwrap() += 1;
            let _span = info_span!("reporting").entered();
            info!("reported");
            Ok(())
        }
    }
    let chatty = Arc::new(Chatty(Mutex::new(0)));
    let layer = OperationLayer::new(Tracer::new(Arc::clone(&chatty)));
    with_default(tracing_subscriber::registry().with(layer), || {
        info_span!("work").in_scope(|| info!("event"));
    });
    assert_eq!(*chatty.0.lock().unwrap(), 3);
}

/// Runs an action in a separate thread, which must end.
fn must_end<T: Send + 'static>(action: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(action()));
    receiver.recv_timeout(Duration::from_secs(30)).expect("it ends")
}

/// Logs while its context is in use.
#[derive(Clone, Default)]
struct Logs(MemoryReporter);

impl Logs {
    fn log() {
        let span = info_span!("span of a reporter").entered();
        info!("logged");
        info_span!("other span").follows_from(&span);
    }
}

impl Reporter for Logs {
    fn report(&self, report: &[u8]) -> io::Result<()> {
        Self::log();
        self.0.report(report)
    }
}

impl fmt::Display for Logs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Self::log();
        f.write_str("value")
    }
}

/// Neither a reporter nor a value waits for the context of its own call.
#[test]
fn logs_do_not_wait_for_the_context_of_their_thread() {
    let reports = must_end(|| {
        let logs = Logs::default();
        let tracer = Arc::new(Tracer::new(logs.clone()));
        with_default(tracing_subscriber::registry().with(OperationLayer::new(Arc::clone(&tracer))), || {
            let span = info_span!("work").entered();
            // `tracing` may have disabled callsites that were first used inside a subscriber.
            rebuild_interest_cache();
            let event = |context: &mut Context| context.event(&tracer, "reporter logs").send().unwrap();
            assert_eq!(Context::with_current(event), Some(true));
            let quiet = Tracer::new(logs.0.clone());
            let event = |context: &mut Context| {
                context.event(&quiet, "value logs").field("key", Logs::default()).send().unwrap()
            };
            assert_eq!(Context::with_current(event), Some(true));
            // The last use of a span inside its own context.
            let own = SharedContext::current().unwrap();
            own.with(|_| drop(span));
        });
        parsed(&logs.0)
    });
    assert_eq!(edges(&reports), ["reporter logs next value logs", "work next reporter logs"]);
}

/// A reporter that logs while it cannot take another report, for an event in a context other than the current one.
#[test]
fn reporters_are_not_called_by_what_they_log() {
    struct Alone(Mutex<Vec<u8>>);
    impl Reporter for Alone {
        fn report(&self, report: &[u8]) -> io::Result<()> {
            let mut all = self.0.lock().unwrap();
            info!("logged");
            all.extend_from_slice(report);
            Ok(())
        }
    }
    let alone = must_end(|| {
        let alone = Arc::new(Alone(Mutex::default()));
        let tracer = Arc::new(Tracer::new(Arc::clone(&alone)));
        with_default(tracing_subscriber::registry().with(OperationLayer::new(Arc::clone(&tracer))), || {
            let _span = info_span!("work").entered();
            rebuild_interest_cache();
            Context::start().event(&tracer, "other task").send().unwrap();
        });
        alone
    });
    let text = String::from_utf8(alone.0.lock().unwrap().clone()).unwrap();
    assert_eq!((text.matches("Label: ").count(), text.contains("logged")), (3, false));
}

/// A log waits while another thread uses a context, so that no report is skipped.
#[test]
fn logs_wait_for_other_threads() {
    let reports = reports(OperationLayer::new, || {
        let _span = info_span!("work").entered();
        let own = SharedContext::current().unwrap();
        let (sender, receiver) = mpsc::channel();
        let other = thread::spawn(move || {
            own.with(|_| {
                sender.send(()).unwrap();
                thread::sleep(Duration::from_millis(50));
            });
        });
        receiver.recv().unwrap();
        info!("event");
        other.join().unwrap();
    });
    assert_eq!(edges(&reports), ["event next work ends", "work next event"]);
}

/// A span that is entered at thread exit, after the thread-local values of this crate are dropped.
#[test]
fn spans_are_entered_at_the_end_of_a_thread() {
    struct Last(Span, mpsc::Sender<bool>);
    impl Drop for Last {
        fn drop(&mut self) {
            let in_span = self.0.in_scope(SharedContext::current).is_some();
            let _ = self.1.send(in_span);
        }
    }
    thread_local! {
        static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
    }
    let (sender, receiver) = mpsc::channel();
    let reports = reports(OperationLayer::new, move || {
        let span = info_span!("work");
        let work = move || {
            // On ordered systems, values are dropped in reverse order of first use. The subscriber's own values must
            // exist until the end.
            with_default(tracing_subscriber::registry(), || info_span!("other").in_scope(|| ()));
            LAST.set(Some(Last(span.clone(), sender)));
            span.in_scope(|| assert!(SharedContext::current().is_some()));
            // The span stays entered until the thread ends.
            std::mem::forget(span.entered());
        };
        thread::spawn(work).join().unwrap();
    });
    assert!(receiver.recv().is_ok());
    assert_eq!(reports[0].label(), "work");
}
