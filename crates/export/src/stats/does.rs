//! Flags of records of events that may begin or end something.

pub(super) const BEGIN: u8 = 1;
pub(super) const END: u8 = 2;
/// The event lacks a field of the key, or a time.
pub(super) const NO_KEY: u8 = 4;
pub(super) const NO_TIME: u8 = 8;
/// A span that is nested in its track, which the key identifies.
pub(super) const NESTED: u8 = 16;
/// The track is that of the thread that runs on the processor, which the key identifies.
pub(super) const OF_RUNNING: u8 = 32;
/// The processor runs another thread.
pub(super) const SWITCH: u8 = 64;
/// The end of whatever span is open.
pub(super) const UNNAMED: u8 = 128;
