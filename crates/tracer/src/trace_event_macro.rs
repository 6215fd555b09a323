//! Events without a type of their own.

/// Records an event in one line, if there is a recording. Its fields have types, as in a structure with
/// `#[derive(TraceEvent)]`, and may have the same attributes.
///
/// ```
/// # let (misses, key) = (3, "index.html");
/// ichnos_tracer::trace_event!("cache-miss", misses: u32 = misses, key: &str = key);
/// ichnos_tracer::trace_event!(#[trace(level = "info")] "state", #[trace(base = 16)] bits: u8 = 0xf0);
/// ```
#[macro_export]
macro_rules! trace_event {
    ($(#[$meta:meta])* $name:literal $(,)?) => {
        $crate::trace_event!(@ [$(#[$meta])*] $name [] [])
    };
    ($(#[$meta:meta])* $name:literal, $($fields:tt)+) => {
        $crate::trace_event!(@ [$(#[$meta])*] $name [] [] $($fields)+)
    };
    (@ $meta:tt $name:literal [$($types:tt)*] [$($values:tt)*]
        $(#[$attribute:meta])* $field:ident: &$type:ty = $value:expr $(, $($rest:tt)*)?) => {
        $crate::trace_event!(@ $meta $name
            [$($types)* $(#[$attribute])* $field: &'e $type,] [$($values)* $field: $value,] $($($rest)*)?)
    };
    (@ $meta:tt $name:literal [$($types:tt)*] [$($values:tt)*]
        $(#[$attribute:meta])* $field:ident: $type:ty = $value:expr $(, $($rest:tt)*)?) => {
        $crate::trace_event!(@ $meta $name
            [$($types)* $(#[$attribute])* $field: $type,] [$($values)* $field: $value,] $($($rest)*)?)
    };
    (@ [$($meta:tt)*] $name:literal [$($types:tt)*] [$($values:tt)*]) => {
        if $crate::is_recording() {
            #[derive($crate::TraceEvent)]
            #[trace(name = $name)]
            $($meta)*
            struct Event<'e> {
                $($types)*
                #[trace(skip)]
                lifetime: ::core::marker::PhantomData<&'e ()>,
            }

            $crate::record(&Event { $($values)* lifetime: ::core::marker::PhantomData });
        }
    };
}
