//! Decode plans: root field classes, compiled once into decoding steps.
//!
//! A [plan](Plan) is a tree of [nodes](Node), one for each field class in the expanded root class. The members of a
//! structure are compiled into a list of steps. Consecutive members with a fixed layout are joined into a *block*:
//! skipping them is one comparison, and reading them needs no arithmetic. If another field depends on a field (its
//! length or selector), the field saves its value in a *slot*. Slots are assigned here once from the [field
//! locations](crate::class::FieldLocation).
//!
//! `steps.rs` contains the steps, which never change after they are compiled. It depends on no other file here.
//! `compile.rs` creates the plans: `tree.rs` the nodes, `slots.rs` and `locate.rs` the slots, `layout.rs`, `loads.rs`
//! and `join.rs` the steps, `skip.rs` the steps to skip a structure, `value_step.rs` the steps to visit values. [`decode`](crate::decode) runs them.
//!
//! Each shortcut step names the benchmark that justifies it, with the change in `benches/instructions.py` results
//! without the step. All shortcuts are optional: the node of a field is enough to decode it.

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
mod value_step;

pub use error::{LocationProblem, LocationRule, PlanError};
pub use plans::{DataStreamPlans, EventRecordPlans, TracePlans, scope_class, scope_plan};
pub use steps::{Node, Plan, align};
