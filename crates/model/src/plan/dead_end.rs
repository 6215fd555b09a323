//! Why a field location cannot be resolved.

use super::steps::{NodeId, Plan};
use crate::{FieldKind, Member, TextPosition};

/// What a located field is needed for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Length,
    BooleanSelector,
    IntegerSelector,
}

/// What is wrong with a location, for people.
pub(super) struct Trouble {
    pub(super) position: TextPosition,
    pub(super) reason: String,
    pub(super) expected: &'static str,
    pub(super) found: String,
}

/// Why a way to a field ends at a node. There can be very many for one location, of which one is reported:
/// only that one gets a text.
pub(super) enum DeadEnd<'a> {
    /// The path goes further out than the root field.
    LeavesRoot(NodeId),
    /// A structure has no member of this name, the last one of the path or another one.
    NoMember { structure: NodeId, name: &'a str, is_last: bool },
    /// It has no members at all.
    NoStructure { node: NodeId, name: &'a str },
    /// The element of an array that the field which needs it is not in.
    OtherElement(NodeId),
    /// A field of another kind than the one that is needed.
    WrongKind(NodeId),
    /// A field that is decoded later.
    Later(NodeId),
}

impl DeadEnd<'_> {
    /// What is said of the end of a way.
    pub(super) fn trouble(&self, plan: &Plan, need: Need) -> Trouble {
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
                (node, format!("there is nothing called `{name}` in it"), "a structure", found)
            }
            Self::OtherElement(node) => {
                let reason = "the element of an array that does not contain the field cannot be reached";
                let found = plan.node(*node).class.describe();
                (node, reason.to_owned(), "a field outside of arrays", found)
            }
            Self::WrongKind(node) => {
                let (reason, expected) = match need {
                    Need::Length => ("the length field is not an unsigned integer", "an unsigned integer"),
                    Need::IntegerSelector => ("the selector field is not an integer", "an integer"),
                    Need::BooleanSelector => ("the selector field is not a boolean", "a boolean"),
                };
                (node, reason.to_owned(), expected, plan.node(*node).class.describe())
            }
            Self::Later(node) => {
                let reason = "the field comes after the one that needs it".to_owned();
                (node, reason, "a field that is decoded before", plan.node(*node).class.describe())
            }
        };
        Trouble { position: plan.node(*node).class.declared_at.0, reason, expected, found }
    }
}

/// How many names of members a message lists.
const LISTED: usize = 16;

/// Of a longer name, this many characters are in a message.
const LONGEST: usize = 100;

/// The names of a structure's members for a message, which is of some length however many there are.
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
