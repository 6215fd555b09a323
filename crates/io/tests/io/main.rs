//! Trees of files as programs that use the library see them.
// Helpers of tests are tests.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub)]

mod archives;
