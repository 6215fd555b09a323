//! Conclusions about a packet and its bytes from the event records ahead.

use std::ops::Range;

use ichnos_model::decode::DecodeErrorKind;
use ichnos_model::{DamageKind, Field, Role, Scope, Text, Visitor};

use super::EventScanner;
use crate::overwritten::{BLOCK, FirstInBlock, TimeSteps, uniform_from};
use crate::rule::Overwritten;

impl EventScanner {
    /// Returns the time of the first event record of a packet that claims to start too late: a short timestamp would then be
    /// beyond the `end` of the packet, while all timestamps fit with an earlier start, not before `earliest`.
    pub(crate) fn earlier_begin(&self, begin: u64, end: u64, earliest: u64) -> Option<u64> {
        let first = self.next_time().filter(|first| *first > end)?;
        let reach = self.reach()?;
        let rounds = (first - end).div_ceil(reach);
        let earlier = first.checked_sub(rounds.checked_mul(reach)?).filter(|earlier| *earlier >= earliest)?;
        let mut scanner = self.clone();
        scanner.clocks.set_default(earlier);
        scanner.end = scanner.content_end();
        let mut last = earlier;
        while scanner.next_event() {
            let time = scanner.event_clock.filter(|time| (last..=end).contains(&time.cycles))?;
            last = time.cycles;
        }
        // Otherwise, the end is wrong: events are near the right one of both.
        (end - last < first.saturating_sub(begin)).then_some(earlier)
    }

    /// Ends the content of the packet where its event records end, and returns the bit: those that are in order, and not later
    /// than the end of the packet by more than its length. The rest is padding, as are equal bytes at the end of the packet.
    ///
    /// If event records have times, those that the packet shares with the one `before` at its end are padding, too: an earlier
    /// packet left them in the buffer. Their short timestamps can look like later ones: then, event records end at the time
    /// `latest`.
    pub(crate) fn end_content_by_events(&mut self, latest: u64, before: &[u8]) -> u64 {
        let mut scanner = self.clone();
        scanner.end = scanner.content_end();
        let begin = scanner.clock_cycles();
        let header = self.stream.plans().event_record_header.as_ref();
        let times = header.into_iter().flat_map(|plan| plan.nodes());
        let mut times = times.filter(|node| node.roles.has(Role::Timestamp)).peekable();
        let has_times = times.peek().is_some();
        let is_short = times.any(|node| node.class.bits().is_none_or(|bits| bits.length < 64));
        // Tracers write events just before the first time of a packet, and just after its last time.
        let latest = if is_short { latest } else { latest.saturating_add(latest.saturating_sub(begin)) };
        let mut last = if is_short { begin } else { 0 };
        let content = self.data.get(..self.content_end().div_ceil(8) as usize).unwrap_or_default();
        let is_other = |(own, before): (&u8, &u8)| own != before;
        let shared = content.iter().zip(before).rposition(is_other).map_or(0, |other| other + 1);
        let shared = if has_times && before.len() == content.len() { shared } else { content.len() };
        let padding = 8 * uniform_from(content).min(shared) as u64;
        while scanner.at.bit.next_multiple_of(8) < padding && scanner.next_event() {
            if let Some(time) = scanner.event_clock {
                if !(last..=latest).contains(&time.cycles) {
                    scanner.at = scanner.begins[2];
                    break;
                }
                last = time.cycles;
            }
        }
        self.content = if scanner.is_broken() { scanner.begins[2].bit } else { scanner.at.bit };
        self.content
    }

