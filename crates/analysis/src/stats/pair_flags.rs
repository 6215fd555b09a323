//! Flags in the records for pairing.

pub(super) const BEGIN: u16 = 1;
pub(super) const END: u16 = 2;
/// The event lacks a key field or a time.
pub(super) const NO_KEY: u16 = 4;
pub(super) const NO_TIME: u16 = 8;
/// The event belongs to a nested span. The key identifies its track.
pub(super) const NESTED: u16 = 16;
/// The track is the running thread of the processor in the key.
pub(super) const OF_RUNNING: u16 = 32;
/// The processor runs another thread.
pub(super) const SWITCH: u16 = 64;
/// An unnamed end: it closes any open span.
pub(super) const UNNAMED: u16 = 128;
/// The event names an object or ends it.
pub(super) const OBJECT: u16 = 256;
