//! JSON (RFC 8259) for traces: read in place, and written into reused buffers.
//!
//! - [`read`](mod@read): a pull reader. It borrows names, strings and numbers from the text, keeps the byte offset of
//!   every error, skips values without parsing their content, and never allocates on its own.
//! - [`write`](mod@write): strings with escapes, decimal integers, and objects and arrays with separators.
//!
//! General JSON libraries build a tree or fill a type. Trace readers also need integers of any size as digits,
//! duplicate names, the position of each value, values that are read later or never, and no allocation per line.
//!
//! The crate needs `core` and `alloc`. The `std` feature, which is on by default, only makes searching faster.
//!
//! ```
//! use ichnos_json::{read::Reader, write::ValueWriter};
//!
//! let mut out = Vec::new();
//! let mut object = ValueWriter::new(&mut out).object();
//! object.member("name").string("a\tb");
//! object.member("count").unsigned(3);
//! object.end();
//! assert_eq!(out, br#"{"name":"a\tb","count":3}"#);
//!
//! let mut reader = Reader::new(&out[..]);
//! let mut is_first = true;
//! reader.expect(b'{', "an object")?;
//! while let Some(name) = reader.key(&mut is_first)? {
//!     match &*name.text() {
//!         "count" => assert_eq!(reader.number()?, "3"),
//!         _ => drop(reader.skip()?),
//!     }
//! }
//! # Ok::<(), ichnos_json::read::Error>(())
//! ```

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod read;
mod scan;
pub mod write;
