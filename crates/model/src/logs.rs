//! Logs: events as lines of a log, with a level and a message.

pub use crate::log::{
    LOG_LEVEL_NAMES, LevelScale, LevelStep, LogLevel, LogRole, LogSeverity, LogText, TRACER_NAMESPACES,
};