    /// Returns the bit of the next event records that are not what was recorded, if the bytes of a suspicious block, with
    /// these bits of the packet, were overwritten: the time of the first one that begins in it is wrong (see [`TimeSteps`]),
    /// or it begins elsewhere than in the block of which this is a copy, or the block covers a part of one and nothing after
    /// it can be read, or that is a text of 0xff. An event record that only ends in the block may be changed, so it is one of
    /// them.
    pub(crate) fn overwritten_from(&self, block: Range<u64>, found: Overwritten) -> Option<u64> {
        let block_before = block.start.saturating_sub(8 * BLOCK as u64);
        let mut scanner = self.scanner_before(block_before);
        let (mut begin, mut last) = (scanner.at.bit, scanner.clock_cycles());
        let (mut steps, mut is_split) = (TimeSteps::default(), false);
        // Where the first event record of the block before begins in it.
        let mut first_before = None;
        let sees_first = block.start >= 8 * BLOCK as u64 && scanner.at.bit <= block_before;
        while scanner.at.bit < scanner.end {
            let at = scanner.at.bit;
            begin = if at <= block.start { at } else { begin };
            if sees_first && first_before.is_none() && (block_before..block.start).contains(&at) {
                first_before = Some(at - block_before);
            }
            if at >= block.end && begin < block.start && scanner.has_text_of_ones() {
                return Some(begin);
            }
            let times = if at >= block.start { scanner.reach() } else { None };
            if !scanner.next_event() {
                let (bit, damage) = scanner.broken.as_deref()?;
                // Broken before the block, or because the packet ends after it, it has nothing to do with it.
                let is_cut_off = at >= block.end && is_cut_off(damage);
                return (*bit >= block.start && !is_cut_off).then_some(begin);
            }
            let (time, header_end) = (scanner.event_clock?.cycles, scanner.begins[3].bit);
            if header_end > block.end {
                let order = &scanner.order;
                let goes_beyond = order.allows_after(last, last) && !order.allows_after(last, time);
                return (time < last || goes_beyond).then_some(begin);
            }
            let step = time.checked_sub(last);
            if at >= block.start {
                let is_copy = found == Overwritten::Copy && at < block.end;
                let first_before = first_before.filter(|_| is_copy);
                if first_before.is_some_and(|first| self.are_shifted(block_before, first, at - block.start)) {
                    return Some(begin);
                }
                let is_short = block.end - block.start < 8 * BLOCK as u64;
                let first = |step| FirstInBlock { step, is_split, times, is_short };
                return step.is_none_or(|step| steps.show_overwritten(found, first(step))).then_some(begin);
            }
            // The time of an event record whose header is in two blocks may be partly wrong: the next one shows that.
            is_split = [block_before, block.start].iter().any(|seam| (at + 1..header_end).contains(seam));
            match step {
                None if header_end > block.start => return Some(begin),
                _ if is_split => {}
                step => {
                    if let Some(step) = step {
                        steps.add(step);
                    }
                    last = time;
                }
            }
        }
        None
    }

    /// Returns a scanner of all event records from here on, or from where the scannable range begins if that is needed to know
    /// the times in a block that begins at a bit.
    fn scanner_before(&self, block: u64) -> Self {
        let mut scanner = self.clone();
        scanner.end = scanner.content_end();
        if let Some((at, cycles)) = self.range_begin.filter(|_| self.at.bit > block) {
            scanner.at = at;
            scanner.clocks.set_default(cycles);
        }
        scanner
    }

    /// Returns `true` if two blocks of equal bytes, the first of which begins at a bit of the packet, have their first event
    /// records at different places. Then they are copies rather than periodic records, unless the bytes between both places repeat themselves.
    fn are_shifted(&self, block: u64, first: u64, first_in_copy: u64) -> bool {
        let shift = first.abs_diff(first_in_copy);
        let bytes = (shift / 8) as usize;
        let block =
            self.data.get((block / 8) as usize..).and_then(|rest| rest.get(..BLOCK)).unwrap_or_default();
        shift > 0
            && shift.is_multiple_of(8)
            && !block.get(bytes..).is_some_and(|rest| block.starts_with(rest))
    }

    /// Returns `true` if a text of the event record that was scanned last has many bytes of 0xff, which no encoding uses so.
    fn has_text_of_ones(&self) -> bool {
        struct Texts(bool);
        impl Visitor for Texts {
            fn text(&mut self, _: Field<'_>, value: Text<'_>) {
                self.0 |= memchr::memmem::find(value.raw, &[0xff; 64]).is_some();
            }
        }
        let mut texts = Texts(false);
        let event = self.event();
        let scopes = [Scope::CommonContext, Scope::SpecificContext, Scope::Payload];
        scopes.into_iter().all(|scope| event.visit(scope, &mut texts).is_ok()) && texts.0
    }
}

/// Returns `true` for the damage of an event record that goes on after the end of its packet.
fn is_cut_off(damage: &DamageKind) -> bool {
    matches!(
        damage,
        DamageKind::Field(DecodeErrorKind::BeyondContent { .. } | DecodeErrorKind::BeyondData { .. })
    )
}
