//! Messages: events, losses, damage, and the begin and end of data streams and packets.

pub use crate::damage::{BrokenRule, Damage, DamageKind, remedy};
pub use crate::data_position::DataPosition;
pub use crate::message::{Discarded, Message, Sink};
