//! Labeled trace and span ids, for example `trace_id=0af7651916cd43dd8448eb211c80319c`.

use core::ops::Range;

use crate::hex;
use crate::word::is_word;

/// Number of digits in a trace id.
pub(crate) const TRACE_DIGITS: usize = 32;
/// Maximum distance between a label and its identifier in bytes.
const MOST_BETWEEN: usize = 8;
/// Maximum length of a label in bytes.
const MOST_NAME: usize = 40;
/// Maximum distance between a trace id and its span id in bytes.
const MOST_APART: usize = 128;

/// Trace and span ids that a text labels with `trace_id` and `span_id` or similar names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LabeledIds {
    /// Trace id, never all zeros.
    pub trace_id: [u8; 16],
    /// Adjacent span id if any, never all zeros.
    pub span_id: Option<[u8; 8]>,
}

impl LabeledIds {
    /// Returns the identifiers for these trace id digits if a trace label precedes them.
    pub(crate) fn at(text: &[u8], run: &Range<usize>) -> Option<Self> {
        let trace_id = id_at(text, run, IdLabel::Trace)?;
        let after = run.end..text.len().min(run.end + MOST_APART);
        let before = run.start.saturating_sub(MOST_APART)..run.start;
        let span = |run| id_at::<8>(text, &run, IdLabel::Span);
        // Digits beyond an adjacent trace id belong to that trace.
        let is_trace = |run: &Range<usize>| id_at::<16>(text, run, IdLabel::Trace).is_some();
        let mut own = runs(text, after).take_while(|run| !is_trace(run));
        let span_id = own.find_map(span).or_else(|| {
            runs(text, before)
                .fold(None, |found, run| if is_trace(&run) { None } else { span(run).or(found) })
        });
        Some(Self { trace_id, span_id })
    }
}

/// Returns the digit words in a range of a text.
fn runs(text: &[u8], range: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = range.start;
    let runs = core::iter::from_fn(move || {
        let rest = text.get(at..range.end)?;
        let begin = at + rest.iter().position(|byte| hex::is_digit(*byte))?;
        let digits = text[begin..].iter().take_while(|byte| hex::is_digit(**byte)).count();
        at = begin + digits;
        Some(begin..at)
    });
    runs.filter(|run| is_word(text, run))
}

/// Returns the identifier for these digits if the label before them has the same kind.
fn id_at<const SIZE: usize>(text: &[u8], run: &Range<usize>, label: IdLabel) -> Option<[u8; SIZE]> {
    if run.len() != 2 * SIZE || label_before(text.get(..run.start)?) != Some(label) {
        return None;
    }
    let mut id = [0; SIZE];
    hex::decode(text.get(run.clone())?, &mut id)?;
    (id != [0; SIZE]).then_some(id)
}

/// Label kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IdLabel {
    Trace,
    Span,
}

impl IdLabel {
    /// Returns the kind for a label: `trace_id`, `traceId`, `trace.id`, `otel.trace_id` and others for traces,
    /// `span_id` and others for spans. Labels for parent spans do not count.
    fn from_name(name: &[u8]) -> Option<Self> {
        // Letters and digits in lowercase, in reverse order.
        let letters = name.iter().rev().filter(|byte| !matches!(byte, b'_' | b'-' | b'.'));
        let letters = letters.map(u8::to_ascii_lowercase);
        let ends_with = |word: &[u8]| {
            let mut letters = letters.clone();
            word.iter().rev().all(|letter| letters.next() == Some(*letter))
        };
        if ends_with(b"traceid") && !ends_with(b"parenttraceid") {
            return Some(Self::Trace);
        }
        (ends_with(b"spanid") && !ends_with(b"parentspanid")).then_some(Self::Span)
    }
}

/// Returns the kind of the label at the end of a text, before a `=` or `:`.
fn label_before(text: &[u8]) -> Option<IdLabel> {
    let is_between = |byte: &&u8| matches!(byte, b'"' | b'\'' | b'\\' | b' ' | b'=' | b':');
    let between = text.iter().rev().take(MOST_BETWEEN).take_while(is_between).count();
    let (text, between) = text.split_at(text.len() - between);
    if !between.iter().any(|byte| matches!(byte, b'=' | b':')) {
        return None;
    }
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let name = text.iter().rev().take(MOST_NAME).take_while(is_name).count();
    IdLabel::from_name(&text[text.len() - name..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in ["trace_id", "traceId", "TraceID", "trace-id", "trace.id", "dd.trace_id", "x-trace-id"] {
            assert_eq!(IdLabel::from_name(name.as_bytes()), Some(IdLabel::Trace), "{name}");
        }
        for name in ["span_id", "spanId", "SPAN_ID", "span.id", "otel_span_id"] {
            assert_eq!(IdLabel::from_name(name.as_bytes()), Some(IdLabel::Span), "{name}");
        }
        for name in
            ["", "id", "trace", "trace_ids", "parentSpanId", "parent_span_id", "span", "tid", "raceid"]
        {
            assert_eq!(IdLabel::from_name(name.as_bytes()), None, "{name}");
        }
    }
}
