//! Lowering of the classes of a trace.

use std::sync::Arc;

use super::capabilities::Capabilities;
use super::loss_table::LossTable;
use super::options::LowerOptions;
use crate::Trace;

/// Lowers the classes of a trace.
pub(super) struct TraceLowerer<'a> {
    pub(super) source: &'a Arc<Trace>,
    pub(super) capabilities: &'a Capabilities,
    pub(super) options: LowerOptions,
    pub(super) losses: &'a mut LossTable,
}
