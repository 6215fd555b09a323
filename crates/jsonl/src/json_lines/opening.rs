//! Event line openings: the data stream and the time.

use ichnos_export::parts::{TimeWriter, four_digits, nanoseconds};
use ichnos_json::write::push_unsigned;
use ichnos_model::clock::ClockValue;

/// Maximum size of an opening that is copied as one block.
const SIZE: usize = 96;

/// Limit of the nine lowest digits.
const LOWER: u64 = 1_000_000_000;

/// Limit of the four lowest digits.
const LOWEST: u32 = 10_000;

/// Latest event line opening in a data stream. Most digits in time and cycles stay the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventOpening {
    block: [u8; SIZE],
    length: usize,
    time: Digits,
    /// `None` if the cycles have few digits. Then they are appended.
    cycles: Option<Digits>,
}

/// Cache with openings for recently used data streams. A trace can have very many data streams, so keeping all
/// openings would dominate memory use.
#[derive(Debug, Default)]
pub(super) struct OpeningCache {
    /// Openings with the number of their data stream. Several data streams share a slot. The vector grows on demand,
    /// because `split` has a sink for each part.
    places: Vec<Option<(u64, EventOpening)>>,
}

/// Maximum number of slots.
const PLACES: u64 = 64;

/// Text between time and cycles.
const CYCLES: &[u8] = b",\"cycles\":";

impl OpeningCache {
    /// Appends the opening of an event line: everything that does not depend on the event's class.
    #[inline]
    pub(super) fn push(
        &mut self,
        out: &mut Vec<u8>,
        stream: u64,
        clock: Option<&ClockValue>,
        time: &mut TimeWriter,
        with_cycles: bool,
    ) {
        let index = (stream % PLACES) as usize;
        if self.places.len() <= index {
            self.places.resize(index + 1, None);
        }
        let place = &mut self.places[index];
        if let (Some(value), Some((known, opening))) = (clock, &mut *place)
            && *known == stream
            && opening.push(out, value.nanoseconds, value.cycles)
        {
            return;
        }
        *place = write(out, stream, clock, time, with_cycles).map(|opening| (stream, opening));
    }
}

/// Appends an opening. Returns it if the next event can reuse it.
#[inline(never)]
fn write(
    out: &mut Vec<u8>,
    stream: u64,
    clock: Option<&ClockValue>,
    time: &mut TimeWriter,
    with_cycles: bool,
) -> Option<EventOpening> {
    let begin = out.len();
    out.extend_from_slice(b"{\"type\":\"event\",\"stream\":");
    push_unsigned(out, stream);
    let value = clock?;
    out.extend_from_slice(b",\"ts\":");
    time.push(out, value.nanoseconds);
    let time_end = out.len() - begin;
    if !with_cycles {
        return None;
    }
    out.extend_from_slice(CYCLES);
    push_unsigned(out, value.cycles);
    let text = out.get(begin..).filter(|_| time.is_number())?;
    EventOpening::new(text, value.nanoseconds, time_end, value.cycles)
}

/// Position of a number's nine lowest digits.
#[derive(Clone, Copy, Debug)]
struct Digits {
    /// The number with these digits set to 0.
    upper: u64,
    /// The digits in the block, with the four lowest set to 0.
    near: u32,
    /// Offset of the digits.
    at: usize,
}

impl Digits {
    /// Finds the digits of a number that ends at `end`. Returns `None` if it has no more than nine digits.
    fn from_number(number: u64, end: usize) -> Option<Self> {
        let upper = number - number % LOWER;
        let lower = (number % LOWER) as u32;
        Some(Self { upper, near: lower - lower % LOWEST, at: end.checked_sub(9).filter(|_| upper > 0)? })
    }

    /// Returns the nine lowest digits of another number, or `None` if its upper digits differ.
    #[inline(always)]
    fn lower(self, number: u64) -> Option<u32> {
        number.checked_sub(self.upper).filter(|lower| *lower < LOWER).map(|lower| lower as u32)
    }

