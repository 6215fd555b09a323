//! Events as words, for readers that know most of an event before they read it.

use super::argument::{Argument, ArgumentValue, is_extended, kind, read, shape_of, size_words};
use super::content::{INLINE, RecordContent, bits};
use super::event::{EventKind, KINDS};
use super::record::kind::EVENT;
use super::reference::{StringRef, ThreadRef};

/// Header bits of an inline category or name.
const INLINE_NAMES: u64 = 1 << 63 | 1 << 47;

/// An event whose category and name are references. Only the size of the record is checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventWords<'a> {
    pub(crate) header: u64,
    words: &'a [[u8; 8]],
}

/// Content of an event whose parts fit its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventExtent {
    /// Time in ticks.
    pub(crate) ticks: u64,
    /// `true` if there is a word after the arguments.
    pub(crate) has_word: bool,
    /// `true` if an argument has reserved bits, or if words follow an argument value or the known content.
    pub(crate) is_extended: bool,
}

impl<'a> EventWords<'a> {
    /// Returns the event at a byte offset. `None` for other records, unknown event types, inline names, and events
    /// beyond the end of the input.
    #[inline(always)]
    pub(crate) fn at(input: &'a [u8], at: usize) -> Option<Self> {
        let rest = input.get(at..)?;
        let header = u64::from_le_bytes(*rest.first_chunk()?);
        let is_event = header & (0xf | INLINE_NAMES) == EVENT && bits(header, 16, 19) < KINDS.into();
        if !is_event {
            return None;
        }
        let (words, _) = rest.get(..bits(header, 4, 15) as usize * 8)?.as_chunks();
        Some(Self { header, words })
    }

    /// Returns the size in bytes.
    #[inline(always)]
    pub(crate) fn size(self) -> usize {
        self.words.len() * 8
    }

    /// Returns `true` for a flow event.
    #[inline(always)]
    pub(crate) fn is_flow(self) -> bool {
        bits(self.header, 16, 19) >= 8
    }

    #[inline(always)]
    fn word(self, index: usize) -> Option<u64> {
        self.words.get(index).map(|word| u64::from_le_bytes(*word))
    }

    /// Returns the time in ticks.
    #[inline(always)]
    pub(crate) fn ticks(self) -> Option<u64> {
        self.word(1)
    }

    /// Returns the thread.
    #[inline(always)]
    pub(crate) fn thread(self) -> Option<ThreadRef> {
        Some(match bits(self.header, 24, 31) as u8 {
            0 => ThreadRef::Inline { process: self.word(2)?, thread: self.word(3)? },
            index => ThreadRef::Index(index),
        })
    }

    /// Returns the arguments.
    #[inline(always)]
    pub(crate) fn arguments(self) -> ArgumentWords<'a> {
        let next = if bits(self.header, 24, 31) == 0 { 4 } else { 2 };
        ArgumentWords { words: self.words, next }
    }

    /// Checks that all parts fit. `None` for an unreadable event.
    #[inline(always)]
    pub(crate) fn extent(self) -> Option<EventExtent> {
        let ticks = self.ticks()?;
        let mut is_more = false;
        let mut next = self.arguments().next;
        for _ in 0..bits(self.header, 20, 23) {
            let header = self.word(next)?;
            let size = size_words(header);
            if size == 0 {
                return None;
            }
            is_more |= is_extended(header);
            next += size;
        }
        let left = self.words.len().checked_sub(next)?;
        let needed = match bits(self.header, 16, 19) {
            // The scope is optional.
            0 => left.min(1),
            2 | 3 => 0,
            _ => 1,
        };
        let is_extended = is_more || left > needed;
        (left >= needed).then_some(EventExtent { ticks, has_word: left > 0, is_extended })
    }
}

/// Arguments of an event, and the word after them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArgumentWords<'a> {
    words: &'a [[u8; 8]],
    next: usize,
}

