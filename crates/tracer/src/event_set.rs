//! All event types of a program.

use crate::description::EventDescription;
use crate::event::TraceEvent;

/// All event types of a program, declared with [`event_set!`](crate::event_set).
///
/// # For implementations
///
/// Use [`event_set!`](crate::event_set).
pub trait EventSet {
    /// Classes in the order of their ids.
    const CLASSES: &'static [EventDescription<'static>];
}

/// An event type of a set.
///
/// # For implementations
///
/// Use [`event_set!`](crate::event_set).
pub trait InEventSet<S: EventSet>: TraceEvent {
    /// Id of the class.
    const ID: u16;
}

/// Declares the event types of a program, and numbers them.
///
/// ```
/// # use ichnos_tracer::TraceEvent;
/// #[derive(TraceEvent)]
/// struct Tick { number: u32 }
/// #[derive(TraceEvent)]
/// struct Boot<'a> { reason: &'a str }
///
/// ichnos_tracer::event_set! {
///     /// Events of this program.
///     pub struct Events { Tick, Boot<'_> }
/// }
/// # assert_eq!(<Boot<'_> as ichnos_tracer::InEventSet<Events>>::ID, 1);
/// ```
#[macro_export]
macro_rules! event_set {
    ($(#[$meta:meta])* $visibility:vis struct $set:ident { $($event:ty),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug)]
        $visibility struct $set;

        impl $crate::EventSet for $set {
            const CLASSES: &'static [$crate::EventDescription<'static>] =
                &[$(<$event as $crate::TraceEvent>::DESCRIPTION),*];
        }

        $crate::event_set!(@number $set 0 $($event,)*);
    };
    (@number $set:ident $id:tt) => {};
    (@number $set:ident $id:tt $first:ty, $($rest:ty,)*) => {
        impl $crate::InEventSet<$set> for $first {
            const ID: u16 = $id;
        }

        $crate::event_set!(@number $set ($id + 1) $($rest,)*);
    };
}
