//! Trees of files, as seen by programs that use the library.
// Test helpers count as tests.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub)]

mod archives;
