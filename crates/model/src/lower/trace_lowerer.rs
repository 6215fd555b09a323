//! Lowers a trace's classes.

use std::collections::HashSet;
use std::sync::Arc;

use super::capabilities::Capabilities;
use super::locations::{LoweredRoots, unfit_locations};
use super::loss_table::LossTable;
use super::moves::ScopeMoves;
use super::options::LowerOptions;
use crate::class::{FieldClass, Roles, Scope};
use crate::plan::steps::NodeId;
use crate::trace::Trace;

/// Maximum number of attempts at lowering a class. Fields added for one location can be in the way of another location.
pub(super) const MOST_ATTEMPTS: usize = 8;

/// Fields that get what they need in a member before them, because their location would be invalid.
pub(super) type ForcedFields = HashSet<(Scope, NodeId)>;

/// Header fields that move because no other field depends on them after lowering, by scope and data stream class index
/// (0 for packet headers).
pub(super) type UnneededFields = HashSet<(Scope, usize, NodeId)>;

/// Lowers a trace's classes.
pub(super) struct TraceLowerer<'a> {
    pub(super) source: &'a Arc<Trace>,
    pub(super) capabilities: &'a Capabilities,
    pub(super) options: LowerOptions,
    pub(super) losses: &'a mut LossTable,
    /// Roles that widen packet context integers to 64 bits, by data stream class index; see
    /// [`LoweredTrace::new`](super::LoweredTrace::new).
    pub(super) widened_roles: &'a [Roles],
    /// Widened roles in the current data stream class.
    pub(super) packet_roles: Roles,
    pub(super) forced: ForcedFields,
    pub(super) unneeded: UnneededFields,
}

/// A class built from one or several source scopes.
pub(super) struct LoweredScope<'c> {
    /// Class scope.
    pub(super) scope: Scope,
    pub(super) class: Option<&'c FieldClass>,
    /// Moves of the source scopes.
    pub(super) moves: [(Scope, Option<&'c ScopeMoves>); 2],
}

impl TraceLowerer<'_> {
    /// Returns `true` if source and output have the same dialect.
    pub(super) fn is_same_dialect(&self) -> bool {
        self.source.class.dialect == self.capabilities.target
    }

    /// Returns the roles that widen integers in a scope to 64 bits.
    pub(super) fn roles_widened_in(&self, scope: Scope) -> Roles {
        if scope == Scope::PacketContext { self.packet_roles } else { Roles::NONE }
    }

    /// Calls `attempt` until all locations lead to fields, or nothing changes any more. `lowered` returns the classes
    /// in a result.
    pub(super) fn settle<T>(
        &mut self,
        roots: LoweredRoots<'_>,
        mut attempt: impl FnMut(&mut Self) -> T,
        lowered: impl for<'t> Fn(&'t T) -> Vec<LoweredScope<'t>>,
    ) -> T {
        // In the same dialect, locations stay unchanged.
        if self.is_same_dialect() {
            self.forced.clear();
            return attempt(self);
        }
        let mut before = std::mem::take(self.losses);
        self.forced.clear();
        let mut result = attempt(self);
        for _ in 1..MOST_ATTEMPTS {
            let known = self.forced.len();
            let scopes = lowered(&result);
            let mut roots: LoweredRoots<'_> = roots;
            for LoweredScope { scope, class, moves } in scopes {
                let Some(class) = class else { continue };
                for id in unfit_locations(class, scope, &roots, self.capabilities) {
                    for (scope, moves) in moves.iter().filter_map(|(scope, moves)| Some((*scope, (*moves)?)))
                    {
                        let source = moves.moves.iter().zip(0..).find(|(node, _)| node.target == id);
                        self.forced.extend(source.map(|(_, source)| (scope, source)));
                    }
                }
                roots.add_class(scope, Some(class));
            }
            if self.forced.len() == known {
                break;
            }
            *self.losses = LossTable::default();
            result = attempt(self);
        }
        before.merge(std::mem::take(self.losses));
        *self.losses = before;
        result
    }
}
