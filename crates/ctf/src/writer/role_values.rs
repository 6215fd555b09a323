//! Values that replace fields with roles.

use ichnos_model::class::{Roles, Uuid};

/// Values that replace fields with roles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RoleValues {
    pub(super) class_id: Option<u64>,
    /// Default clock value. A field gets as many of its lower bits as fit.
    pub(super) timestamp: Option<u64>,
    /// Default clock value for fields with room for all its bits. In these fields, the original number of bits does not
    /// matter.
    pub(super) whole_timestamp: Option<u64>,
    pub(super) whole_end_timestamp: Option<u64>,
    pub(super) data_stream_class_id: Option<u64>,
    pub(super) data_stream_id: Option<u64>,
    pub(super) uuid: Option<Uuid>,
}

/// Returns `true` if a field with roles contains a time of a clock other than the default clock.
pub(super) fn is_of_other_clock(roles: Roles, default_clock: Option<u16>) -> bool {
    roles.clock.is_some() && roles.clock != default_clock
}
