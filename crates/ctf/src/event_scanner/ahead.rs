//! Conclusions about a packet from the event records ahead.

use std::ops::Range;

use ichnos_model::class::Role;
use ichnos_model::decode::DecodeErrorKind;
use ichnos_model::field::{Field, Text};
use ichnos_model::message::DamageKind;
use ichnos_model::{Scope, Visitor};

use super::EventScanner;
use crate::overwritten::{BLOCK, FirstInBlock, TimeSteps, uniform_from};
use crate::rule::Overwritten;

impl EventScanner {
    /// Returns the first event record's time if the recorded begin time is too late. It is too late if a short
    /// timestamp would be beyond the packet's `end`, while all timestamps fit with an earlier begin time, but not
    /// before `earliest`.
    pub(crate) fn earlier_begin(&self, begin: u64, end: u64, earliest: u64) -> Option<u64> {
        let first = self.next_time().filter(|first| *first > end)?;
        let reach = self.reach()?;
        let rounds = (first - end).div_ceil(reach);
        let earlier = first.checked_sub(rounds.checked_mul(reach)?).filter(|earlier| *earlier >= earliest)?;
        let mut scanner = self.clone();
        scanner.clocks.set_default(earlier);
        scanner.scan_to_end();
        let mut last = earlier;
        while scanner.next_event() {
            let time = scanner.event_clock.filter(|time| (last..=end).contains(&time.cycles))?;
            last = time.cycles;
        }
        // Otherwise, the end is wrong: the time closer to the events is correct.
        (end - last < first.saturating_sub(begin)).then_some(earlier)
    }

    /// Ends the packet's content after its last credible event record, and returns the bit.
    ///
    /// Credible records are in order, and exceed the packet's end time by at most its duration. The rest is padding,
    /// and so are equal bytes at the packet's end.
    ///
    /// If event records have times, records that equal the end of the packet `before` are padding too: an earlier
    /// packet left them in the buffer. Their short timestamps can look like later times, so event records must not
    /// exceed the time `latest`.
    pub(crate) fn end_content_by_events(&mut self, latest: u64, before: &[u8]) -> u64 {
        let mut scanner = self.clone();
        scanner.scan_to_end();
        let begin = scanner.clock_cycles();
        let header = self.stream.plans().event_record_header.as_ref();
        let times = header.into_iter().flat_map(|plan| plan.nodes());
        let mut times = times.filter(|node| node.roles.has(Role::Timestamp)).peekable();
        let has_times = times.peek().is_some();
        let is_short = times.any(|node| node.class.bits().is_none_or(|bits| bits.length < 64));
        // Tracers write events just before a packet's first time, and just after its last time.
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

    /// Returns the first bit of the overwritten event records, if a suspicious block was overwritten. `block` is its
    /// bit range in the packet.
    ///
    /// The block was overwritten in these cases:
    ///
    /// - The first event record that begins in it has a wrong time (see [`TimeSteps`]).
    /// - Its first event record is at another place than in the block it copies.
    /// - It covers a part of an event record, and everything after it is unreadable.
    /// - It covers a part of an event record, which has a text with 0xff bytes.
    ///
    /// An event record that only ends in the block may have changed, so it counts as overwritten.
    pub(crate) fn overwritten_from(&self, block: Range<u64>, found: Overwritten) -> Option<u64> {
        let block_before = block.start.saturating_sub(8 * BLOCK as u64);
        let mut scanner = self.scanner_before(block_before);
        let (mut begin, mut last) = (scanner.at.bit, scanner.clock_cycles());
        let (mut steps, mut is_split) = (TimeSteps::default(), false);
        // First event record that begins in the block before.
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
                // Damage before the block, or caused by the packet's end, is unrelated.
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
            // If a header lies in two blocks, its time may be partly wrong. The next event record shows it.
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

    /// Returns a scanner that starts here, or at the start of the scannable range if times in the block require it.
    fn scanner_before(&self, block: u64) -> Self {
        let mut scanner = self.clone();
        scanner.scan_to_end();
        if let Some((at, cycles)) = self.range_begin.filter(|_| self.at.bit > block) {
            scanner.at = at;
            scanner.clocks.set_default(cycles);
        }
        scanner
    }

    /// Returns `true` if two equal blocks contain their first event records at different places. `block` is the first
    /// bit of the first block. Shifted blocks are copies, not periodic records, unless the bytes between both places
    /// also repeat.
    fn are_shifted(&self, block: u64, first: u64, first_in_copy: u64) -> bool {
        let shift = first.abs_diff(first_in_copy);
        let bytes = (shift / 8) as usize;
        // Equal blocks were found in the data.
        let block =
            self.data.get((block / 8) as usize..).and_then(|rest| rest.get(..BLOCK)).unwrap_or_default();
        shift > 0
            && shift.is_multiple_of(8)
            && !block.get(bytes..).is_some_and(|rest| block.starts_with(rest))
    }

    /// Returns `true` if a text in the last scanned event record has many 0xff bytes, which no encoding uses.
    fn has_text_of_ones(&self) -> bool {
        struct OnesSearch(bool);
        impl Visitor for OnesSearch {
            fn text(&mut self, _: Field<'_>, value: Text<'_>) {
                self.0 |= memchr::memmem::find(value.raw, &[0xff; 64]).is_some();
            }
        }
        let mut texts = OnesSearch(false);
        let event = self.event();
        let scopes = [Scope::CommonContext, Scope::SpecificContext, Scope::Payload];
        scopes.into_iter().all(|scope| event.visit(scope, &mut texts).is_ok()) && texts.0
    }
}

/// Returns `true` if the event record continues past its packet's end.
fn is_cut_off(damage: &DamageKind) -> bool {
    matches!(
        damage,
        DamageKind::Field(DecodeErrorKind::BeyondContent { .. } | DecodeErrorKind::BeyondData { .. })
    )
}
