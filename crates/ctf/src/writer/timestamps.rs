//! Event record timestamps.

use ichnos_model::Scope;
use ichnos_model::class::{DataStreamClass, FieldClass, FieldKind, Role};

use super::role_values::is_of_other_clock;

/// Event record timestamps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timestamps {
    /// `true` if event records have timestamp fields, with all or parts of the time.
    pub(super) are_there: bool,
    /// Bits of the shortest fixed-length timestamp field, at most 64.
    pub(super) bits: u64,
    /// `true` if there are variable-length fields, which contain full timestamps.
    pub(super) are_variable: bool,
    /// `true` if an event record can have several timestamps.
    pub(super) are_several: bool,
    /// Scope with the timestamps.
    pub(super) scope: Scope,
}

impl Timestamps {
    /// Timestamps with all bits of the time.
    pub(super) const WHOLE: Self = Self {
        are_there: true,
        bits: 64,
        are_variable: false,
        are_several: false,
        scope: Scope::EventRecordHeader,
    };

    /// Returns `true` if event records contain all bits of the time.
    pub(super) fn are_whole(self) -> bool {
        self.bits >= 64 && !self.are_variable
    }

    /// Returns a data stream class's timestamps: from the first scope with a time.
    pub(super) fn for_class(class: &DataStreamClass) -> Self {
        let scopes = [
            (Scope::EventRecordHeader, &class.event_record_header),
            (Scope::CommonContext, &class.common_context),
        ];
        let found = scopes.into_iter().find_map(|(scope, root)| {
            let mut found = Self { scope, ..Self::default() };
            let most = found.collect(root.as_deref()?, class.default_clock);
            (found.are_there, found.are_several) = (most > 0, most > 1);
            (most > 0).then_some(found)
        });
        found.unwrap_or_default()
    }

    /// Adds a class's fields. Returns the maximum number of default clock timestamps in an instance.
    fn collect(&mut self, class: &FieldClass, default_clock: Option<u16>) -> u32 {
        let is_timestamp = class.roles.has(Role::Timestamp);
        let own = u32::from(is_timestamp && !is_of_other_clock(class.roles, default_clock));
        match &class.kind {
            FieldKind::Integer { bits, .. } if is_timestamp => {
                self.bits = self.bits.min(bits.length);
                own
            }
            FieldKind::VariableLength { .. } => {
                self.are_variable |= is_timestamp;
                own
            }
            FieldKind::Structure { members, .. } => {
                let counts = members.iter().map(|member| self.collect(&member.class, default_clock));
                counts.fold(0, u32::saturating_add)
            }
            FieldKind::Variant { options, .. } => {
                let counts = options.iter().map(|option| self.collect(&option.class, default_clock));
                counts.max().unwrap_or(0)
            }
            FieldKind::Optional { field, .. } => self.collect(field, default_clock),
            FieldKind::Array { element, .. } => self.collect(element, default_clock).saturating_mul(2),
            _ => own,
        }
    }
}

impl Default for Timestamps {
    /// Creates timestamps for event records without a time.
    fn default() -> Self {
        let scope = Scope::EventRecordHeader;
        Self { are_there: false, bits: 64, are_variable: false, are_several: false, scope }
    }
}
