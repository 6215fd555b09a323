//! Fields that other fields need, and paths to them.

use super::Proposal;
use super::json::{array, object, string};
use super::types::{Id, Label, TypeLocation};

/// Returns the path name of a root field.
pub(super) fn scope_name(scope: usize, proposal: Proposal) -> &'static str {
    let first = [
        "trace-packet-header",
        "data-stream-packet-context",
        "data-stream-event-record-header",
        "data-stream-event-record-context",
        "event-record-context",
        "event-record-payload",
    ];
    let second = [
        "packet-header",
        "packet-context",
        "event-record-header",
        "event-record-common-context",
        "event-record-specific-context",
        "event-record-payload",
    ];
    match proposal {
        Proposal::First => first[scope],
        Proposal::Second => second[scope],
    }
}

/// Use of a field by other fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TargetKind {
    Length,
    Boolean,
    /// Integer from 0 to 3.
    Selector,
    /// Labels that can be option names. Every value of the field has a label.
    Tag(Vec<Label>),
}

/// Field container that can be absent or repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Barrier {
    Array(u64),
    Optional(u64),
    Option(u64),
}

/// Field that other fields can need.
#[derive(Clone, Debug)]
pub(super) struct KnownTarget {
    pub(super) id: Id,
    pub(super) kind: TargetKind,
    pub(super) scope: usize,
    pub(super) path: Vec<String>,
    pub(super) barriers: Vec<Barrier>,
    pub(super) is_in_union: bool,
    /// `true` if a path from outside leads through a variant.
    pub(super) is_through_variant: bool,
}

/// Place of a field that needs another field.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub(super) scope: usize,
    /// Names of the enclosing fields, down to the innermost structure.
    pub(super) container: Vec<String>,
    pub(super) barriers: Vec<Barrier>,
}

impl KnownTarget {
    /// Returns `true` if the document allows a dependency from this place.
    pub(super) fn is_allowed(&self, place: &Place, proposal: Proposal) -> bool {
        if self.scope != place.scope {
            return self.barriers.is_empty();
        }
        let is_before = place.barriers.starts_with(&self.barriers);
        match proposal {
            Proposal::First => is_before,
            // A path through a variant must continue in all options. An element needs fields in the same element.
            Proposal::Second => {
                let matters = |barrier: &&Barrier| !matches!(barrier, Barrier::Option(_));
                is_before
                    && !self.barriers.iter().any(|barrier| matches!(barrier, Barrier::Option(_)))
                    && place.barriers.iter().filter(matters).eq(self.barriers.iter())
            }
        }
    }

    /// Returns the path from a place to this field. `is_absolute` asks for an absolute path.
    pub(super) fn location(&self, place: &Place, proposal: Proposal, is_absolute: bool) -> TypeLocation {
        let scope = scope_name(self.scope, proposal);
        let names = |names: &[String]| names.iter().map(|name| string(name)).collect::<Vec<_>>();
        let json = match proposal {
            Proposal::Second => array(std::iter::once(string(scope)).chain(names(&self.path))),
            Proposal::First if self.scope != place.scope || is_absolute => {
                object(&[("scope", string(scope)), ("path", array(names(&self.path)))])
            }
            Proposal::First => {
                let around = &self.path[..self.path.len() - 1];
                let shared = around.iter().zip(&place.container).take_while(|(a, b)| a == b).count();
                array(names(&self.path[shared..]))
            }
        };
        TypeLocation { json, id: self.id }
    }

    /// Returns `true` if an absolute path can lead to this field.
    pub(super) fn can_be_absolute(&self) -> bool {
        !self.barriers.iter().any(|barrier| matches!(barrier, Barrier::Array(_)))
    }
}
