//! Reasons for unresolved field locations.

use super::steps::{NodeId, Plan};
use crate::class::{FieldKind, Member};
use crate::trace::TextPosition;

/// Purpose of a located field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldPurpose {
    Length,
    BooleanSelector,
    IntegerSelector,
}

/// A location problem, for messages.
pub(super) struct LocationFault {
    pub(super) position: TextPosition,
    pub(super) reason: String,
    pub(super) expected: &'static str,
    pub(super) found: String,
}

/// End of a path that does not lead to a field. There can be very many for one location. Only the reported one gets a
/// text.
pub(super) enum DeadEnd<'a> {
    /// The path leaves the root field.
    LeavesRoot(NodeId),
    /// A structure lacks a member with this name. The member is at the end of the path or before it.
    NoMember { structure: NodeId, name: &'a str, is_last: bool },
    /// A node without members.
    NoStructure { node: NodeId, name: &'a str },
    /// An array element that does not contain the dependent field.
    OtherElement(NodeId),
    /// A field with an unsuitable kind.
    WrongKind(NodeId),
    /// A field that is decoded later.
    Later(NodeId),
}

impl DeadEnd<'_> {
    /// Describes the problem.
    pub(super) fn describe(&self, plan: &Plan, need: FieldPurpose) -> LocationFault {
        let (node, reason, expected, found) = match self {
            Self::LeavesRoot(node) => {
                let found = "a root field".to_owned();
                (node, "the path leaves the root field".to_owned(), "a parent structure", found)
            }
            Self::NoMember { structure, name, is_last } => {
                let which = if *is_last { "last element of the path" } else { "element of the path" };
                let found = match &plan.node(*structure).class.kind {
                    FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => {
                        listed(members)
                    }
                    _ => String::new(),
                };
                let reason = format!("cannot find `{name}` ({which})");
                (structure, reason, "the name of a member of this structure", found)
            }
            Self::NoStructure { node, name } => {
                let found = plan.node(*node).class.describe();
                (node, format!("`{name}` is not in a structure"), "a structure", found)
            }
            Self::OtherElement(node) => {
                let reason = "the path leads into an array that does not contain the field";
                let found = plan.node(*node).class.describe();
                (node, reason.to_owned(), "a field outside arrays", found)
            }
            Self::WrongKind(node) => {
                let (reason, expected) = match need {
                    FieldPurpose::Length => {
                        ("the length field is not an unsigned integer", "an unsigned integer")
                    }
                    FieldPurpose::IntegerSelector => ("the selector field is not an integer", "an integer"),
                    FieldPurpose::BooleanSelector => ("the selector field is not a boolean", "a boolean"),
                };
                (node, reason.to_owned(), expected, plan.node(*node).class.describe())
            }
            Self::Later(node) => {
                let reason = "the field comes after the field that needs it".to_owned();
                (node, reason, "an earlier field", plan.node(*node).class.describe())
            }
        };
        LocationFault { position: plan.node(*node).class.declared_at.0, reason, expected, found }
    }
}

/// Maximum number of member names in a message.
const LISTED: usize = 16;

/// Maximum number of characters of a name in a message.
const LONGEST: usize = 100;

/// A structure's member names for a message, with bounded length.
fn listed(members: &[Member]) -> String {
    let name = |member: &Member| {
        let name = member.location_name();
        match name.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("`{}...`", name.get(..end).unwrap_or_default()),
            None => format!("`{name}`"),
        }
    };
    let mut names: Vec<String> = members.iter().take(LISTED).map(name).collect();
    if members.len() > LISTED {
        names.push(format!("and {} more", members.len() - LISTED));
    }
    names.join(", ")
}
