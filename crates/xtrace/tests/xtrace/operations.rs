//! Spans of `tracing` as operations.

use std::io;
use std::sync::{Arc, Mutex};

use ichnos_xtrace::option::Severity;
use ichnos_xtrace::propagation::{Collected, Reporter, SharedContext};
use ichnos_xtrace::{Context, OperationLayer, Tracer};
use tracing::subscriber::with_default;
use tracing::{debug, error, info, info_span, warn};
use tracing_subscriber::layer::SubscriberExt;

use crate::propagation::{Parsed, edges, parsed};

fn reports(layer: impl FnOnce(Tracer) -> OperationLayer, action: impl FnOnce()) -> Vec<Parsed> {
    let collected = Collected::default();
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
    let collected = Collected::default();
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

        // Guards that are dropped in another order than they were made.
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

/// A reporter that logs does not report what it logs.
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
