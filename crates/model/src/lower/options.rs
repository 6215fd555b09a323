//! Options of lowering.

use crate::Limits;

/// Options for lowering a trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct LowerOptions {
    /// Write the reader's knowledge of classes beyond their own content - meanings, roles, log roles - into
    /// [annotations](super::annotate), for formats whose reader would not know it.
    pub annotates: bool,
    /// Give event record classes ids that the format [distinguishes](super::Capabilities::class_id_bits), if
    /// event record headers are not copied.
    pub numbers_classes: bool,
    /// Make no field depend on fields of other scopes, because the values of the source may not agree there.
    pub separates_scopes: bool,
    /// Limits for compiling the lowered classes.
    pub limits: Limits,
}
