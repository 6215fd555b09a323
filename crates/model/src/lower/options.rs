//! Options of lowering.

use crate::Limits;

/// Options for lowering a trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct LowerOptions {
    /// Write what the reader of the source knows of classes beyond what they say - meanings, roles, what makes
    /// events lines of a log - into [annotations](super::annotate): for formats whose reader would not know it.
    pub annotates: bool,
    /// Give event record classes ids that the format [tells apart](super::Capabilities::class_id_bits): where event record
    /// headers are not copied.
    pub numbers_classes: bool,
    /// Make no field depend on fields of other scopes: nothing ensures that the values of the source agree there.
    pub separates_scopes: bool,
    /// Limits of compiling the lowered classes.
    pub limits: Limits,
}
