//! Activity paths: positions of nested activities, which `System.Diagnostics.Tracing` encodes in identifiers.

use std::io::Write as _;

use uuid::Uuid;

/// Checksum constant, added to the first three words of an identifier that encodes a path.
const CHECKSUM: u32 = 0x599D_99AD;
/// Highest nibble that is itself a number.
const LAST_IMMEDIATE: u8 = 0xA;
/// Prefix of a number that is unique in the process, not a child of the number before it, because the path was too
/// long.
const OVERFLOW: u8 = 0xB;
/// Lowest nibble that is followed by a number of 1 to 4 bytes.
const MULTI_BYTE: u8 = 0xC;

/// Marks a field class whose GUIDs encode paths of nested activities, as .NET creates them for start and stop events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ActivityPaths {
    /// Process that recorded the events; 0 if unknown. Even then, the probability that another GUID is mistaken for a
    /// path is below 0.1 %.
    pub process: u32,
}

impl ActivityPaths {
    /// Appends the path that a GUID encodes, for example `/#15541/1/46/`: process, activity in the process, activity
    /// within it. Returns `false` and appends nothing if the checksum does not match. Most GUIDs are random or identify
    /// a W3C span.
    ///
    /// Identifiers from older runtimes do not depend on the process. Their paths lack it: `//1/46/`. A last number with
    /// a `$` prefix is unique in the process instead of in its parent activity.
    pub fn write(self, id: Uuid, out: &mut Vec<u8>) -> bool {
        let begin = out.len();
        let is_path = self.append(&id.to_bytes_le(), out).is_some();
        if !is_path {
            out.truncate(begin);
        }
        is_path
    }

    fn append(self, identifier: &[u8; 16], out: &mut Vec<u8>) -> Option<()> {
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(identifier.chunks_exact(4)) {
            *word = bytes.iter().rev().fold(0_u32, |word, &byte| word << 8 | u32::from(byte));
        }
        let [a, b, c, last] = words;
        let sum = a.wrapping_add(b).wrapping_add(c).wrapping_add(CHECKSUM);
        let of_process = sum ^ last;
        let is_path = match self.process {
            // Process numbers are small.
            0 => of_process >> 20 == 0,
            process => of_process == 0 || of_process == process,
        };
        if !is_path || a | b | c == 0 {
            return None;
        }
        out.push(b'/');
        if of_process != 0 {
            push_number(out, '#', of_process.into());
        }
        append_numbers(out, identifier.first_chunk::<12>()?)?;
        out.push(b'/');
        Some(())
    }
}

/// Appends a separator and a number.
fn push_number(out: &mut Vec<u8>, separator: char, number: u64) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "{separator}{number}");
}

