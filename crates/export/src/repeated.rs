//! Contexts that are mostly equal for consecutive events, and texts that depend only on them.

use ichnos_model::decode::DecodeError;
use ichnos_model::plan::{Plan, align};
use ichnos_model::{Event, Scope};

/// Maximum length of a text that is kept, in bytes. There can be very many open data streams.
const MOST_TEXT: usize = 1 << 10;

/// Context of the previous event as packet bytes, with the text that was written for it. The text can contain more,
/// if its writer clears it when that changes.
#[derive(Debug, Default)]
pub struct Repeated {
    /// Bytes of the context. Empty if they are unknown.
    bytes: Vec<u8>,
    text: Vec<u8>,
    /// Alignment of the context in bits, minus one.
    mask: u64,
}

impl Repeated {
    /// Appends the previous text if the context bytes equal the previous event's. Otherwise returns `false`.
    #[inline(always)]
    pub fn push_known(&self, out: &mut Vec<u8>, event: &Event<'_>, scope: Scope) -> bool {
        let is_known = self.equals(event, scope).unwrap_or(false);
        if is_known {
            out.extend_from_slice(&self.text);
        }
        is_known
    }

    #[inline(always)]
    fn equals(&self, event: &Event<'_>, scope: Scope) -> Option<bool> {
        if self.bytes.is_empty() || event.scopes.values.is_some_and(|values| values.has(scope)) {
            return None;
        }
        // The size is fixed.
        let begin = event.scopes.begins().get(scope as usize)?.bit.checked_add(self.mask)? & !self.mask;
        let first = usize::try_from(begin / 8).ok().filter(|_| begin % 8 == 0)?;
        Some(*event.scopes.bits.data.get(first..)?.get(..self.bytes.len())? == self.bytes[..])
    }

    /// Appends the text of an event context with `write`, and keeps it. Callers try [`push_known`](Self::push_known)
    /// first.
    ///
    /// # Errors
    /// Errors of `write`.
    #[inline]
    pub fn push(
        &mut self,
        out: &mut Vec<u8>,
        event: &Event<'_>,
        scope: Scope,
        plan: &Plan,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let bytes = fixed_bytes(event, scope, plan);
        let begin = out.len();
        let result = write(out);
        self.bytes.clear();
        self.text.clear();
        let text = out.get(begin..).filter(|text| text.len() <= MOST_TEXT);
        if let (Some(bytes), Some(text), Ok(())) = (bytes, text, &result) {
            self.mask = plan.root().alignment() - 1;
            self.bytes.extend_from_slice(bytes);
            self.text.extend_from_slice(text);
        }
        result
    }

    /// Ensures that the last text is not reused.
    pub(crate) fn forget(&mut self) {
        self.bytes.clear();
    }
}

/// Returns all bytes of the scope if its size is fixed, so that its content does not depend on earlier fields.
#[inline]
fn fixed_bytes<'a>(event: &Event<'a>, scope: Scope, plan: &Plan) -> Option<&'a [u8]> {
    // Longer contexts do not repeat.
    const MOST: u64 = 256 * 8;
    if event.scopes.values.is_some_and(|values| values.has(scope)) {
        return None;
    }
    let size = plan.fixed_size().filter(|size| *size <= MOST && size % 8 == 0)?;
    let begin = align(event.scopes.begins().get(scope as usize)?.bit, plan.root().alignment())?;
    let first = usize::try_from(begin / 8).ok().filter(|_| begin % 8 == 0)?;
    event.scopes.bits.data.get(first..)?.get(..(size / 8) as usize).filter(|bytes| !bytes.is_empty())
}
