//! JSON (RFC 8259) as traces need it: read in place, and written into buffers that are reused.
//!
//! - [`read`](mod@read): a pull reader. It borrows names, strings and numbers from the text, keeps the byte offset of every error,
//!   skips values without looking into them, and never allocates on its own.
//! - [`write`](mod@write): strings with their escapes, decimal integers, and objects and arrays with their separators.
//!
//! General libraries for JSON build a tree or fill a type. Readers of traces need what they leave out: integers of any
//! size as their digits, names that occur twice, the place of each value, a value that is read later or never, and no
//! allocation for each line.
//!
//! The crate needs `core` and `alloc`. The feature `std`, which is on by default, only makes searching faster.
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
