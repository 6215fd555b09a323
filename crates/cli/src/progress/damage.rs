//! Damage messages, shared by all verbs.

use std::fmt::Write as _;

use ichnos::export::text::count;
use ichnos::model::message::{Damage, DamageKind};

use crate::args::limits;
use crate::exit::Failure;
use crate::progress::Console;

/// List of the first damaged places, and the total number.
#[derive(Default)]
pub(crate) struct Damages {
    pub(crate) list: Vec<Damage>,
    pub(crate) count: u64,
}

impl Damages {
    /// Adds a damaged place. The list stores at most `most` places.
    pub(crate) fn add(&mut self, damage: &Damage, most: u64) {
        if self.count < most {
            self.list.push(damage.clone());
        }
        self.count += 1;
    }

    /// Prints a warning for each place in the list, sorted by file, and a summary for the rest.
    pub(crate) fn warn(&mut self, console: Console) {
        self.list.sort_by(|a, b| (&a.file, a.bit).cmp(&(&b.file, b.bit)));
        self.list.iter().for_each(|damage| console.warning(&line(damage)));
        if self.left_out() > 0 {
            console.warning(&count(self.left_out(), "more damaged place"));
        }
    }

    /// Returns the number of places that are not in the list.
    pub(crate) fn left_out(&self) -> u64 {
        self.count - self.list.len() as u64
    }
}

/// Returns the problem and the number of skipped bytes.
pub(crate) fn message(damage: &Damage) -> String {
    let mut message = damage.kind.to_string();
    if damage.skipped > 0 {
        let skipped = count(damage.skipped.div_ceil(8), "byte");
        let _ = match damage.kind {
            // The position is the end of the packet: the skipped bytes precede it.
            DamageKind::CutOff { .. } | DamageKind::PacketWithin { .. } => {
                write!(message, "; skipped the {skipped} before it (part of an event)")
            }
            _ => write!(message, "; {skipped} skipped"),
        };
    }
    message
}

/// Returns the position and the message in one line.
pub(crate) fn line(damage: &Damage) -> String {
    let line = format!("{}: {}", damage.location(), message(damage));
    match limits::model_remedy(damage.kind.limit()) {
        Some(remedy) => format!("{line}; {remedy}"),
        None => line,
    }
}

/// Returns the error for damage with `--strict`.
pub(crate) fn refused(damage: &Damage) -> Failure {
    Failure::new(line(damage)).help("without --strict, reading resumes at the next readable packet or record")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        let cut_off = DamageKind::CutOff { total: 1056, available: 288 };
        let mut damage =
            Damage { file: "a/b".to_owned(), stream: None, bit: 2400, kind: cut_off, skipped: 96 };
        assert_eq!(
            line(&damage),
            "a/b: byte 300: packet ends after 288 of 1056 bits; skipped the 12 bytes before it \
             (part of an event)"
        );
        damage.skipped = 3;
        assert!(line(&damage).ends_with("; skipped the 1 byte before it (part of an event)"));
        damage.kind = DamageKind::EmptyEventRecord;
        damage.bit = 9;
        assert_eq!(line(&damage), "a/b: byte 1, bit 1: an event record of size zero; 1 byte skipped");
        damage.skipped = 0;
        assert!(line(&damage).ends_with("size zero"));
    }
}
