//! Contexts, which mostly are the same for one event after the other, and what else is the same if
//! they are.

use ichnos_model::decode::DecodeError;
use ichnos_model::plan::{Plan, align};
use ichnos_model::{Event, Scope};

/// The context of the event before, as it lies in the packet, and what was written for it. That may
/// have more in it, if the writer of that forgets it when it changes.
#[derive(Debug, Default)]
pub struct Repeated {
    bytes: Vec<u8>,
    text: Vec<u8>,
}

impl Repeated {
    /// Appends what stands for a context of an event, of which this is the plan: what `write`
    /// writes, or what it wrote for the event before if that has the same bytes.
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
        if let Some(bytes) = bytes
            && *bytes == self.bytes[..]
        {
            out.extend_from_slice(&self.text);
            return Ok(());
        }
        let begin = out.len();
        let result = write(out);
        self.bytes.clear();
        self.text.clear();
        if let (Some(bytes), Ok(())) = (bytes, &result) {
            self.bytes.extend_from_slice(bytes);
            self.text.extend_from_slice(out.get(begin..).unwrap_or_default());
        }
        result
    }

    /// Ensures that the last text is not reused.
    pub(crate) fn forget(&mut self) {
        self.bytes.clear();
    }
}

/// The bytes that say all of the scope, where that is easily known: its size is fixed, which means
/// that nothing before decides on what it is.
#[inline]
fn fixed_bytes<'a>(event: &Event<'a>, scope: Scope, plan: &Plan) -> Option<&'a [u8]> {
    // Longer ones do not repeat.
    const MOST: u64 = 256 * 8;
    if event.scopes.values.is_some_and(|values| values.has(scope)) {
        return None;
    }
    let size = plan.fixed_size().filter(|size| *size <= MOST && size % 8 == 0)?;
    let begin = align(event.scopes.begins().get(scope as usize)?.bit, plan.root().alignment())?;
    let first = usize::try_from(begin / 8).ok().filter(|_| begin % 8 == 0)?;
    event.scopes.bits.data.get(first..)?.get(..(size / 8) as usize).filter(|bytes| !bytes.is_empty())
}
