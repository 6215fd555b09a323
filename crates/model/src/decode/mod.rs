//! Runs decode plans on the bits of a packet.
//!
//! The steps of a [plan](crate::plan) are run in five modes:
//! - *visit* (`visit.rs`): passes all fields to a [`Visitor`](crate::Visitor), or only finds their ends for a
//!   visitor that wants no values. This mode supports every class and reports errors with their positions;
//! - *bytewise* (`bytewise.rs`): the same for steps of available whole bytes;
//! - *skip* (`skip.rs`): moves to the end of a structure, reading only lengths;
//! - *words* (`word_loads.rs`): selected fields of joined steps, most of them as words without a visitor;
//! - *one field* (`one_field.rs`): reads an integer at the same offset in all events.
//!
//! All but the first one support a subset of it, and leave everything else to it.

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
mod word_loads;

pub use crate::bits::{Word, first_word, read_bits};
pub(crate) use bytewise::Plans;
pub use error::{DecodeError, DecodeErrorKind};
pub(crate) use one_field::FixedField;
pub use packet_bits::{DecodeLimits, PacketBits};
pub use position::Position;
pub use slots::{LEAST, Slots, UNKNOWN};
pub use visit::decode_all;
pub(crate) use visit::{changed_since, decode_joined};
pub use word_loads::{WordChoice, WordLoads, WordVisitor};
