//! Decode plans: a root field class, compiled once into the steps that decoding it takes.
//!
//! A [plan](Plan) is a tree of [nodes](Node), one for each field class of the expanded root class. The
//! members of a structure are compiled into a list of steps: consecutive ones whose layout is fixed are
//! joined into a *block*, so that getting past them is one comparison and reading them needs no
//! arithmetic. A field that another one needs (a length, a selector) saves its value in a *slot*; which
//! slot is found out here, once, from the [field locations](crate::FieldLocation).
//!
//! `steps.rs` has the steps, which never change once they are compiled, and knows nothing of the other
//! files. `compile.rs` makes plans: `tree.rs` the nodes, `slots.rs` and `locate.rs` the slots, `layout.rs`,
//! `loads.rs` and `join.rs` the steps, `skip.rs` the way past a structure. [`decode`](crate::decode) runs
//! them.
//!
//! Each step that is a shortcut says which benchmark defends it: what the lines of
//! `benches/instructions.py` become without it (measured by leaving it out when plans are compiled). All of
//! them can be left out: the node of a field says all it takes to decode it.

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
pub use plans::{DataStreamPlans, EventRecordPlans, TracePlans, scope_class};
pub use steps::{Node, Plan, align};
