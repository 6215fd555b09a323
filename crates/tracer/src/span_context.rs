//! Identity of a span among programs, as W3C Trace Context defines it.

use std::cell::Cell;
use std::fmt::{self, Display, Formatter};
use std::hash::{BuildHasher as _, RandomState};
use std::marker::PhantomData;
use std::str::FromStr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identity of a span among programs: the value of the header `traceparent`.
///
/// A span with a field `traceparent` continues the trace of another program, and so do the spans in it:
///
/// ```
/// # let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// let _span = tracing::info_span!("request", traceparent = header).entered();
/// // In the request to the next program:
/// let header = ichnos_tracer::SpanContext::current().map(|context| context.to_string());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpanContext {
    trace: [u8; 16],
    span: [u8; 8],
    flags: u8,
}

/// A text is not a `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotATraceParent;

impl Display for NotATraceParent {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str("expected a traceparent: `00-`, 32 digits, `-`, 16 digits, `-` and 2 digits")
    }
}

impl std::error::Error for NotATraceParent {}

thread_local! {
    static REMOTE: Cell<Option<SpanContext>> = const { Cell::new(None) };
}

/// Makes spans of this thread continue another program's trace, until it is dropped.
#[derive(Debug)]
pub struct RemoteParent {
    before: Option<SpanContext>,
    /// It belongs to its thread.
    thread: PhantomData<*const ()>,
}

impl Drop for RemoteParent {
    fn drop(&mut self) {
        // A thread that ends begins no further spans.
        let _ = REMOTE.try_with(|remote| remote.set(self.before));
    }
}

impl SpanContext {
    /// Makes it the parent of all spans without a parent that this thread begins while the result lives.
    #[must_use]
    pub fn attach(self) -> RemoteParent {
        RemoteParent { before: REMOTE.replace(Some(self)), thread: PhantomData }
    }

    /// Returns what is attached to this thread.
    pub(crate) fn attached() -> Option<Self> {
        REMOTE.try_with(Cell::get).ok().flatten()
    }

    /// Returns a new trace with its first span, whose parent must be ignored.
    pub(crate) fn random() -> Self {
        let [first, second] = [random(), random()].map(u64::to_be_bytes);
        let mut trace = [0; 16];
        let (high, low) = trace.split_at_mut(8);
        high.copy_from_slice(&first);
        low.copy_from_slice(&second);
        Self { trace, span: random().to_be_bytes(), flags: 1 }
    }

    /// Returns a new span in the same trace.
    pub(crate) fn child(self) -> Self {
        Self { span: random().to_be_bytes(), ..self }
    }

    /// Returns the identifier of the trace, which is not zero.
    #[must_use]
    pub fn trace_id(&self) -> [u8; 16] {
        self.trace
    }

    /// Returns the identifier of the span, which is not zero.
    #[must_use]
    pub fn span_id(&self) -> [u8; 8] {
        self.span
    }
}

/// Returns a number that no other call in any process returns, as far as 64 random bits can tell. It is not zero.
fn random() -> u64 {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // A forked process has the same key.
    KEY.hash_one((std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))).max(1)
}

impl FromStr for SpanContext {
    type Err = NotATraceParent;

    fn from_str(text: &str) -> Result<Self, NotATraceParent> {
        parse(text.as_bytes()).ok_or(NotATraceParent)
    }
}

/// Parses the parts that version 00 defines. Later versions may have more.
fn parse(text: &[u8]) -> Option<SpanContext> {
    let (text, rest) = text.split_first_chunk::<55>()?;
    let separators = [2, 35, 52].map(|at| text.get(at) == Some(&b'-'));
    let version = number::<1>(text.get(..2)?)?;
    let is_complete = rest.is_empty() || version != [0] && rest.starts_with(b"-");
    if version == [0xff] || !is_complete || separators.contains(&false) {
        return None;
    }
    let trace = number(text.get(3..35)?)?;
    let span = number(text.get(36..52)?)?;
    let [flags] = number(text.get(53..)?)?;
    (trace != [0; 16] && span != [0; 8]).then_some(SpanContext { trace, span, flags })
}

/// Parses lowercase hexadecimal digits.
fn number<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

impl Display for SpanContext {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (trace, span) = (u128::from_be_bytes(self.trace), u64::from_be_bytes(self.span));
        write!(out, "00-{trace:032x}-{span:016x}-{:02x}", self.flags & 3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_read_and_written() {
        let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let context: SpanContext = text.parse().unwrap();
        assert_eq!(context.to_string(), text);
        assert_eq!((context.trace_id()[0], context.span_id()[7]), (0x0a, 0x31));
        let child = context.child();
        assert!(child.trace_id() == context.trace_id() && child.span_id() != context.span_id());
        assert_eq!(child.to_string().parse(), Ok(child));
        let later = text.replacen("00", "cc", 1) + "-more";
        assert_eq!(later.parse(), Ok(context));
        for wrong in [
            "",
            &text[..54],
            &(text.to_owned() + "-"),
            &text.replacen("00", "ff", 1),
            &text.to_uppercase(),
            &text.replace('-', "_"),
            &text.replace("b7ad6b7169203331", "0000000000000000"),
            &text.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            &text.replace('1', "ä"),
        ] {
            assert_eq!(wrong.parse::<SpanContext>(), Err(NotATraceParent), "{wrong}");
        }
    }
}
