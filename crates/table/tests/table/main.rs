//! Column tests: written tables are read again, and compared with JSON Lines.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod arrow;
mod dataset;
mod examples;
mod hostile;
mod killed;
mod limits;
mod many_classes;
mod options;
mod queries;
mod shards;
