//! Metadata in HTTP messages and OpenTelemetry propagators.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{self, Poll, Waker};

use http::{HeaderMap, Request, Response};
use ichnos_testing::cases;
use ichnos_xtrace::carrier::binary;
use ichnos_xtrace::carrier::http::{Headers, TRACE_PARENT, TRACE_STATE, X_TRACE, extract, inject};
use ichnos_xtrace::carrier::opentelemetry::XTracePropagator;
use ichnos_xtrace::carrier::tower::{ClientLayer, ServerLayer};
use ichnos_xtrace::option::Severity;
use ichnos_xtrace::propagation::{InContext, MemoryReporter, SharedContext};
use ichnos_xtrace::{Context, Metadata, Tracer};
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceState};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::propagation::{Parsed, edges, parsed};
use crate::support::{bytes, metadata};

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut waker = task::Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut waker) {
            return output;
        }
    }
}

/// Returns a client that calls a server directly.
fn service(
    tracer: &Arc<Tracer>,
    headers: Headers,
) -> impl Service<Request<()>, Response = Response<()>, Error = Infallible, Future: Unpin> + Clone {
    let handler = {
        let tracer = Arc::clone(tracer);
        service_fn(move |request: Request<()>| {
            let tracer = Arc::clone(&tracer);
            Box::pin(async move {
                let label = format!("work {}", request.uri().path());
                Context::with_current(|context| context.event(&tracer, &label).send()).unwrap().unwrap();
                Ok(Response::new(()))
            })
        })
    };
    let server = ServerLayer::new(Arc::clone(tracer)).with_headers(headers).layer(handler);
    ClientLayer::new(Arc::clone(tracer)).with_headers(headers).layer(server)
}

fn request(path: &str) -> Request<()> {
    Request::get(path).body(()).unwrap()
}

#[test]
fn a_request_and_its_response() {
    for headers in [Headers::XTrace, Headers::XTraceAndW3c] {
        let collected = MemoryReporter::default();
        let tracer = Arc::new(Tracer::new(collected.clone()));
        let context = SharedContext::new(Context::start());
        context.with(|context| context.event(&tracer, "begin").send()).unwrap();
        let client = service(&tracer, headers);
        let response = block_on(client.oneshot(request("/a")).in_context(context.clone())).unwrap();
        assert!(response.headers().contains_key(X_TRACE));
        context.with(|context| context.event(&tracer, "end").send()).unwrap();
        let expected = [
            "begin next client sends request",
            "client receives response next end",
            "client sends request next client receives response",
            "client sends request next end",
            "client sends request next server receives request",
            "server receives request next work /a",
            "server sends response next client receives response",
            "work /a next server sends response",
        ];
        let reports = parsed(&collected);
        assert_eq!(edges(&reports), expected);
        let response = reports.iter().find(|report| report.label() == "server sends response").unwrap();
        assert_eq!(response.get("Status"), Some("200"));
    }
}

#[test]
fn requests_at_the_same_time() {
    let collected = MemoryReporter::default();
    let tracer = Arc::new(Tracer::new(collected.clone()));
    let context = SharedContext::new(Context::start());
    let client = service(&tracer, Headers::XTrace);
    let entered = context.enter();
    let first = client.clone().oneshot(request("/1"));
    let second = client.oneshot(request("/2"));
    drop(entered);
    block_on(async {
        second.in_context(context.clone()).await.unwrap();
        first.in_context(context.clone()).await.unwrap();
    });
    context.with(|context| context.event(&tracer, "end").send()).unwrap();
    let reports = parsed(&collected);
    assert_eq!(reports.len(), 11);
    assert_eq!(reports[10].edges.len(), 2);
}

#[test]
fn without_a_context() {
    let collected = MemoryReporter::default();
    let tracer = Arc::new(Tracer::new(collected.clone()));
    block_on(service(&tracer, Headers::XTrace).oneshot(request("/"))).unwrap();
    let reports = parsed(&collected);
    let labels: Vec<_> = reports.iter().map(Parsed::label).collect();
    assert_eq!(labels, ["server receives request", "work /", "server sends response"]);
    assert!(reports[0].edges.is_empty());
    // The task starts with the title, and with a threshold that travels along.
    assert_eq!(reports[0].get("Title"), Some("GET /"));
    assert!(reports[1..].iter().all(|report| report.get("Title").is_none()));
    for report in &reports {
        assert_eq!(Severity::from_metadata(report.metadata.as_ref()), Ok(Some(Severity::INFO)));
    }
}

