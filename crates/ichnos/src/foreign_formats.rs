//! Recognizes common unsupported file types by their first bytes.

mod first_object;
mod json_files;
mod loggers;
mod magics;
mod protobuf;
#[cfg(test)]
mod samples;
mod text_files;

use std::fmt;

use ichnos_io::{Entry, Hint};

use crate::format::FORMATS;

/// Number of examined bytes.
const HEAD: usize = 64 << 10;

/// Describes a file that is part of a trace and cannot be read alone.
pub(crate) fn describe(entry: &Entry) -> Option<Hint> {
    let bytes = entry.read().ok()?;
    let head = bytes.get(..HEAD).unwrap_or(&bytes);
    // Its packets start with the CTF magic number.
    if magics::memtrace(head).is_some() {
        return None;
    }
    FORMATS.iter().find_map(|format| format.describe_file(head))
}

/// Unsupported file type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ForeignFormat {
    /// Description with an article, for display.
    what: &'static str,
    /// Advice for access to the content, if there is a way.
    advice: Option<Advice>,
    /// `true` for traces and other recordings.
    pub(crate) is_trace: bool,
}

/// Advice on how to access the content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Advice {
    /// Phrase.
    Text(&'static str),
    /// jq program that converts it to JSON Lines.
    Jq(&'static str),
}

impl fmt::Display for ForeignFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, which ichnos does not read", self.what)?;
        match self.advice {
            Some(Advice::Text(advice)) => write!(f, "; {advice}"),
            Some(Advice::Jq(program)) => {
                write!(f, "; `jq -c '{program}' FILE > NEW.jsonl` converts it to lines that ichnos reads")
            }
            None => Ok(()),
        }
    }
}

impl ForeignFormat {
    /// Returns the type of a file, or `None` if it is unknown or cannot be read.
    pub(crate) fn for_entry(entry: &Entry) -> Option<Self> {
        let bytes = entry.read().ok()?;
        Self::recognize(bytes.get(..HEAD).unwrap_or(&bytes))
    }

    /// Returns the type of a file by its first bytes.
    fn recognize(head: &[u8]) -> Option<Self> {
        magics::recognize(head)
            .or_else(|| text_files::recognize(head))
            .or_else(|| protobuf::recognize(head))
            .or_else(|| {
                let is_zeros = !head.is_empty() && head.iter().all(|byte| *byte == 0);
                is_zeros.then_some(Self::other("a file that begins with zeros"))
            })
    }

    const fn trace(what: &'static str) -> Self {
        Self { what, advice: None, is_trace: true }
    }

    const fn other(what: &'static str) -> Self {
        Self { what, advice: None, is_trace: false }
    }

    const fn advising(self, advice: &'static str) -> Self {
        Self { advice: Some(Advice::Text(advice)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use ichnos_testing::cases;

    use super::*;

    fn what(bytes: &[u8]) -> &'static str {
        ForeignFormat::recognize(bytes).map_or("", |known| known.what)
    }

    #[test]
    fn samples() {
        for (sample, expected) in samples::all() {
            let text = String::from_utf8_lossy(&sample);
            assert_eq!(what(&sample), expected, "{}", text.get(..80).unwrap_or(&text));
        }
    }

    /// A longer file, or a file cut near a usual buffer size, must have the same type.
    #[test]
    fn samples_of_any_length() {
        for (sample, expected) in samples::long() {
            for size in [4096, HEAD] {
                for end in size - 12..=size + 12 {
                    let cut = sample.get(..end).unwrap_or(&sample);
                    let head = cut.get(..HEAD).unwrap_or(cut);
                    assert_eq!(what(head), expected, "{end} bytes");
                }
            }
        }
    }

    #[test]
    fn members_that_come_late() {
        for length in [6_000, HEAD - 100] {
            let late = format!("{{\"metadata\":{{\"a\":\"{}\"}},\"traceEvents\":[]}}", "x".repeat(length));
            assert_eq!(what(late.as_bytes()), "a trace in Chrome's JSON format");
        }
    }

    #[test]
    fn unknown_bytes() {
        assert_eq!(what(b""), "");
        assert_eq!(what(&[0; 100]), "a file that begins with zeros");
        assert_eq!(what(&[0xc3; 100]), "");
        assert_eq!(what(b"text\xff"), "");
        assert_eq!(what(b"bell\x07"), "");
        // Random bytes, also after the first bytes of each sample, must not cause a panic.
        let mut begins: Vec<Vec<u8>> = samples::all().into_iter().map(|(sample, _)| sample).collect();
        begins.extend([vec![0x0a], Vec::new()]);
        cases(4_000, |random| {
            let mut bytes = begins[random.index(begins.len())].clone();
            bytes.truncate(random.index(bytes.len() + 1));
            bytes.extend(random.bytes(random.seed() as usize % 97));
            let _ = ForeignFormat::recognize(&bytes);
        });
    }
}
