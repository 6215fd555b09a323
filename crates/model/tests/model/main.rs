//! Hand-made layouts that do not occur in CTF traces.
#![allow(clippy::unwrap_used, clippy::panic)]

mod layouts;
mod shortcuts;
