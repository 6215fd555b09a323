//! Files that have lost bytes since they were opened.

use ichnos_io::Bytes;
use ichnos_model::message::{Damage, DamageKind};

use crate::stream_input::StreamInput;

/// Files in a data stream whose loss was already reported.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LostFiles(Vec<u32>);

impl LostFiles {
    /// Returns the files whose loss was reported before reading.
    pub(crate) fn reported_before(input: &StreamInput) -> Self {
        let is_reported = |name: &str| {
            input.rest.iter().any(|rest| matches!(rest.kind, DamageKind::Lost { .. }) && rest.file == name)
        };
        let files = (0u32..).zip(&input.files).filter(|(_, file)| is_reported(&file.name));
        Self(files.map(|(i, _)| i).collect())
    }

    /// Records that a file's loss is reported. Returns `true` if it was unreported.
    pub(crate) fn record(&mut self, file: u32) -> bool {
        let is_new = !self.0.contains(&file);
        if is_new {
            self.0.push(file);
        }
        is_new
    }

    /// Returns the damage of the next file with an unreported loss.
    pub(crate) fn report_next(&mut self, input: &StreamInput) -> Option<Damage> {
        let mut files = (0u32..).zip(&input.files).filter(|(i, _)| !self.0.contains(i));
        let (file, damage) = files.find_map(|(i, file)| Some((i, lost(&file.name, &file.bytes)?)))?;
        self.0.push(file);
        Some(Damage { kind: DamageKind::Lost { reported: true }, ..damage })
    }
}

/// Returns the damage of a file that has lost bytes since it was opened.
pub(crate) fn lost(name: &str, bytes: &Bytes) -> Option<Damage> {
    let lost = bytes.look_for_loss();
    (!lost.is_empty()).then(|| {
        let kind = DamageKind::Lost { reported: false };
        Damage::new(name, lost.start as u64 * 8, kind).skipping(lost.len() as u64 * 8)
    })
}
