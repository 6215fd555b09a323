//! Tests of connections: with a scripted relay daemon, and with LTTng.

mod connections;
mod lttng;
mod recordings;
