//! Layouts that no CTF trace has, by hand.
#![allow(clippy::unwrap_used, clippy::panic)]

mod layouts;
mod shortcuts;
