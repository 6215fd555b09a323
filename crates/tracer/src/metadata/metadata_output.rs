//! Output of the metadata writer.

use core::fmt::{self, Write};

/// Output of the metadata writer.
pub(super) struct MetadataOutput<'o> {
    pub(super) out: &'o mut dyn Write,
    /// `true` to write attributes that only ichnos reads.
    pub(super) has_annotations: bool,
}

impl Write for MetadataOutput<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.out.write_str(text)
    }
}
