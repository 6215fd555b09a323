//! Recognition of files with lines of a trace.

use ichnos_io::{Entry, Tree};
use ichnos_json::read::Reader;

use crate::index::{byte_order_mark, line_at};
use crate::line::{self, Kind, Line};

/// Number of bytes of a file to check for lines of a trace.
const PROBED: usize = 64 << 10;

/// Number of bytes of a file to check for anything else.
const FIRST: usize = 512;

/// Returns the files of a tree without repetitions.
pub(crate) fn files(tree: &Tree) -> impl Iterator<Item = &Entry> {
    tree.entries.iter().filter(|entry| entry.repeats().is_none())
}

/// Returns `true` if a file has lines of a trace.
pub(crate) fn has_lines(entry: &Entry) -> bool {
    let Ok(first) = entry.beginning(FIRST) else { return false };
    let begins = first.get(byte_order_mark(&first)..).unwrap_or_default().trim_ascii_start();
    if begins.first() != Some(&b'{') {
        return false;
    }
    if memchr::memchr(b'\n', &first).is_some() || first.len() < FIRST {
        return is_of_trace(&first);
    }
    entry.beginning(PROBED).is_ok_and(|beginning| is_of_trace(&beginning))
}

/// Returns `true` if the first line of a file is one of a trace.
fn is_of_trace(beginning: &[u8]) -> bool {
    let mut at = byte_order_mark(beginning);
    at += beginning.len() - at - beginning.get(at..).unwrap_or_default().trim_ascii_start().len();
    let (line, next) = line_at(beginning, at);
    if let Ok(text) = line::text(line)
        && let Ok(found) = Line::of(line)
    {
        return is_line_of_trace(text, &found);
    }
    // It can be longer than the checked part.
    let is_cut = next >= beginning.len() && beginning.len() >= FIRST;
    let Some(rest) = line.strip_prefix(b"{\"type\":\"").filter(|_| is_cut) else { return false };
    let kind = rest.split(|byte| *byte == b'"').next().and_then(|name| std::str::from_utf8(name).ok());
    kind.and_then(Kind::of).is_some()
}

/// Returns `true` if a readable line differs from other JSON.
fn is_line_of_trace(text: &str, line: &Line) -> bool {
    let has = |names: &[&str]| {
        let mut json = Reader::new(text);
        let mut is_first = true;
        let mut found = 0;
        if !json.take(b'{') {
            return false;
        }
        while let Ok(Some(key)) = json.key(&mut is_first) {
            found += usize::from(names.iter().any(|name| key.is(name)));
            if json.skip().is_err() {
                return false;
            }
        }
        found == names.len()
    };
    match line.kind {
        Kind::Event if !has(&["type"]) => line.time.is_some() && (has(&["name"]) || has(&["id"])),
        Kind::Event => has(&["name"]) || has(&["id"]),
        Kind::Damage => has(&["type", "file", "message"]),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_json_is_not_recognised() {
        for (text, expected) in [
            ("{\"type\":\"stream-begin\",\"stream\":0}\n", true),
            ("\u{feff}\n {\"ts\":5,\"name\":\"x\"}", true),
            ("{\"time\":\"2020-01-01T00:00:00Z\",\"name\":\"x\"}\n{", true),
            ("{\"type\":\"event\",\"id\":1}\n", true),
            ("{\"ts\":5}\n", false),
            ("{\"name\":\"x\"}\n", false),
            // Logs of Fuchsia, metadata of CTF 2, reports of X-Trace, and something else.
            (
                "{\"moniker\":\"a\",\"version\":1,\"data_source\":\"Logs\",\"metadata\":{\"timestamp\":5}}\n",
                false,
            ),
            ("\u{1e}{\"type\":\"preamble\",\"version\":2}\n", false),
            ("{\"type\":\"preamble\",\"version\":2}\n", false),
            ("{\"X-Trace\":[\"1001\"],\"Label\":[\"a\"],\"Timestamp\":[\"5\"]}\n", false),
            ("[{\"id\":\"01\",\"reports\":[]}]\n", false),
            ("{\"id\":\"01\",\"reports\":[{\"ts\":1}]}\n", false),
            ("{\"type\":\"event\"}\n", false),
            ("", false),
        ] {
            assert_eq!(has_lines(&Entry::of_bytes("a", text.as_bytes().to_vec())), expected, "{text}");
        }
        let long =
            format!("{{\"type\":\"stream-begin\",\"stream\":0,\"name\":\"{}\"}}\n", "a".repeat(2 * PROBED));
        assert!(has_lines(&Entry::of_bytes("a", long.into_bytes())));
    }
}
