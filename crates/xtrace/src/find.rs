//! Finds identifiers in any text.

use core::ops::Range;

use crate::dialect::{TraceParent, Version2, trace_of};
use crate::hex;
use crate::id::{OpId, TaskId};
use crate::labeled_ids::{LabeledIds, TRACE_DIGITS};
use crate::metadata::{MAX_LENGTH, MAX_TEXT_LENGTH, MIN_LENGTH, MetadataRef};
use crate::option::ChainId;
use crate::word::{is_begin, is_word, is_word_byte};

/// Minimum number of consecutive digits in an identifier, the length of the shortest metadata.
const MIN_DIGITS: usize = 2 * MIN_LENGTH;
/// Range of trace id digits in a traceparent.
const TRACE: Range<usize> = 3..35;
/// Number of characters in a traceparent.
const TRACE_PARENT: usize = 55;

/// An identifier found in a text. Its task and operation are never all zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Identifier {
    /// X-Trace metadata.
    Metadata {
        /// Task.
        task: TaskId,
        /// Operation.
        op: OpId,
        /// Operation chain, if the metadata has this option.
        chain: Option<ChainId>,
    },
    /// Version 2 metadata.
    Version2(Version2),
    /// A traceparent.
    TraceParent(TraceParent),
    /// Identifiers with labels such as `trace_id` and `span_id`.
    Labeled(LabeledIds),
}

impl Identifier {
    /// Returns the traceparent trace id, which is equal for all dialects of one task.
    #[must_use]
    pub fn trace_id(&self) -> [u8; 16] {
        match self {
            Self::Metadata { task, .. } => trace_of(*task),
            Self::Version2(metadata) => trace_of(metadata.task_id()),
            Self::TraceParent(parent) => parent.trace_id(),
            Self::Labeled(ids) => ids.trace_id,
        }
    }

    /// Returns the operation, or `None` if the text only names the trace.
    #[must_use]
    pub fn op_id(&self) -> Option<OpId> {
        Some(match self {
            Self::Metadata { op, .. } => *op,
            Self::Version2(metadata) => metadata.op_id(),
            Self::TraceParent(parent) => OpId::from(parent.parent_id()),
            Self::Labeled(ids) => OpId::from(ids.span_id?),
        })
    }
}

/// Finds identifiers in a text, in order: X-Trace metadata and version 2 as hexadecimal digits, traceparents, and
/// labeled trace and span ids.
///
/// An identifier must be a whole word, without an adjacent letter, digit or `_`, nor an adjacent `-` with a digit as in
/// a UUID. Digits only count as metadata if they follow all rules of the document and are valid. Still, any number with
/// the right length can look like metadata, so the task should be compared with known tasks.
///
/// In text without 18 consecutive hexadecimal digits, little more than every 18th byte is examined.
///
/// ```
/// use ichnos_xtrace::find_identifiers;
///
/// let text = b"GET / X-Trace: 10cafebabe01020304; id=123456";
/// let (range, identifier) = find_identifiers(text).next().unwrap();
/// assert_eq!(&text[range], b"10cafebabe01020304");
/// assert_eq!(identifier.op_id().unwrap().to_string(), "01020304");
/// ```
#[must_use]
pub fn find_identifiers(text: &[u8]) -> Identifiers<'_> {
    Identifiers { text, at: 0 }
}

/// Iterator over the identifiers in a text, created by [`find_identifiers`].
#[derive(Clone, Debug)]
pub struct Identifiers<'a> {
    text: &'a [u8],
    /// The byte before this offset is not a digit.
    at: usize,
}

impl Iterator for Identifiers<'_> {
    type Item = (Range<usize>, Identifier);

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(run) = self.next_run() {
            if let Some(found) = self.identifier(run) {
                self.at = self.at.max(found.0.end);
                return Some(found);
            }
        }
        None
    }
}

