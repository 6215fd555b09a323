//! Roles that a format does not allow at their fields' places.

use std::sync::Arc;

use super::capabilities::{Capabilities, Feature, RolePlaces};
use crate::class::{FieldClass, FieldKind, Member, Role, Roles, Scope, TraceClass};

/// Place of a field with a role.
#[derive(Clone, Copy)]
struct RolePlace<'c> {
    /// Members of the structure that contains the field.
    siblings: &'c [Member],
    /// `true` for a member of the root field.
    is_direct: bool,
    is_in_array: bool,
    is_in_optional: bool,
    is_in_union: bool,
}

impl RolePlace<'_> {
    const ROOT: Self = Self {
        siblings: &[],
        is_direct: false,
        is_in_array: false,
        is_in_optional: false,
        is_in_union: false,
    };

    /// Returns `true` if a field with this class can have a role here.
    fn allows(&self, class: &FieldClass, role: Role, scope: Scope, capabilities: &Capabilities) -> bool {
        if self.is_in_union && !capabilities.has(Feature::Unions) {
            return false;
        }
        let (name_of, is_direct) = match capabilities.role_places {
            RolePlaces::Any => return true,
            RolePlaces::Paths => return !self.is_in_array && !self.is_in_optional,
            RolePlaces::Names { name, is_direct } => (name, is_direct),
        };
        // A role without a name is dropped.
        let Some(name) = name_of(role, scope) else { return true };
        let is_bytes = role == Role::MetadataStreamUuid;
        let has_room = class.bits().is_none_or(|bits| bits.length <= capabilities.integer_bits);
        let is_unsigned = has_room && class.integer().is_some_and(|integer| !integer.signed);
        // Any event record header field with a clock updates it, whatever its name.
        if (role, scope) == (Role::Timestamp, Scope::EventRecordHeader) && is_unsigned {
            return !self.is_in_array;
        }
        // Without a content size, the packet size counts.
        let is_whole =
            [Role::PacketTotalLength, Role::PacketContentLength].iter().all(|size| class.roles.has(*size));
        let names =
            |member: &&Member| member.class.roles.iter().any(|other| name_of(other, scope) == Some(name));
        (is_bytes || is_unsigned)
            && class.roles.iter().filter(|role| name_of(*role, scope).is_some()).count()
                == 1 + usize::from(is_whole)
            && self.siblings.iter().filter(names).count() == 1
            && (self.is_direct || !is_direct(role, scope))
            && !self.is_in_array
    }
}

/// Returns the roles in a trace's root fields that the format does not allow at the place of one of their fields. All
/// fields lose such a role, so that another field can have it.
#[must_use]
pub fn unplaced_roles(
    trace: &TraceClass,
    root: &FieldClass,
    scope: Scope,
    capabilities: &Capabilities,
) -> Roles {
    let mut unplaced = Roles::NONE;
    if trace.dialect == capabilities.target {
        return unplaced;
    }
    // Other fields have the numbers that classes get.
    let mut records = trace.data_streams.iter().flat_map(|stream| &stream.event_records);
    if capabilities.class_id_bits < 64 && records.any(|record| u64::try_from(record.id).is_err()) {
        unplaced.insert(Role::EventRecordClassId);
    }
    let is_root = matches!(root.kind, FieldKind::Structure { .. });
    collect(root, RolePlace { is_direct: is_root, ..RolePlace::ROOT }, (scope, capabilities), &mut unplaced);
    let counter = Role::DiscardedEventCounter;
    let has_counter = || count_of_role(root, counter) > 0;
    if scope == Scope::PacketHeader && !capabilities.has(Feature::HeaderCounters) && has_counter() {
        unplaced.insert(counter);
    }
    if matches!(capabilities.role_places, RolePlaces::Names { .. }) {
        // Babeltrace 2 looks for ids only in direct header members.
        let ids = [Role::EventRecordClassId, Role::DataStreamClassId, Role::DataStreamId];
        let is_member =
            |role| root.members().is_some_and(|all| all.iter().any(|one| one.class.roles.has(role)));
        let nested = ids.into_iter().filter(|role| count_of_role(root, *role) > 0 && !is_member(*role));
        nested.for_each(|role| unplaced.insert(role));
    }
    let begins = |root: &FieldClass| count_of_role(root, Role::Timestamp);
    if scope == Scope::PacketContext && !capabilities.has(Feature::SeveralStartTimes) && begins(root) > 1 {
        unplaced.insert(Role::Timestamp);
    }
    unplaced
}

/// Returns the number of fields with a role in a class.
fn count_of_role(class: &FieldClass, role: Role) -> usize {
    let within: usize = class.children().map(|child| count_of_role(child.class(), role)).sum();
    within + usize::from(class.roles.has(role))
}

fn collect(class: &FieldClass, place: RolePlace<'_>, context: (Scope, &Capabilities), unplaced: &mut Roles) {
    let (scope, capabilities) = context;
    for role in class.roles.iter() {
        if !place.allows(class, role, scope, capabilities) {
            unplaced.insert(role);
        }
    }
    let inner = RolePlace { siblings: &[], is_direct: false, ..place };
    match &class.kind {
        FieldKind::Structure { members, .. } => {
            // The root structure is not a member.
            let is_direct = place.is_direct && place.siblings.is_empty();
            for member in members {
                let place = RolePlace { siblings: members, is_direct, ..place };
                collect(&member.class, place, context, unplaced);
            }
        }
        FieldKind::Union { members, .. } => {
            for member in members {
                let place = RolePlace { siblings: members, is_in_union: true, ..inner };
                collect(&member.class, place, context, unplaced);
            }
        }
        FieldKind::Array { element, .. } => {
            collect(element, RolePlace { is_in_array: true, ..inner }, context, unplaced);
        }
        FieldKind::Optional { field, .. } => {
            collect(field, RolePlace { is_in_optional: true, ..inner }, context, unplaced);
        }
        FieldKind::Variant { options, .. } => {
            options.iter().for_each(|option| collect(&option.class, inner, context, unplaced));
        }
        _ => {}
    }
}

/// Removes roles from a class and all inner classes.
#[must_use]
pub fn without_roles(class: &Arc<FieldClass>, lost: Roles) -> Arc<FieldClass> {
    let mut class = Arc::clone(class);
    remove_roles(&mut class, lost);
    class
}

fn remove_roles(class: &mut Arc<FieldClass>, lost: Roles) {
    if !class.exists(&mut |class| lost.iter().any(|role| class.roles.has(role))) {
        return;
    }
    let changed = Arc::make_mut(class);
    lost.iter().for_each(|role| changed.roles.remove(role));
    changed.children_mut().for_each(|child| remove_roles(child, lost));
}
