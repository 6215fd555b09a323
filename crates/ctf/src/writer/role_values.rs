//! Values that replace fields with roles.

use ichnos_model::{Roles, Uuid};

/// Values that replace fields with roles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RoleValues {
    pub(super) class_id: Option<u64>,
    /// Value of the default clock. A field gets as many of its lower bits as it has.
    pub(super) timestamp: Option<u64>,
    /// The same, but only for fields with room for all of it: then the original number of bits does not matter.
    pub(super) whole_timestamp: Option<u64>,
    pub(super) whole_end_timestamp: Option<u64>,
    pub(super) data_stream_class_id: Option<u64>,
    pub(super) data_stream_id: Option<u64>,
    pub(super) uuid: Option<Uuid>,
}

/// Returns `true` if a field with roles holds a time of another clock than the default one.
pub(super) fn is_of_other_clock(roles: Roles, default_clock: Option<u16>) -> bool {
    roles.clock.is_some() && roles.clock != default_clock
}
