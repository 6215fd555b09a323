//! The current context of a thread.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
#[cfg(feature = "tracing")]
use std::sync::TryLockError;
use std::sync::{Arc, Mutex, PoisonError};

use super::context::Context;

thread_local! {
    static CURRENT: RefCell<Option<SharedContext>> = const { RefCell::new(None) };
    /// Number of contexts that this thread is using.
    static HELD: Cell<usize> = const { Cell::new(0) };
}

/// Guard that counts a context as in use by this thread, even during a panic.
struct ContextGuard;

impl ContextGuard {
    fn begin() -> Self {
        let _ = HELD.try_with(|held| held.set(held.get() + 1));
        Self
    }
}

impl Drop for ContextGuard {
    fn drop(&mut self) {
        let _ = HELD.try_with(|held| held.set(held.get().saturating_sub(1)));
    }
}

/// A context shared by several parts of a program, one at a time. Each operation follows the previous operations from
/// any part. Concurrent executions should use a [fork](Context::fork).
#[derive(Clone, Debug)]
pub struct SharedContext(Arc<Mutex<Context>>);

impl SharedContext {
    /// Shares a context.
    #[must_use]
    pub fn new(context: Context) -> Self {
        Self(Arc::new(Mutex::new(context)))
    }

    /// Returns the current context of this thread. At thread exit, it can be missing because thread-local values are
    /// dropped.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.try_with(|current| current.borrow().clone()).ok().flatten()
    }

    /// Uses the context. Other users wait until `action` returns, so it must not use the same context again.
    pub fn with<T>(&self, action: impl FnOnce(&mut Context) -> T) -> T {
        let mut context = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _guard = ContextGuard::begin();
        action(&mut context)
    }

    /// Like [`with`](Self::with), for calls while this thread may be using a context. Returns `None` instead of waiting
    /// for another context then, because it could be the same context or wait for the first.
    #[cfg(feature = "tracing")]
    pub(crate) fn try_with<T>(&self, action: impl FnOnce(&mut Context) -> T) -> Option<T> {
        // Waiting for other threads is safe here, and nothing is skipped only because they were faster.
        // At thread exit, the count can be missing. Then no context counts as in use.
        if HELD.try_with(Cell::get).unwrap_or_default() == 0 {
            return Some(self.with(action));
        }
        let mut context = match self.0.try_lock() {
            Ok(context) => context,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let _guard = ContextGuard::begin();
        Some(action(&mut context))
    }

    /// Makes this context current in this thread until the returned value is dropped.
    pub fn enter(&self) -> Entered {
        Entered { context: self.clone(), before: set(Some(self.clone())), this_thread: PhantomData }
    }

    /// Returns a copy of the current state.
    #[must_use]
    pub fn into_inner(self) -> Context {
        match Arc::try_unwrap(self.0) {
            Ok(context) => context.into_inner().unwrap_or_else(PoisonError::into_inner),
            Err(shared) => shared.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// Like [`into_inner`](Self::into_inner), with the rules of [`try_with`](Self::try_with).
    #[cfg(feature = "tracing")]
    pub(crate) fn try_into_inner(self) -> Option<Context> {
        match Arc::try_unwrap(self.0) {
            Ok(context) => Some(context.into_inner().unwrap_or_else(PoisonError::into_inner)),
            Err(shared) => Self(shared).try_with(|context| context.clone()),
        }
    }

    /// Returns `true` if both share one context.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl From<Context> for SharedContext {
    fn from(context: Context) -> Self {
        Self::new(context)
    }
}

/// Replaces the current context. Returns the old context, so that it is not dropped while it is borrowed.
///
/// At thread exit, the thread-local value can be missing. A panic would abort the process then.
fn set(context: Option<SharedContext>) -> Option<SharedContext> {
    CURRENT.try_with(|current| current.replace(context)).ok().flatten()
}

/// Contexts that are entered and exited in any order.
#[cfg(feature = "tracing")]
#[derive(Default)]
pub(crate) struct EnteredStack(Vec<(u64, Entered)>);

#[cfg(feature = "tracing")]
impl EnteredStack {
    pub(crate) fn enter(&mut self, key: u64, context: &SharedContext) {
        self.0.push((key, context.enter()));
    }

    pub(crate) fn exit(&mut self, key: u64) {
        let Some(index) = self.0.iter().rposition(|entered| entered.0 == key) else { return };
        let (_, mut entered) = self.0.remove(index);
        if let Some((_, above)) = self.0.get_mut(index) {
            // The later context remains current, and the earlier context is restored after it.
            std::mem::swap(&mut above.before, &mut entered.before);
            entered.before = SharedContext::current();
        }
    }
}

/// Guard that keeps a context current in this thread until dropped.
#[must_use = "the context is current as long as this exists"]
#[derive(Debug)]
pub struct Entered {
    context: SharedContext,
    before: Option<SharedContext>,
    /// Must be dropped by the creating thread.
    this_thread: PhantomData<*const ()>,
}

impl Entered {
    /// Returns the context.
    #[must_use]
    pub fn context(&self) -> &SharedContext {
        &self.context
    }

    /// Exits, and returns a copy of the context state.
    #[must_use]
    pub fn exit(self) -> Context {
        let context = self.context.clone();
        drop(self);
        context.into_inner()
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        set(self.before.take());
    }
}

impl Context {
    /// Makes this context current in this thread until the returned value is dropped.
    ///
    /// ```
    /// use ichnos_xtrace::{Context, Tracer};
    ///
    /// fn work(tracer: &Tracer) {
    ///     Context::with_current(|context| context.event(tracer, "work").send());
    /// }
    ///
    /// let tracer = Tracer::new(());
    /// let entered = Context::start().enter();
    /// work(&tracer);
    /// let context = entered.exit();
    /// assert!(context.metadata().op_id().is_valid());
    /// assert!(Context::with_current(|_| ()).is_none());
    /// ```
    pub fn enter(self) -> Entered {
        SharedContext::new(self).enter()
    }

    /// Uses the current context of this thread. Returns `None` without a current context.
    pub fn with_current<T>(action: impl FnOnce(&mut Self) -> T) -> Option<T> {
        SharedContext::current().map(|context| context.with(action))
    }
}
