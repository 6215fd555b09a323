//! Packet size fields.

use std::sync::Arc;

use ichnos_model::class::{DataStreamClass, FieldClass, FieldKind, Role};

use crate::metadata::Dialect;

/// Size fields that all packets in a data stream class have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PacketSizes {
    /// `true` for a total length.
    pub(super) total: bool,
    /// `true` for a content length.
    pub(super) content: bool,
}

impl PacketSizes {
    /// Returns a data stream class's size fields.
    pub(super) fn for_class(class: &DataStreamClass) -> Self {
        let Some(context) = &class.packet_context else { return Self::default() };
        let (total, content) = (Role::PacketTotalLength, Role::PacketContentLength);
        Self { total: always_has_role(context, total), content: always_has_role(context, content) }
    }

    /// Returns `true` if they locate the next packet. Without a total length, a packet ends with its content, or in
    /// PROP-1.0 with its data stream.
    pub(super) fn delimit(self, dialect: &str) -> bool {
        self.total || self.content && dialect != Dialect::Prop1.title()
    }
}

/// Sets size field roles so that they keep their meaning in a dialect. `source` is the source's dialect.
pub(super) fn adapt_sizes(class: &mut DataStreamClass, source: &str, dialect: Dialect) {
    let Some(context) = &mut class.packet_context else { return };
    let (total, content) = (Role::PacketTotalLength, Role::PacketContentLength);
    let has_both = |class: &FieldClass| class.roles.has(total) && class.roles.has(content);
    match dialect {
        // Without a total length, a packet would have to be the only packet in its data stream. If there are several
        // packets, the total length equals the content length.
        Dialect::Prop1 if source != dialect.title() && !context.has_role(total) => {
            change(context, &mut |class| {
                if class.roles.has(content) {
                    class.roles.remove(content);
                    class.roles.insert(total);
                }
            });
        }
        // A role is a name. Without a content length, it is the total length.
        Dialect::Ctf18 if !context.exists(&mut |class| class.roles.has(content) && !has_both(class)) => {
            change(context, &mut |class| {
                if has_both(class) {
                    class.roles.remove(content);
                }
            });
        }
        _ => {}
    }
}

/// Returns `true` if all instances of a field class contain a field with a role.
fn always_has_role(class: &FieldClass, role: Role) -> bool {
    let FieldKind::Structure { members, .. } = &class.kind else { return class.roles.has(role) };
    members.iter().any(|member| always_has_role(&member.class, role))
}

/// Changes a field class with roles, and all nested classes.
fn change(class: &mut Arc<FieldClass>, make: &mut dyn FnMut(&mut FieldClass)) {
    if !class.exists(&mut |class| !class.roles.is_empty()) {
        return;
    }
    let class = Arc::make_mut(class);
    make(class);
    class.children_mut().for_each(|child| change(child, make));
}
