//! Recognizes files with trace lines.

use ichnos_io::Entry;
use ichnos_json::read::Reader;

use crate::index::{byte_order_mark, line_at};
use crate::line::{EVENT_MEMBERS, LONGEST, LineOutline, LineType, text};

/// Sizes of the tried file prefixes, in bytes. A longer prefix is read if the first line is not recognized yet.
const PROBED: [usize; 3] = [512, 64 << 10, LONGEST];

/// Returns `true` if a file has trace lines.
pub(crate) fn has_lines(entry: &Entry) -> bool {
    for most in PROBED {
        let Ok(beginning) = entry.beginning(most) else { return false };
        let mut at = byte_order_mark(&beginning);
        // The mark is a part of the file.
        at += beginning.len() - at - beginning.get(at..).unwrap_or_default().trim_ascii_start().len();
        let (line, next) = line_at(&beginning, at);
        if line.first() != Some(&b'{') {
            return false;
        }
        let is_cut = next >= beginning.len() && beginning.len() >= most;
        let outline = match std::str::from_utf8(line) {
            Ok(text) => ProbedMembers::parse(text),
            // The prefix may end within a character.
            Err(error) if is_cut => ProbedMembers::parse(
                text(line.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or_default(),
            ),
            Err(_) => return false,
        };
        if !is_cut {
            return outline.is_of_trace() && LineOutline::parse(line).is_ok();
        }
        let is_of_trace = match outline.kind {
            ProbedType::Unknown => Some(false),
            // Members that do not exist in events may follow.
            ProbedType::Untyped | ProbedType::Of(LineType::Event) if !outline.has_fields => {
                outline.has_unknown.then_some(false)
            }
            _ => outline.is_of_trace().then_some(true),
        };
        if let Some(is_of_trace) = is_of_trace {
            return is_of_trace;
        }
    }
    false
}

/// Kind of a line, as far as its members are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProbedType {
    /// No `type` so far.
    Untyped,
    Of(LineType),
    Unknown,
}

/// Members in a line, up to its end or the end of the prefix.
struct ProbedMembers {
    kind: ProbedType,
    has_time: bool,
    /// `true` if there is a `name` or an `id`.
    has_name: bool,
    /// `true` if there is a context or a payload.
    has_fields: bool,
    has_file: bool,
    has_message: bool,
    /// `true` if there is a member that events lack.
    has_unknown: bool,
}

impl ProbedMembers {
    fn parse(text: &str) -> Self {
        let mut outline = Self {
            kind: ProbedType::Untyped,
            has_time: false,
            has_name: false,
            has_fields: false,
            has_file: false,
            has_message: false,
            has_unknown: false,
        };
        let mut json = Reader::new(text);
        json.take(b'{');
        let mut is_first = true;
        while let Ok(Some(key)) = json.key(&mut is_first) {
            let name = key.text();
            match &*name {
                "type" => {
                    let kind = json.clone().string().ok().and_then(|kind| LineType::from_name(&kind.text()));
                    outline.kind = kind.map_or(ProbedType::Unknown, ProbedType::Of);
                }
                "ts" | "time" => outline.has_time = true,
                "name" | "id" => outline.has_name = true,
                "common_context" | "specific_context" | "payload" => outline.has_fields = true,
                "file" => outline.has_file = true,
                "message" => outline.has_message = true,
                _ => {}
            }
            outline.has_unknown |= !EVENT_MEMBERS.contains(&&*name);
            if json.skip().is_err() {
                break;
            }
        }
        outline
    }

    /// Returns `true` if the line is a trace line and not other JSON. Other programs write event fields directly as
    /// members of the line. Trace lines have them in `payload`.
    fn is_of_trace(&self) -> bool {
        let is_own = self.has_fields || !self.has_unknown;
        match self.kind {
            ProbedType::Unknown => false,
            ProbedType::Untyped => self.has_time && self.has_name && is_own,
            ProbedType::Of(LineType::Event) => self.has_name && is_own,
            ProbedType::Of(LineType::Damage) => self.has_file && self.has_message,
            ProbedType::Of(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_json_is_not_recognized() {
        for (text, expected) in [
            ("{\"type\":\"stream-begin\",\"stream\":0}\n", true),
            ("\u{feff}\n {\"ts\":5,\"name\":\"x\"}", true),
            ("{\"time\":\"2020-01-01T00:00:00Z\",\"name\":\"x\"}\n{", true),
            ("{\"type\":\"event\",\"id\":1}\n", true),
            ("{\"ts\":5}\n", false),
            ("{\"name\":\"x\"}\n", false),
            // Fuchsia logs, CTF 2 metadata, X-Trace reports, and other JSON.
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
            // Fields directly in the line: from a logger, or a mistake that a message explains.
            ("{\"time\":\"2020-01-01T00:00:00Z\",\"name\":\"x\",\"level\":30,\"msg\":\"a\"}\n", false),
            ("{\"ts\":5,\"name\":\"x\",\"y\":1}\n", false),
            ("{\"type\":\"event\",\"ts\":5,\"name\":\"x\",\"y\":1}\n", false),
            ("{\"ts\":5,\"name\":\"x\",\"y\":1,\"payload\":{}}\n", true),
            ("{\"ts\":1.5,\"name\":\"x\",\"payload\":{}}\n", false),
            ("", false),
        ] {
            assert_eq!(has_lines(&Entry::from_bytes("a", text.as_bytes().to_vec())), expected, "{text}");
        }
        // Lines of any length up to the limit, with members in any order.
        let long = |begin: &str, end: &str| {
            let line = format!("{begin}{}{end}\n", "ü".repeat(40_000));
            has_lines(&Entry::from_bytes("a", line.into_bytes()))
        };
        assert!(long("{\"type\":\"stream-begin\",\"stream\":0,\"name\":\"", "\"}"));
        assert!(long("{\"type\":\"stream-begin\",\"class\":{\"name\":\"", "\"}}"));
        assert!(long("{\"ts\":1,\"name\":\"a\",\"payload\":{\"x\":\"", "\"}}"));
        assert!(long("{\"ts\":1,\"name\":\"", "\"}"));
        assert!(!long("{\"ts\":1,\"name\":\"", "\",\"level\":1}"));
        assert!(long("{\"payload\":{\"x\":\"", "\"},\"ts\":1,\"name\":\"a\"}"));
        assert!(!long("{\"payload\":{\"x\":\"", "\"},\"name\":\"a\"}"));
        assert!(!long("{\"traceEvents\":[\"", "\"]}"));
        assert!(!long("{\"ts\":1,\"name\":\"a\",\"message\":\"", "\"}"));
    }

    #[test]
    fn a_first_line_that_ends_near_the_size_of_a_buffer() {
        for size in PROBED[..2].iter().flat_map(|size| size - 12..size + 12) {
            let begin = "{\"ts\":1,\"name\":\"a\",\"payload\":{\"x\":\"";
            for end in ["\"}}", "\"}}\n", "\"}}\r\n", "\"}}\n{\"ts\":2,\"name\":\"a\"}\n"] {
                let line = format!("{begin}{}{end}", "a".repeat(size - begin.len()));
                assert!(has_lines(&Entry::from_bytes("a", line.into_bytes())), "{size}");
            }
        }
    }
}
