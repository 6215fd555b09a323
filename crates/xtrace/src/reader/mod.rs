//! X-Trace as a format of ichnos.

mod collect;

pub use collect::COLLECT;
