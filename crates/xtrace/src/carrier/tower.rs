//! `tower` layers for HTTP clients and servers.
//!
//! [`ClientLayer`] reports each request and its response in the current context, and sends the metadata along.
//! [`ServerLayer`] continues with received metadata, and makes its context current in the request handler. Requests do
//! not depend on reports: if sending a report fails, the metadata is passed on without it.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, ready};

use http::{Request, Response};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::http::{Headers, X_TRACE, extract, inject};
use crate::option::Severity;
use crate::propagation::{Context, InContext, SharedContext, Tracer, WithContext};

macro_rules! layer {
    ($layer:ident, $service:ident, $what:literal $(, $(#[$doc:meta])* $field:ident: $type:ty)?) => {
        #[doc = $what]
        #[derive(Clone, Debug)]
        pub struct $layer {
            tracer: Arc<Tracer>,
            headers: Headers,
            $($(#[$doc])* $field: $type,)?
        }

        impl $layer {
            /// Creates a layer that reports to a tracer.
            pub fn new(tracer: impl Into<Arc<Tracer>>) -> Self {
                Self { tracer: tracer.into(), headers: Headers::default() $(, $field: Default::default())? }
            }

            /// Sets other headers.
            #[must_use]
            pub fn with_headers(self, headers: Headers) -> Self {
                Self { headers, ..self }
            }
        }

        impl<S> Layer<S> for $layer {
            type Service = $service<S>;

            fn layer(&self, inner: S) -> $service<S> {
                $service { inner, layer: self.clone() }
            }
        }

        #[doc = concat!("Service wrapper created by [`", stringify!($layer), "`].")]
        #[derive(Clone, Debug)]
        pub struct $service<S> {
            inner: S,
            layer: $layer,
        }
    };
}

layer!(
    ServerLayer,
    Server,
    "Continues with the request metadata, or starts a task without it. The response has the metadata of the event that \
     sent it.\n\nFor a task that starts here, the first report has the method and the path of the request as its \
     title, and the metadata has a [threshold](Self::with_threshold).",
    /// Threshold for tasks that start here. `None` uses the tracer's threshold.
    threshold: Option<Severity>
);
layer!(
    ClientLayer,
    Client,
    "Sends metadata with requests made in a current context, and joins the response metadata."
);

impl ServerLayer {
    /// Sets a threshold for tasks that start here, instead of the [tracer's threshold](Tracer::with_threshold). It
    /// becomes part of the metadata, so that all programs that handle the request use it.
    #[must_use]
    pub fn with_threshold(self, threshold: Severity) -> Self {
        Self { threshold: Some(threshold), ..self }
    }

    /// Continues with the request metadata or starts a task, and reports the request.
    fn receive<B>(&self, request: &Request<B>) -> Context {
        let (method, path) = parts(request);
        let incoming = extract(request.headers(), self.headers);
        // A task that started elsewhere has a title, unless it comes from a system that only knows W3C Trace Context.
        let is_titled = incoming.is_some() && request.headers().contains_key(X_TRACE);
        let start = || Context::start_with_threshold(self.threshold.unwrap_or(self.tracer.threshold()));
        let mut context = incoming.unwrap_or_else(start);
        let mut event = context.event(&self.tracer, "server receives request");
        if !is_titled {
            event.add("Title", format_args!("{method} {path}"));
        }
        let _ = event.text("Method", method.as_bytes()).text("Path", path.as_bytes()).send();
        context
    }
}

/// Maximum size of a method or a path in a report in bytes. Clients can send longer values, which could exceed the
/// report size limit of collectors.
const MAX_PART: usize = 1024;

/// Returns the request method and the path without the query, which can contain secrets.
fn parts<B>(request: &Request<B>) -> (Cow<'_, str>, Cow<'_, str>) {
    (shorten(request.method().as_str()), shorten(request.uri().path()))
}

/// Returns a text, shortened with `…` if necessary.
fn shorten(text: &str) -> Cow<'_, str> {
    match text.len() {
        ..=MAX_PART => Cow::Borrowed(text),
        _ => Cow::Owned(format!("{}…", &text[..text.floor_char_boundary(MAX_PART)])),
    }
}

impl<S, B, R> Service<Request<B>> for Server<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = ServerFuture<S::Future>;

    fn poll_ready(&mut self, waker: &mut task::Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(waker)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let context = SharedContext::new(self.layer.receive(&request));
        let entered = context.enter();
        let future = self.inner.call(request);
        drop(entered);
        ServerFuture { future: future.in_context(context.clone()), context, layer: self.layer.clone() }
    }
}

pin_project! {
    /// Response future of a [`Server`].
    #[must_use = "futures do nothing unless they are polled"]
    #[derive(Debug)]
    pub struct ServerFuture<F> {
        #[pin]
        future: WithContext<F>,
        context: SharedContext,
        layer: ServerLayer,
    }
}

impl<F, R, E> Future for ServerFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, waker: &mut task::Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let mut result = ready!(this.future.poll(waker));
        let tracer = &this.layer.tracer;
        this.context.with(|context| match &mut result {
            Ok(response) => {
                let event = context.event(tracer, "server sends response");
                let _ = event.field("Status", response.status().as_u16()).send();
                // W3C Trace Context lacks a response header.
                inject(context, response.headers_mut(), Headers::XTrace);
            }
            Err(_) => {
                let _ = context.event(tracer, "server fails").send();
            }
        });
        Poll::Ready(result)
    }
}

impl<S, B, R> Service<Request<B>> for Client<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = ClientFuture<S::Future>;

    fn poll_ready(&mut self, waker: &mut task::Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(waker)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let caller = SharedContext::current();
        // From here on, the request is a separate execution, because other requests can run at the same time.
        let context = caller.as_ref().map(|caller| {
            let (method, path) = parts(&request);
            caller.with(|caller| {
                let event = caller.event(&self.layer.tracer, "client sends request");
                let _ = event.text("Method", method.as_bytes()).text("Path", path.as_bytes()).send();
                caller.clone()
            })
        });
        if let Some(context) = &context {
            inject(context, request.headers_mut(), self.layer.headers);
        }
        let call = caller.zip(context);
        ClientFuture { future: self.inner.call(request), call, layer: self.layer.clone() }
    }
}

pin_project! {
    /// Response future of a [`Client`].
    #[must_use = "futures do nothing unless they are polled"]
    #[derive(Debug)]
    pub struct ClientFuture<F> {
        #[pin]
        future: F,
        // Contexts for the caller and the request.
        call: Option<(SharedContext, Context)>,
        layer: ClientLayer,
    }
}

impl<F, R, E> Future for ClientFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, waker: &mut task::Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let result = ready!(this.future.poll(waker));
        if let Some((caller, mut context)) = this.call.take() {
            let tracer = &this.layer.tracer;
            let _ = match &result {
                Ok(response) => {
                    if let Some(remote) = extract(response.headers(), Headers::XTrace) {
                        // The report mentions a different task.
                        let _ = context.join(remote);
                    }
                    let event = context.event(tracer, "client receives response");
                    event.field("Status", response.status().as_u16()).send()
                }
                Err(_) => context.event(tracer, "client fails").send(),
            };
            // Both have the same task.
            let _ = caller.with(|caller| caller.join(context));
        }
        Poll::Ready(result)
    }
}
