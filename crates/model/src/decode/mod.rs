//! Runs decode plans on the bits of a packet.
//!
//! The steps of a [plan](crate::plan) are run in four modes:
//! - *visit* (`visit.rs`): all fields go to a [`Visitor`](crate::Visitor), or with one that wants no values,
//!   their ends are found. This mode knows every class, and says what is wrong where;
//! - *bytewise* (`bytewise.rs`): the same for steps that are made of whole bytes, which all are there;
//! - *skip* (`skip.rs`): to the end of a structure, of which only lengths are read;
//! - *one field* (`one_field.rs`): an integer whose offset is the same in all events.
//!
//! The last three do nothing that the first cannot do, and leave to it whatever takes more.

mod bytewise;
mod decoder;
mod error;
mod one_field;
mod packet_bits;
mod position;
mod scalar;
mod skip;
mod slots;
mod values;
mod visit;

pub use crate::bits::{Word, first_word, read_bits};
pub(crate) use bytewise::Plans;
pub use error::{DecodeError, DecodeErrorKind};
pub(crate) use one_field::FixedField;
pub use packet_bits::{DecodeLimits, PacketBits};
pub use position::Position;
pub use slots::{LEAST, Slots, UNKNOWN};
pub use visit::decode_all;
pub(crate) use visit::{changed_since, decode_joined};
