//! The current context of a future.

use std::future::Future;
use std::pin::Pin;
use std::task::{self, Poll};

use pin_project_lite::pin_project;

use super::current::SharedContext;

pin_project! {
    /// A future with a context, which is the current one of the thread whenever the future is polled.
    #[must_use = "futures do nothing unless they are polled"]
    #[derive(Debug)]
    pub struct WithContext<F> {
        #[pin]
        future: F,
        context: SharedContext,
    }
}

impl<F> WithContext<F> {
    /// The context.
    #[must_use]
    pub fn context(&self) -> &SharedContext {
        &self.context
    }
}

impl<F: Future> Future for WithContext<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, waker: &mut task::Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _entered = this.context.enter();
        this.future.poll(waker)
    }
}

/// Gives futures a context.
///
/// # For implementations
/// All futures have it, so that there is nothing to implement.
pub trait InContext: Future + Sized {
    /// The same future, with a context that is the current one of the thread whenever the future is polled. Keep a
    /// clone of a [`SharedContext`] to go on with it when the future is done.
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
        WithContext { future: self, context: context.into() }
    }
}

impl<F: Future> InContext for F {}
