//! Test helpers: recorded and hand-written bytes.

use std::path::PathBuf;

use ichnos_fuchsia::log::{CheckOptions, LogError, Message, Record, Rule};

/// Returns the path of the test vectors, if they exist.
pub fn vectors() -> Option<PathBuf> {
    ichnos_testing::recorded("fuchsia/vectors/vectors.json")
}

/// Returns the bytes that hexadecimal digits stand for.
pub fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// Bytes written as words (`word:` and 16 digits, highest first, as in the document), as text (`'...'`, without
/// padding), or as single bytes (two digits). `_` pads with zeros to a word.
pub fn bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in text.split_whitespace() {
        if part == "_" {
            bytes.resize(bytes.len().next_multiple_of(8), 0);
        } else if let Some(word) = part.strip_prefix("word:") {
            bytes.extend(u64::from_str_radix(&word.replace('.', ""), 16).unwrap().to_le_bytes());
        } else if let Some(text) = part.strip_prefix('\'') {
            bytes.extend(text.strip_suffix('\'').unwrap().bytes());
        } else {
            assert_eq!(part.len(), 2, "{part}");
            bytes.push(u8::from_str_radix(part, 16).unwrap());
        }
    }
    bytes
}

/// Returns all rules that a datagram message breaks, in order.
pub fn broken(bytes: &[u8], options: CheckOptions) -> Vec<LogError> {
    let mut broken = Vec::new();
    let mut note = |error: LogError| broken.push(error);
    match Record::read(bytes, 0) {
        Ok((record, _)) if record.validate().is_err() => record.check(options, &mut note),
        Ok(_) => match Message::read(bytes, 0) {
            Ok(message) => message.check(options, &mut note),
            Err(error) => note(error),
        },
        Err(error) => note(error),
    }
    broken
}

/// Returns the names of all broken rules.
pub fn broken_rules(bytes: &[u8]) -> Vec<Rule> {
    broken(bytes, CheckOptions::default()).into_iter().map(|error| error.rule).collect()
}