    /// Replaces the digits in a copy of the block.
    #[inline(always)]
    fn put(&mut self, block: &mut [u8], text: &mut [u8], lower: u32) {
        let lowest = lower.wrapping_sub(self.near);
        if lowest < LOWEST {
            put(text, self.at + 5, four_digits(lowest));
        } else {
            self.near = lower - lower % LOWEST;
            put(block, self.at, nanoseconds(self.near));
            put(text, self.at, nanoseconds(lower));
        }
    }
}

/// Replaces bytes from `at` on.
#[inline(always)]
fn put<const N: usize>(text: &mut [u8], at: usize, digits: [u8; N]) {
    if let Some(place) = text.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = digits;
    }
}

impl EventOpening {
    /// Copies a written opening. The time ends at `time_end`, the cycles at the end of the text. Returns `None` if the
    /// text is too long, or the time has at most nine digits.
    pub(super) fn new(text: &[u8], time: i128, time_end: usize, cycles: u64) -> Option<Self> {
        let cycles = Digits::from_number(cycles, text.len());
        let length = if cycles.is_some() { text.len() } else { time_end + CYCLES.len() };
        let mut block = [0; SIZE];
        block.get_mut(..length)?.copy_from_slice(text.get(..length)?);
        Some(Self { block, length, time: Digits::from_number(u64::try_from(time).ok()?, time_end)?, cycles })
    }

    /// Appends the opening for another event. Returns `false` if the upper digits differ.
    #[inline(always)]
    pub(super) fn push(&mut self, out: &mut Vec<u8>, time: i128, cycles: u64) -> bool {
        let Ok(time) = u64::try_from(time) else { return false };
        let Some(time) = self.time.lower(time) else { return false };
        let lower = match self.cycles {
            Some(digits) => digits.lower(cycles),
            None => Some(cycles as u32).filter(|_| cycles < LOWER),
        };
        let Some(lower) = lower else { return false };
        let begin = out.len();
        // Copy in chunks: for the whole block the compiler would emit a call.
        for piece in self.block.as_chunks::<32>().0 {
            out.extend_from_slice(piece);
        }
        // Change the copy, not the block: loading a block after storing smaller parts of it is slow.
        if let Some(text) = out.get_mut(begin..) {
            self.time.put(&mut self.block, text, time);
            if let Some(digits) = &mut self.cycles {
                digits.put(&mut self.block, text, lower);
            }
        }
        out.truncate(begin + self.length);
        if self.cycles.is_none() {
            push_unsigned(out, lower.into());
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use ichnos_testing::cases;

    use super::*;

    #[test]
    fn an_opening_that_is_known_is_what_it_would_be_made_anew() {
        let (mut known, mut known_with_few_cycles) = (0, 0);
        let count = cases(2_000, |random| {
            let begins = [0, LOWER - 5, LOWER, 1_565_957_300 * LOWER, u64::MAX - LOWER, u64::MAX];
            let (mut time, mut cycles) = (begins[random.index(6)], begins[random.index(6)]);
            let mut opening: Option<EventOpening> = None;
            for _ in 0..40 {
                let most = [20_000, LOWER][random.index(2)];
                let step = [0, 1, 10, 9_000, 25_000, LOWER / 3, LOWER, u64::MAX][random.index(8)];
                (time, cycles) = (time.wrapping_add(step), cycles.wrapping_add(random.below(most)));
                let signed = i128::from(time) - if random.is_one_in(20) { 1 << 64 } else { 0 };
                let before = format!("{{\"stream\":1,\"ts\":{signed}");
                let expected = format!("{before},\"cycles\":{cycles}");
                let mut out = b"x".to_vec();
                if opening.as_mut().is_some_and(|opening| opening.push(&mut out, signed, cycles)) {
                    known += 1;
                    known_with_few_cycles += u32::from(cycles < LOWER);
                    assert_eq!(String::from_utf8(out).unwrap(), format!("x{expected}"));
                } else {
                    assert_eq!(out, b"x");
                    opening = EventOpening::new(expected.as_bytes(), signed, before.len(), cycles);
                }
            }
        });
        assert!(count < 2_000 || known > 10_000, "{known}");
        assert!(EventOpening::new(&[b'1'; SIZE + 1], 1 << 40, 20, 1 << 40).is_none());
        assert!(count < 2_000 || known_with_few_cycles > 100, "{known_with_few_cycles}");
    }
}
