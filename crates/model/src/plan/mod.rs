//! Decode plans: a root field class, compiled once into the steps to decode it.
//!
//! A [plan](Plan) is a tree of [nodes](Node), one for each field class of the expanded root class. The
//! members of a structure are compiled into a list of steps: consecutive members of fixed layout are joined
//! into a *block*, so that skipping them is one comparison and reading them needs no arithmetic. A field that
//! another one needs (a length, a selector) saves its value in a *slot*, assigned here once from the [field
//! locations](crate::FieldLocation).
//!
//! `steps.rs` contains the steps, which never change after they are compiled, and depends on no other file
//! here. `compile.rs` makes plans: `tree.rs` the nodes, `slots.rs` and `locate.rs` the slots, `layout.rs`,
//! `loads.rs` and `join.rs` the steps, `skip.rs` the steps to skip a structure. [`decode`](crate::decode)
//! runs them.
//!
//! Each shortcut step names the benchmark that justifies it: the change in the lines of
//! `benches/instructions.py` without it. All of them are optional: the node of a field is enough to decode
//! it.

mod compile;
mod dead_end;
mod error;
mod join;
mod layout;
mod loads;
mod locate;
mod plans;
mod skip;
mod slots;
pub(crate) mod steps;
mod tree;

pub use error::{LocationProblem, LocationRule, PlanError};
pub use plans::{DataStreamPlans, EventRecordPlans, TracePlans, scope_class, scope_plan};
pub use steps::{Node, Plan, align};