/// The title belongs to the task, not to each of its requests. It lacks the query, and its length is limited.
#[test]
fn requests_are_titled() {
    let collected = MemoryReporter::default();
    let tracer = Arc::new(Tracer::new(collected.clone()));
    let server = |request: Request<()>| {
        let handler = service_fn(|_: Request<()>| async { Ok::<_, Infallible>(Response::new(())) });
        let layer = ServerLayer::new(Arc::clone(&tracer)).with_threshold(Severity::ERROR);
        block_on(layer.layer(handler).oneshot(request)).unwrap();
        parsed(&collected)
    };
    let post = |path: &str| Request::post(path).body(()).unwrap();
    // With only errors reported, the layer's own events are below the threshold.
    assert!(server(post("/quiet")).is_empty());
    let layer = ServerLayer::new(Arc::clone(&tracer));
    let server = |request: Request<()>| {
        let handler = service_fn(|_: Request<()>| async { Ok::<_, Infallible>(Response::new(())) });
        block_on(layer.layer(handler).oneshot(request)).unwrap();
        parsed(&collected)
    };
    let reports = server(post("http://host/orders/7?token=secret"));
    assert_eq!(reports[0].get("Title"), Some("POST /orders/7"));
    assert!(!format!("{reports:?}").contains("secret"));
    let mut request = post("/orders/8");
    request.headers_mut().insert(X_TRACE, "10CAFEBABE01020304".parse().unwrap());
    let reports = server(request);
    assert_eq!((reports.len(), reports[0].get("Title")), (2, None));
    // From a system without titles.
    let layer = layer.clone().with_headers(Headers::XTraceAndW3c);
    let handler = service_fn(|_: Request<()>| async { Ok::<_, Infallible>(Response::new(())) });
    let mut request = post("/orders/9");
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    request.headers_mut().insert(TRACE_PARENT, parent.parse().unwrap());
    block_on(layer.layer(handler).oneshot(request)).unwrap();
    let of_w3c = parsed(&collected);
    assert_eq!((of_w3c[0].get("Title"), of_w3c[0].edges.len()), (Some("POST /orders/9"), 1));
    // Without a threshold in the metadata, each program uses its own threshold, and none is added.
    assert_eq!(Severity::from_metadata(reports[0].metadata.as_ref()), Ok(None));
    let reports = server(post(&format!("/{}", "x".repeat(60_000))));
    assert_eq!(reports[0].get("Title").map(|title| title.chars().count()), Some("POST ".len() + 1025));
    assert!(reports[0].get("Path").is_some_and(|path| path.ends_with('…')));
}

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in lines {
        map.append(http::HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
    }
    map
}

