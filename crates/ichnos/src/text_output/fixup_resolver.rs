//! Fixups in the text of a chunk.

use std::collections::VecDeque;
use std::io;

use ichnos_export::{Fixup, Resolution, SinkState};

/// Resolves the fixups of a chunk, and writes its text with them.
pub(super) struct FixupResolver<C> {
    /// Unresolved fixups.
    fixups: VecDeque<Fixup<C>>,
    /// Number of received chunk bytes.
    position: u64,
    /// Offset up to which all text was written or removed.
    next: u64,
    inserted: Vec<u8>,
}

impl<C> Default for FixupResolver<C> {
    fn default() -> Self {
        Self { fixups: VecDeque::new(), position: 0, next: 0, inserted: Vec::new() }
    }
}

impl<C> FixupResolver<C> {
    /// Adds fixups before their text.
    pub(super) fn add(&mut self, fixups: Vec<Fixup<C>>) {
        self.fixups.extend(fixups);
    }

    /// Writes the next block of text. Returns `false` if the chunk must be written again.
    pub(super) fn write(
        &mut self,
        block: &[u8],
        state: &mut impl SinkState<Cause = C>,
        write: &mut impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<bool> {
        let begin = self.position;
        let end = begin + block.len() as u64;
        let slice = |from: u64, to: u64| {
            let index = |offset: u64| offset.saturating_sub(begin) as usize;
            block.get(index(from)..index(to)).unwrap_or_default()
        };
        while let Some(fixup) = self.fixups.pop_front_if(|fixup| fixup.offset < end) {
            self.inserted.clear();
            let resolution = state.resolve(&fixup.cause, &mut self.inserted);
            if resolution == Resolution::Rewrite {
                return Ok(false);
            }
            write(slice(self.next, fixup.offset))?;
            write(&self.inserted)?;
            self.next = fixup.offset;
            if resolution == Resolution::Remove {
                self.next += fixup.length;
            }
        }
        write(slice(self.next, end))?;
        self.next = self.next.max(end);
        self.position = end;
        Ok(true)
    }

    /// Resolves the fixups at the end of the text. Returns `false` if the chunk must be written again.
    pub(super) fn resolve_rest(&mut self, state: &mut impl SinkState<Cause = C>) -> bool {
        let mut rest = self.fixups.drain(..);
        rest.all(|fixup| state.resolve(&fixup.cause, &mut self.inserted) != Resolution::Rewrite)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// State whose causes contain the resolution and the inserted text.
    #[derive(Clone, Default)]
    struct Script;

    impl SinkState for Script {
        type Cause = (Resolution, &'static str);

        fn resolve(&mut self, cause: &Self::Cause, text: &mut Vec<u8>) -> Resolution {
            text.extend_from_slice(cause.1.as_bytes());
            cause.0
        }

        fn then(self, later: Self) -> Self {
            later
        }
    }

    #[test]
    fn fixups_are_resolved_whatever_the_blocks() {
        let fixup = |offset, length, resolution, text| Fixup { offset, length, cause: (resolution, text) };
        let fixups = [
            fixup(0, 2, Resolution::Remove, ""),
            fixup(2, 0, Resolution::Keep, "<1>"),
            fixup(5, 3, Resolution::Remove, ""),
            fixup(8, 1, Resolution::Keep, ""),
            fixup(9, 1, Resolution::Remove, ""),
            fixup(12, 0, Resolution::Keep, ""),
        ];
        for size in 1..=13 {
            let mut resolver = FixupResolver::default();
            resolver.fixups.extend(fixups);
            let mut out = Vec::new();
            for block in b"abcdefghijkl".chunks(size) {
                assert!(
                    resolver
                        .write(block, &mut Script, &mut |text| {
                            out.extend_from_slice(text);
                            Ok(())
                        })
                        .unwrap()
                );
            }
            assert!(resolver.resolve_rest(&mut Script));
            assert_eq!(String::from_utf8(out).unwrap(), "<1>cdeikl", "{size}");
        }
        let mut resolver = FixupResolver::default();
        resolver.fixups.push_back(fixup(1, 0, Resolution::Rewrite, ""));
        assert!(!resolver.write(b"ab", &mut Script, &mut |_| Ok(())).unwrap());
        resolver.fixups.push_back(fixup(0, 0, Resolution::Rewrite, ""));
        assert!(!resolver.resolve_rest(&mut Script));
    }
}
