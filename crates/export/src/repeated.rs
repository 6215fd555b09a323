//! Common contexts, which rarely change between events, and text that depends only on them.

use ichnos_model::decode::DecodeError;
use ichnos_model::plan::{Plan, align};
use ichnos_model::{Event, Scope};

/// Bytes of the previous event's common context, and the text written for it. The text may depend on more, if
/// its writer calls [`forget`](Repeated::forget) on changes.
#[derive(Debug, Default)]
pub(crate) struct Repeated {
    bytes: Vec<u8>,
    text: Vec<u8>,
}

impl Repeated {
    /// Appends the text of an event's common context, whose plan is `plan`: calls `write`, or reuses the text
    /// of the previous event if it has the same bytes.
    #[inline]
    pub(crate) fn push(
        &mut self,
        out: &mut Vec<u8>,
        event: &Event<'_>,
        plan: &Plan,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let bytes = fixed_bytes(event, plan);
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

/// Returns the bytes of the scope, if its size is fixed, so that it does not depend on earlier fields.
#[inline]
fn fixed_bytes<'a>(event: &Event<'a>, plan: &Plan) -> Option<&'a [u8]> {
    // Longer contexts do not repeat.
    const MOST: u64 = 256 * 8;
    if event.scopes.values.is_some_and(|values| values.has(Scope::CommonContext)) {
        return None;
    }
    let size = plan.fixed_size().filter(|size| *size <= MOST && size % 8 == 0)?;
    let begin = align(event.scopes.begins[Scope::CommonContext as usize].bit, plan.root().alignment())?;
    let first = usize::try_from(begin / 8).ok().filter(|_| begin % 8 == 0)?;
    event.scopes.bits.data.get(first..)?.get(..(size / 8) as usize).filter(|bytes| !bytes.is_empty())
}