#[test]
fn headers_of_both_kinds() {
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let x_trace = "10CAFEBABE01020304";
    let both = Headers::XTraceAndW3c;
    let text = |lines: &[(&str, &str)], kind| {
        extract(&headers(lines), kind).map(|context| context.metadata().to_string())
    };
    assert_eq!(text(&[("X-Trace", x_trace), ("traceparent", parent)], both).as_deref(), Some(x_trace));
    assert_eq!(text(&[("traceparent", parent)], Headers::XTrace), None);
    let task = "0AF7651916CD43DD8448EB211C80319C00000000";
    assert_eq!(text(&[("traceparent", parent)], both), Some(format!("1B{task}B7AD6B7169203331")));
    assert_eq!(text(&[("traceparent", parent), ("traceparent", parent)], both), None);
    // Headers that break a rule are ignored.
    for bad in ["", "10CAFEBABE0102030400", "100000000001020304", "X", "2B"] {
        assert_eq!(text(&[("X-Trace", bad)], both), None, "{bad}");
    }
    // A valid tracestate is passed on, an invalid tracestate is dropped. Neither affects the traceparent.
    for (state, passed_on) in [("a=1,b=2", Some("a=1,b=2")), ("a=1,a=2", None), ("", None)] {
        let context = extract(&headers(&[("traceparent", parent), ("tracestate", state)]), both).unwrap();
        let mut next = headers(&[("tracestate", "old=1"), ("traceparent", "old")]);
        inject(&context, &mut next, both);
        assert_eq!(next.get(TRACE_PARENT).unwrap(), parent);
        assert_eq!(next.get(TRACE_STATE).map(|state| state.to_str().unwrap()), passed_on);
    }
    let split = [("traceparent", parent), ("tracestate", "a=1"), ("tracestate", "b=2")];
    assert_eq!(extract(&headers(&split), both).unwrap().trace_state(), "a=1,b=2");
    // Before the first event, the operation is missing.
    let mut map = HeaderMap::new();
    inject(&Context::start(), &mut map, both);
    assert!(map.contains_key(X_TRACE) && !map.contains_key(TRACE_PARENT));
}

#[test]
fn http_and_opentelemetry_keep_metadata() {
    let propagator = XTracePropagator::new();
    assert_eq!(propagator.fields().collect::<Vec<_>>(), ["x-trace"]);
    cases(3_000, |random| {
        let Ok(metadata) = metadata(random).validate() else { return };
        if !metadata.op_id().is_valid() {
            return;
        }
        let mut map = HeaderMap::new();
        inject(&Context::from_metadata(metadata.clone()), &mut map, Headers::XTraceAndW3c);
        let back = extract(&map, Headers::XTrace).unwrap();
        assert_eq!(*back.metadata(), metadata);
        // With W3C headers alone, unless there are too many options.
        map.remove(X_TRACE);
        let back = extract(&map, Headers::XTraceAndW3c).unwrap();
        assert_eq!((back.task_id(), back.metadata().op_id()), (metadata.task_id(), metadata.op_id()));

        let carrier = HashMap::from([("x-trace".to_owned(), metadata.to_string())]);
        let context = propagator.extract(&carrier);
        let span = context.span().span_context().clone();
        assert!(span.is_valid() && span.is_remote());
        assert_eq!(span.is_sampled(), Severity::threshold_of(metadata.as_ref()) != Severity::NONE);
        let mut next = HashMap::new();
        propagator.inject_context(&context, &mut next);
        let next = Metadata::parse(&next["x-trace"]).unwrap();
        assert_eq!((next.task_id(), next.op_id()), (metadata.task_id(), metadata.op_id()));
        if metadata.as_bytes().len() <= 128 {
            assert_eq!(next, *metadata);
        }
        // A child span has the same task.
        let id: [u8; 8] = bytes(random, 8).try_into().unwrap();
        let state: TraceState = span.trace_state().clone();
        let below =
            SpanContext::new(span.trace_id(), SpanId::from_bytes(id), span.trace_flags(), false, state);
        let mut next = HashMap::new();
        propagator.inject_context(&opentelemetry::Context::new().with_remote_span_context(below), &mut next);
        let next = Metadata::parse(&next["x-trace"]).unwrap();
        assert_eq!(next.task_id(), metadata.task_id());

        let mut message = vec![];
        binary::append(&metadata, &mut message);
        message.extend_from_slice(b"rest");
        assert_eq!(binary::split(&message).unwrap(), (metadata, &b"rest"[..]));
    });
    let nothing: HashMap<String, String> = HashMap::new();
    assert!(!propagator.extract(&nothing).span().span_context().is_valid());
    let mut next = HashMap::new();
    propagator.inject_context(&opentelemetry::Context::new(), &mut next);
    assert!(next.is_empty());
    for bad in ["", "10CAFEBABE00000000", "100000000001020304", "2B"] {
        let carrier = HashMap::from([("x-trace".to_owned(), bad.to_owned())]);
        assert!(!propagator.extract(&carrier).span().span_context().is_valid());
    }
    assert!(binary::split(b"").is_err() && binary::split(&[0; 9]).is_err());
}
