//! A collector under real conditions: over sockets, killed, with a full disk, with misbehaving clients.
#![forbid(unsafe_code)]
// Test helpers count as tests.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub)]

mod clients;
#[cfg(target_os = "linux")]
mod full_disk;
mod index;
#[cfg(target_os = "linux")]
mod kills;
#[cfg(unix)]
mod moved;
mod support;
