//! Packets without a magic number, recognized by the packets that follow.

use ichnos_model::TraceClass;
use ichnos_model::class::{FieldKind, Role};

use super::{PacketScan, ScannedPacket, TooManyPackets};
use crate::packet::{Clocks, PacketInfo};

/// Number of consecutive packets that cannot be a coincidence.
const RUN: usize = 4;

/// Maximum size in bytes of a header and context during searches. Without a limit, an unterminated text would be read
/// to the end of the file from each offset.
const LARGEST_HEAD: usize = 4096;

/// Maximum number of searches in a file. Each search may read a wrong header up to the end of the file.
const MOST_SEARCHES: usize = 512;

/// Maximum number of consecutive offsets to try.
const MOST_TRIED: usize = 1 << 16;

impl<T: FnMut(ScannedPacket) -> Result<(), TooManyPackets>> PacketScan<'_, T> {
    /// Returns `true` if a packet seems to begin at an offset, or if the file ends there.
    pub(super) fn begins_packet(&self, at: usize) -> bool {
        let Some(rest) = self.data.get(at..) else { return false };
        match self.magic {
            Some(magic) => rest.is_empty() || rest.starts_with(&magic),
            None => rest.is_empty() || self.run_at(at, at).is_some(),
        }
    }

    /// Returns the size of the packet at an offset, and the length of the run that starts with it. A run is shorter at
    /// the end of the file. If it reaches the offset `over`, a packet must begin exactly there.
    fn run_at(&self, mut at: usize, over: usize) -> Option<(usize, usize)> {
        let mut clocks = Clocks::for_trace(self.decoder.class);
        let mut run: Option<(PacketInfo, usize)> = None;
        for number in 0..RUN {
            let rest = self.data.get(at..)?;
            if rest.is_empty() {
                return run.map(|(_, size)| (size, number));
            }
            let head = rest.get(..LARGEST_HEAD).unwrap_or(rest);
            let info = self.decoder.decode(head, &self.slots, &mut clocks).ok()?;
            let size =
                usize::try_from(info.total? / 8).ok().filter(|size| (1..=rest.len()).contains(size))?;
            let leads_over = at < over && over < at + size;
            if leads_over || run.as_ref().is_some_and(|(before, _)| !follows(before, &info, clocks.go_on)) {
                return None;
            }
            run = Some((info, run.map_or(size, |(_, first)| first)));
            at += size;
        }
        run.map(|(_, size)| (size, RUN))
    }

    /// Returns the offset of the next packet after an unreadable packet at `offset`. The first candidates are its end
    /// by its own size, and by a neighbor's size. Otherwise the first offset where several packets follow each other.
    pub(super) fn unmarked_after(&mut self, offset: usize) -> Option<usize> {
        self.searches += 1;
        if self.searches > MOST_SEARCHES {
            return None;
        }
        let size_before = match &self.pending {
            Some(pending) => Some(pending.end - pending.found.entry.offset as usize),
            None => self.size_before.and_then(|size| usize::try_from(size).ok()),
        };
        let usual = size_before.and_then(|size| offset.checked_add(size)).filter(|at| *at > offset);
        let own = self.doubtful(offset, self.data.len()).and_then(|info| self.end_by_total(offset, &info));
        let by_size = own.into_iter().chain(usual).find(|at| self.run_at(*at, *at).is_some());
        let mut tried = (offset + 1..self.data.len()).take(MOST_TRIED);
        let is_sure = |at: usize| {
            let run = self.run_at(at, at);
            run.is_some_and(|(size, count)| at - offset == size || count > 1 && self.has_order)
        };
        by_size.or_else(|| tried.find(|at| is_sure(*at)))
    }

    /// Returns the offset of the first packet inside the pending packet, after its content and not before `from`.
    /// Either both parts have the same size, or the pending packet gets the previous packet's size.
    pub(super) fn unmarked_within(&self, from: usize, to: usize) -> Option<usize> {
        let pending = self.pending.as_ref()?;
        let begin = usize::try_from(pending.found.entry.offset).ok()?;
        let content =
            pending.found.entry.content().and_then(|content| usize::try_from(content.div_ceil(8)).ok());
        let end = content.and_then(|content| content.checked_add(begin));
        let from = from.max(end.filter(|end| *end < pending.end).unwrap_or(pending.begin));
        let is_usual =
            |at: usize, size: usize| at - begin == size || self.size_before == Some((at - begin) as u64);
        (from..to)
            .take(MOST_TRIED)
            .find(|at| self.run_at(*at, pending.end).is_some_and(|(size, _)| is_usual(*at, size)))
    }
}

/// Returns `true` if each packet in a trace has a time or a sequence number, so that it shows whether it can follow
/// another packet.
pub(super) fn has_order(class: &TraceClass) -> bool {
    class.data_streams.iter().all(|class| {
        let root = class.packet_context.as_deref().map(|root| &root.kind);
        let Some(FieldKind::Structure { members, .. }) = root else { return false };
        let is_ordered = |role| members.iter().any(|member| member.class.roles.has(role));
        is_ordered(Role::Timestamp) || is_ordered(Role::PacketSequenceNumber)
    })
}

/// Returns `true` if a packet can follow another packet in a file.
fn follows(before: &PacketInfo, next: &PacketInfo, clocks_go_on: bool) -> bool {
    if (before.class, before.stream_id) != (next.class, next.stream_id) {
        return true;
    }
    let times = before.begin.zip(next.begin).filter(|_| !clocks_go_on);
    let sequences = before.sequence.zip(next.sequence);
    // Repetitive payloads can look like packets.
    times.is_none_or(|(before, next)| before < next)
        && sequences.is_none_or(|(before, next)| next.since(before).is_some_and(|step| step > 0))
}
