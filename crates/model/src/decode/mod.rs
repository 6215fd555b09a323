//! Runs decode plans on packet bits.
//!
//! The steps of a [plan](crate::plan) run in five modes:
//! - *visit* (`visit.rs`): passes all fields to a [`Visitor`](crate::Visitor), or only finds their ends for a visitor
//!   that does not want values. This mode supports every class and reports errors with their positions.
//! - *bytewise* (`bytewise.rs`): does the same for steps that consist of available whole bytes.
//! - *skip* (`skip.rs`): moves to the end of a structure and reads only lengths.
//! - *words* (`word_loads.rs`): reads selected fields of joined steps, most of them as words without a visitor.
//! - *one field* (`one_field.rs`): reads an integer that is at the same offset in all events.
//!
//! All other modes support a subset of the first mode, and leave everything else to it.

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
pub use slots::{MIN, Slots, UNKNOWN};
pub use visit::decode_all;
pub(crate) use visit::{changed_since, decode_joined};
pub use word_loads::{BlockLoads, FieldLoad, WordChoice, WordLoads, WordVisitor};
