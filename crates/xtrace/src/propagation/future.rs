//! Current contexts for futures.

use std::future::Future;
use std::pin::Pin;
use std::task::{self, Poll};

use pin_project_lite::pin_project;

use super::context::Context;
use super::current::SharedContext;

pin_project! {
    /// Future that sets its context as the thread's context during each poll.
    ///
    /// Without a context at creation, this has no effect.
    #[must_use = "futures do nothing unless they are polled"]
    #[derive(Debug)]
    pub struct WithContext<F> {
        #[pin]
        future: F,
        context: Option<SharedContext>,
    }
}

impl<F> WithContext<F> {
    /// Returns the context.
    #[must_use]
    pub fn context(&self) -> Option<&SharedContext> {
        self.context.as_ref()
    }
}

impl<F: Future> Future for WithContext<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, waker: &mut task::Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _entered = this.context.as_ref().map(SharedContext::enter);
        this.future.poll(waker)
    }
}

/// Adds a context to futures.
///
/// # For implementations
/// Implemented for all futures.
pub trait InContext: Future + Sized {
    /// Returns the future with a context that is current in the thread during each poll. To continue with the context
    /// after the future, keep a clone of a [`SharedContext`].
    ///
    /// ```
    /// use ichnos_xtrace::propagation::{InContext, SharedContext};
    /// use ichnos_xtrace::{Context, Tracer};
    /// # fn block_on<F: Future>(future: F) -> F::Output {
    /// #     let mut future = std::pin::pin!(future);
    /// #     let mut waker = std::task::Context::from_waker(std::task::Waker::noop());
    /// #     loop {
    /// #         if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut waker) { return output; }
    /// #     }
    /// # }
    ///
    /// let tracer = Tracer::new(());
    /// let context = SharedContext::new(Context::start());
    /// let work = async { Context::with_current(|context| context.event(&tracer, "work").send()) };
    /// block_on(work.in_context(context.clone()));
    /// assert!(context.into_inner().metadata().op_id().is_valid());
    /// ```
    fn in_context(self, context: impl Into<SharedContext>) -> WithContext<Self> {
        WithContext { future: self, context: Some(context.into()) }
    }

    /// Returns the future with the current context. Without this call, the context is missing if another thread polls
    /// the future. Use it for futures that the caller awaits without doing anything else at the same time.
    fn in_current_context(self) -> WithContext<Self> {
        WithContext { future: self, context: SharedContext::current() }
    }

    /// Returns the future with a [fork](Context::fork) of the current context. Use it for futures that run concurrently
    /// with the caller, for example executor tasks, because executor threads lack a current context.
    ///
    /// ```
    /// use ichnos_xtrace::propagation::{InContext, MemoryReporter};
    /// use ichnos_xtrace::{Context, Tracer};
    /// # // Like an executor, it uses another thread.
    /// # fn spawn<F: Future<Output = ()> + Send + 'static>(future: F) -> std::thread::JoinHandle<()> {
    /// #     std::thread::spawn(move || {
    /// #         let mut future = std::pin::pin!(future);
    /// #         let mut waker = std::task::Context::from_waker(std::task::Waker::noop());
    /// #         while future.as_mut().poll(&mut waker).is_pending() {}
    /// #     })
    /// # }
    ///
    /// async fn work(tracer: Tracer) {
    ///     let sent = Context::with_current(|context| context.event(&tracer, "work").send().is_ok());
    ///     assert_eq!(sent, Some(true));
    /// }
    ///
    /// let collected = MemoryReporter::default();
    /// let _entered = Context::start().enter();
    /// // For example `tokio::spawn`.
    /// let task = spawn(work(Tracer::new(collected.clone())).in_forked_context());
    /// # task.join().unwrap();
    /// # assert_eq!(collected.take().len(), 1);
    /// ```
    fn in_forked_context(self) -> WithContext<Self> {
        let fork = Context::with_current(|context| context.fork());
        WithContext { future: self, context: fork.map(SharedContext::new) }
    }
}

impl<F: Future> InContext for F {}
