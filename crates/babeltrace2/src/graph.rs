//! Runs graphs of components.
//!
//! `wiring` finds the sources and filters upstream of each sink. A sink then takes its messages from one pass of
//! ichnos' engine, in which a trimmer is a time window and a muxer is the merge. So a graph with several sinks, or with
//! a filter before one of several sources, needs no threads or queues: its sinks run one after the other.

mod opened_graph;
mod sink_run;
mod skipped_messages;
mod sources;
mod star_glob;
mod time_range;
mod trimmed_sink;
mod trimmed_streams;
mod wiring;

pub(crate) use opened_graph::run;