impl<'a> ArgumentWords<'a> {
    /// Reads the next argument if it has this [shape](super::Arguments::shapes) and fits.
    ///
    /// Only for names in the string table.
    #[inline(always)]
    pub(crate) fn next_of(&mut self, shape: u32) -> Option<ArgumentValue<'a>> {
        let [header, rest @ ..] = self.words.get(self.next..)? else { return None };
        let header = u64::from_le_bytes(*header);
        if shape_of(header) != shape {
            return None;
        }
        let size = size_words(header);
        self.next += size;
        let low = (header >> 32) as u32;
        let word = || rest.first().filter(|_| size >= 2).map(|word| u64::from_le_bytes(*word));
        Some(match shape as u8 & 0xf {
            _ if size == 0 || size > rest.len() + 1 => return None,
            kind::NULL => ArgumentValue::Null,
            kind::INT32 => ArgumentValue::Int32(low as i32),
            kind::UINT32 => ArgumentValue::Uint32(low),
            kind::INT64 => ArgumentValue::Int64(word()? as i64),
            kind::UINT64 => ArgumentValue::Uint64(word()?),
            kind::DOUBLE => ArgumentValue::Double(f64::from_bits(word()?)),
            kind::POINTER => ArgumentValue::Pointer(word()?),
            kind::KOID => ArgumentValue::Koid(word()?),
            kind::BOOLEAN => ArgumentValue::Boolean(low & 1 != 0),
            kind::STRING if u64::from(low) & INLINE == 0 => ArgumentValue::String(match low as u16 {
                0 => StringRef::Inline(b""),
                index => StringRef::Index(index),
            }),
            _ => self.other(size)?,
        })
    }

    /// Reads the argument of `size` words before the current position.
    #[inline(never)]
    fn other(&self, size: usize) -> Option<ArgumentValue<'a>> {
        let words = self.words.get(..self.next)?.get(self.next - size..)?;
        let Argument { value, .. } = read(RecordContent::new(words.as_flattened(), 0)).ok()?;
        Some(value)
    }

    /// Returns the event type with its word, after the last argument. `None` if the word is missing.
    #[inline(always)]
    pub(crate) fn kind(self, header: u64) -> Option<EventKind> {
        let word = self.words.get(self.next).map(|word| u64::from_le_bytes(*word));
        EventKind::from_number(bits(header, 16, 19), word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fxt::{Record, Records, string_at};

    /// Small random generator.
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (self.0 >> 33) % limit
        }

        /// A reference to a string: mostly an index, sometimes inline.
        fn string(&mut self) -> u64 {
            if self.below(12) == 0 { INLINE | self.below(20) } else { self.below(40) }
        }

        /// An event that may be damaged.
        fn event(&mut self) -> Vec<u64> {
            let arguments = self.below(4);
            let mut words = vec![0, self.below(1_000)];
            let thread = self.below(3);
            if thread == 0 {
                words.extend([self.below(9), self.below(9)]);
            }
            for _ in 0..arguments {
                let size = if self.below(15) == 0 { self.below(4) } else { 1 + self.below(2) };
                let rest = if self.below(3) == 0 { self.below(1 << 31) << 32 } else { self.string() << 32 };
                words.push(self.below(13) | size << 4 | self.string() << 16 | rest);
                words.extend((1..size).map(|word| word * 77));
            }
            words.extend((0..self.below(3)).map(|word| word * 55));
            let size = if self.below(9) == 0 { self.below(9) } else { words.len() as u64 };
            let (category, name) = (self.string() << 32, self.string() << 48);
            words[0] =
                EVENT | size << 4 | self.below(12) << 16 | arguments << 20 | thread << 24 | category | name;
            words
        }
    }

    fn bytes_of(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Events read as words equal those read by the codec, and the others are left to it.
    #[test]
    fn events_are_those_of_the_codec() {
        let (mut random, mut read, mut refused) = (Random(7), 0, 0);
        for _ in 0..200_000 {
            let bytes = bytes_of(&random.event());
            let Some(words) = EventWords::at(&bytes, 0) else { continue };
            let found = Records::new(&bytes).next().unwrap();
            let Some(extent) = words.extent() else {
                assert!(found.is_err(), "{bytes:?}");
                refused += 1;
                continue;
            };
            let found = found.unwrap();
            let Record::Event(event) = found.record else { panic!("{found:?}") };
            assert_eq!((extent.ticks, words.thread()), (event.ticks, Some(event.thread)));
            assert_eq!(
                (words.size(), extent.is_extended),
                (found.bytes.len(), found.is_extended()),
                "{bytes:?}"
            );
            let mut arguments = words.arguments();
            let mut is_read = true;
            for (argument, shape) in event.arguments.zip(event.arguments.shapes()) {
                let value = arguments.next_of(shape);
                // Names that are not in the string table are not supported.
                is_read &= shape & 1 << 31 == 0;
                if is_read {
                    assert_eq!(value, argument.ok().map(|argument| argument.value), "{bytes:?}");
                }
                is_read &= argument.is_ok();
            }
            if is_read {
                assert_eq!(arguments.kind(words.header), Some(event.kind));
                read += 1;
            }
        }
        assert!(read > 20_000 && refused > 1_000, "{read} {refused}");
    }

    #[test]
    fn strings_are_those_of_the_codec() {
        let (mut random, mut read) = (Random(3), 0);
        for _ in 0..20_000 {
            let length = random.below(20);
            let size = if random.below(9) == 0 { random.below(4) } else { 1 + length.div_ceil(8) };
            let reserved = if random.below(9) == 0 { 1 << 31 } else { 0 };
            let header = 2 | size << 4 | random.below(9) << 16 | length << 32 | reserved;
            let bytes = bytes_of(&[header, random.below(1 << 30), 0x6161, 0]);
            let Some((record, size)) = string_at(&bytes, 0) else { continue };
            let found = Records::new(&bytes).next().unwrap().unwrap();
            assert_eq!((found.record, found.bytes.len()), (Record::String(record), size));
            assert!(!found.is_extended());
            read += 1;
        }
        assert!(read > 10_000, "{read}");
    }
}
