//! Flags of records of events that may begin or end something.

pub(super) const BEGIN: u16 = 1;
pub(super) const END: u16 = 2;
/// The event lacks a field of the key, or a time.
pub(super) const NO_KEY: u16 = 4;
pub(super) const NO_TIME: u16 = 8;
/// A span that is nested in its track, which the key identifies.
pub(super) const NESTED: u16 = 16;
/// The track is that of the thread that runs on the processor, which the key identifies.
pub(super) const OF_RUNNING: u16 = 32;
/// The processor runs another thread.
pub(super) const SWITCH: u16 = 64;
/// The end of whatever span is open.
pub(super) const UNNAMED: u16 = 128;
/// The event names an object, or ends it.
pub(super) const OBJECT: u16 = 256;
