//! The current context of a thread.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
#[cfg(feature = "tracing")]
use std::sync::TryLockError;
use std::sync::{Arc, Mutex, PoisonError};

use super::context::Context;

thread_local! {
    static CURRENT: RefCell<Option<SharedContext>> = const { RefCell::new(None) };
    /// How many contexts this thread does something with.
    static HELD: Cell<usize> = const { Cell::new(0) };
}

/// Counts a context as long as this thread does something with it, even if that panics.
struct Held;

impl Held {
    fn begin() -> Self {
        let _ = HELD.try_with(|held| held.set(held.get() + 1));
        Self
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = HELD.try_with(|held| held.set(held.get().saturating_sub(1)));
    }
}

/// A context that several parts of a program go on with, one at a time: what one of them does comes after what the
/// others did before. What goes on at the same time should be a [fork](Context::fork).
#[derive(Clone, Debug)]
pub struct SharedContext(Arc<Mutex<Context>>);

impl SharedContext {
    /// A context to be shared.
    #[must_use]
    pub fn new(context: Context) -> Self {
        Self(Arc::new(Mutex::new(context)))
    }

    /// The current context of this thread. At the end of a thread, when its thread-local values are dropped, there
    /// may be none any more.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.try_with(|current| current.borrow().clone()).ok().flatten()
    }

    /// Does something with the context. Until that is done, others wait, so that it must not ask for the same context
    /// again.
    pub fn with<T>(&self, action: impl FnOnce(&mut Context) -> T) -> T {
        let mut context = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _held = Held::begin();
        action(&mut context)
    }

    /// The same for what may be called while something is done with a context: a thread that does so does not wait
    /// for another one, which might be the same, or wait for the first. None if it would have to.
    #[cfg(feature = "tracing")]
    pub(crate) fn try_with<T>(&self, action: impl FnOnce(&mut Context) -> T) -> Option<T> {
        // Other threads are waited for otherwise, so that nothing is left out only because they were quicker.
        if HELD.try_with(Cell::get).unwrap_or_default() == 0 {
            return Some(self.with(action));
        }
        let mut context = match self.0.try_lock() {
            Ok(context) => context,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let _held = Held::begin();
        Some(action(&mut context))
    }

    /// Makes it the current context of this thread until what is returned is dropped.
    pub fn enter(&self) -> Entered {
        Entered { context: self.clone(), before: set(Some(self.clone())), this_thread: PhantomData }
    }

    /// The context as it is now.
    #[must_use]
    pub fn into_inner(self) -> Context {
        match Arc::try_unwrap(self.0) {
            Ok(context) => context.into_inner().unwrap_or_else(PoisonError::into_inner),
            Err(shared) => shared.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// The same as [`try_with`](Self::try_with) is of [`with`](Self::with).
    #[cfg(feature = "tracing")]
    pub(crate) fn try_into_inner(self) -> Option<Context> {
        match Arc::try_unwrap(self.0) {
            Ok(context) => Some(context.into_inner().unwrap_or_else(PoisonError::into_inner)),
            Err(shared) => Self(shared).try_with(|context| context.clone()),
        }
    }

    /// Whether both are the same one.
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

/// Replaces the current context. The old one is not dropped while it is borrowed.
///
/// At the end of a thread there may be no place for it any more; a panic there would abort the process.
fn set(context: Option<SharedContext>) -> Option<SharedContext> {
    CURRENT.try_with(|current| current.replace(context)).ok().flatten()
}

/// Contexts that are entered and left by calls, which need not be in order.
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
            // The one that was entered later stays the current one, and what was before comes after it.
            std::mem::swap(&mut above.before, &mut entered.before);
            entered.before = SharedContext::current();
        }
    }
}

/// As long as this exists, a context is the current one of this thread.
#[must_use = "the context is current as long as this exists"]
#[derive(Debug)]
pub struct Entered {
    context: SharedContext,
    before: Option<SharedContext>,
    /// It must be dropped by the thread that made it.
    this_thread: PhantomData<*const ()>,
}

impl Entered {
    /// The context.
    #[must_use]
    pub fn context(&self) -> &SharedContext {
        &self.context
    }

    /// Ends it, and returns the context as it is now.
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
    /// Makes it the current context of this thread until what is returned is dropped.
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

    /// Does something with the current context of this thread, if there is one.
    pub fn with_current<T>(action: impl FnOnce(&mut Self) -> T) -> Option<T> {
        SharedContext::current().map(|context| context.with(action))
    }
}
