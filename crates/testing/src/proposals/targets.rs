//! Fields that others need, and the paths to them.

use super::Proposal;
use super::json::{array, object, string};
use super::types::{Id, Label, TypeLocation};

/// Names of the root fields in paths.
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

/// Use of a field by others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TargetKind {
    Length,
    Boolean,
    /// An integer from 0 to 3.
    Selector,
    /// Labels whose names can be names of options; all values of the field have one.
    Tag(Vec<Label>),
}

/// Fields that may be absent, or exist several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Barrier {
    Array(u64),
    Optional(u64),
    Option(u64),
}

/// A field that others can need.
#[derive(Clone, Debug)]
pub(super) struct KnownTarget {
    pub(super) id: Id,
    pub(super) kind: TargetKind,
    pub(super) scope: usize,
    pub(super) path: Vec<String>,
    pub(super) barriers: Vec<Barrier>,
    pub(super) is_in_union: bool,
    /// Reached through a variant from outside.
    pub(super) is_through_variant: bool,
}

/// Position of a field that needs another one.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub(super) scope: usize,
    /// Names of the fields around it, down to the innermost structure.
    pub(super) container: Vec<String>,
    pub(super) barriers: Vec<Barrier>,
}

impl KnownTarget {
    /// Returns `true` if the document lets a field at this place need it.
    pub(super) fn is_allowed(&self, place: &Place, proposal: Proposal) -> bool {
        if self.scope != place.scope {
            return self.barriers.is_empty();
        }
        let is_before = place.barriers.starts_with(&self.barriers);
        match proposal {
            Proposal::First => is_before,
            // Paths through variants lead on for all options, and elements need fields of the same element.
            Proposal::Second => {
                let matters = |barrier: &&Barrier| !matches!(barrier, Barrier::Option(_));
                is_before
                    && !self.barriers.iter().any(|barrier| matches!(barrier, Barrier::Option(_)))
                    && place.barriers.iter().filter(matters).eq(self.barriers.iter())
            }
        }
    }

    /// Returns the path to it from a place; `is_absolute` if a relative one is not wanted.
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

    /// Returns `true` if a relative path can lead to it.
    pub(super) fn can_be_absolute(&self) -> bool {
        !self.barriers.iter().any(|barrier| matches!(barrier, Barrier::Array(_)))
    }
}
