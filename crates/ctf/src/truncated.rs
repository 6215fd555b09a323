//! Files that become shorter while they are read.
//!
//! Where bytes of a mapped file are gone, there are zeros instead ([`Bytes::lost`]), which can look
//! like events. That shows only after they were decoded; so it is asked at the end of each packet and
//! within long ones, and for what nobody has noticed once more at the end of the data stream.

use ichnos_io::Bytes;
use ichnos_model::{Damage, DamageKind};

use crate::stream::CtfCursor;
use crate::stream_input::{StreamFile, StreamInput};

/// After so many bits of events it is asked whether they were there.
const CHECKED: u64 = 8 << 20;

/// The damage of a file that has lost bytes since it was opened.
pub(crate) fn lost(name: &str, bytes: &Bytes) -> Option<Damage> {
    let lost = bytes.look_for_loss();
    (!lost.is_empty()).then(|| Damage {
        file: name.to_owned(),
        stream: None,
        bit: lost.start as u64 * 8,
        kind: DamageKind::Lost { reported: false },
        skipped: lost.len() as u64 * 8,
    })
}

impl StreamInput {
    /// The files of which it is reported that they have lost bytes before anything is read of them.
    pub(crate) fn lost_files(&self) -> Vec<u32> {
        let lost = |name: &str| {
            self.rest.iter().any(|rest| matches!(rest.kind, DamageKind::Lost { .. }) && rest.file == name)
        };
        (0u32..).zip(&self.files).filter(|(_, file)| lost(&file.name)).map(|(i, _)| i).collect()
    }
}

impl CtfCursor {
    /// Sets up to where events are read before it is asked again whether their bytes are there, and
    /// leaves out of the packet what is gone already.
    pub(crate) fn look_ahead(&mut self) {
        self.end = self.bits().end().min(self.at.bit.saturating_add(CHECKED));
        // A file that has become shorter is found out by reading it.
        let last = usize::try_from(self.end / 8).ok().and_then(|end| self.data.get(end.checked_sub(1)?));
        std::hint::black_box(last.copied());
        if let Some((_, from)) = self.lost_of_packet().filter(|(_, from)| *from > self.at.bit) {
            self.data = self.data.slice(0..usize::try_from(from / 8).unwrap_or(usize::MAX));
            self.end = self.end.min(self.bits().end());
        }
    }

    /// Whether bytes of the current packet are gone.
    pub(crate) fn is_packet_lost(&self) -> bool {
        self.lost_of_packet().is_some()
    }

    /// The damage if bytes of the current packet are gone, and from which bit of the packet on.
    fn lost_of_packet(&self) -> Option<(Damage, u64)> {
        let entry = self.entry();
        let StreamFile { name, bytes } = self.input.files.get(entry.file as usize)?;
        if bytes.lost().is_empty() {
            return None;
        }
        let lost = lost(name, bytes)?;
        let begin = entry.offset * 8;
        let end = begin + entry.available(bytes.len() as u64) * 8;
        let lost_end = lost.bit + lost.skipped;
        if lost.bit >= end || lost_end <= begin {
            return None;
        }
        let bit = lost.bit.max(begin);
        Some((Damage { bit, skipped: lost_end - bit, ..lost }, bit - begin))
    }

    /// What was found out about a packet that was just opened, if it is there. Of packets that are
    /// gone, only the first one of a file is reported.
    pub(crate) fn unless_lost(&mut self, opened: Result<(), Damage>) -> Result<(), Option<Damage>> {
        match self.lost_of_packet() {
            Some((damage, from)) if opened.is_err() || from <= self.at.bit => {
                Err(self.is_first_reported().then_some(damage))
            }
            _ => opened.map_err(Some),
        }
    }

    /// The damage if bytes of the events that were just read are gone, unless that was reported before
    /// they were read.
    pub(crate) fn lost_of_events(&mut self) -> Option<Damage> {
        let (damage, from) = self.lost_of_packet()?;
        // A broken event was not reported.
        if self.broken.take().is_some() {
            self.forget_event();
        }
        let reported = self.at.bit > from;
        (self.is_first_reported() || reported)
            .then_some(Damage { kind: DamageKind::Lost { reported }, ..damage })
    }

    /// The damage of a file that nobody has noticed yet.
    pub(crate) fn lost_of_files(&mut self) -> Option<Damage> {
        let mut files = (0u32..).zip(&self.input.files).filter(|(i, _)| !self.lost_files.contains(i));
        let (file, damage) = files.find_map(|(i, file)| Some((i, lost(&file.name, &file.bytes)?)))?;
        self.lost_files.push(file);
        Some(Damage { kind: DamageKind::Lost { reported: true }, ..damage })
    }

    /// Notes that the file of the current packet has lost bytes; whether that is new.
    fn is_first_reported(&mut self) -> bool {
        let file = self.entry().file;
        let is_new = !self.lost_files.contains(&file);
        if is_new {
            self.lost_files.push(file);
        }
        is_new
    }
}