/// Appends the numbers of a path in nibbles, upper nibble of a byte first. Returns `None` for a nibble without a
/// meaning.
fn append_numbers(path: &mut Vec<u8>, bytes: &[u8]) -> Option<()> {
    let nibble_at = |index: usize| {
        let byte = *bytes.get(index / 2)?;
        Some(if index % 2 == 0 { byte >> 4 } else { byte & 0xF })
    };
    let mut index = 0;
    while let Some(nibble) = nibble_at(index) {
        index += 1;
        if nibble == 0 {
            break;
        }
        if nibble <= LAST_IMMEDIATE {
            push_number(path, '/', nibble.into());
            continue;
        }
        let (mut separator, mut kind) = ('/', nibble);
        if nibble == OVERFLOW {
            let Some(next) = nibble_at(index) else { break };
            index += 1;
            (separator, kind) = ('$', next);
        }
        let length = usize::from(kind.checked_sub(MULTI_BYTE)?) + 1;
        // If the lower nibble of the byte is unused, it contains the highest bits.
        let mut number = 0;
        if index % 2 == 1 {
            number = u64::from(nibble_at(index)?);
            index += 1;
        }
        let Some(value) = bytes.get(index / 2..index / 2 + length) else { break };
        number = value.iter().rev().fold(number, |number, &byte| number << 8 | u64::from(byte));
        push_number(path, separator, number);
        index += 2 * length;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use ichnos_testing::{Random, cases};

    use super::*;

    fn activity_path(identifier: &[u8; 16], process: u32) -> Option<String> {
        let mut out = b"before".to_vec();
        let is_path = ActivityPaths { process }.write(Uuid::from_bytes_le(*identifier), &mut out);
        let text = String::from_utf8(out).unwrap();
        let path = text.strip_prefix("before").unwrap();
        assert_eq!(is_path, !path.is_empty());
        is_path.then(|| path.to_owned())
    }

    /// Bytes of a GUID text, in file order.
    fn bytes_of(guid: &str) -> [u8; 16] {
        uuid::Uuid::parse_str(guid).expect("a GUID").to_bytes_le()
    }

    #[test]
    fn identifiers_of_a_runtime_are_paths() {
        // From a trace of .NET 10, process 15541.
        for (guid, path) in [
            ("00000011-0000-0000-0000-00000ba59d59", "/#15541/1/1/"),
            ("00000014-0000-0000-0000-000074a59d59", "/#15541/1/4/"),
            ("0000001a-0000-0000-0000-000072a59d59", "/#15541/1/10/"),
            ("00000c1c-0000-0000-0000-00007c999d59", "/#15541/1/12/"),
            ("00002e1c-0000-0000-0000-00007cfb9d59", "/#15541/1/46/"),
            ("00102e1c-0000-0000-0000-00007cfbad59", "/#15541/1/46/1/"),
            ("00c02e1c-0000-0000-0000-00007cfb5d5a", "/#15541/1/46/0/"),
        ] {
            assert_eq!(activity_path(&bytes_of(guid), 15541).as_deref(), Some(path), "{guid}");
            assert_eq!(activity_path(&bytes_of(guid), 0).as_deref(), Some(path), "{guid}");
            assert_eq!(activity_path(&bytes_of(guid), 15542), None, "{guid}");
        }
    }

    /// Identifier with these 12 bytes of numbers and a process.
    fn identifier(numbers: &[u8], process: u32) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..numbers.len()].copy_from_slice(numbers);
        let sum = bytes[..12].chunks_exact(4).fold(CHECKSUM, |sum, word| {
            sum.wrapping_add(u32::from_le_bytes(word.try_into().expect("4 bytes")))
        });
        bytes[12..].copy_from_slice(&(sum ^ process).to_le_bytes());
        bytes
    }

    #[test]
    fn numbers_have_all_lengths() {
        // 0xC is followed by one byte, 0xD by two.
        for (numbers, path) in [
            (&[0x12, 0x30][..], "//1/2/3/"),
            (&[0xC0, 200][..], "//200/"),
            (&[0xC1, 0x02][..], "//258/"),
            (&[0xD0, 0x34, 0x12][..], "//4660/"),
            (&[0x1D, 0x34, 0x12, 0x20][..], "//1/4660/2/"),
            (&[0x1F, 1, 0, 0, 0x80][..], "//1/2147483649/"),
            (&[0xBD, 0x34, 0x12][..], "/$4660/"),
            (&[0x1B, 0xC0, 7][..], "//1$7/"),
        ] {
            assert_eq!(activity_path(&identifier(numbers, 0), 77).as_deref(), Some(path));
        }
        assert_eq!(activity_path(&identifier(&[0xB1], 0), 77), None);
    }

    #[test]
    fn other_identifiers_are_no_paths() {
        assert_eq!(activity_path(&[0; 16], 0), None);
        assert_eq!(activity_path(&bytes_of("5b3bde91-6f3c-4a3e-9c55-6a2d0e1a7c11"), 0), None);
    }

    #[test]
    fn any_numbers_give_a_path_or_none() {
        cases(1_000, |random: &mut Random| {
            let numbers: [u8; 12] = std::array::from_fn(|_| random.number() as u8);
            let process = random.number() as u32;
            if let Some(path) = activity_path(&identifier(&numbers, process), process) {
                assert!(path.starts_with('/') && path.ends_with('/'), "{path}");
            }
        });
    }
}
