//! Losses and damage, which have separate tables.

use ichnos_model::message::{Damage, Discarded};

/// A loss or damage.
#[derive(Debug)]
pub(crate) enum TableNote {
    /// Missing events or packets.
    Loss {
        /// Data stream number.
        stream: u32,
        are_packets: bool,
        count: Option<u64>,
        /// Times in nanoseconds.
        begin: Option<i128>,
        end: Option<i128>,
        thread: Option<u64>,
    },
    /// Unreadable data.
    Damage {
        /// Data stream name.
        stream: Option<String>,
        file: String,
        /// Position and number of skipped bits.
        bit: u64,
        skipped: u64,
        problem: String,
    },
}

impl TableNote {
    pub(crate) fn loss(stream: u32, loss: &Discarded<'_>, are_packets: bool) -> Self {
        Self::Loss {
            stream,
            are_packets,
            count: loss.count,
            begin: loss.begin.map(|begin| begin.nanoseconds),
            end: loss.end.map(|end| end.nanoseconds),
            thread: loss.thread,
        }
    }

    pub(crate) fn damage(damage: &Damage) -> Self {
        Self::Damage {
            stream: damage.stream.clone(),
            file: damage.file.clone(),
            bit: damage.bit,
            skipped: damage.skipped,
            problem: damage.kind.to_string(),
        }
    }
}
