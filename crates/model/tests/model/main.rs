//! Hand-made layouts that no CTF trace has.
#![allow(clippy::unwrap_used, clippy::panic)]

mod layouts;
mod shortcuts;
