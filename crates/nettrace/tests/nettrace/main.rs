//! End-to-end tests of the reader.
#![forbid(unsafe_code)]

mod builder;
mod feed;
mod fixtures;
mod hostile;
mod order;
mod reading;
mod truncated;
mod types;
