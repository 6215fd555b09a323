//! Losses of the events of a class.

use ichnos_model::lower::LossKind;

/// Losses that are counted by class: kind, field and description.
pub(super) const LOSSES: [(LossKind, &str, &str); 16] = [
    (LossKind::Rounded, "", "no timestamp: used the previous event's, or 0"),
    (LossKind::Rounded, "", "time before the first tick, or of more than 64 bits"),
    (LossKind::Dropped, "", "fields of a scope that cannot be decoded"),
    (LossKind::Dropped, "", "event: its payload is too long for a block"),
    (LossKind::Dropped, "", "thread that is text or negative"),
    (LossKind::Dropped, "", "process, thread name or labels: only version 6 has them"),
    (LossKind::Dropped, "", "elements of an array or a BLOB after the first 65,535"),
    (LossKind::Rounded, "", "invalid text: U+FFFD"),
    (LossKind::Rounded, "", "number of more bits than its type"),
    (LossKind::Dropped, "", "text after U+0000"),
    (LossKind::Dropped, "", "event: its context cannot be decoded"),
    (LossKind::Dropped, "", "bytes of the payload after its last field"),
    (LossKind::Dropped, "", "processor that is text, negative or longer than 32 bits"),
    (LossKind::Dropped, "", "negative process"),
    (LossKind::Lowered, "thread", "none -> 0"),
    (LossKind::Dropped, "", "trace id that is not 32 hexadecimal digits"),
];

// Indexes of [`LOSSES`].
pub(super) const TIME: usize = 0;
pub(super) const RANGE: usize = 1;
pub(super) const FIELDS: usize = 2;
pub(super) const PAYLOAD: usize = 3;
pub(super) const THREAD: usize = 4;
pub(super) const VERSION: usize = 5;
pub(super) const ELEMENTS: usize = 6;
pub(super) const TEXTS: usize = 7;
pub(super) const NUMBERS: usize = 8;
pub(super) const ENDS: usize = 9;
pub(super) const EVENT: usize = 10;
pub(super) const REST: usize = 11;
pub(super) const PROCESSOR: usize = 12;
pub(super) const PROCESS: usize = 13;
pub(super) const NO_THREAD: usize = 14;
pub(super) const TRACE_ID: usize = 15;
