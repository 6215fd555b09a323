//! Babeltrace 2's command line on ichnos.
//!
//! `arguments` turns a command line into a [`Command`](command::Command), and `run` executes it.
#![forbid(unsafe_code)]

mod command;
mod value;