impl Identifiers<'_> {
    /// Returns the next run of enough digits.
    fn next_run(&mut self) -> Option<Range<usize>> {
        loop {
            // If the last position of the shortest run is not a digit, a run cannot start before it.
            let window = self.text.get(self.at..self.at + MIN_DIGITS)?;
            if let Some(other) = window.iter().rposition(|byte| !hex::is_digit(*byte)) {
                self.at += other + 1;
                continue;
            }
            let begin = self.at;
            let more =
                self.text[begin + MIN_DIGITS..].iter().take_while(|byte| hex::is_digit(**byte)).count();
            self.at = begin + MIN_DIGITS + more;
            return Some(begin..self.at);
        }
    }

    fn identifier(&self, run: Range<usize>) -> Option<(Range<usize>, Identifier)> {
        if run.len() == TRACE.len()
            && let Some(found) = self.trace_parent(&run)
        {
            return Some(found);
        }
        if run.len() == TRACE_DIGITS
            && is_word(self.text, &run)
            && let Some(ids) = LabeledIds::at(self.text, &run)
        {
            return Some((run, Identifier::Labeled(ids)));
        }
        if !is_word(self.text, &run) || run.len() % 2 != 0 || run.len() > MAX_TEXT_LENGTH {
            return None;
        }
        let digits = &self.text[run.clone()];
        if let Ok(metadata) = Version2::parse(digits) {
            return metadata.is_valid().then_some((run, Identifier::Version2(metadata)));
        }
        // Skip decoding for unknown versions.
        if !matches!(digits[0], b'0' | b'1') {
            return None;
        }
        let mut buffer = [0; MAX_LENGTH];
        let metadata = MetadataRef::parse_text(digits, &mut buffer).ok()?;
        let (task, op) = (metadata.task_id(), metadata.op_id());
        let chain = ChainId::from_metadata(metadata).ok().flatten();
        (task.is_valid() && op.is_valid()).then_some((run, Identifier::Metadata { task, op, chain }))
    }

    /// Returns the traceparent with these digits as its trace id.
    fn trace_parent(&self, run: &Range<usize>) -> Option<(Range<usize>, Identifier)> {
        let begin = run.start.checked_sub(TRACE.start)?;
        let all = begin..begin + TRACE_PARENT;
        let parent = TraceParent::parse(self.text.get(all.clone())?).ok()?;
        // Future versions can continue after a `-`.
        let is_version_0 = self.text[begin..].starts_with(b"00");
        let is_end = match self.text.get(all.end) {
            Some(b'-') => {
                !is_version_0 || !self.text.get(all.end + 1).is_some_and(|byte| is_word_byte(*byte))
            }
            Some(byte) => !is_word_byte(*byte),
            None => true,
        };
        (is_end && is_begin(self.text, begin)).then_some((all, Identifier::TraceParent(parent)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const VERSION_2: &str = "2B9F41282812F1D348EE79A1B65F87656AAB20C705D5AD851C0152084301";

    fn found(text: &str) -> Vec<&str> {
        find_identifiers(text.as_bytes()).map(|(range, _)| &text[range]).collect()
    }

    #[test]
    fn all_forms() {
        let options = "1CCAFEBABE010203040506070806CF0400000000";
        for id in [PARENT, VERSION_2, "10CAFEBABE01020304", "000102030403030303", options] {
            for (before, after) in [("", ""), ("x=", ";"), ("\"", "\""), ("[", "]"), (" - ", "-"), ("(", ".")]
            {
                let text = format!("{before}{id}{after}");
                assert_eq!(found(&text), [id], "{text}");
                assert_eq!(found(&format!("{text} {text}")), [id, id], "{text}");
            }
            for (before, after) in
                [("x", ""), ("", "x"), ("_", ""), ("", "-0"), ("0-", ""), ("", "00"), ("é", "")]
            {
                let text = format!("{before}{id}{after}");
                assert_eq!(found(&text), [""; 0], "{text}");
            }
        }
    }

    #[test]
    fn not_everything() {
        for text in [
            "",
            "10CAFEBABE0102030",
            "000000000000000000",
            "10CAFEBABE00000000",
            "100000000001020304",
            "20CAFEBABE01020304",
            "123e4567-e89b-12d3-a456-426614174000",
            "d41d8cd98f00b204e9800998ecf8427e",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-B7AD6B7169203331-01",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
        let future = PARENT.replacen("00", "01", 1);
        assert_eq!(found(&format!("{future}-more")), [future]);
    }

    #[test]
    fn identifiers_after_their_names() {
        const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
        const SPAN: &str = "b7ad6b7169203331";
        let ids = |text: &str| {
            let found = find_identifiers(text.as_bytes());
            let ids = found.filter(|(_, found)| matches!(found, Identifier::Labeled(_)));
            ids.map(|(_, id)| (id.trace_id()[0], id.op_id().map(|op| op.as_bytes()[0]))).collect::<Vec<_>>()
        };
        for text in [
            format!("trace_id={TRACE} span_id={SPAN}"),
            format!("span_id={SPAN} trace_id={TRACE}"),
            format!(r#"{{"level":"info","traceId":"{TRACE}","spanId":"{SPAN}"}}"#),
            format!(
                r#"{{\"TraceId\": \"{TRACE}\", \"ParentSpanId\": \"00f067aa0ba902b7\", \"SpanId\": \"{SPAN}\"}}"#
            ),
            format!("GET / [trace.id: {}, span.id: {SPAN}]", TRACE.to_uppercase()),
            format!("span_id={SPAN} otel.trace_id='{TRACE}'"),
            format!("trace_id={TRACE} request_id=00000000000000000000000000000001 span_id={SPAN}"),
            format!("span_id={SPAN} request_id=00000000000000000000000000000001 trace_id={TRACE}"),
        ] {
            assert_eq!(ids(&text), [(0x0a, Some(0xb7))], "{text}");
        }
        let zeros = "0000000000000000";
        for text in [
            format!("trace_id={TRACE}"),
            format!("trace_id={TRACE} span_id={zeros}"),
            format!("trace_id={TRACE} parent_span_id={SPAN}"),
            format!("trace_id={TRACE} span_id={SPAN}0 span_id={SPAN}g span_id={SPAN}_x span_id={SPAN}-0"),
            format!("trace_id={TRACE}{}span_id={SPAN}", " ".repeat(200)),
        ] {
            assert_eq!(ids(&text), [(0x0a, None)], "{text}");
        }
        for text in [
            format!("trace_id={zeros}{zeros} span_id={SPAN}"),
            format!("trace_id={TRACE}0 span_id={SPAN}"),
            format!("trace_id={TRACE}_ span_id={SPAN}"),
            format!("md5={TRACE} span_id={SPAN}"),
            format!("parent_trace_id={TRACE} span_id={SPAN}"),
            format!("trace_id {TRACE} span_id {SPAN}"),
            format!("trace_id=          {TRACE}"),
            format!("={TRACE}"),
            TRACE.to_owned(),
        ] {
            assert_eq!(ids(&text), [], "{text}");
        }
        let two =
            format!("trace_id={TRACE} span_id={SPAN} trace_id=1{} span_id=1{}", &TRACE[1..], &SPAN[1..]);
        assert_eq!(ids(&two), [(0x0a, Some(0xb7)), (0x1a, Some(0x17))]);
    }

    #[test]
    fn forms_of_one_task() {
        let task = "0AF7651916CD43DD8448EB211C80319C00000000";
        let text = format!("{PARENT},1B{task}B7AD6B7169203331,2B{task}B7AD6B716920333100");
        let found: Vec<_> = find_identifiers(text.as_bytes()).map(|found| found.1).collect();
        assert_eq!(found.len(), 3);
        for one in &found {
            assert_eq!((one.trace_id(), one.op_id()), (found[0].trace_id(), found[0].op_id()));
        }
    }

    #[test]
    fn rows_at_every_place() {
        for before in 0..60 {
            for filler in ["ab ", "abcdef0123456789_", "z"] {
                let mut text: String = filler.chars().cycle().take(before).collect();
                text.push(' ');
                let begin = text.len();
                text.push_str("10CAFEBABE01020304 abcdef");
                let range = find_identifiers(text.as_bytes()).next().map(|found| found.0);
                assert_eq!(range, Some(begin..begin + 18), "{text}");
            }
        }
    }
}
