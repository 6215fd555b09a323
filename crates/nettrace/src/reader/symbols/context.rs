//! Context of events about symbols, and deduplicated texts.

use std::collections::HashSet;
use std::sync::Arc;

/// Context of an event about symbols.
#[derive(Clone, Copy, Debug)]
pub(super) struct SymbolContext {
    /// Address space of the symbols.
    pub(super) space: u32,
    pub(super) ticks: u64,
    /// File position of the payload.
    pub(super) payload: usize,
    pub(super) length: usize,
}

impl SymbolContext {
    pub(super) fn payload<'f>(&self, bytes: &'f [u8]) -> &'f [u8] {
        let end = self.payload.saturating_add(self.length);
        // The position is from a row in the file, so the range is valid.
        bytes.get(self.payload..end).unwrap_or_default()
    }
}

/// Deduplicated texts.
#[derive(Debug, Default)]
pub(super) struct SymbolTexts {
    texts: HashSet<Arc<str>>,
}

impl SymbolTexts {
    pub(super) fn get(&mut self, text: &str) -> Arc<str> {
        if let Some(text) = self.texts.get(text) {
            return Arc::clone(text);
        }
        let text: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&text));
        text
    }
}

/// Returns the last component of a path from any operating system.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
